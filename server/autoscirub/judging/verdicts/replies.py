"""Reads the verdicts out of a judge's reply, whatever prose or code fences surround them, without guessing.

A reply is one verdict or `{"criteria": [verdicts]}`. It is searched for JSON objects, from left to right, each as
long as its brackets say, strings and all that is in them included. An object that cannot be read and speaks of a
verdict makes the whole reply unreadable: what it would have said may contradict the rest, and a cut-off reply is
not a verdict. One id with two entries is a fault of that id, even where both say the same: an example that the judge
repeats, or a verdict that it quotes from a file, looks exactly like its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.errors import JudgeError
from autoscirub.judging.verdicts.entries import FLAGS, ReplyEntry, entry_of, flag_of
from autoscirub.judging.verdicts.json_objects import (
    MAX_REPLY,
    UnreadableObject,
    objects_of,
    objects_within,
    too_long,
)
from autoscirub.judging.verdicts.thinking import without_thinking
from autoscirub.judging.verdicts.visible_files import texts_in
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autoscirub.models import AskKind, JudgeReply

HYPOTHESIS_SUBJECT = "hypothesis"
"""The subject of the question on the hypothesis, which has no other id."""
_INSIDE = "the reply's verdict stands inside another object; expected it at the top"
_NAMELESS = (
    "the reply holds a verdict without a criterion_id, which may be meant for any; expected one verdict for each id, "
    "and nothing else that is satisfied or not"
)
_MAX_ERROR_CHARS = 300
_FRAME = re.compile(
    r"(?:`{3,}|~{3,})[\w-]*|</?(?:answer|output|verdict|json|result|response|final|final_answer)>"
    r"|<\|(?:start|end|return|message)\|>(?:assistant)?|<\|channel\|>final|^\s*json\b",
    re.IGNORECASE,
)
"""What stands around an object and says nothing: fences, tags, the marks of a chat."""
_NOTHING = re.compile(r"[\s*_#\x00-\x1f\u200b-\u200f\ufeff-]*")


@dataclass(frozen=True)
class ParsedReply:
    """What a reply says on each id that was asked: an entry or a fault, never both and never neither."""

    entries: dict[str, ReplyEntry] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    prose: str = ""
    """What stands around the objects, code fences and closed thinking aside."""
    raw: str = ""

    def entry(self, subject: str) -> ReplyEntry:
        """The entry on what was asked. Raises JudgeError, with the raw reply, where there is none."""
        if (found := self.entries.get(subject)) is not None:
            return found
        raise JudgeError(
            self.faults.get(subject, f"{subject!r} was not asked, so the reply was not searched for it"),
            self.raw,
        )


def read_reply(reply: JudgeReply | str, asked: Sequence[str], kind: AskKind) -> ParsedReply:
    """What `reply` says on each id in `asked` (on the hypothesis: `[HYPOTHESIS_SUBJECT]`). Raises nothing."""
    raw = (reply if isinstance(reply, str) else reply.text)[:MAX_REPLY]
    try:
        objects, prose = _objects(reply, kind)
    except UnreadableObject as fault:
        return ParsedReply(faults=dict.fromkeys(asked, str(fault)), raw=raw)
    return _matched(objects, asked, kind, raw, prose)


def read_answer(reply: JudgeReply, subject: str, kind: AskKind) -> tuple[dict[str, Any], str, str]:
    """The fields that a judge sends in answer to the question back, the prose around them, and why there are none.

    It is one object, and may leave out what it does not correct; another id than `subject` is not an answer.
    """
    try:
        objects, prose = _objects(reply, kind, "confirmed")
    except UnreadableObject as fault:
        return {}, "", str(fault)
    if len(objects) != 1:
        return {}, prose, f"the answer holds {len(objects):,} JSON objects; expected one"
    found = _only(objects[0], objects[0])
    if found.get("criterion_id", subject) != subject:
        return {}, prose, f"the answer is on {_short(found['criterion_id'])}; expected {_short(subject)}"
    if any(key in inner for inner in _elsewhere(found, [found]) for key in ("confirmed", FLAGS[kind])):
        return {}, prose, "the answer holds another one inside; expected one object"
    return found, prose, ""


def _only(value: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with what stands around it in a list of one, which may say otherwise."""
    entries = value.get("criteria")
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        return entry
    return {**{key: each for key, each in value.items() if key != "criteria"}, **entries[0]}


def _objects(reply: JudgeReply | str, kind: AskKind, *words: str) -> tuple[list[dict[str, Any]], str]:
    """The objects of a reply, and the prose around them. Raises UnreadableObject."""
    text = reply if isinstance(reply, str) else reply.text
    structured = None if isinstance(reply, str) else reply.structured
    if structured is not None:
        objects = _from_structured(structured)
        # Structured output that says nothing of what was asked is no answer; the text may be.
        if any(_speaks(value, kind) or any(word in value for word in words) for value in objects):
            return objects, ""
    objects, prose = objects_of(without_thinking(text))
    prose = _FRAME.sub(" ", prose)
    return objects, "" if _NOTHING.fullmatch(prose) else prose.strip()


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


