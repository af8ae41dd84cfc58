"""Finds names in the results, such as the title of a row, whose numbers a report repeats with the name."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from autoscirub.checks.numbers.set_aside import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autoscirub.checks.numbers.extract import Occurrences

_MIN_LETTERS = 3
_MAX_LENGTH = 120


def json_labels(values: Any) -> Iterator[str]:
    """Every key and every text in JSON data that names something and holds a digit."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and _names(value):
            yield value


def csv_labels(data: bytes, name: str) -> Iterator[str]:
    """Every cell of a CSV (or, by its suffix, TSV) file that names something and holds a digit."""
    text = data.decode("utf-8-sig", "replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if name.endswith(".tsv") else ",")
    for row in rows:
        yield from (cell.strip() for cell in row if _names(cell.strip()))


def _names(text: str) -> bool:
    """Whether a text is a name that holds a number. What begins with its number may be a value with its unit."""
    return (
        len(text) <= _MAX_LENGTH
        and text[:1].isalpha()
        and any(c.isdigit() for c in text)
        and sum(c.isalpha() for c in text) >= _MIN_LETTERS
    )


def mark_labels(occurrences: Occurrences, labels: Iterable[str]) -> None:
    """Make the numbers soft that stand in a name at the beginning of a table's cell.

    Only there, and only in the whole name: in running text the same words may state a value. Never what states a
    share or has decimals and a unit: "Share 99.9 percent" may be a name in the results because it is the claim.
    """
    names = frozenset(labels)
    lengths = sorted({len(name) for name in names})
    for number in occurrences.numbers if names else ():
        begins = occurrences.text.rfind("|", max(0, number.start - 2 * _MAX_LENGTH), number.start) + 1
        if not begins or (number.claim and any(sign in number.text for sign in (".", ",", "%", "cent"))):
            continue
        cell = occurrences.text[begins : begins + 2 * _MAX_LENGTH]
        indent = len(cell) - len(cell.lstrip())
        reach = number.end - begins - indent
        for length in lengths:
            end = indent + length
            if length >= reach and cell[indent:end] in names and not cell[end : end + 1].isalnum():
                for part in (number, *number.parts):
                    part.soft = part.soft or LABEL
                break
