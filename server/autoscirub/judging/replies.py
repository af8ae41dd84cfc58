"""Reading a judge's reply: prose, fences and echoes survived, and nothing guessed.

A reply is one verdict or `{"criteria": [verdicts]}`. It is searched for JSON objects, from left to right, each as
long as its brackets say, strings and all that is in them included. An object that cannot be read and speaks of a
verdict makes the whole reply unreadable: what it would have said may contradict the rest, and a cut-off reply is
no verdict. One id with two entries is a fault of that id, even where both say the same: an example that the judge
repeats, or a verdict that it quotes from a file, looks exactly like its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.errors import JudgeError
from autoscirub.judging.verdicts import Entry, entry_of
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autoscirub.models.judging import AskKind, CriterionVerdict, HypothesisVerdict, JudgeReply

__all__ = ["HYPOTHESIS", "MAX_REPLY", "Reading", "Unused", "read_reply", "repair_request", "verdict_objects"]

HYPOTHESIS = "hypothesis"
"""The subject of the question on the hypothesis, which has no other id."""
MAX_REPLY = 1_000_000
"""Characters of a reply that are read. A verdict has some thousands."""
_MAX_OBJECTS = 2_000
_MAX_UNUSED = 200
_MAX_ENTRY = 2_000
_MAX_SHOWN = 300

_SPEAKS_OF_A_VERDICT = re.compile(
    r"(?:\b|_)(?:satisfied|criterion_id|supports_hypothesis|criteria)\\*[\"'”]?\s*[:=]", re.IGNORECASE
)
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True)
class Unused:
    """A part of a reply that was read and not used, and why."""

    why: str
    entry: str
    """As JSON, its beginning."""


@dataclass(frozen=True)
class Reading:
    """What a reply says on each id that was asked: a verdict or a fault, never both and never neither."""

    verdicts: dict[str, CriterionVerdict | HypothesisVerdict] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """What was left out of a verdict, or is odd about it, by id."""
    unused: list[Unused] = field(default_factory=list)
    raw: str = ""

    def verdict(self, subject: str) -> CriterionVerdict | HypothesisVerdict:
        """The verdict on what was asked. Raises JudgeError, with the raw reply, where there is none."""
        if (found := self.verdicts.get(subject)) is not None:
            return found
        raise JudgeError(
            self.faults.get(subject, f"{subject!r} was not asked, so the reply was not searched for it"),
            self.raw,
        )


class _Unreadable(ValueError):  # noqa: N818 - it becomes every asked id's fault
    pass


def read_reply(reply: JudgeReply | str, asked: Sequence[str], kind: AskKind) -> Reading:
    """What `reply` says on each id in `asked` (on the hypothesis: `[HYPOTHESIS]`). Raises nothing."""
    text = reply if isinstance(reply, str) else reply.text
    structured = None if isinstance(reply, str) else reply.structured
    raw = text[:MAX_REPLY]
    try:
        objects = _from_structured(structured) if structured is not None else []
        # Structured output that says nothing of what was asked is no answer; the text may be.
        if not any(_entries(value, kind) for value in objects):
            objects = list(_objects(text))
    except _Unreadable as fault:
        return Reading(faults=dict.fromkeys(asked, str(fault)), raw=raw)
    return _matched(objects, asked, kind, raw)


def repair_request(faults: Mapping[str, str]) -> str:
    """The one message by which a judge is asked to send its verdict again, in a shape that can be read."""
    listed = "\n".join(
        f"- {json.dumps(subject, ensure_ascii=False)}: {fault}" for subject, fault in faults.items()
    )
    return (
        f"Your reply could not be used:\n{listed}\n"
        "Send the verdict again as one JSON object of the shape that was described, complete, with each id once, and "
        "nothing before or after it: no example, no quoted verdict, no code fence. Only its form was at fault; do not "
        "change what you found for the sake of this message."
    )


def verdict_objects(text: str, kind: AskKind) -> list[dict[str, Any]]:
    """Every verdict that stands in any text, such as a judged file. What cannot be read is passed over."""
    found: list[dict[str, Any]] = []
    for value, _ in _scan(text[:MAX_REPLY]):
        if value is not None:
            found += [entry for entry in _entries(value, kind) if isinstance(entry, dict)]
    return found


def _matched(objects: list[dict[str, Any]], asked: Sequence[str], kind: AskKind, raw: str) -> Reading:
    entries: dict[str, list[Entry]] = {subject: [] for subject in asked}
    unused: list[tuple[str, Any]] = []
    others: list[str] = []
    for value in objects:
        found = _entries(value, kind)
        if not found:
            unused.append(("is no verdict", value))
        for entry in found:
            if not isinstance(entry, dict):
                unused.append(("is no object", entry))
                continue
            subject = HYPOTHESIS if kind == "hypothesis" else entry.get("criterion_id")
            if isinstance(subject, str) and subject in entries:
                entries[subject].append(entry_of(entry, subject, kind))
            elif "criterion_id" in entry:
                others.append(_short(subject))
                unused.append((f"{others[-1]} was not asked", entry))
            else:
                unused.append(("has no criterion_id", entry))
    shown = [Unused(why, _json(entry)[:_MAX_ENTRY]) for why, entry in unused[:_MAX_UNUSED]]
    reading = Reading(unused=shown, raw=raw)
    for subject, of_it in entries.items():
        if len(of_it) == 1 and of_it[0].fault is None and of_it[0].verdict is not None:
            reading.verdicts[subject] = of_it[0].verdict
            if of_it[0].notes:
                reading.notes[subject] = of_it[0].notes
        else:
            reading.faults[subject] = _fault(of_it, others, bool(objects), kind)
    return reading


def _fault(entries: list[Entry], others: list[str], any_object: bool, kind: AskKind) -> str:
    flag = "satisfied" if kind == "criterion" else "supports_hypothesis"
    if len(entries) == 1:
        return str(entries[0].fault)
    if entries:
        said = sorted({json.dumps(entry.flag) for entry in entries})
        differ = f"that differ ({flag} {' and '.join(said)})" if len(said) > 1 else "for it"
        return f"the reply holds {len(entries):,} verdicts {differ}; expected one, so none is used"
    if not any_object:
        return "the reply holds no JSON object, so no verdict; expected one object with the verdict"
    there = f"; it has {', '.join(others[:8])}{', …' if len(others) > 8 else ''}" if others else ""
    wanted = "its exact criterion_id" if kind == "criterion" else "supports_hypothesis"
    return f"the reply holds no verdict with {wanted}{there}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _entries(value: dict[str, Any], kind: AskKind) -> list[Any]:
    """The verdicts of one object: those of its list, and itself where it looks like one too."""
    found: list[Any] = []
    if kind == "criterion" and isinstance(value.get("criteria"), list):
        found += value["criteria"]
        own = "criterion_id" in value
    else:
        own = any(key in value for key in ("criterion_id", "satisfied"))
    if kind == "hypothesis":
        own = "supports_hypothesis" in value
    return [*found, value] if own else found


def _from_structured(value: Any) -> list[dict[str, Any]]:
    """Structured output through the same strict reader as text: bounded, and of plain JSON values alone."""
    if isinstance(value, str):
        return list(_objects(value))
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _Unreadable(f"the structured output is no plain JSON: {str(error)[:_MAX_SHOWN]}") from None
    if len(text) > MAX_REPLY:
        raise _Unreadable(_too_long(len(text)))
    try:
        plain = parse(text.encode(), allow_nonfinite=True)
    except JsonFault as fault:
        raise _Unreadable(f"the structured output cannot be read: {fault}") from None
    return [plain] if isinstance(plain, dict) else []


def _too_long(length: int) -> str:
    return f"the reply has {length:,} characters, more than the {MAX_REPLY:,} that are read"


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a reply. Raises _Unreadable where one that speaks of a verdict is broken."""
    if len(text) > MAX_REPLY:
        raise _Unreadable(_too_long(len(text)))
    for value, fault in _scan(text):
        if value is not None:
            yield value
        if fault:
            raise _Unreadable(fault)


