"""The commands `blind` and `judge`: copy what a judge would see, and ask it."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Fresh, Json, Judge, Project, StateDir, app, example
from autoscirub.cli.showing import worst_of


@app.command(
    epilog=example(
        "autoscirub blind --profile hypothesis --to ../shown",
        "autoscirub blind --profile criterion --criterion C2 --to ../shown",
    )
)
def blind(
    profile: Annotated[
        str, typer.Option("--profile", help="hypothesis, criterion, or one of the configuration's own.")
    ],
    to: Annotated[
        Path, typer.Option("--to", help="A new or empty folder outside of the project; it is kept.")
    ],
    criterion: Annotated[
        str | None, typer.Option("--criterion", help="Only what this criterion names, where it names files.")
    ] = None,
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
) -> int:
    """Copy what a judge would see to a folder, for you to inspect; report what was withheld, and why.

    Exit status: 0 written; 3 no such profile or criterion, another destination, too much, a file that changed.
    """
    from autoscirub.workflow.judges import blind_workspace

    with output.bar("copying") as progress:
        made = blind_workspace(project, profile, to, criterion, state_dir=state_dir, progress=progress)
    manifest = made.manifest.model_dump(mode="json")
    if as_json:
        output.json_answer([], ok=True, path=str(made.root), followed=made.led_out, **manifest)
    else:
        from autoscirub.report import render_blinded

        output.text(render_blinded(str(made.root), made.manifest, made.led_out))
    return 0


@app.command(
    epilog=example(
        "autoscirub judge --dry-run",
        "autoscirub judge C2",
        "autoscirub judge hypothesis --fresh",
        "autoscirub judge --fresh --record ../replies",
    )
)
def judge(
    subject: Annotated[
        str | None,
        typer.Argument(
            help="A criterion's id, or hypothesis. Default: all that must be read.", show_default=False
        ),
    ] = None,
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    backend: Judge = None,
    fresh: Fresh = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nobody; report how many calls it would take, and their price."),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            help="Write each reply to this folder, for the judge replay: one outside of the project, or judge.replay.",
        ),
    ] = None,
) -> int:
    """The judge alone: ask it, or show its cached verdicts. Every call is in the ledger; no round is opened.

    Exit status: 1 it says no to something, 2 something is inconclusive, 0 it says yes to all, or a dry run.
    """
    from autoscirub.report import render_judged
    from autoscirub.workflow.judges import judge as run_judge

    with output.bar("judging") as progress:
        run = run_judge(
            project,
            subject,
            state_dir=state_dir,
            backend=backend,
            fresh=fresh,
            dry_run=dry_run,
            record=record,
            progress=progress,
        )
    worst = 0 if dry_run else worst_of(run.decisions)
    if as_json:
        output.json_answer(
            run.decisions,
            ok=worst == 0,
            dry_run=run.dry_run,
            calls=run.calls,
            cached=run.cached,
            price=run.price,
            spent=run.spent,
            verdicts=[verdict.model_dump(mode="json") for verdict in run.verdicts],
        )
    else:
        output.text(
            render_judged(
                run.decisions,
                sys.stdout,
                dry_run=run.dry_run,
                calls=run.calls,
                reused=run.cached,
                price=run.price,
                spent=run.spent,
            )
        )
    output.notices(run.notices)
    return worst
