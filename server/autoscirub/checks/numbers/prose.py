"""What a reader of a report sees, as plain text with the same line breaks as the file.

Line breaks are kept one for one, so that an offset in the text gives the line in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

__all__ = ["MATH", "Prose", "Region", "entity", "marker_key"]

_MARKER = re.compile(r"\s*=\s*(\S(?:[^\n]*\S)?)\s*")

MATH = {
    "times": "×", "cdot": "·", "pm": "±", "leq": "≤", "le": "≤", "leqslant": "≤", "geq": "≥", "ge": "≥",
    "geqslant": "≥", "lt": "<", "gt": ">", "approx": "≈", "sim": "~", "thinspace": "\u2009", "textendash": "–",
    "textminus": "−", "textpm": "±", "texttimes": "×", "percent": "%", "textless": "<", "textgreater": ">",
}  # fmt: skip
"""TeX commands that stand for a sign which matters to a number, without the backslash."""


@dataclass(frozen=True)
class Region:
    """A stretch of the text whose numbers are no claims, and why."""

    start: int
    end: int
    reason: str


@dataclass
class Prose:
    """The text, built from left to right."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    regions: list[Region] = field(default_factory=list)
    markers: list[tuple[int, str]] = field(default_factory=list)
    """(offset in the text, key) of each marker that binds the number before it."""
    cells: list[tuple[int, int]] = field(default_factory=list)
    """(offset, number) of each notebook cell, counted from 1; none in other formats."""

    @property
    def text(self) -> str:
        """All of it."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def add(self, text: str) -> None:
        """Text that a reader sees as prose."""
        if text:
            self.parts.append(text)
            self.length += len(text)

    def skip(self, text: str, instead: str = "") -> None:
        """Text that no reader sees; its line breaks stay."""
        self.add("\n" * text.count("\n") or instead)

    def quote(self, text: str, reason: str) -> None:
        """Text that a reader sees, and whose numbers are exempt."""
        start = self.length
        self.add(text)
        self.regions.append(Region(start, self.length, reason))

    def comment(self, text: str, inside: str) -> None:
        """A comment: it binds the number before it when it reads `=key`, and is otherwise skipped."""
        if (key := marker_key(inside)) is not None:
            self.markers.append((self.length, key))
        self.skip(text)

    def take(self, other: Prose) -> None:
        """Append another text."""
        start = self.length
        self.add(other.text)
        self.regions += [Region(start + r.start, start + r.end, r.reason) for r in other.regions]
        self.markers += [(start + offset, key) for offset, key in other.markers]


def marker_key(inside: str) -> str | None:
    """The key of a marker's inside, such as ` =results.drop `; None for any other comment."""
    match = _MARKER.fullmatch(inside[:1000])
    return match[1] if match else None


def entity(text: str) -> str:
    """A character reference as the characters it stands for; never a line break, which would move the lines."""
    return re.sub(r"[\n\r\x85\u2028\u2029]", " ", unescape(text))
