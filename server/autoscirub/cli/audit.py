"""The commands `audit` and `anchor`: show, verify and export a project's record, and print its head for others."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Json, Project, StateDir, app, example

if TYPE_CHECKING:
    from autoscirub.models import Audit

audit_app = typer.Typer(
    help="The record: what its conclusions rest on, criteria by rounds, why answers changed. Writes and runs nothing.",
    epilog=example("autoscirub audit", "autoscirub audit verify", "autoscirub audit export record.zip"),
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.add_typer(audit_app, name="audit")


@audit_app.callback(invoke_without_command=True)
def audit(
    context: typer.Context, project: Project = None, state_dir: StateDir = None, as_json: Json = False
) -> int:
    """The record: what its conclusions rest on, criteria by rounds, why answers changed. Writes and runs nothing.

    Exit status: 0, since looking decides nothing; 3 when there is no record.
    """
    # `audit --project P verify` means what `audit verify --project P` does.
    context.obj = {"project": project, "state_dir": state_dir, "as_json": as_json}
    if context.invoked_subcommand is not None:
        return 0
    from autoscirub.workflow.audit import audit as read_audit

    found = read_audit(project, state_dir=state_dir)
    if as_json:
        output.json_answer(found.decisions, ok=True, **found.facts())
    else:
        from autoscirub.report.audit import render_audit

        output.text(render_audit(found, sys.stdout))
    return 0


@audit_app.command(epilog=example("autoscirub audit verify", "autoscirub audit verify --expect HEAD"))
def verify(
    context: typer.Context,
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    expect: Annotated[
        str | None,
        typer.Option("--expect", help="A head of this record that somebody else holds, all 40 hex digits."),
    ] = None,
) -> int:
    """Check the record against itself, the files, and a head held elsewhere. Writes nothing, runs no program.

    Exit status: 0 without faults, 1 with.
    """
    from autoscirub.report.audit import render_record_verified
    from autoscirub.workflow.audit import verify_record

    where, as_json = _common(context, project, state_dir, as_json)
    found = verify_record(**where, expect=expect)
    if as_json:
        output.json_answer(found.decisions, ok=found.ok, **found.facts())
    else:
        output.text(render_record_verified(found, sys.stdout))
    return 0 if found.ok else 1


@audit_app.command(epilog=example("autoscirub audit export record", "autoscirub audit export record.zip"))
def export(
    context: typer.Context,
    destination: Annotated[Path, typer.Argument(help="A new folder, or a new file that ends in .zip.")],
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
) -> int:
    """Write what another machine needs to read the record: history, state, schemas, the audit, how to read it."""
    from autoscirub.workflow.audit import export_record

    where, as_json = _common(context, project, state_dir, as_json)
    made = export_record(destination, _as_text, **where)
    if as_json:
        output.json_answer([], ok=True, path=made.path, head=made.head, files=made.files)
    else:
        output.text(
            f"{made.path}: {len(made.files)} files, the record up to {made.head}\nREADME.md says how to read it"
        )
    return 0


@app.command(epilog=example("autoscirub anchor", "autoscirub anchor --record 'the tag audit-1 on origin'"))
def anchor(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    record: Annotated[
        str | None,
        typer.Option("--record", help="Where somebody else holds the head: one more step says so."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", help="With --record: which head is held there. Default: the newest."),
    ] = None,
) -> int:
    """Print the head of the record, and how somebody else can hold it. Writes nothing without --record."""
    from autoscirub.report.audit import render_anchor
    from autoscirub.workflow.audit import anchor as take

    held = take(project, state_dir=state_dir, record=record, head=head)
    if as_json:
        output.json_answer([], ok=True, head=held.head, where=held.where)
    else:
        output.text(render_anchor(held.head, held.where))
    return 0


def _common(
    context: typer.Context, project: Path | None, state_dir: Path | None, as_json: bool
) -> tuple[dict[str, Any], bool]:
    """The options of a subcommand, or those before its name."""
    before: dict[str, Any] = context.obj or {}
    where = {"project": project or before.get("project"), "state_dir": state_dir or before.get("state_dir")}
    return where, as_json or bool(before.get("as_json"))


def _as_text(found: Audit) -> str:
    """The audit as text for a file, with every sign and no colour."""
    import io

    from autoscirub.report.audit import render_audit

    return render_audit(found, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
