"""Turns one JSON entry of a reply into a verdict, and names what in it must be asked about before it can count.

Only JSON `true` is true. JSON `false`, and the word *false* in any case, are false; `null` is the judge's own word
that it cannot tell. Any other flag, and none, is no answer yet. The other fields are read with tolerance: what cannot
be read there can only keep a verdict from counting.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.judging.verdicts.other_fields import others_against
from autoscirub.models import CitedEvidence, CriterionVerdict, HypothesisVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoscirub.models import AskKind

FLAGS: dict[str, str] = {"criterion": "satisfied", "hypothesis": "supports_hypothesis"}
"""The key of the flag, by kind of question."""
_PREVIEW_CHARS = 80
_MOST_ENTRIES = 200

_PAIRS = ('""', "“”", "„“", "„”", "«»", "»«", "‹›", "「」", "『』", "``")
_QUOTED = "|".join(f"{pair[0]}(?P<quote{number}>[^{pair}]+){pair[1]}" for number, pair in enumerate(_PAIRS))
_PLACES = (
    (
        "line",
        re.compile(
            rf"\s*[:,：，]?\s*(?:[^\W\d]+\.?\s*)?(?P<where>\d+(?:\s*[-–]\s*\d+)?)\s*[:,：，]?\s*(?:{_QUOTED})\s*\.?\s*"
        ),
    ),
    ("quote", re.compile(rf"\s*[:,：，]?\s*(?:{_QUOTED})\s*\.?\s*")),
    (
        "cell",
        re.compile(
            r"\s*[:,]\s*(?P<where>row\s+[^,]+,\s*col(?:umn)?\s+[^=:]+?)\s*[=:]\s*(?P<value>\S.*)",
            re.IGNORECASE,
        ),
    ),
    (
        "key",
        re.compile(
            r"(?:\s*[:,：，]\s*|\s+(?=[^\s=:]+\s*[=≈]))"
            r"(?P<where>[^\s=:,\"']+|[\"'][^\"']+[\"'])\s*[=:≈]\s*(?P<value>\S.*)"
        ),
    ),
)
"""How the published form writes evidence after the file's path: with one of these places it is looked up."""


@dataclass
class ReplyEntry:
    """One parsed entry: the verdict in it, and what must be asked about. With a fault it is none."""

    flag: bool | None
    verdict: CriterionVerdict | HypothesisVerdict | None = None
    fault: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    """The entry as it came."""
    faults: list[str] = field(default_factory=list)
    """What must be sent again before the flag can count: a flag of another type, evidence of another shape."""
    questions: list[str] = field(default_factory=list)
    """Which other fields say otherwise than the flag."""


def flag_of(value: Any) -> bool | None:
    """The value of a flag: true, false, or null for everything else."""
    if value is True:
        return True
    if value is False or (isinstance(value, str) and value.strip().casefold() == "false"):
        return False
    return None


def entry_of(entry: dict[str, Any], subject: str, kind: AskKind) -> ReplyEntry:
    """The verdict on `subject` in one entry."""
    name = FLAGS[kind]
    read = ReplyEntry(flag_of(entry.get(name)), fields=entry)
    if name not in entry:
        read.faults.append(f"{name} is absent; expected true, false or null")
    elif read.flag is None and entry[name] is not None:
        read.faults.append(
            f"{name} is {_preview(entry[name])}; expected true, false or null, and no other value"
        )
    for other, value in others_against(entry, name, read.flag):
        read.questions.append(f"{name} is {json.dumps(read.flag)}, and {other} says {_preview(value)}")
    evidence, unread = _evidence(entry.get("evidence"))
    # A *no* passes nothing, so it needs no evidence that can be read.
    read.faults += unread if read.flag is True or kind == "hypothesis" else []
    fields: dict[str, Any] = {
        "reasoning": _words(entry, "reasoning"),
        "confidence": _confidence(entry),
        name: read.flag,
    }
    if kind == "hypothesis":
        fields |= {"evidence": evidence, "concerns": _texts(entry, "concerns")}
        read.verdict = HypothesisVerdict.model_validate(fields)
        return read
    for key in ("evidence_found", "required_actions", "artifact_references"):
        fields[key] = _texts(entry, key)
    fields |= {"criterion_id": subject, "evidence": evidence, "evidence_gap": _words(entry, "evidence_gap")}
    read.verdict = CriterionVerdict.model_validate(fields)
    return read


def with_published(
    verdict: CriterionVerdict | HypothesisVerdict, paths: Iterable[str]
) -> CriterionVerdict | HypothesisVerdict:
    """The verdict with those strings of `evidence_found` as entries that are exactly a path with a place.

    `report.md: "words"`, `report.md:4 "words"`, `results.json: slope = 0.51`, `t.csv, row b, column rmse: 0.29`.
    Any other string stays a remark, which nothing rests on.
    """
    if not isinstance(verdict, CriterionVerdict):
        return verdict
    longest = sorted(paths, key=len, reverse=True)
    found, remarks = list(verdict.evidence), []
    for text in verdict.evidence_found:
        entry = _published(text.strip(), longest)
        found.append(entry) if entry is not None else remarks.append(text)
    return verdict.model_copy(update={"evidence": found, "evidence_found": remarks})


def _published(text: str, paths: list[str]) -> CitedEvidence | None:
    bare = text.removeprefix("./")
    for path in paths:
        for spelled in (path, f"`{path}`", f'"{path}"'):
            if bare.startswith(spelled):
                for kind, pattern in _PLACES:
                    if (place := pattern.fullmatch(bare, len(spelled))) is not None:
                        parts = place.groupdict()
                        quoted = next((text for name, text in parts.items() if name[0] == "q" and text), "")
                        value = quoted or (parts.get("value") or "").strip().rstrip(".")
                        where = (parts.get("where") or "").strip("\"'")
                        at = {"kind": kind, "where": where}
                        return CitedEvidence.model_validate({"path": path, "at": at, "value": value})
                return None
    return None


def _evidence(value: Any) -> tuple[list[CitedEvidence], list[str]]:
    """The entries of `evidence`, and why each other one cannot be read."""
    found: list[CitedEvidence] = []
    faults: list[str] = []
    if value is None:
        return found, faults
    items = value if isinstance(value, list) else [value]
    for number, item in enumerate(items[:_MOST_ENTRIES]):
        if isinstance(item, dict) and isinstance(item.get("value"), list):
            item = {**item, "value": _json(item["value"])}
        try:
            found.append(CitedEvidence.model_validate(item))
        except ValidationError:
            faults.append(
                f"evidence[{number}] is {_preview(item)}; expected path, at (kind, where), value and shows"
            )
    if len(items) > _MOST_ENTRIES:
        faults.append(f"evidence has {len(items):,} entries; expected the few things that it rests on")
    return found, faults


def _texts(entry: dict[str, Any], key: str) -> list[str]:
    """A list of texts without the blank ones; anything else in it as JSON."""
    value = entry.get(key)
    items = value if isinstance(value, list) else [] if value is None else [value]
    texts = [item.strip() if isinstance(item, str) else _json(item) for item in items if item is not None]
    return [text for text in texts if text]


def _words(entry: dict[str, Any], key: str) -> str:
    """A text. Any other value is kept as JSON: a gap that is written as a list or an object is still a gap."""
    value = entry.get(key)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(item.strip() for item in value if item.strip())
    return _json(value)


def _confidence(entry: dict[str, Any]) -> float | None:
    """A number from 0 to 1; None for anything else."""
    value = entry.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 and math.isfinite(value) else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _preview(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= _PREVIEW_CHARS else f"{text[: _PREVIEW_CHARS - 1]}…"
