"""Finds the cells of a table that a judge's evidence names: of CSV files, and of pipe and LaTeX tables in any text."""

from __future__ import annotations

import csv
import io
import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from autoscirub.judging.verdicts.passages import flat, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CELL = re.compile(r"\s*row\s+(?P<row>.+?)\s*[,;]\s*col(?:umn)?\s+(?P<column>.+?)\s*", re.IGNORECASE)
_ROWS = 200_000


class Cells(NamedTuple):
    """The cells at a place, one for each table that has it; a fault says why there is none."""

    found: list[str]
    fault: str = ""


def cells_at(text: str, path: str, where: str) -> Cells:
    """The cells at `row LABEL, column NAME`, or at numbers from 1, of a file's tables."""
    place = _CELL.fullmatch(where)
    if place is None:
        return Cells([], f"{where!r} is no cell; expected `row LABEL, column NAME`, or numbers from 1")
    found: list[str] = []
    for header, rows in _tables(text, path):
        column = _position(header, place["column"])
        named = _rows(rows, place["row"]) if column is not None else []
        if len(named) > 1:
            return Cells([], f"{where} names {len(named):,} rows; expected the number of one, from 1")
        found += [row[column] for row in named if column is not None and column < len(row)]
    return Cells(found, "" if found else f"there is no table with {where}")


def _tables(text: str, path: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Each table of a file, as its header and its rows."""
    if path.casefold().endswith((".csv", ".tsv")):
        first = text.partition("\n")[0]
        reader = csv.reader(io.StringIO(text), delimiter=max(",;\t|", key=first.count))
        try:
            rows = [row for row in islice(reader, _ROWS) if row]
        except csv.Error:  # what cannot be read as a table has no cells
            return
        if rows:
            yield rows[0], rows[1:]
        return
    block: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if (row := row_of(line)) is not None:
            block.append(row)
        elif block and not line.lstrip().startswith("\\"):  # \midrule and its like end no table
            yield block[0], [row for row in block[1:] if not all(set(cell) <= set("-: ") for cell in row)]
            block = []


def _position(names: Sequence[str], name: str) -> int | None:
    """Which of `names` a name is, or else which number; only where it is no more than one of them."""
    wanted, found = flat(name.strip("\"'")), [flat(each) for each in names]
    if found.count(wanted) == 1:
        return found.index(wanted)
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 9 else 0
    return number - 1 if 1 <= number <= len(names) and wanted not in found else None


def _rows(rows: list[list[str]], label: str) -> list[list[str]]:
    """The rows that a label names: by their first cell, else by number, else by any other cell."""
    wanted = flat(label.strip("\"'"))
    if wanted and (named := [row for row in rows if flat(row[0]) == wanted]):
        return named
    if (at := _position([""] * len(rows), label)) is not None:
        return [rows[at]]
    return [row for row in rows if wanted and any(flat(cell) == wanted for cell in row)]
