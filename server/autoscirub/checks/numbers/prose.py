"""What a reader of a report sees, as plain text with the same line breaks as the file.

Line breaks are kept one for one, so that an offset in the text gives the line in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

_HIDDEN_CHARACTERS = 400
"""Characters of a hidden piece that are kept: it is listed, and not looked up."""
_MARKER = re.compile(r"\s*=\s*(\S(?:[^\n]*\S)?)\s*")
_EMPTY_COMMENT = re.compile("-?>")
_COMMENT_END = re.compile("-->")
_COMMENT_END_HTML = re.compile("--!?>")

MATH = {
    "times": "×", "cdot": "·", "pm": "±", "leq": "≤", "le": "≤", "leqslant": "≤", "geq": "≥", "ge": "≥",
    "geqslant": "≥", "lt": "<", "gt": ">", "approx": "≈", "sim": "~", "thinspace": "\u2009", "textendash": "–",
    "textminus": "−", "textpm": "±", "texttimes": "×", "percent": "%", "textless": "<", "textgreater": ">", "in": "∈",
}  # fmt: skip
"""TeX commands that stand for a sign which matters to a number, without the backslash."""


@dataclass(frozen=True)
class Region:
    """A stretch of the text whose numbers are no claims, and why."""

    start: int
    end: int
    reason: str
    soft: bool = False
    """Looked up all the same, and set aside when nothing is like it."""


@dataclass
class Hidden:
    """A piece of the file that is cut away and holds a digit: no reader sees it, and it is listed."""

    start: int
    """Where it was, in the text."""
    text: str
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
    hidden: list[Hidden] = field(default_factory=list)
    elsewhere: list[tuple[int, str]] = field(default_factory=list)
    """(offset, words) of each place where a reader sees a text that this file does not hold."""
    citations: bool = True
    """Whether [12] cites, as in Markdown; in LaTeX it is an interval or a text."""
    _solid: int = 0
    """Where the last text ends that is not white space."""

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
            if not text.isspace():
                self._solid = self.length

    def hide(self, text: str, reason: str, instead: str = "") -> None:
        """Text that no reader sees: what holds a digit is listed, and its line breaks stay.

        Pieces with nothing between them are one, so that a style sheet is not listed line by line.
        """
        if any(c.isdigit() for c in text):
            last = self.hidden[-1] if self.hidden else None
            if last is not None and last.reason == reason and last.start >= self._solid:
                if len(last.text) < _HIDDEN_CHARACTERS:
                    last.text += f" {text[:_HIDDEN_CHARACTERS]}"
            else:
                self._hidden(text, reason)
        self.add("\n" * text.count("\n") or instead)

    def _hidden(self, text: str, reason: str) -> None:
        first = next(i for i, c in enumerate(text) if c.isdigit())
        line = text.rfind("\n", 0, first) + 1  # the line of its first digit is its place
        before = text.count("\n", 0, line)
        self.hidden.append(Hidden(self.length + before, text[line : first + _HIDDEN_CHARACTERS], reason))

    def away(self, text: str) -> None:
        """A reader sees another text here, which is not in this file."""
        self.elsewhere.append((self.length, " ".join(text.split())[:80]))

    def quote(self, text: str, reason: str, *, soft: bool = False) -> None:
        """Text that a reader sees, and whose numbers are set aside; *soft*: where nothing is like them."""
        start = self.length
        self.add(text)
        self.regions.append(Region(start, self.length, reason, soft))

    def comment(self, text: str, inside: str) -> None:
        """A comment: it binds the number before it when it reads `=key`, and is otherwise skipped."""
        if (key := marker_key(inside)) is not None:
            self.markers.append((self.length, key))
            self.add("\n" * text.count("\n"))
        else:
            self.hide(text, "comment")

    def take(self, other: Prose) -> None:
        """Append another text."""
        start = self.length
        self.add(other.text)
        self.regions += [Region(start + r.start, start + r.end, r.reason, r.soft) for r in other.regions]
        self.markers += [(start + offset, key) for offset, key in other.markers]
        self.hidden += [Hidden(start + h.start, h.text, h.reason) for h in other.hidden]
        self.elsewhere += [(start + offset, words) for offset, words in other.elsewhere]


def marker_key(inside: str) -> str | None:
    """The key of a marker's inside, such as ` =results.drop `; None for any other comment."""
    match = _MARKER.fullmatch(inside[:1000])
    return match[1] if match else None


def comment_end(text: str, at: int, *, html: bool = False) -> tuple[int, int]:
    """Where the inside of a comment that begins before `at` ends, and where the comment does; -1: nowhere."""
    if (empty := _EMPTY_COMMENT.match(text, at)) is not None:
        return at, empty.end()
    found = (_COMMENT_END_HTML if html else _COMMENT_END).search(text, at)
    return found.span() if found else (-1, -1)


def entity(text: str) -> str:
    """A character reference as the characters it stands for; never a line break, which would move the lines."""
    return re.sub(r"[\n\r\x85\u2028\u2029]", " ", unescape(text))
