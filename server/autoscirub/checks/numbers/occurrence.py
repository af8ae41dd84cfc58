"""One number as it is printed in a report, with its line and why it may be set aside."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks.numbers.parse import ParsedNumber, digits_as_ascii
from autoscirub.checks.numbers.set_aside import FIRM, LIKE_CODE, MARKS

if TYPE_CHECKING:
    from autoscirub.checks.numbers.prose import Hidden, Region
    from autoscirub.checks.numbers.units import Claim

_CONTEXT = 160
_LONGEST = 80
"""Characters of a number that are listed."""


@dataclass
class Occurrence:
    """One number as it is printed in the report."""

    line: int
    """In the file; in a notebook, in its cell."""
    text: str
    start: int
    end: int
    interpretations: tuple[ParsedNumber, ...] = ()
    set_aside: str | None = None
    """Why it is no claim: it is not looked up."""
    soft: str | None = None
    """Why it may be no claim: it is looked up, and set aside when nothing is like it."""
    claim: Claim = ""
    """Whether a unit, a percent sign or a currency makes it one, in whatever place it stands."""
    bound_to: str | None = None
    compared: str | None = None
    """`<`, `<=`, `>` or `>=` when it is a bound, as in p < 0.001."""
    name: str | None = None
    """What is compared."""
    parts: tuple[Occurrence, ...] = ()
    """The numbers that it may be instead, when the separator is in doubt: 1,2. Never of 1,500 or 1,2 TWh."""
    cell: int | None = None
    context: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        """The line, or the cell and its line."""
        return str(self.line) if self.cell is None else f"cell {self.cell} line {self.line}"

    @property
    def mark(self) -> bool:
        """Whether by its form it may be no claim: finding it by chance grounds nothing."""
        return self.soft in MARKS

    def set_aside_for(self, reason: str | None, *, hard: bool) -> None:
        """Make it set aside for a reason, unless what is next to it says that it is a claim."""
        if reason is None or self.set_aside is not None:
            return
        if reason not in FIRM and self.claim and (reason not in LIKE_CODE or self.claim == "apart"):
            return
        if hard and reason not in MARKS:
            self.set_aside = reason
        else:
            self.soft = self.soft or reason


class Sweep:
    """Which region holds an offset, asked in rising order."""

    def __init__(self, regions: list[Region]) -> None:
        self._regions = regions
        self._next = 0
        self._end = -1
        self._reason = ""

    def reason(self, offset: int) -> str | None:
        while self._next < len(self._regions) and self._regions[self._next].start <= offset:
            region = self._regions[self._next]
            if region.end > self._end:
                self._end, self._reason = region.end, region.reason
            self._next += 1
        return self._reason if offset < self._end else None


class Lines:
    """The lines of a text, and the numbers on them."""

    def __init__(self, text: str, cells: list[tuple[int, int]]) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._cells = cells

    def occurrence(self, start: int, end: int) -> Occurrence:
        line = bisect_right(self._starts, start)
        at, cell = self._starts[line - 1], None
        stop = self._starts[line] - 1 if line < len(self._starts) else len(self._text)
        if self._cells:
            offset, cell = self._cells[bisect_right(self._cells, (start, 1 << 60)) - 1]
            line -= bisect_right(self._starts, offset) - 1
        context = self._text[max(at, start - _CONTEXT) : min(stop, end + _CONTEXT)]
        return Occurrence(line, _listed(self._text[start:end]), start, end, cell=cell, context=context)

    def hidden(self, piece: Hidden) -> Occurrence:
        """What no reader sees, as one entry: from its first digit to its last."""
        number = self.occurrence(piece.start, piece.start)
        ascii_text = digits_as_ascii(piece.text)
        if (digits := re.search(r"[0-9](?:.*[0-9])?", " ".join(ascii_text.split()))) is not None:
            number.text = _listed(digits[0])
        number.set_aside = piece.reason
        return number


def _listed(text: str) -> str:
    """A number as it is listed: one that is cut off says so, since its beginning is another number."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
