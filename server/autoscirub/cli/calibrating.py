"""The command `calibrate`: how often the configured judge is right on labelled cases."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Json, Project, StateDir, app, example
from autoscirub.cli.showing import worst_of


@app.command(
    epilog=example(
        "autoscirub calibrate ../labelled --dry-run",
        "autoscirub calibrate ../labelled --repeats 5 --money 10",
    )
)
def calibrate(
    cases: Annotated[
        Path,
        typer.Argument(
            help="A folder with a subfolder for each case (case.toml and the files of the work), or a cases.toml."
        ),
    ],
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=99, help="How often each case is asked about.")
    ] = 3,
    money: Annotated[
        float | None,
        typer.Option("--money", help="US dollars that this may cost, at most.", show_default=False),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask about every case again; ignore the answers that are there.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nobody; report how many calls it would take, and their price."),
    ] = False,
) -> int:
    """How often the configured judge is right: its rates on labelled cases, and whether its repeated answers agree.

    Interrupted, it records what was answered, and the same command goes on from there. Exit status: 0 both rates are
    known, or a dry run; 2 one is not, or answers are missing.
    """
    from autoscirub.report import render_calibration, render_judging_estimate
    from autoscirub.workflow.calibration import calibrate as run_calibration

    with output.bar("calibrating") as progress:
        run = run_calibration(
            project,
            cases,
            state_dir=state_dir,
            repeats=repeats,
            money=money,
            fresh=fresh,
            dry_run=dry_run,
            progress=progress,
        )
    status = 0 if dry_run else worst_of(run.decisions)
    if as_json:
        calibration = run.calibration.model_dump(mode="json") if run.calibration else None
        output.json_answer(
            run.decisions,
            ok=status == 0,
            dry_run=run.dry_run,
            cases=run.cases,
            repeats=run.repeats,
            calls=run.calls,
            reused=run.reused,
            price=run.price,
            spent=run.spent,
            calibration=calibration,
        )
    elif run.calibration is None:
        output.text(render_judging_estimate(run.calls, run.reused, run.price))
    else:
        output.text(
            render_calibration(run.calibration, run.decisions, sys.stdout, calls=run.calls, spent=run.spent)
        )
    output.notices(run.notices)
    return status
