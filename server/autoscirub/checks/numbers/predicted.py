"""Decides whether a report speaks of a predicted value, so that a prediction vouches for no measured one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoscirub.checks.numbers.occurrence import Occurrence

_PREDICTED = re.compile(
    r"predict|hypothes|pre-?regist|registered|beforehand|expected|stated|threshold|criteri|requirement",
    re.IGNORECASE,
)
_SENTENCE = 240
"""Characters before and after a number in which its sentence is looked for."""
_ENDS = re.compile(r"[.!?:;](?=[\s*_])|\n\s*(?=[\n|#>*+-]|[0-9]{1,3}[.)]\s)|\|")
"""The end of a sentence, a paragraph, an item or a cell."""
_GOES_ON = re.compile(
    r"[\s*_]*(?:It|They|This|That)\s+(?:said|says?|states?|stated|asks?|asked|allows?|allowed|claims?)\b"
)
"""A sentence that says what the one before it speaks of: The hypothesis is refuted. It said that …"""
_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]{1,3}[.)])\s")
_ROWS = 100
"""Lines above a row or an item in which the head of its table or list is looked for."""


def speaks_of_a_prediction(text: str, number: Occurrence) -> bool:
    """Whether the text says that this number is a predicted one.

    It says so in the number's sentence or cell, in the head of the table's column, or in the line that begins a list.
    """
    before = text[max(0, number.start - _SENTENCE) : number.start]
    after = text[number.end : number.end + _SENTENCE]
    cuts = [0, *(match.end() for match in _ENDS.finditer(before))]
    end = _ENDS.search(after)
    own = before[cuts[-1] :]
    if _PREDICTED.search(own) or _PREDICTED.search(after[: end.start()] if end else after):
        return True
    if len(cuts) > 1 and _GOES_ON.match(own) and _PREDICTED.search(before[cuts[-2] : cuts[-1]]):
        return True
    begins = text.rfind("\n", 0, number.start) + 1
    line = text[begins : number.start]
    if line.lstrip().startswith("|"):
        return bool(_PREDICTED.search(_column_head(text, begins, line.count("|"))))
    return _ITEM.match(line) is not None and bool(_PREDICTED.search(_list_head(text, begins)))


def _above(text: str, begins: int) -> tuple[int, str]:
    """Where the line above begins, and the line."""
    start = text.rfind("\n", 0, max(0, begins - 1)) + 1
    return start, text[start : max(start, begins - 1)]


def _column_head(text: str, begins: int, column: int) -> str:
    head = ""
    for _ in range(_ROWS):
        if not begins:
            break
        begins, line = _above(text, begins)
        if not line.lstrip().startswith("|"):
            break
        head = line
    cells = head.split("|")
    return cells[column] if column < len(cells) else ""


def _list_head(text: str, begins: int) -> str:
    for _ in range(_ROWS):
        if not begins:
            break
        begins, line = _above(text, begins)
        if line.strip() and not _ITEM.match(line) and not line[0].isspace():
            return line if line.rstrip(" *_").endswith(":") else ""
    return ""
