"""Looks up a judge's evidence in the workspace: the file, the place in it, and exactly what is cited there."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from autoscirub.checks.numbers import Source, SourceIndex, find_numbers, match
from autoscirub.judging.injection import addresses
from autoscirub.judging.verdicts.consistency import limits
from autoscirub.judging.verdicts.visible_files import flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoscirub.judging.verdicts.visible_files import VisibleFiles
    from autoscirub.models import CitedEvidence

_LISTED = 8
_LONG_ENOUGH = (4, 20)
"""A quotation has at least so many words, or characters; or it is a whole line or sentence."""
_CELL = re.compile(r"\s*row\s+(?P<row>.+?)\s*[,;]\s*col(?:umn)?\s+(?P<column>.+?)\s*", re.IGNORECASE)
_LINES = re.compile(r"\s*(?:lines?\s+)?([0-9]{1,9})(?:\s*[-–]\s*([0-9]{1,9}))?\s*")
_KEY = re.compile(r"""\.?([^.\[\]"']+)|\[\s*(-?[0-9]{1,9})\s*\]|\[\s*(?:"([^"]*)"|'([^']*)')\s*\]""")
_ROWS = 200_000
_NOTHING = object()


class Lookup(NamedTuple):
    """What came of looking up one entry. Without a fault it resolves."""

    fault: str = ""
    sentence: str = ""
    """Of a quotation: the whole sentences that it was taken from."""
    cut: str = ""
    """Why those sentences may say less than the quotation alone."""
    remark: str = ""


def look_up(files: VisibleFiles, entry: CitedEvidence) -> Lookup:
    """Whether `entry` is what its file says. Raises nothing, whatever it cites."""
    path = entry.path.strip().removeprefix("./")
    if path not in files.paths:
        there = ", ".join(files.paths[:_LISTED]) + (", …" if len(files.paths) > _LISTED else "")
        return Lookup(
            f"{path or 'no path'} is not one of the files that were shown; those are {there or 'none'}"
        )
    text = files.text(path)
    if text.fault or text.binary:
        return Lookup(f"{path} {text.fault or 'is no text, so nothing can be looked up in it'}")
    kind, where = entry.at.kind, entry.at.where.strip()
    if kind == "key":
        return _key(files, path, where, entry.value)
    if kind == "cell":
        return _cell(text.text, path, where, entry.value)
    quotation = entry.value if isinstance(entry.value, str) else where if kind == "quote" else ""
    if not quotation.strip():
        return Lookup(f"{path}: a {kind} needs the words that are there, as its value")
    if kind == "page":
        return Lookup(f"{path}: pages cannot be looked up in it; cite a line with its words")
    found = _quotation(files, path, quotation)
    return found if found.fault or kind == "quote" else _line(text.text, path, where, found)


def _key(files: VisibleFiles, path: str, where: str, value: Any) -> Lookup:
    root = files.json(path)
    if not isinstance(root, dict | list):
        return Lookup(f"{path} holds no JSON object, so it has no keys")
    found = next(
        (
            node
            for name in (where, where.removeprefix("results"))
            if (node := _at(root, name)) is not _NOTHING
        ),
        _NOTHING,
    )
    if found is _NOTHING:
        keys = [str(key)[:60] for key in root][:_LISTED] if isinstance(root, dict) else []
        return Lookup(f"{path} has no key {where!r}; it has {', '.join(keys) or 'none'}")
    if value is None and found is not None:
        return Lookup(f"{path}: {where} needs the value that is there")
    return (
        Lookup()
        if same_value(found, value)
        else Lookup(f"{path}: {where} is {_brief(found)}, not {_brief(value)}")
    )


def _at(root: Any, where: str) -> Any:
    """The value at a path such as `interval.low` or `seeds[2]`, or at that whole name; else `_NOTHING`."""
    if isinstance(root, dict) and where in root:
        return root[where]
    parts, at = [], 0
    while at < len(where):
        part = _KEY.match(where, at)
        if part is None:
            return _NOTHING
        name, index, double, single = part.groups()
        parts.append(
            int(index) if index is not None else next(x for x in (name, double, single) if x).strip()
        )
        at = part.end()
    node = root
    for step in parts:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return _NOTHING
    return node if parts else _NOTHING


def same_value(actual: Any, cited: Any) -> bool:
    """Whether a cited value is the one in the file, by the rounding of a report's numbers."""
    text = cited.strip() if isinstance(cited, str) else cited
    if isinstance(actual, bool) or actual is None:
        word = text.casefold() if isinstance(text, str) else text
        return (
            word in ({True: ("true", "yes"), False: ("false", "no"), None: ("null", "none")}[actual])
            or word is actual
        )
    if isinstance(actual, str):
        number = _number(actual)
        if number is None or not _numerals(cited):
            return isinstance(text, str) and bool(flat(text)) and flat(text.strip("\"'")) == flat(actual)
        actual = number
    if isinstance(actual, list):
        wanted = _numerals(cited)
        return len(wanted) == len(actual) > 0 and all(
            same_value(a, w) for a, w in zip(actual, wanted, strict=True)
        )
    if not isinstance(actual, int | float):
        return False
    if isinstance(actual, float) and not math.isfinite(actual):
        return isinstance(text, str) and text.casefold().lstrip("+") in {str(actual), f"{actual}inity"}
    wanted = _numerals(cited)
    return bool(wanted) and _rounds_to(actual, wanted[0])


def _numerals(cited: Any) -> list[str]:
    if isinstance(cited, bool) or cited is None:
        return []
    text = cited if isinstance(cited, str) else repr(cited)
    return [number.text for number in find_numbers(text[:2_000], "text") if number.interpretations]


def _rounds_to(actual: float, numeral: str) -> bool:
    index = SourceIndex([Source("value", actual)])
    return any(match(number, index).count for number in find_numbers(numeral, "text")[:1])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _cell(text: str, path: str, where: str, value: Any) -> Lookup:
    place = _CELL.fullmatch(where)
    if place is None:
        return Lookup(f"{path}: {where!r} is no cell; expected `row LABEL, column NAME`, or numbers from 1")
    if value is None:
        return Lookup(f"{path}: {where} needs the value that is there")
    cells: list[str] = []
    for header, rows in _tables(text, path):
        column = _column(header, place["column"])
        if column is not None:
            cells += [row[column] for row in _rows(rows, place["row"]) if column < len(row)]
    if not cells:
        return Lookup(f"{path} has no table with {where}")
    if any(same_value(cell.strip(), value) for cell in cells):
        return Lookup()
    return Lookup(f"{path}: {where} is {_brief(cells[0])}, not {_brief(value)}")


def _tables(text: str, path: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Each table of a file, as its header and its rows: a whole CSV file, and the pipe tables of any other text."""
    if path.casefold().endswith((".csv", ".tsv")):
        first = text.partition("\n")[0]
        separator = max(",;\t|", key=first.count)
        rows = [
            row
            for _, row in zip(range(_ROWS), csv.reader(io.StringIO(text), delimiter=separator), strict=False)
            if row
        ]
        if rows:
            yield rows[0], rows[1:]
        return
    block: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if "|" in line:
            block.append([cell.strip(" *_`") for cell in line.strip().strip("|").split("|")])
        elif block:
            yield block[0], [row for row in block[1:] if not all(set(cell) <= set("-: ") for cell in row)]
            block = []


def _column(header: Sequence[str], name: str) -> int | None:
    wanted = name.strip("\"'` ").casefold()
    names = [cell.strip().strip("\"'").casefold() for cell in header]
    if wanted in names:
        return names.index(wanted)
    return int(wanted) - 1 if wanted.isdecimal() and 1 <= int(wanted) <= len(names) else None


def _rows(rows: list[list[str]], label: str) -> list[list[str]]:
    wanted = label.strip("\"'` ").casefold()
    named = [row for row in rows if any(cell.strip().casefold() == wanted for cell in row)]
    if named or not wanted.isdecimal() or not 1 <= int(wanted) <= len(rows):
        return named
    return [rows[int(wanted) - 1]]


def _quotation(files: VisibleFiles, path: str, quotation: str) -> Lookup:
    found = files.sentence(path, quotation)
    if found is None:
        return Lookup(f"{path} does not say {_brief(quotation)}")
    sentence, rest = found
    words, characters = _LONG_ENOUGH
    quoted = flat(quotation)
    if rest and len(quoted.split()) < words and len(quoted) < characters:
        return Lookup(f"{path}: {_brief(quotation)} is too short to be looked up; quote the whole sentence")
    if addresses(sentence):
        return Lookup(f"{path}: {_brief(quotation)} addresses the judge, which is no evidence")
    cut = f"{path} says in full: {_brief(sentence, 300)}" if limits(rest) else ""
    return Lookup(sentence=sentence, cut=cut)


def _line(text: str, path: str, where: str, found: Lookup) -> Lookup:
    place = _LINES.fullmatch(where)
    if place is None:
        return Lookup(f"{path}: {where!r} is no line; expected a number, or a range such as 12-14")
    lines = text.splitlines()
    first, last = int(place[1]), int(place[2] or place[1])
    if not 1 <= first <= last <= len(lines):
        return Lookup(f"{path} has {len(lines):,} lines, so there is no line {where}")
    near = flat(" ".join(lines[max(0, first - 2) : last + 1]))
    if not any(word in near for word in flat(found.sentence).split() if len(word) > 3):
        return found._replace(remark=f"{path}: the words that are cited are not on line {where}")
    return found


def _brief(value: Any, most: int = 120) -> str:
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    text = (
        f'"{" ".join(value.split())}"' if isinstance(value, str) else "null" if value is None else str(value)
    )
    return text if len(text) <= most else f"{text[: most - 1]}…"
