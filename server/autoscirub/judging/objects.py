"""Finding the JSON objects in a text, each as long as its brackets say, strings and all that is in them included.

Work is bounded: broken starts are tried anew one character on, and a budget keeps that from growing with the square.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_REPLY", "Unreadable", "objects_of", "scan", "too_long"]

MAX_REPLY = 1_000_000
"""Characters of a reply that are read. A verdict has some thousands."""
_MAX_OBJECTS = 2_000

_SPEAKS_OF_A_VERDICT = re.compile(
    r"(?:\b|_)(?:satisfied|criterion_id|supports_hypothesis|criteria)\\*[\"'”]?\s*[:=]", re.IGNORECASE
)
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|[\[\]{}]', re.DOTALL)


class Unreadable(ValueError):  # noqa: N818 - it becomes every asked id's fault
    """Raised for a reply of which nothing can be used; the message says why."""


def too_long(length: int) -> str:
    """What is said of a reply over the bound."""
    return f"the reply has {length:,} characters, more than the {MAX_REPLY:,} that are read"


def objects_of(text: str) -> tuple[list[dict[str, Any]], str]:
    """The JSON objects of a reply, and the prose around them.

    Raises Unreadable where one that speaks of a verdict is broken, and for a reply over the bound.
    """
    if len(text) > MAX_REPLY:
        raise Unreadable(too_long(len(text)))
    objects, prose, at = [], [], 0
    for value, (start, end), fault in scan(text):
        if fault:
            raise Unreadable(fault)
        if value is not None:
            objects.append(value)
            prose.append(text[at:start])
            at = end
    return objects, "\n".join([*prose, text[at:]])


def scan(text: str, *, inside: bool = False) -> Iterator[tuple[dict[str, Any] | None, tuple[int, int], str]]:
    """Each object with its place, and (None, place, why) for each broken one that speaks of a verdict.

    With `inside`, broken ones are searched for whole ones: a file is no reply, and may hold a verdict in anything.
    """
    at, budget, left = text.find("{"), 4 * len(text) + 100_000, _MAX_OBJECTS
    while at != -1:
        end = _end(text, at)
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
                # A half of a surrogate pair becomes an escape, which the parser refuses inside a string.
                value = parse(body.encode(errors="backslashreplace"), allow_nonfinite=True)
                yield value, (at, end), ""
                at = text.find("{", end)
                continue
            except JsonFault as fault:
                problem = f"cannot be read: {fault.problem}"
        begins_as_json = re.match(r'\{\s*"', body) is not None
        if (end is not None or begins_as_json) and _SPEAKS_OF_A_VERDICT.search(body):
            line = text.count("\n", 0, at) + 1
            yield None, (at, stop), f"the JSON object at line {line} of the reply {problem}"
        if end is None and begins_as_json and not inside:
            return  # nothing that follows speaks of a verdict, or it was told
        at = text.find("{", at + 1 if end is None or inside else end)


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
