"""Comparing the files on disk with the newest step of the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.predictions import (
    LOCK_NAME,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    read_lock,
    require_frozen,
)
from autoscirub.checks.rubric import RUBRIC_NAME
from autoscirub.data import load_layout
from autoscirub.errors import AutoscirubError, StateError
from autoscirub.store import ASIDE_MARK, CORRUPT_MARK, sha256_bytes
from autoscirub.workflow.locks import require_rubric, require_settings
from autoscirub.workflow.rounds import read_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.workflow.audit.findings import Findings
    from autoscirub.workflow.audit.record import AuditedRecord

_MARK = ".lock.step"
"""Lies there while a step is being written; it names the step before."""
_OTHERS = {"person", "agent", "init", "project"}
"""Writers whose files are no part of the record."""
_STATE_BYTES = 64 * 1024 * 1024


def verify_files(record: AuditedRecord, found: Findings) -> None:
    """State files, round folders, and what is locked in the project, each as it lies there."""
    recorded = record.session.recorded_state()
    cut_off = _cut_off(record)
    for name in sorted(recorded):
        _state_file(record, name, found, cut_off)
    _unrecorded(record, recorded, found)
    _rounds(record, found)
    _locked(record, found)


def _state_file(record: AuditedRecord, name: str, found: Findings, cut_off: str | None) -> None:
    recorded = record.bytes(f"state/{name}", most=_STATE_BYTES)
    try:
        there = record.opened.state.read_bytes(name)
    except StateError as error:
        found.fault("files", name, str(error))
        return
    if there == recorded:
        found.holds("files")
    elif cut_off is not None and there == record.bytes(f"state/{name}", cut_off, _STATE_BYTES):
        found.unknown("files", name, "a kill cut this step off; the next command that writes finishes it")
    elif there is None:
        found.fault("files", name, "is gone, though the newest step has it")
    else:
        was = sha256_bytes(recorded)[:12] if recorded is not None else "unreadable"
        found.fault(
            "files",
            name,
            f"was edited: it is not as the newest step has it (sha256 {sha256_bytes(there)[:12]}… there, {was}… "
            "recorded); nothing rests on it",
        )


def _cut_off(record: AuditedRecord) -> str | None:
    """The step before the newest, while the newest one's files are still to be written."""
    try:
        mark = record.opened.state.read_bytes(_MARK)
    except StateError:
        return None
    before = mark.decode("ascii", "replace").strip() if mark is not None else None
    known = {step.oid for step in record.steps}
    return before if before in known and before != record.head else None


def _unrecorded(record: AuditedRecord, recorded: set[str], found: Findings) -> None:
    try:
        names = record.opened.state.files() if record.opened.state.exists() else []
    except StateError as error:
        found.fault("files", "", str(error))
        return
    for name in names:
        entry = load_layout().find(name)
        if name in recorded or (entry is not None and not entry.commit):
            continue
        if CORRUPT_MARK in name or ASIDE_MARK in name:
            found.unknown("files", name, "was set aside; look at it, then remove it")
        elif entry is not None and not _OTHERS & set(entry.writer):
            found.fault("files", name, "is not in the history: no step wrote it; nothing rests on it")


def _rounds(record: AuditedRecord, found: Findings) -> None:
    try:
        rounds = read_rounds(record.session)
    except StateError as error:
        found.fault("rounds", "", str(error))
        return
    for entry in rounds:
        say = found.unknown if entry.status in {"odd", "empty"} else found.fault
        for problem in entry.problems:
            say("rounds", "", problem)
        if not entry.problems:
            found.holds("rounds")


def _locked(record: AuditedRecord, found: Findings) -> None:
    """What is locked in the project, by the very rules that every later command asks."""
    opened, session = record.opened, record.session
    locks = session.recorded_locks
    names = [PREDICTIONS_NAME, LOCK_NAME]
    if locks.rubric is not None and locks.rubric.source != RUBRIC_NAME:
        names.append(locks.rubric.source)
    if not opened.location.config.source and not any((opened.root / name).exists() for name in names):
        if locks.predictions or locks.rubric:
            found.unknown(
                "files", "", f"the project's own files are not here: {', '.join(names)} were not compared"
            )
        return
    asked: list[tuple[str, bool, Callable[[], object]]] = [
        (
            PREDICTIONS_NAME,
            locks.predictions is not None or (opened.root / LOCK_NAME).exists(),
            lambda: require_frozen(
                opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT),
                read_lock(opened),
                session.found_locks.predictions,
                locks.predictions,
            ),
        ),
        ("rubric", locks.rubric is not None, lambda: require_rubric(opened, session)),
        ("settings", locks.settings is not None, lambda: require_settings(opened, session)),
    ]
    for what, is_locked, require in asked:
        if not is_locked:
            continue
        try:
            require()
            found.holds("files")
        except AutoscirubError as error:
            found.fault("files", what, str(error))
