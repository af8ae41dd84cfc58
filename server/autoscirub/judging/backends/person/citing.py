"""Reads the evidence that a person types: a place in a file, and what is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from autoscirub.models import CitedEvidence, CitedPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import PlaceKind

FORMS = 'line 4 · "words that are there" · key interval.low = 0.47 · row b, column rmse = 0.29'
"""How a place is written."""
_LINE = re.compile(
    r"lines?\s+(?P<first>\d{1,9})(?:\s*[-–]\s*(?P<last>\d{1,9}))?\s*[:,]?\s*(?P<words>.*)", re.IGNORECASE
)
_CELL = re.compile(
    r"(?P<where>row\s+.+?\s*[,;]\s*col(?:umn)?\s+[^=:]+?)\s*[=:]\s*(?P<value>\S.*)", re.IGNORECASE
)
_KEY = re.compile(r"key\s+(?P<where>[^=]+?)\s*=\s*(?P<value>\S.*)", re.IGNORECASE)
_BARE_KEY = re.compile(r"(?P<where>[^\s=\"'“„«]+)\s*=\s*(?P<value>\S.*)")
_BEGINS = re.compile(r"(?:lines?\s+\d|row\s.*\bcol|key\s.*=)", re.IGNORECASE)
_QUOTES = "\"'“”„«»‘’"


class TypedPath(NamedTuple):
    """A file of the list, and what was typed after it."""

    path: str
    rest: str


def typed_path(text: str, paths: Sequence[str]) -> TypedPath | None:
    """The file that `text` begins with: its number in the list, from 1, or its path. None: no such file."""
    text = text.strip()
    for path in sorted(paths, key=len, reverse=True):
        for spelled in (path, f"./{path}", f'"{path}"'):
            if text == spelled or (text.startswith(spelled) and text[len(spelled)] in " \t:,"):
                return TypedPath(path, text[len(spelled) :].strip(" \t:,"))
    number = re.match(r"(\d{1,9})(?:[\s:,.]+(.*))?$", text)
    if number is None or not 1 <= int(number[1]) <= len(paths):
        return None
    return TypedPath(paths[int(number[1]) - 1], (number[2] or "").strip())


def cited_evidence(path: str, text: str, lines: Sequence[str]) -> CitedEvidence | None:
    """The evidence that `text` names in the file `path`, whose `lines` these are. None: no place, or no such line.

    A line is cited with the words that are on it, so that they need not be typed.
    """
    text = text.strip()
    if (place := _LINE.fullmatch(text)) is not None:
        first, last = int(place["first"]), int(place["last"] or place["first"])
        there = " ".join(line.strip() for line in lines[first - 1 : last])
        words = place["words"].strip(_QUOTES) or there
        return (
            None
            if not words
            else _cited(path, "line", str(first) if first == last else f"{first}-{last}", words)
        )
    if (place := _CELL.fullmatch(text)) is not None:
        return _cited(path, "cell", place["where"], place["value"].strip(_QUOTES))
    is_json = path.casefold().endswith((".json", ".ipynb"))
    if (place := _KEY.fullmatch(text) or (_BARE_KEY.fullmatch(text) if is_json else None)) is not None:
        return _cited(path, "key", place["where"], place["value"].strip(_QUOTES))
    words = text.strip(_QUOTES).strip()
    return _cited(path, "quote", "", words) if words and not _BEGINS.match(text) else None


def _cited(path: str, kind: PlaceKind, where: str, value: str) -> CitedEvidence:
    return CitedEvidence(path=path, at=CitedPlace(kind=kind, where=where), value=value)
