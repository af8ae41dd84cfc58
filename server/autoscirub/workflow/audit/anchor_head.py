"""The head of a record, for somebody else to hold, and the record of who does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.errors import CheckError
from autoscirub.models import now
from autoscirub.store import open_project
from autoscirub.workflow.audit.record import AuditedRecord, reading_record
from autoscirub.workflow.audit.verify import require_head

if TYPE_CHECKING:
    from pathlib import Path

_WHERE = 500
"""Characters of the words that say where a head is held."""


@dataclass(frozen=True)
class Anchor:
    """The head to hold elsewhere."""

    head: str
    where: str | None = None
    """As it was recorded; None when nothing was."""


def anchor(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    record: str | None = None,
    head: str | None = None,
) -> Anchor:
    """The newest step of the record. With `record`, one more step says that `head` (the newest) is held there.

    That it is held is the caller's word; nothing is looked up. Raises HistoryError when there is no record, and
    CheckError for words that are none and for a `head` that is not in the record.
    """
    where = _words(record) if record is not None else None
    held = require_head(head, "--head") if head is not None else None
    if held is not None and where is None:
        raise CheckError("anchor: --head goes with --record, which says where that head is held")
    opened = open_project(project, state_dir)
    with reading_record(opened) as session:  # refuse without making a state directory
        newest = AuditedRecord(opened, session).head
    if where is None:
        return Anchor(newest)
    with opened.writing() as session:
        history = session.history
        known = [commit.oid for commit in history.commits()] if history else []
        held = held or (known[0] if known else newest)
        if held not in known:
            raise CheckError(
                f"anchor: {held} is no step of this record; the newest is {known[0] if known else newest}"
            )
        session.record("anchor", at=now(), facts={"head": held, "where": where})
    return Anchor(held, where)


def _words(text: str) -> str:
    words = text.strip()
    if not words or len(words) > _WHERE or not words.isprintable():
        raise CheckError(
            f"anchor: --record {text[:60]!r}: say in one line of at most {_WHERE} characters where somebody else "
            "holds the head, such as 'the tag autoscirub-0918fcba592e on origin'"
        )
    return words
