"""Formats a tool's answer so that nothing in a file can pass for the tool's own words.

The tool's own
lines begin with `# `, a name is in double quotes with JSON's escapes and no mark in it, and content stands after a
`│` that the line of a file can only follow. Nothing is random, so that the same call gives the same answer.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

from autoscirub.judging.tools.bounds import FRAME_CHARS, NAME_CHARS

if TYPE_CHECKING:
    from autoscirub.judging.tools.bounds import ToolBounds

MARK = "│"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # parts of ordinary words in several scripts, and of emoji
_NAME_IN_FRAME = 300


def _hides(c: str) -> bool:
    return unicodedata.category(c) in _HIDDEN


def harmless(text: str, limit: int) -> tuple[str, int, int]:
    """(`text` fit for one line, how many of its characters that took, how many were escaped).

    Control, format and separator characters become `\\x1b`, `\\u202e`; tabs and joiners stay. At most `limit`
    characters come out, and always whole ones.
    """
    if len(text) <= limit and text.isprintable():
        return text, len(text), 0
    out: list[str] = []
    room, taken, escaped = limit, 0, 0
    for c in text:
        piece = c
        if not (c.isprintable() or c in "\t" + _JOINERS) and _hides(c):
            piece = c.encode("unicode_escape", "surrogatepass").decode("ascii")
        if len(piece) > room:
            break
        room -= len(piece)
        taken += 1
        escaped += piece is not c
        out.append(piece)
    return "".join(out), taken, escaped


def named(path: object, limit: int = _NAME_IN_FRAME) -> str:
    """A path or a pattern in double quotes, with JSON's escapes for what is hidden, cut to `limit` characters."""
    out: list[str] = []
    room = limit
    for c in str(path)[: limit + 1]:
        piece = json.dumps(c)[1:-1] if c in '"\\' + MARK or (_hides(c) and c not in _JOINERS) else c
        if len(piece) > room:
            return '"' + "".join(out) + '" (cut)'
        room -= len(piece)
        out.append(piece)
    return '"' + "".join(out) + '"'


def count(number: int, one: str, many: str = "") -> str:
    """`1 file`, `1,234 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Page:
    """An answer that is being written, never longer than the bound."""

    def __init__(self, bounds: ToolBounds) -> None:
        self._lines: list[str] = []
        self._room = bounds.answer_chars - FRAME_CHARS
        self._frame = FRAME_CHARS

    def say(self, words: str) -> None:
        """Add a line of the tool's own, cut where it does not fit: only names are long, and `named` cuts them."""
        line = f"# {words}"[: max(0, self._frame - 1)]
        if line:
            self._frame -= len(line) + 1
            self._lines.append(line)

    def name(self, before: str, path: str, after: str = "") -> bool:
        """A line with a file's name in it; False when the answer is full."""
        return self._add(f"{before}{named(path, NAME_CHARS)}{after}")

    def content(self, label: str, line: str) -> bool:
        """A line out of a file, already harmless; False when the answer is full."""
        return self._add(f"{label}{MARK}{line}")

    def _add(self, line: str) -> bool:
        if len(line) + 1 > self._room:
            return False
        self._room -= len(line) + 1
        self._lines.append(line)
        return True

    def text(self) -> str:
        return "\n".join(self._lines)
