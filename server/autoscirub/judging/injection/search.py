"""Searches a project for text that addresses the judge, so that readers learn of it; it never changes a verdict.

The patterns are data, in `patterns.py`. A match is a concern for a reader, not a judgement: code that
works with chat models has such text too.
"""

from __future__ import annotations

import os
import re
import unicodedata
from bisect import bisect_right
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from autoscirub.errors import BlindingError
from autoscirub.judging.decoding import HEAD, decoded
from autoscirub.judging.injection.patterns import GAP, PATTERNS
from autoscirub.judging.prompts import plain
from autoscirub.store import read_regular, regular_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_SEARCHED = 4_000_000
"""Bytes of the largest file that is searched; a larger one is reported as not searched."""
_MAX_FILES = 20_000
_MAX_BYTES = 256_000_000
_PER_FILE = 20
_IN_ALL = 500
_EXCERPT = 160

_COMPILED = [(words, re.compile(pattern.replace(" ", GAP), re.IGNORECASE)) for _, words, pattern in PATTERNS]
_MARKUP = frozenset({".xml", ".html", ".htm", ".svg", ".xhtml", ".xsl", ".xslt"})


class InjectionMatch(NamedTuple):
    """A place that addresses a judge."""

    path: str
    line: int
    excerpt: str


@dataclass
class InjectionSearch:
    """What a search found, and the files that it did not search, each with the reason."""

    found: list[InjectionMatch] = field(default_factory=list)
    unsearched: list[tuple[str, str]] = field(default_factory=list)


def addresses(text: str) -> bool:
    """Whether a text addresses a judge."""
    folded = "\n".join(_folded(line) for line in text.split("\n"))
    low = folded.lower()
    return any(
        any(word in low for word in words) and pattern.search(folded) is not None
        for words, pattern in _COMPILED
    )


def search_addressing(root: Path, files: Iterable[str | Path]) -> InjectionSearch:
    """Every place in `files` (paths from `root`) that addresses a judge, by path and line; each line once.

    Files that could not be searched are listed too: links, special files, and those too large or too numerous.
    """
    searched, left = InjectionSearch(), _MAX_BYTES
    for count, name in enumerate(sorted({os.fspath(file) for file in files})):
        path = PurePosixPath(name).as_posix()
        if count >= _MAX_FILES or left <= 0 or len(searched.found) >= _IN_ALL:
            searched.unsearched.append((path, "more files, bytes or matches than one search covers"))
            continue
        try:
            data = read_regular(root / path, limit=MAX_SEARCHED, within=root, error=BlindingError)
        except BlindingError as error:
            if not _is_binary(root / path, root):
                searched.unsearched.append((path, str(error)))
            continue
        if data is None:
            continue
        left -= len(data)
        if (text := decoded(data)) is not None:
            searched.found += _in(text, path)
    return searched


def _is_binary(path: Path, root: Path) -> bool:
    """Whether a file that is too large to read whole is certainly not text."""
    try:
        with closing(regular_chunks(path, size=HEAD, within=root, error=BlindingError)) as chunks:
            return decoded(next(chunks, b"")) is None
    except BlindingError:
        return False


def _in(text: str, path: str) -> Iterator[InjectionMatch]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    # Line by line, so that a place in what is searched gives the line in the file.
    searched = text if text.isascii() else "\n".join(_folded(line) for line in lines)
    low = searched.lower()
    markup = PurePosixPath(path).suffix.lower() in _MARKUP
    starts: list[int] | None = None
    seen: dict[int, None] = {}
    for words, pattern in _COMPILED:
        if not any(word in low for word in words) or (markup and words == ("</",)):
            continue
        for match in pattern.finditer(searched):
            if starts is None:
                starts = [0, *(found.end() for found in re.finditer("\n", searched))]
            at = match.start() + len(match[0]) - len(match[0].lstrip())
            seen.setdefault(bisect_right(starts, at))
            if len(seen) >= _PER_FILE:
                break
    for number in sorted(seen):
        excerpt = plain(lines[number - 1].strip())
        yield InjectionMatch(
            path, number, excerpt if len(excerpt) <= _EXCERPT else f"{excerpt[: _EXCERPT - 1]}…"
        )


def _folded(line: str) -> str:
    """A line as a reader sees it: wide and styled letters as plain ones, invisible characters removed."""
    if line.isascii():
        return line
    visible = (
        c for c in unicodedata.normalize("NFKC", line) if unicodedata.category(c) != "Cf" or c >= "\U000e0000"
    )
    return "".join(visible).replace("\n", " ")
