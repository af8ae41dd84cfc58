"""The ledger of judge calls: reading it, what the calls cost, and the answer at each ask."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autoscirub.models import Ask, Asks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.models import CachedVerdict

ASKS = "asks.jsonl"
CALIBRATION = "calibration"
"""The kind of asks that measured a judge on labelled cases: paid like others, and about nothing of the project."""


def read_asks(data: bytes | None) -> list[Ask]:
    """The lines of a ledger. A line of another version is not counted, and stays where it is."""
    found: list[Ask] = []
    for line in (data or b"").splitlines():
        with contextlib.suppress(ValidationError):
            found.append(Ask.model_validate_json(line))
    return found


def unrecorded(ledger: Iterable[Ask], pending: bytes | None) -> list[Ask]:
    """The calls among `pending`, lines of a command that was killed, that are not in the ledger."""
    known: dict[str, int] = {}
    for entry in ledger:
        known[entry.subject] = max(entry.ask, known.get(entry.subject, 0))
    return [ask for ask in read_asks(pending) if ask.ask > known.get(ask.subject, 0)]


def paid(asks: Iterable[Ask]) -> float:
    """US dollars, estimates included; a call of which neither is known counts as nothing."""
    return sum(ask.cost_usd if ask.cost_usd is not None else ask.estimated_usd or 0.0 for ask in asks)


def results_by_ask(asks: Iterable[Ask]) -> dict[int, bool | None]:
    """The panel's answer at each ask on one subject. An ask at which every member failed has none."""
    return {ask.ask: ask.panel for ask in asks if ask.error is None}


def place_of(verdict: CachedVerdict, asks: Sequence[Ask]) -> Asks:
    """Which ask the verdict comes from: the newest with the same key."""
    asked = max((ask.ask for ask in asks), default=1)
    return Asks(ask=max((ask.ask for ask in asks if ask.key == verdict.key), default=asked), of=asked)
