"""Marks at the beginning of lines: the numbers of headings and lists, and the entries of a list of references."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from autoscirub.checks.numbers.prose import Region

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = re.compile(r"^[ \t>]*#{1,6}\s+([0-9]{1,3}(?:\.[0-9]{1,3})*\.?)(?=\s([^\n]?))", re.MULTILINE)
_LIST = re.compile(r"^[ \t>]*(?:[-*+]\s)?\(?([0-9]{1,3})[.)](?=\s)", re.MULTILINE)
_BLANK = re.compile(r"^[ \t>]*$", re.MULTILINE)
_NO_PARAGRAPH = ("#", "|", "---", "***", "===")
_REFERENCES = re.compile(
    r"^#{1,6}\s+(?:[0-9.]+\s+)?(?:References|Bibliography|Literature|Works cited)\s*$", re.M | re.I
)
_NEXT_HEADING = re.compile(r"^#{1,6}\s", re.MULTILINE)
_ENTRY = re.compile(r"\n(?=[ \t]*(?:[-*+]\s|\[\^?\w{1,40}\]|[0-9]{1,3}[.)]\s|\n))")
_YEAR = re.compile(r"(?<![0-9.,])(?:1[5-9]|2[01])[0-9]{2}[a-z]?(?![0-9%]|[.,][0-9])")
_BY = re.compile(
    r"https?://|[Dd][Oo][Ii]|arXiv|ISBN|et al|(?<![A-Za-z])[A-Z]\.|[0-9]\s?\([0-9]+\)|\bpp?\.|\b[Vv]ol\.|\bIn:"
)


def heading_numbers(text: str) -> Iterator[Region]:
    """The numbers of headings: 2.1 before a title, and not 42 before the noun that it counts."""
    for match in _HEADING.finditer(text):
        if len(match[1]) == 1 or "." in match[1] or not match[2].islower():
            yield Region(match.start(1), match.end(1), "heading number")


def list_markers(text: str) -> Iterator[Region]:
    """The marks of numbered lists.

    As CommonMark has it, a line inside a paragraph begins no list unless with 1, so that a sentence which ends on its
    number and is wrapped before it hides nothing. A list goes on in the lines below its first mark.
    """
    matches = list(_LIST.finditer(text))
    blanks = [match.start() for match in _BLANK.finditer(text)] if matches else []
    block = -1
    """The block, counted by the blank lines before it, that holds a list already."""
    for match in matches:
        here = bisect_right(blanks, match.start())
        above = text[text.rfind("\n", 0, max(0, match.start() - 1)) + 1 : max(0, match.start() - 1)].strip(
            " \t>"
        )
        if match[1] == "1" or not above or above.startswith(_NO_PARAGRAPH) or block == here:
            block = here
            yield Region(match.start(1), match.end(1), "list marker")


def listed_references(text: str) -> Iterator[Region]:
    """The entries below a heading "References": each with its year, or its address, and who or where.

    What is plain prose there is read as such.
    """
    for match in _REFERENCES.finditer(text):
        following = _NEXT_HEADING.search(text, match.end())
        end, at = following.start() if following else len(text), match.end()
        while at < end:
            cut = _ENTRY.search(text, at + 1, end)
            stop = cut.start() if cut else end
            entry = text[at:stop]
            if _BY.search(entry) and (_YEAR.search(entry) or "://" in entry or "doi" in entry.lower()):
                yield Region(at, stop, "list of references")
            at = stop
