"""One entry of a reply as a verdict: what is there is kept, and nothing odd becomes a pass.

Only JSON `true` is true. JSON `false`, and the word *false* in any case, are false; everything else is null, the
judge's own word that it cannot tell. A wrong type is forgiven where it can only stand in the way of a pass. What
carries a pass, the evidence and its references, must be what it should be.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.models import CriterionVerdict, HypothesisVerdict

if TYPE_CHECKING:
    from autoscirub.models import AskKind

FLAGS: dict[str, str] = {"criterion": "satisfied", "hypothesis": "supports_hypothesis"}
"""The key of the flag, by what is asked."""
_SHOWN = 80


@dataclass
class ReplyEntry:
    """One entry as it was read. With a fault it is no verdict."""

    flag: bool | None
    verdict: CriterionVerdict | HypothesisVerdict | None = None
    fault: str | None = None


def flag_of(value: Any) -> bool | None:
    """What a flag says."""
    if value is True:
        return True
    if value is False or (isinstance(value, str) and value.strip().casefold() == "false"):
        return False
    return None


def entry_of(entry: dict[str, Any], subject: str, kind: AskKind) -> ReplyEntry:
    """The verdict of one entry on `subject`, or why it is none."""
    name = FLAGS[kind]
    read = ReplyEntry(flag_of(entry.get(name)))
    if kind == "hypothesis":
        read.verdict = HypothesisVerdict(
            reasoning=_words(entry, "reasoning"),
            concerns=_texts(entry, "concerns", read, carries=False),
            confidence=_confidence(entry),
            supports_hypothesis=read.flag,
        )
        return read
    # A second flag of another name: an answer that contradicts itself is no pass.
    status = entry.get("status")
    flag = read.flag
    if flag is True and "status" in entry and status not in (True, "satisfied"):
        flag = None
    read.verdict = CriterionVerdict(
        criterion_id=subject,
        reasoning=_words(entry, "reasoning"),
        evidence_found=_texts(entry, "evidence_found", read, carries=True),
        evidence_gap=_words(entry, "evidence_gap"),
        required_actions=_texts(entry, "required_actions", read, carries=False),
        artifact_references=_texts(entry, "artifact_references", read, carries=True),
        confidence=_confidence(entry),
        satisfied=flag,
    )
    if read.fault is not None:
        read.verdict = None
    return read


def _texts(entry: dict[str, Any], key: str, read: ReplyEntry, *, carries: bool) -> list[str]:
    """A list of texts without the blank ones. `carries`: a pass rests on it, so it must be just that."""
    value = entry.get(key)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [item.strip() for item in value if item.strip()]
    if carries and read.flag is True and read.fault is None:
        read.fault = (
            f"it says that it is satisfied, and its {key} is {_shown(value)}, expected a list of strings"
        )
    items = value if isinstance(value, list) else [value]
    texts = [item.strip() if isinstance(item, str) else _json(item) for item in items if item is not None]
    return [text for text in texts if text]


def _words(entry: dict[str, Any], key: str) -> str:
    """A text. Another value is kept as it is written: a gap in a list, or in another shape, stays a gap."""
    value = entry.get(key)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(item.strip() for item in value if item.strip())
    return _json(value)


def _confidence(entry: dict[str, Any]) -> float | None:
    """A number from 0 to 1; anything else is left out."""
    value = entry.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 and math.isfinite(value) else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
