"""The audit: what a project's record says, and what that rests on. Reads the record alone, and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.models import Audit
from autoscirub.store import open_project
from autoscirub.workflow.audit.basis import basis_of
from autoscirub.workflow.audit.record import AuditedRecord, reading_record
from autoscirub.workflow.audit.rounds import between_rounds, malformed_rounds, rounds_of

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.store import Project, Session


def audit(project: str | Path | None = None, *, state_dir: str | Path | None = None) -> Audit:
    """Look at the record of a project. Needs the state directory alone, not the project's results or files.

    What it shows is what the history has, not what the files say. Raises HistoryError when there is no
    history or it cannot be read, ConfigError and StateError when the project cannot be opened.
    """
    opened = open_project(project, state_dir)
    with reading_record(opened) as session:
        return audit_of(opened, session)


def audit_of(opened: Project, session: Session) -> Audit:
    """The audit of an opened record. See `audit`."""
    record = AuditedRecord(opened, session)
    rounds = rounds_of(record)
    between = between_rounds(record, rounds)
    odd = malformed_rounds(record)
    basis, decisions = basis_of(record)  # last: it tells of everything that could not be read
    loop = session.manifest.loop
    return Audit(
        project=str(opened.root),
        state_dir=str(opened.state.root),
        head=record.head,
        steps=len(record.steps),
        first_at=record.steps[0].at,
        last_at=record.steps[-1].at,
        basis=basis,
        rounds=rounds.columns,
        criteria=rounds.rows,
        odd=odd,
        flips=rounds.flips,
        between=between,
        ended=loop.ended if loop else None,
        decisions=decisions,
    )
