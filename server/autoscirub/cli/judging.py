"""Commands on judges: what one would be shown."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Json, Project, StateDir, app, example


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
    """Copy what a judge would be shown to a folder, to look at; say what was withheld, and why.

    Exit status: 0 written; 3 no such profile or criterion, another destination, too much, a file that changed.
    """
    from autoscirub.workflow import blind_workspace

    with output.bar("copying") as progress:
        made = blind_workspace(project, profile, to, criterion, state_dir=state_dir, progress=progress)
    manifest = made.manifest.model_dump(mode="json")
    if as_json:
        output.json_answer([], ok=True, path=str(made.root), followed=made.led_out, **manifest)
    else:
        from autoscirub.report.blinding import render_blinded

        output.text(render_blinded(str(made.root), made.manifest, made.led_out))
    return 0
