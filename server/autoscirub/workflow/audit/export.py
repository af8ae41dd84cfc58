"""The record as something that another machine can read: one folder, or one zip file."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.data import data_dir, load_layout
from autoscirub.errors import HistoryError, StateError
from autoscirub.models import Audit, Exported, strict_json
from autoscirub.store import open_project, sha256_file
from autoscirub.store.history import History, path_problem
from autoscirub.workflow.audit.overview import audit_of
from autoscirub.workflow.audit.record import AuditedRecord, reading_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.store import Project, Session

_BUNDLE = "history.bundle"
_STATE_BYTES = 64 * 1024 * 1024
_README = "\n".join(
    (
        "# The record of a project, exported by autoscirub at step {head}",
        "audit.txt and audit.json say what the record holds and what it rests on; state/ is as its newest step has it.",
        "With autoscirub, in this folder: `autoscirub audit --project . --state-dir state`; `audit verify` checks it.",
        "With git: `git clone --bare state/history.bundle record.git`, then `git -C record.git log "
        "--format='%h %cI %s' main`.",
        "A step's own words: `git -C record.git show main:facts.json`; its files lie beside them, under project/.",
        "",
    )
)


def export_record(
    destination: str | Path,
    render: Callable[[Audit], str],
    *,
    project: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> Exported:
    """Write `state/` with history.bundle and the newest step's state files, their schemas, the audit, a README.

    `destination` is a folder that is not there yet or is empty, or a file that ends in `.zip` and is not there.
    `render` makes the audit's text. Raises StateError for another destination, or when the record changed
    meanwhile, and HistoryError when there is no record.
    """
    opened = open_project(project, state_dir)
    target = Path(os.path.abspath(Path(destination).expanduser()))  # noqa: PTH100 - a link at its end is looked at
    as_zip = target.suffix.lower() == ".zip"
    _refuse(target, opened.state.root, as_zip)
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(reading_record(opened))
        record = AuditedRecord(opened, session)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Made beside and renamed, so that a kill leaves no half of an export under the name.
            made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            stack.callback(shutil.rmtree, made, ignore_errors=True)
            folder = made / "export"
            _write(opened, session, record, folder, render)
            files = sorted(
                path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
            )
            if as_zip:
                _zip(folder, files, made / "export.zip")
                (made / "export.zip").rename(target)
            else:
                if target.is_dir():
                    target.rmdir()  # it is empty, or this raises
                folder.rename(target)
        except OSError as cause:
            raise StateError(
                f"{target}: cannot be written: {cause.strerror}; name another destination"
            ) from cause
    return Exported(str(target), record.head, files)


def _refuse(target: Path, state: Path, as_zip: bool) -> None:
    real = Path(os.path.realpath(target))
    if real == state or real.is_relative_to(os.path.realpath(state)):
        raise StateError(
            f"{target}: lies in the state directory, which is what is exported; name another place"
        )
    if not os.path.lexists(target):
        return
    if as_zip or target.is_symlink() or not target.is_dir():
        raise StateError(f"{target}: is there already, and is not written over; name another destination")
    if any(target.iterdir()):
        raise StateError(f"{target}: is not empty, and nothing is written over; name another destination")


def _write(
    opened: Project, session: Session, record: AuditedRecord, folder: Path, render: Callable[[Audit], str]
) -> None:
    state = folder / "state"
    state.mkdir(parents=True)
    _copy_bundle(opened, record, state)
    schemas: set[str] = set()
    for name in sorted(session.recorded_state()):
        data = record.bytes(f"state/{name}", most=_STATE_BYTES)
        if data is None or path_problem(name) is not None:
            raise HistoryError(f"history: state/{name[:200]!r} of step {record.head[:12]} cannot be exported")
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_bytes(data)
        entry = load_layout().find(name)
        if entry is not None and entry.schema_name:
            schemas.add(f"{entry.schema_name}.schema.json")
    (folder / "schemas").mkdir()
    for schema in sorted(schemas):
        shutil.copyfile(data_dir("schemas") / schema, folder / "schemas" / schema)
    # What travels names no place of this machine.
    found = replace(audit_of(opened, session), project=opened.root.name or "project", state_dir="state")
    decisions = [decision.model_dump(mode="json") for decision in found.decisions]
    answer = strict_json({"ok": True, "decisions": decisions, **found.facts()})
    for name, text in (
        ("audit.txt", f"{render(found)}\n"),
        ("audit.json", answer),
        ("README.md", _README.format(head=record.head)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def _copy_bundle(opened: Project, record: AuditedRecord, state: Path) -> None:
    """The bundle's bytes as they are, and only when they hold the record that was looked at."""
    source = opened.state.root / _BUNDLE
    before = sha256_file(source)
    shutil.copyfile(source, state / _BUNDLE, follow_symlinks=False)
    copied = state / _BUNDLE
    with contextlib.ExitStack() as stack:
        history = None if copied.is_symlink() else History.open_for_reading(state)
        if history is not None:
            stack.enter_context(history)
        if history is None or history.head != record.head or sha256_file(copied) != before:
            raise StateError(f"{source}: changed while it was exported; run it again")


def _zip(folder: Path, files: list[str], target: Path) -> None:
    with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as archive:
        for name in files:
            archive.write(folder / name, name)
