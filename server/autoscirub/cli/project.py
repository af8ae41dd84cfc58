"""The commands `init`, `status`, `validate`, `trust` and `demo`: set up and inspect a project."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import Annotated, Any

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Json, Project, StateDir, app, example


@app.command(
    epilog=example(
        "autoscirub init",
        'autoscirub init --results results/results.json --run "python3 run.py"',
    )
)
def init(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    report: Annotated[str | None, typer.Option(help="The report, relative to the project.")] = None,
    results: Annotated[
        str | None,
        typer.Option(help="The results file, relative to the project, such as results/results.json."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="The command that makes the results, such as 'python3 run.py'. It is not run."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; take the best of what is found for each.")
    ] = False,
) -> int:
    """Find the report, the results and the run command, and write autoscirub.toml and a commented prereg.toml.

    At a terminal it asks about each of the three. Overwrites nothing, and runs nothing.
    """
    from autoscirub.cli.prompts import ask, at_terminal
    from autoscirub.report import render_initialised
    from autoscirub.setup import initialise

    laid = initialise(
        project,
        state_dir=state_dir,
        report=report,
        results=results,
        run=run,
        yes=yes,
        ask=ask if at_terminal() and not (yes or as_json) else None,
    )
    if as_json:
        output.json_answer([], ok=True, **laid.facts())
    else:
        output.text(render_initialised(laid))
    return 0


@app.command(epilog=example("autoscirub status"))
def status(project: Project = None, state_dir: StateDir = None, as_json: Json = False) -> int:
    """Where the state is and why, what exists, what is valid, what comes next. Writes and runs nothing."""
    from autoscirub.report import render_status
    from autoscirub.workflow.status import status as read_status

    found = read_status(project, state_dir=state_dir)
    if as_json:
        output.json_answer(found.decisions, ok=found.ok, **found.facts())
    else:
        output.text(render_status(found, sys.stdout))
    return 0


@app.command(epilog=example("autoscirub validate", "autoscirub validate .autoscirub/executable_rubric.json"))
def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files to check. Default: every state file there is.", show_default=False),
    ] = None,
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
) -> int:
    """Check state files against their schemas; each fault with its JSON path and line.

    Exit status: 0 without faults, 1 with. Writes and runs nothing.
    """
    from autoscirub.report import render_validation
    from autoscirub.workflow import validate as run_validate

    found = run_validate(files or [], project=project, state_dir=state_dir)
    if as_json:
        output.json_answer(found.decisions, ok=found.ok, files=found.facts())
    else:
        output.text(render_validation(found, sys.stdout))
    return 0 if found.ok else 1


@app.command(epilog=example("autoscirub trust", "autoscirub trust --digest SHA"))
def trust(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="Accept exactly what has this digest, without asking (for CI)."),
    ] = None,
) -> int:
    """Show which programs the project's files name, and allow exactly those to run on this machine."""
    from autoscirub.report import render_trust
    from autoscirub.setup import look_at_trust, record_trust

    found = look_at_trust(project, state_dir=state_dir)
    if not as_json:
        output.text(render_trust(found))
    if digest is None and found.programs and not found.trusted and not as_json and sys.stdin.isatty():
        if found.digest and typer.confirm("Allow exactly this to run here?", err=True):
            found = record_trust(found.digest, by="terminal", project=project, state_dir=state_dir)
    elif digest is not None:
        found = record_trust(digest, by="ci", project=project, state_dir=state_dir)
    if as_json:
        output.json_answer(
            [found.decision],
            ok=found.trusted or not found.programs,
            digest=found.digest,
            programs=found.programs,
        )
    elif found.programs:
        accept = f"not trusted here; to accept exactly this: autoscirub trust --digest {found.digest}"
        output.text("trusted on this machine" if found.trusted else accept)
    return 0 if found.trusted or not found.programs else 3


@app.command(epilog=example("autoscirub demo", "autoscirub demo --to my-copy"))
def demo(
    as_json: Json = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", help="Where to put the two projects. Default: a new folder for temporary files."
        ),
    ] = None,
    project: Project = None,  # noqa: ARG001 - every command takes it; the demo makes its own
    state_dir: StateDir = None,  # noqa: ARG001
) -> int:
    """The main job on two real projects, from a fresh copy to the outcome; no model, no network."""
    from autoscirub.cli.demo import run_demo

    steps: list[dict[str, Any]] = []
    run_demo(to, say=None if as_json else output.text, steps=steps)
    if as_json:
        output.json_answer([], ok=True, steps=steps)
    return 0