def verdict_objects(text: str, subject: str, kind: AskKind) -> tuple[list[dict[str, Any]], bool]:
    """Every verdict on `subject` in a judged file, and whether all of it could be searched.

    At any depth, and also in strings inside JSON, as in a notebook. Broken objects are skipped.
    """
    found: list[dict[str, Any]] = []
    waiting, whole = [text], True
    while waiting:
        objects, searched = objects_within(waiting.pop(), FLAGS.values())
        whole = whole and searched
        for value in objects:
            found += [entry for entry in _elsewhere(value, []) if _subject(entry, kind) == subject]
            # Each is shorter than what it stood in, by its quotes and escapes.
            waiting += [inner for inner in texts_in(value) if "{" in inner]
    return found, whole


def _matched(
    objects: list[dict[str, Any]], asked: Sequence[str], kind: AskKind, raw: str, prose: str
) -> ParsedReply:
    entries: dict[str, list[ReplyEntry]] = {subject: [] for subject in asked}
    others: list[str] = []
    nameless = False
    for value in objects:
        found = _entries(value, kind)
        # Not used, but not ignored either: it may contradict the verdict next to it or around it.
        for inner in _elsewhere(value, found):
            subject = _subject(inner, kind)
            if subject in entries:
                entries[subject].append(ReplyEntry(flag_of(inner.get(FLAGS[kind])), fault=_INSIDE))
            nameless = nameless or (subject is None and FLAGS[kind] in inner)
        for entry in found:
            if not isinstance(entry, dict):
                continue
            subject = _subject(entry, kind)
            if subject in entries:
                entries[subject].append(entry_of(_only(value, entry), subject, kind))
            elif subject is not None:
                others.append(_short(subject))
            else:
                nameless = nameless or FLAGS[kind] in entry
    reading = ParsedReply(raw=raw, prose=prose)
    for subject, of_it in entries.items():
        fault = _fault(of_it, others, bool(objects), kind)
        if nameless and (fault is None or not of_it):
            fault = _NAMELESS
        if fault is not None:
            reading.faults[subject] = fault
        else:
            reading.entries[subject] = of_it[0]
    return reading


def _speaks(value: dict[str, Any], kind: AskKind) -> bool:
    """Whether an object holds a verdict, at whatever depth."""
    return any(FLAGS[kind] in each or _subject(each, kind) is not None for each in _elsewhere(value, []))


def _subject(entry: dict[str, Any], kind: AskKind) -> str | None:
    """The subject that an object names; None where it names none."""
    if kind == "hypothesis":
        return HYPOTHESIS_SUBJECT if FLAGS[kind] in entry or _looks_like_reasons(entry) else None
    named = entry.get("criterion_id")
    return named if isinstance(named, str) else None


def _looks_like_reasons(entry: dict[str, Any]) -> bool:
    return "reasoning" in entry and "concerns" in entry


def _elsewhere(value: dict[str, Any], entries: list[Any]) -> Iterator[dict[str, Any]]:
    """Every object in `value` that is not one of its `entries`, at any depth, `value` itself included."""
    known = {id(entry) for entry in entries}
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if id(item) not in known:
                yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _fault(entries: list[ReplyEntry], others: list[str], any_object: bool, kind: AskKind) -> str | None:
    """Why one id has no verdict; None where it has one."""
    if len(entries) == 1:
        return entries[0].fault
    if entries:
        flags = sorted({json.dumps(entry.flag) for entry in entries})
        differ = f"that differ ({FLAGS[kind]} {' and '.join(flags)})" if len(flags) > 1 else "for it"
        return f"the reply holds {len(entries):,} verdicts {differ}; expected one, so none is used"
    if not any_object:
        return "the reply holds no JSON object, so no verdict; expected one object with the verdict"
    there = f"; it has {', '.join(others[:8])}{', …' if len(others) > 8 else ''}" if others else ""
    wanted = "its exact criterion_id" if kind == "criterion" else "supports_hypothesis"
    return f"the reply holds no verdict with {wanted}{there}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _entries(value: dict[str, Any], kind: AskKind) -> list[Any]:
    """The verdicts of one object: those of its list, and itself where it looks like one too."""
    if kind == "hypothesis":
        return [value] if _subject(value, kind) else []
    if isinstance(value.get("criteria"), list):
        return [*value["criteria"], *([value] if "criterion_id" in value else [])]
    return [value] if "criterion_id" in value or FLAGS[kind] in value else []


def _from_structured(value: Any) -> list[dict[str, Any]]:
    """Structured output through the same strict reader as text: bounded, and of plain JSON values alone."""
    if isinstance(value, str):
        return objects_of(value)[0]
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableObject(
            f"the structured output is no plain JSON: {str(error)[:_MAX_ERROR_CHARS]}"
        ) from None
    if len(text) > MAX_REPLY:
        raise UnreadableObject(too_long(len(text)))
    try:
        plain = parse(text.encode(), allow_nonfinite=True)
    except JsonFault as fault:
        raise UnreadableObject(f"the structured output cannot be read: {fault}") from None
    return [plain] if isinstance(plain, dict) else []
