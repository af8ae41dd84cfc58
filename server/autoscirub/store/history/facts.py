"""`facts.json`: what a commit of the history states about its step, written strictly and never trusted on reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from autoscirub.errors import HistoryError
from autoscirub.models import SCHEMA_VERSION, strict_json
from autoscirub.store.strictjson import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FACTS_NAME = "facts.json"
FACTS_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True)
class HistoryCommit:
    """One commit as it is listed. One that is not of ours, or cannot be read, has a `problem`."""

    oid: str
    event: str | None = None
    at: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """The facts that the caller of `History.commit` passed."""
    notices: tuple[str, ...] = ()
    """What was found about the history itself when this commit was made, such as a restored backup."""
    version: str | None = None
    """The version of autoscirub that wrote it."""
    history_id: str | None = None
    parents: tuple[str, ...] = ()
    problem: str | None = None


def facts_document(
    event: str, facts: Mapping[str, Any], *, at: str, version: str, history_id: str, notices: Sequence[str]
) -> bytes:
    """The bytes of `facts.json`. Raises HistoryError when they would not be strict JSON."""
    if not event.strip() or not event.isprintable() or len(event) > 200:
        raise HistoryError(
            f"history: the event {event[:60]!r} must be one printable line of at most 200 characters"
        )
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "event": event,
        "at": at,
        "version": version,
        "history_id": history_id,
        "facts": dict(facts),
    }
    if notices:
        document["notices"] = list(notices)
    try:
        data = strict_json(document).encode("utf-8")
        parse(data)  # what cannot be read back strictly is not written
    except (ValueError, TypeError, RecursionError) as error:
        raise HistoryError(f"history: the facts of {event!r} are not strict JSON: {error}") from None
    if len(data) > FACTS_LIMIT:
        raise HistoryError(
            f"history: the facts of {event!r} are {len(data):,} bytes, more than {FACTS_LIMIT:,}"
        )
    return data


def read_facts(oid: str, parents: tuple[str, ...], data: bytes | None) -> HistoryCommit:
    """A commit from its `facts.json`; never raises, a fault becomes the commit's `problem`."""
    if data is None:
        return HistoryCommit(oid, parents=parents, problem=f"no {FACTS_NAME}: not made by autoscirub")
    try:
        value = parse(data)
    except JsonFault as fault:
        return HistoryCommit(oid, parents=parents, problem=f"{FACTS_NAME} {fault}")
    if not isinstance(value, dict):
        return HistoryCommit(oid, parents=parents, problem=f"{FACTS_NAME} is not a JSON object")
    event, at, facts = value.get("event"), value.get("at"), value.get("facts")
    if not isinstance(event, str) or not isinstance(at, str) or not isinstance(facts, dict):
        return HistoryCommit(
            oid,
            parents=parents,
            problem=f"{FACTS_NAME} lacks the text `event` or `at`, or the object `facts`",
        )
    notices = value.get("notices")
    return HistoryCommit(
        oid,
        event=event,
        at=at,
        facts=facts,
        notices=tuple(str(notice) for notice in notices) if isinstance(notices, list) else (),
        version=_text(value.get("version")),
        history_id=_text(value.get("history_id")),
        parents=parents,
    )


def seconds_of(at: str) -> int:
    """The time `at` (ISO 8601 with a zone) in seconds since 1970, UTC. Raises HistoryError."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError as error:
        raise HistoryError(f"history: the time {at!r} is not ISO 8601: {error}") from None
    if moment.tzinfo is None:
        raise HistoryError(f"history: the time {at!r} has no zone; write UTC, such as 2026-01-31T09:00:00Z")
    seconds = int(moment.astimezone(UTC).timestamp())
    if seconds < 0:
        raise HistoryError(f"history: the time {at!r} is before 1970, which git cannot store")
    return seconds


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
