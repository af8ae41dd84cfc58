"""Reads a window of lines from a text file of any size, and recognises kinds of files by their first bytes."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from autoscirub.judging.tools.bounds import Clock, ToolBounds

HEAD_BYTES = 8192
"""How much of a file's start is examined to say what it is."""

_BLOCK = 1 << 18
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "picture", "a PNG picture"),
    (b"\xff\xd8\xff", "picture", "a JPEG picture"),
    (b"GIF87a", "picture", "a GIF picture"),
    (b"GIF89a", "picture", "a GIF picture"),
    (b"PAR1", "parquet", "a Parquet file"),
    (b"%PDF-", "binary", "a PDF document"),
    (b"PK\x03\x04", "binary", "a ZIP archive, or a document that is one"),
    (b"\x1f\x8b", "binary", "gzip-compressed data"),
    (b"\x93NUMPY", "binary", "a NumPy array"),
    (b"\x89HDF\r\n", "binary", "an HDF5 file"),
    (b"SQLite format 3\0", "binary", "an SQLite database"),
)


def kind_of(head: bytes) -> tuple[str, str]:
    """(`text`, `picture`, `parquet` or `binary`; in words) by the first bytes: a suffix is only a name."""
    for start, kind, words in _STARTS:
        if head.startswith(start):
            return kind, words
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "picture", "a WebP picture"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text", "UTF-16 text"
    return ("binary", "binary data of an unknown kind") if is_binary(head) else ("text", "text")


def is_binary(head: bytes) -> bool:
    """A NUL, or more control characters than a log with colours has."""
    return b"\0" in head or len(_CONTROL.findall(head)) * 20 > len(head)


def as_utf8(source: BinaryIO, size: int, head: bytes, bounds: ToolBounds) -> BinaryIO | None:
    """`source`, or for UTF-16 its text in UTF-8; None when it is too large to convert."""
    if not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return source
    if size > bounds.parse_bytes:
        return None
    source.seek(0)
    data = source.read(size) or b""
    return io.BytesIO(data.decode("utf-16", "replace").encode("utf-8", "replace"))


@dataclass(frozen=True)
class Line:
    """A part of one line. `cut`: the line goes on after it; `size`: bytes of the whole line; `valid`: it is UTF-8."""

    number: int
    text: str
    size: int
    cut: bool
    valid: bool


@dataclass(frozen=True)
class Window:
    """Lines of a text, and how many there are: at least so many, where `whole` is false."""

    lines: list[Line]
    total: int
    whole: bool


class _Cutter:
    """Takes a stream of blocks; collects the beginnings of the wanted lines and counts the rest."""

    def __init__(self, first: int, last: int, keep: int) -> None:
        self._first, self._last, self._keep = first, last, keep
        self.number = 1
        self.line_open = False  # whether the line has any byte, or is what follows the last line feed
        self._part = bytearray()
        self._size = 0
        self.lines: list[tuple[int, bytes, int]] = []

    def take(self, block: bytes) -> None:
        at, feeds = 0, block.count(b"\n")
        if self.number + feeds < self._first:  # a hundred times as fast as line by line
            self.number += feeds
            self.line_open = not block.endswith(b"\n")
            return
        while at < len(block):
            if self.number > self._last:
                self.number += block.count(b"\n", at)
                self.line_open = not block.endswith(b"\n")
                return
            end = block.find(b"\n", at)
            stop = len(block) if end < 0 else end
            if self.number >= self._first:
                self._part += block[at : min(stop, at + self._keep - len(self._part))]
                self._size += stop - at
            self.line_open = True
            if end < 0:
                return
            self.end_line()
            at = end + 1

    def end_line(self) -> None:
        if self._first <= self.number <= self._last:
            self.lines.append((self.number, bytes(self._part), self._size))
        self._part.clear()
        self._size, self.line_open = 0, False
        self.number += 1


def window(
    source: BinaryIO, size: int, first: int, count: int, column: int, bounds: ToolBounds, clock: Clock
) -> Window:
    """`count` lines from line `first`, each from character `column`. The file is read through, to count its lines."""
    keep = 4 * (column + bounds.line_chars)
    cutter = _Cutter(first, first + count - 1, min(keep, bounds.line_bytes))
    source.seek(0)
    left = limit = min(size, bounds.scan_bytes)
    while left > 0 and not clock.over() and (block := source.read(min(left, _BLOCK))):
        if left == limit:
            left -= len(block)
            block = block.removeprefix(codecs.BOM_UTF8)
        else:
            left -= len(block)
        cutter.take(block)
    whole = left == size - limit == 0
    if cutter.line_open:
        cutter.end_line()
    lines = [_line(each, column, bounds) for each in cutter.lines]
    return Window(lines, cutter.number - 1, whole)


def _line(captured: tuple[int, bytes, int], column: int, bounds: ToolBounds) -> Line:
    number, data, size = captured
    cut = size > len(data)
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        text, valid = decoder.decode(data, final=not cut), True  # cut off, it may end within a character
    except UnicodeDecodeError:
        text, valid = data.decode("utf-8", "replace"), False
    if not cut:
        text = text.removesuffix("\r")
    end = column - 1 + bounds.line_chars
    return Line(number, text[column - 1 : end], size, cut or len(text) > end, valid)
