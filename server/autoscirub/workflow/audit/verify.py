"""`audit verify`: checking the record against itself, the files, and a head that is held elsewhere."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import CheckError
from autoscirub.models import RecordVerified
from autoscirub.store import open_project
from autoscirub.workflow.audit.basis import anchor_of
from autoscirub.workflow.audit.files import verify_files
from autoscirub.workflow.audit.findings import Findings
from autoscirub.workflow.audit.record import AuditedRecord, reading_record
from autoscirub.workflow.audit.reverify import ReverifiedState
from autoscirub.workflow.audit.steps import verify_line, verify_steps

if TYPE_CHECKING:
    from autoscirub.store import Project, Session

_HEAD = re.compile(r"[0-9a-f]{40}")


def verify_record(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    expect: str | None = None,
) -> RecordVerified:
    """Find what does not hold together: steps, files, rounds, reports, answers, outcomes, locks, anchors.

    Answers that code decided are decided again from the bytes that each step keeps; those that are not kept, and
    a judge's, are listed as what cannot be checked here. `expect` is a head (40 hex digits) that somebody else
    holds. Nothing is written but a temporary folder. Raises HistoryError when there is no history or it cannot
    be read, and CheckError for an `expect` that is no head.
    """
    if expect is not None:
        expect = require_head(expect, "--expect")
    opened = open_project(project, state_dir)
    with reading_record(opened) as session:
        return _verify(opened, session, expect)


def require_head(text: str, option: str) -> str:
    """A head as it was given. Raises CheckError for anything but all of its 40 digits: a few can be hit upon."""
    head = text.strip().lower()
    if not _HEAD.fullmatch(head):
        raise CheckError(
            f"{option}: {text[:60]!r} is no head; expected all 40 hex digits that `autoscirub anchor` prints"
        )
    return head


def _verify(opened: Project, session: Session, expect: str | None) -> RecordVerified:
    record, found = AuditedRecord(opened, session), Findings()
    verify_line(record, found)
    verify_files(record, found)
    with tempfile.TemporaryDirectory(prefix="autoscirub-audit-") as folder:
        workspace = ReverifiedState(Path(folder).resolve(), opened.config.limits.results_bytes)
        verify_steps(record, workspace, found)
    _anchors(record, expect, found)
    return RecordVerified(
        head=record.head,
        steps=len(record.steps),
        findings=found.found,
        decisions=found.decisions(),
        cannot_show=_cannot_show(record, expect),
    )


def _anchors(record: AuditedRecord, expect: str | None, found: Findings) -> None:
    places = {step.oid: place for place, step in enumerate(record.steps)}
    for place, step in enumerate(record.steps):
        if step.event != "anchor":
            continue
        held = places.get(step.text("head"))
        if held is None:
            found.fault("anchors", step.name, f"names {step.text('head')[:40]}, which is not in this record")
        elif held >= place:
            found.fault("anchors", step.name, "names a step that comes after it")
        else:
            found.holds("anchors")
    if expect is None:
        return
    if expect in places:
        found.holds("anchors")
    else:
        found.fault(
            "anchors",
            f"--expect {expect}",
            "is not in this record: it was started afresh, rewritten, put back to before that step, or is another one",
        )


def _cannot_show(record: AuditedRecord, expect: str | None) -> list[str]:
    """What nothing in the record can show, whatever was found."""
    places = {step.oid: place for place, step in enumerate(record.steps)}
    statements: list[str] = []
    if expect in places:
        after = len(record.steps) - 1 - places[expect]
        statements.append(
            f"Up to step {expect[:12]} the record is as it was when that head was given away. "
            + (
                f"The {after} steps after it its owner could have rewritten."
                if after
                else "Nothing comes after it."
            )
        )
    else:
        anchor, _ = anchor_of(record)
        held = (
            f"; this one says that {anchor.head} is held: {anchor.where}. Compare with --expect"
            if anchor
            else ""
        )
        statements.append(
            "Whoever owns the project, its history.bundle and the data directory of the machine could have started the "
            f"whole record afresh before it was anchored: only a head that somebody else holds shows that{held}."
        )
    statements.append(
        "That the results came out of the code: numbers typed in by hand give the same answers again."
    )
    statements.append("When the steps were taken: the times are those of the machine's own clock.")
    return statements
