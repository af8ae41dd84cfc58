"""Limits on what a judge's tools read and return, and the types of what they return."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

FRAME_CHARS = 2_000
"""Of an answer's characters: reserved for what the tool itself says before and after the content."""

NAME_CHARS = 1_500
"""Of one path in an answer, escapes counted. A path of `path_chars` is longer only when most of it is escapes."""


@dataclass(frozen=True)
class ToolBounds:
    """The limits of one set of tools. Characters are those of the answer, bytes those of files."""

    answer_chars: int = 20_000
    """Of one answer's text. Clients cut at about 10,000 tokens, and cut without saying where to go on."""
    lines: int = 200
    """Of a text, when a call does not say how many; ten times as many at most."""
    table_lines: int = 20
    """The same of a table: its head."""
    line_chars: int = 2_000
    results: int = 200
    """Files, or lines that match, in one answer."""
    path_chars: int = 1_024
    pattern_chars: int = 500
    depth: int = 64
    """Levels of folders that are entered."""
    entries: int = 50_000
    """Files and folders that are examined in one call."""
    seconds: float = 10.0
    """Wall clock of one call."""
    scan_bytes: int = 2 << 30
    """Of one file, read through to count its lines or for its digest."""
    line_bytes: int = 16 << 20
    """Of one line, within which a call may begin at any column."""
    parse_bytes: int = 16 << 20
    """Of a table, a notebook or a JSON file that is parsed; of a larger one, the lines are shown."""
    search_bytes: int = 64 << 20
    """Read in one search, over all files; and of one file a quarter of it."""
    picture_bytes: int = 64 << 20
    """Of a picture's file."""
    pixels: int = 50_000_000
    """Of a picture that is decoded."""
    image_side: int = 1_568
    """Of a picture in an answer: the longer side. Models scale down what is larger."""
    image_bytes: int = 1_000_000
    memory: int = 600 << 20
    """Bytes of the child that parses, beyond its interpreter and libraries. Not enforced where there is no /proc."""
    calls: int = 1_000
    """That are recorded, one by one; further ones are counted."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"ToolBounds.{name} is {value}; it must be above 0")
        least = FRAME_CHARS + max(NAME_CHARS, self.line_chars) + 100
        if self.answer_chars < least:
            raise ValueError(
                f"ToolBounds.answer_chars is {self.answer_chars}; one line and what is said about it need {least}"
            )


@dataclass(frozen=True)
class ToolImage:
    """A picture as a model gets it."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class ToolReply:
    """What a tool returns. In `text`, lines that begin with `# ` are the tool's own words; names stand in double
    quotes, and what comes out of a file stands after a `│`, so that no file can speak as the tool."""

    text: str
    image: ToolImage | None = None

    @property
    def size(self) -> int:
        """Characters of text, and bytes of the picture."""
        return len(self.text) + (len(self.image.data) if self.image else 0)


@dataclass(frozen=True)
class ToolCall:
    """One call, as the audit records it. `size` is that of the answer, or of the refusal."""

    name: str
    arguments: dict[str, Any]
    ok: bool
    size: int
    refused: str = ""


@dataclass
class Clock:
    """How much of a call's time is left."""

    seconds: float
    _started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        return self.seconds - (time.monotonic() - self._started)

    def over(self) -> bool:
        return self.left() <= 0
