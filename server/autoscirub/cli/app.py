"""The commands. Each parses, calls one function below, and renders; what a command needs loads inside it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from autoscirub.cli import output
from autoscirub.cli.showing import shown_check, shown_run, worst_of

__all__ = ["app"]

app = typer.Typer(
    name="autoscirub",
    help="Decides whether a coding agent's research is done: predictions fixed beforehand, checks that code decides.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Project = Annotated[
    Path | None,
    typer.Option("--project", help="The project's folder. Default: AUTOSCIRUB_PROJECT, else found upwards."),
]
_StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", help="The state directory. Default: AUTOSCIRUB_STATE_DIR, config, .autoscirub/."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]

OUTCOME_STATUS = {"verified": 0, "refuted": 1, "failed": 2}


def _version(asked: bool) -> None:
    if asked:
        from autoscirub import __version__

        output.text(f"autoscirub {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _example(*lines: str) -> str:
    return "Example:\n\n" + "\n\n".join(f"  $ {line}" for line in lines)


@app.command(epilog=_example('autoscirub init --results results/results.json --run "python run.py"'))
def init(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    report: Annotated[str | None, typer.Option(help="The report, relative to the project.")] = None,
    results: Annotated[
        str | None,
        typer.Option(help="The results file, relative to the project, such as results/results.json."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="The command that makes the results, such as 'python run.py'. It is not run."),
    ] = None,
) -> int:
    """Lay down autoscirub.toml, a commented prereg.toml and the state directory. Overwrites nothing."""
    from autoscirub.setup import initialise

    laid = initialise(project, state_dir=state_dir, report=report, results=results, run=run)
    if as_json:
        output.json_answer(
            [],
            ok=True,
            project=laid.project,
            made=laid.made,
            kept=laid.kept,
            commit=laid.commit,
            next=laid.next,
        )
    else:
        output.text(laid.text())
    return 0


@app.command(epilog=_example("autoscirub check", "autoscirub check --read-only --format json"))
def check(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Write nothing.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Decide everything anew; reuse no kept answer.")
    ] = False,
    format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",  # noqa: A002 - the option's name
) -> int:
    """Decide everything that is set up, once.

    Exit status: 1 if anything does not hold, else 2 if anything could not be told, else 0.
    """
    if format not in {"text", "json"}:
        raise typer.BadParameter(f"{format!r}: expected text or json", param_hint="--format")
    from autoscirub.workflow import check as run_check

    with output.bar("checking") as progress:
        checked = run_check(project, state_dir=state_dir, read_only=read_only, fresh=fresh, progress=progress)
    worst = worst_of(checked.decisions)
    if as_json or format == "json":
        output.json_answer(checked.decisions, ok=worst == 0, **checked.facts())
    else:
        output.text(shown_check(checked, sys.stdout))
        output.notices(checked.notices if checked.verification is None else [])
    return worst


@app.command(epilog=_example("autoscirub status"))
def status(project: _Project = None, state_dir: _StateDir = None, as_json: _Json = False) -> int:
    """Where the state is and why, what exists, what is valid, what comes next. Writes and runs nothing."""
    from autoscirub.report import render_status
    from autoscirub.workflow import status as look

    found = look(project, state_dir=state_dir)
    if as_json:
        output.json_answer(found.decisions, ok=found.ok, **found.facts())
    else:
        output.text(render_status(found, sys.stdout))
    return 0


@app.command(epilog=_example("autoscirub validate", "autoscirub validate .autoscirub/executable_rubric.json"))
def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files to look at. Default: every state file there is.", show_default=False),
    ] = None,
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
) -> int:
    """Hold state files against their schemas; each fault with its JSON path and line.

    Exit status: 0 without faults, 1 with. Writes and runs nothing.
    """
    from autoscirub.report import render_validation
    from autoscirub.workflow import validate as look

    found = look(files or [], project=project, state_dir=state_dir)
    if as_json:
        output.json_answer(found.decisions, ok=found.ok, files=found.facts())
    else:
        output.text(render_validation(found, sys.stdout))
    return 0 if found.ok else 1


@app.command(
    "eval",
    epilog=_example(
        'autoscirub eval "results.slope < 0.5" --results results/results.json',
        'autoscirub eval -- "-results.slope > 0.5"',
    ),
)
def evaluate(
    expr: Annotated[str, typer.Argument(help="One expression over results.")],
    results: Annotated[
        Path | None,
        typer.Option("--results", help="The results file. Default: the project's."),
    ] = None,
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
) -> int:
    """Evaluate one expression, as a check would.

    Exit status: 0 for True and any value that is not a boolean, 1 for False, 2 could not be evaluated.
    """
    from autoscirub.report import render_evaluation
    from autoscirub.workflow import evaluate as run_evaluation

    found = run_evaluation(expr, results=results, project=project, state_dir=state_dir)
    if as_json:
        output.json_answer([found.decision], ok=found.status == 0, value=found.value, message=found.message)
    else:
        output.text(render_evaluation(found, sys.stdout))
    return found.status


@app.command(epilog=_example("autoscirub freeze --dry-run", "autoscirub freeze"))
def freeze(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say all that it would refuse or warn of.")
    ] = False,
) -> int:
    """Lock the predictions as they are, and record which results existed by then."""
    from autoscirub.report import render_decision, render_list
    from autoscirub.workflow import freeze as run_freeze

    with output.bar("reading predictions") as progress:
        frozen = run_freeze(project, state_dir=state_dir, dry_run=dry_run, progress=progress)
    if as_json:
        locks = frozen.locks.model_dump(mode="json")
        output.json_answer(frozen.decisions, ok=True, dry_run=dry_run, locks=locks, warnings=frozen.warnings)
        return 0
    output.text("\n".join(render_decision(decision, sys.stdout) for decision in frozen.decisions))
    if frozen.warnings:
        output.text(render_list("warnings", frozen.warnings))
    output.notices(frozen.notices)
    return 0


@app.command(epilog=_example("autoscirub unfreeze --reason 'the contract names the wrong key'"))
def unfreeze(
    reason: Annotated[str, typer.Option("--reason", help="Why; it stands in the record for good.")],
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="Without a terminal: the sha256 of exactly what is unlocked."),
    ] = None,
) -> int:
    """Take a freeze off, on the record: the old files are kept, and whether results existed is said for good."""
    from autoscirub.workflow import unfreeze as run_unfreeze

    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    entry = run_unfreeze(project, reason=reason, state_dir=state_dir, terminal=at_terminal, digest=digest)
    existed = "results existed by then" if entry.results_existed else "no results file was there by then"
    if as_json:
        output.json_answer([], ok=True, unfreeze=entry.model_dump(mode="json"))
    else:
        output.text(f"the freeze of {entry.frozen_at} is off; {existed}, and every later outcome says so")
        output.text(f"the old files are kept in {entry.archived}; edit prereg.toml, then: autoscirub freeze")
    return 0


@app.command(epilog=_example("autoscirub verify --no-judge"))
def verify(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    no_judge: Annotated[  # noqa: ARG001 - layer 1 alone is what there is; the option says that it is wanted
        bool, typer.Option("--no-judge", help="Layer 1 alone: what code decides.")
    ] = False,
) -> int:
    """Hold the frozen predictions against the results and files: verified, refuted or failed.

    Exit status: 0 verified, 1 refuted, 2 failed, 3 the request was wrong (nothing frozen, tampering).
    """
    from autoscirub.report import render_verification
    from autoscirub.workflow import verify as run_verify

    with output.bar("verifying") as progress:
        verified = run_verify(project, state_dir=state_dir, progress=progress)
    if as_json:
        output.document(verified.verification)
    else:
        output.text(render_verification(verified.verification, sys.stdout))
    return OUTCOME_STATUS[verified.verification.outcome]


@app.command(epilog=_example("autoscirub trust", "autoscirub trust --digest SHA"))
def trust(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
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


@app.command(epilog=_example("autoscirub criterion C2"))
def criterion(
    criterion_id: Annotated[str, typer.Argument(help="The criterion's id.")],
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
) -> int:
    """Look at one criterion: what was found, what is missing, what would close it. Records nothing.

    Exit status: 1 not satisfied, 2 could not be told, 0 satisfied.
    """
    from autoscirub.report import render_criterion
    from autoscirub.workflow import verify_criterion

    result, decision = verify_criterion(project, criterion_id, state_dir=state_dir)
    if as_json:
        output.json_answer([decision], ok=result.satisfied, criterion=result.model_dump(mode="json"))
    else:
        output.text(render_criterion(result, decision, sys.stdout))
    return worst_of([decision])


_AcceptScope = Annotated[
    bool, typer.Option("--accept-scope", help="Exit 0 also when an agent had changed the scope.")
]
_Continue = Annotated[bool, typer.Option("--continue", help="Go on after an ending, on the record.")]


@app.command("round", epilog=_example("autoscirub round", "autoscirub round --continue"))
def round_(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    go_on: _Continue = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Decide everything anew; reuse no kept answer.")
    ] = False,
    accept_scope: _AcceptScope = False,
) -> int:
    """One step of a round: verify, or write the plan, or close the round and verify again.

    Exit status, over the criteria: 1 if any is not satisfied, else 2 if any could not be told, else 0.
    """
    from autoscirub.workflow import round_step

    with output.bar("verifying") as progress:
        ran = round_step(project, state_dir=state_dir, go_on=go_on, fresh=fresh, progress=progress)
    return shown_run(ran, as_json=as_json, accept_scope=accept_scope)


@app.command(epilog=_example("autoscirub run --max-rounds 5 --revise 'python revise.py'"))
def run(
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    revise: Annotated[
        str | None,
        typer.Option(
            "--revise", help="The program that revises. Default: [rounds] revise, which must be trusted."
        ),
    ] = None,
    max_rounds: Annotated[
        int | None, typer.Option("--max-rounds", min=1, help="Default: [rounds] max.")
    ] = None,
    go_on: _Continue = False,
    as_is: Annotated[
        bool,
        typer.Option("--as-is", help="Go on from files that a cut-off revision left and that were not kept."),
    ] = False,
    accept_scope: _AcceptScope = False,
) -> int:
    """The loop: verify, let a program revise, verify again, until it ends. Start it again after a kill.

    Exit status, over the criteria: 1 if any is not satisfied, else 2 if any could not be told, else 0.
    """
    import shlex

    from autoscirub.workflow import run_rounds

    try:
        command = shlex.split(revise) if revise is not None else None
    except ValueError as error:
        raise typer.BadParameter(f"{revise!r}: {error}", param_hint="--revise") from None
    ran = run_rounds(
        project,
        state_dir=state_dir,
        revise=command,
        max_rounds=max_rounds,
        go_on=go_on,
        as_is=as_is,
        said=output.passed_on,
        told=output.told_step,
    )
    return shown_run(ran, as_json=as_json, accept_scope=accept_scope, only_end=True)


@app.command(epilog=_example("autoscirub scope --reason 'the sensor of station 4 was broken'"))
def scope(
    reason: Annotated[str, typer.Option("--reason", help="Why; it stands in the record for good.")],
    project: _Project = None,
    state_dir: _StateDir = None,
    as_json: _Json = False,
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="Without a terminal: the digest of exactly what becomes valid."),
    ] = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="An agent changes the scope; the loop then ends in reduced scope.")
    ] = False,
) -> int:
    """Put a change of a frozen rubric, or of settings that decide, on the record.

    Change the rubric or the configuration first; this shows what differs and makes it valid.
    """
    from autoscirub.workflow import scope as change_scope

    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    by = "agent" if agent else "terminal" if at_terminal else None
    scoped = change_scope(project, reason=reason, state_dir=state_dir, by=by, digest=digest)  # type: ignore[arg-type]
    change = scoped.change
    if as_json:
        output.json_answer([], ok=True, change=change.model_dump(mode="json"))
        return 0
    for word, names in (("lost", scoped.lost), ("changed", scoped.changed), ("added", scoped.added)):
        if names:
            output.text(f"criteria {word}: {', '.join(names)}")
    if change.settings:
        output.text(f"settings changed: {', '.join(change.settings)}")
    output.text(f"the scope is changed on the record (by {change.by}); it is shown with every outcome")
    return 0


@app.command(epilog=_example("autoscirub demo", "autoscirub demo --to my-copy"))
def demo(
    as_json: _Json = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", help="Where to put the two projects. Default: a new folder for temporary files."
        ),
    ] = None,
    project: _Project = None,  # noqa: ARG001 - every command takes it; the demo makes its own
    state_dir: _StateDir = None,  # noqa: ARG001
) -> int:
    """The main job on two real projects, from a fresh copy to the outcome; no model, no network."""
    from autoscirub.cli.demo import run_demo

    steps: list[dict[str, Any]] = []
    run_demo(to, say=None if as_json else output.text, steps=steps)
    if as_json:
        output.json_answer([], ok=True, steps=steps)
    return 0