def _scan(text: str) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """(object, "") for each object, and (None, why) for each broken one that speaks of a verdict."""
    # Broken starts are tried anew one character on; the budget keeps that from growing with the square.
    at, budget, left = text.find("{"), 4 * len(text) + 100_000, _MAX_OBJECTS
    while at != -1:
        end = _end(text, at)
        stop = len(text) if end is None else end
        budget -= stop - at
        left -= 1
        if budget < 0 or left < 0:
            yield None, "the reply holds more brackets than are read; expected one JSON object"
            return
        body = text[at:stop]
        problem = "is cut off: the reply ends before it does"
        if end is not None:
            try:
                # A half of a surrogate pair becomes an escape, which the parser refuses inside a string.
                yield parse(body.encode(errors="backslashreplace"), allow_nonfinite=True), ""
                at = text.find("{", end)
                continue
            except JsonFault as fault:
                problem = f"cannot be read: {fault.problem}"
        begins_as_json = re.match(r'\{\s*"', body) is not None
        if (end is not None or begins_as_json) and _SPEAKS_OF_A_VERDICT.search(body):
            line = text.count("\n", 0, at) + 1
            yield None, f"the JSON object at line {line} of the reply {problem}"
        if end is None and begins_as_json:
            return  # nothing that follows speaks of a verdict, or it was told
        at = text.find("{", at + 1 if end is None else end)


def _end(text: str, start: int) -> int | None:
    """Where the object that begins at `start` ends, by its brackets; None when it does not."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        first = token[0][0]
        if first == '"':
            if not token["end"]:
                return None
        elif first in "[{":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return token.end()
    return None
