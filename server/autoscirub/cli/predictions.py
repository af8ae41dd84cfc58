"""The commands `freeze`, `unfreeze`, `verify` and `eval`: predictions, and single expressions."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Json, Judge, Project, Reason, StateDir, app, example
from autoscirub.cli.showing import worst_of

OUTCOME_STATUS = {"verified": 0, "refuted": 1, "failed": 2}


@app.command(epilog=example("autoscirub freeze --dry-run", "autoscirub freeze"))
def freeze(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report everything it would refuse or warn about.")
    ] = False,
) -> int:
    """Lock the predictions as they are, and record which results existed by then."""
    from autoscirub.report import render_decision, render_list
    from autoscirub.workflow.locks import freeze as run_freeze

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


@app.command(epilog=example("autoscirub unfreeze --reason 'the contract names the wrong key'"))
def unfreeze(
    reason: Reason,
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="Without a terminal: the sha256 of exactly what is unlocked."),
    ] = None,
) -> int:
    """Lift a freeze, on the record: the old files are kept, and so is whether results existed by then."""
    from autoscirub.workflow.locks import unfreeze as run_unfreeze

    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    entry = run_unfreeze(project, reason=reason, state_dir=state_dir, terminal=at_terminal, digest=digest)
    existed = "results existed by then" if entry.results_existed else "no results file was there by then"
    if as_json:
        output.json_answer([], ok=True, unfreeze=entry.model_dump(mode="json"))
    else:
        output.text(f"the freeze of {entry.frozen_at} is off; {existed}, and every later outcome says so")
        output.text(f"the old files are kept in {entry.archived}; edit prereg.toml, then: autoscirub freeze")
    return 0


@app.command(epilog=example("autoscirub verify --no-judge"))
def verify(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    judge: Judge = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let the judge's verdict change the outcome.")
    ] = False,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="Layer 1 alone: what code decides.")] = False,
) -> int:
    """Check the frozen predictions against the results and files: verified, refuted or failed.

    Exit status: 0 verified, 1 refuted, 2 failed, 3 the request was wrong (nothing frozen, tampering).
    """
    from autoscirub.report import render_verification
    from autoscirub.workflow import verify as run_verify

    with output.bar("verifying") as progress:
        verified = run_verify(
            project,
            state_dir=state_dir,
            judge="none" if no_judge else judge,
            strict=strict,
            progress=progress,
        )
    if as_json:
        output.document(verified.verification)
    else:
        output.text(render_verification(verified.verification, sys.stdout))
    # A required rerun counts too: without it, "verified" is not the whole answer.
    outcome = OUTCOME_STATUS[verified.verification.outcome]
    return outcome or worst_of(verified.required, nothing=0)


@app.command(
    "eval",
    epilog=example(
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
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
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
