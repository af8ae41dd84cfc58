"""Finds the JSON objects in a text by matching brackets, so that prose and code fences around them do no harm.

Work is bounded: after a broken start the search goes on one character later, and a budget keeps it from growing with
the square of the length.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_REPLY = 1_000_000
"""Characters of a reply that are read. A verdict has some thousands."""
_MAX_OBJECTS = 2_000

_SPEAKS_OF_A_VERDICT = re.compile(
    r"(?:\b|_)(?:satisfied|criterion_id|supports_hypothesis|criteria)\\*[\"'”]?\s*[:=]", re.IGNORECASE
)
_BEGINS = re.compile(r'\{\s*"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"\s*:')
"""An object with a key: in code and in prose, most brackets begin none."""
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|[\[\]{}]', re.DOTALL)


class UnreadableObject(ValueError):  # noqa: N818 - it becomes every asked id's fault
    """Raised for a reply of which nothing can be used; the message says why."""


def too_long(length: int) -> str:
    """The fault of a reply that is over the bound."""
    return f"the reply has {length:,} characters, more than the {MAX_REPLY:,} that are read"


def objects_of(text: str) -> tuple[list[dict[str, Any]], str]:
    """The JSON objects of a reply, and the prose around them.

    Raises UnreadableObject where one that speaks of a verdict is broken, and for a reply over the bound.
    """
    if len(text) > MAX_REPLY:
        raise UnreadableObject(too_long(len(text)))
    objects, prose, at = [], [], 0
    for value, (start, end), fault in _scan(text):
        if fault:
            raise UnreadableObject(fault)
        if value is not None:
            objects.append(value)
            prose.append(text[at:start])
            at = end
    return objects, "\n".join([*prose, text[at:]])


def objects_within(text: str, words: Iterable[str]) -> tuple[list[dict[str, Any]], bool]:
    """The whole JSON objects of a file that hold one of `words`, and whether all of it could be searched.

    Unlike in a reply, a broken object is no fault here: the search goes on inside it.
    """
    found: list[dict[str, Any]] = []
    at, budget, markers = 0, 8 * len(text) + 100_000, (*words, "\\u")
    while (begins := _BEGINS.search(text, at)) is not None:
        start = begins.start()
        end = end_of(text, start)
        budget -= (len(text) if end is None else end) - start
        if budget < 0:
            return found, False
        at = start + 1
        if end is not None:
            body = text[start:end]
            if not any(word in body for word in markers):
                at = end
                continue
            with contextlib.suppress(JsonFault):
                found.append(_parsed(body))
                at = end
    return found, True


def _parsed(body: str) -> Any:
    # A half of a surrogate pair becomes an escape, which the parser refuses inside a string.
    return parse(body.encode(errors="backslashreplace"), allow_nonfinite=True)


def _scan(text: str) -> Iterator[tuple[dict[str, Any] | None, tuple[int, int], str]]:
    """Each object with its place, and (None, place, why) for each broken one that speaks of a verdict."""
    at, budget, left = text.find("{"), 4 * len(text) + 100_000, _MAX_OBJECTS
    while at != -1:
        end = end_of(text, at)
        stop = len(text) if end is None else end
        budget -= stop - at
        left -= 1
        if budget < 0 or left < 0:
            fault = "the reply holds more brackets than are read; expected one JSON object"
            yield None, (at, stop), fault
            return
        body = text[at:stop]
        problem = "is cut off: the reply ends before it does"
        if end is not None:
            try:
                yield _parsed(body), (at, end), ""
                at = text.find("{", end)
                continue
            except JsonFault as fault:
                problem = f"cannot be read: {fault.problem}"
        begins_as_json = re.match(r'\{\s*"', body) is not None
        if (end is not None or begins_as_json) and _SPEAKS_OF_A_VERDICT.search(body):
            line = text.count("\n", 0, at) + 1
            yield None, (at, stop), f"the JSON object at line {line} of the reply {problem}"
        if end is None and begins_as_json:
            return  # nothing that follows speaks of a verdict, or it was reported
        at = text.find("{", at + 1 if end is None else end)


def end_of(text: str, start: int) -> int | None:
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
