"""Shortens texts of a record for a terminal: one bounded line each, without control characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from autoscirub.report.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Entry = TypeVar("Entry")

TEXT = 200
"""Characters of one text of the record on one line."""
LIST = 8
"""Paths, ids or texts of one list."""


def short(value: str, most: int = TEXT) -> str:
    """A text of the record on one bounded line, with nothing that a terminal would obey."""
    value = plain(value[: 2 * most])
    return value if len(value) <= most else f"{value[: most - 1]}…"


def listed(entries: Sequence[str]) -> str:
    """The first few of many on one line, and how many more there are."""
    first = [short(entry) for entry in entries[:LIST]]
    more = len(entries) - len(first)
    return ", ".join([*first, *([f"and {more} more"] if more > 0 else [])])


def bounded(lines: Sequence[str], most: int = LIST) -> list[str]:
    """The first `most` lines, and how many more there are, as far in as the first."""
    if len(lines) <= most:
        return list(lines)
    pad = " " * (len(lines[0]) - len(lines[0].lstrip()))
    return [*lines[:most], f"{pad}and {len(lines) - most:,} more; --json has all"]


def elided(
    entries: Sequence[Entry], first: int, last: int, what: str, render: Callable[[Entry], list[str]]
) -> list[str]:
    """Every entry's lines; of too many, those of the first and the last, and how many are left out."""
    if len(entries) <= first + last:
        return [line for entry in entries for line in render(entry)]
    lines = [line for entry in entries[:first] for line in render(entry)]
    lines.append(f"  … {len(entries) - first - last} {what} are left out; --json has all")
    return [*lines, *(line for entry in entries[-last:] for line in render(entry))]


def counted(number: int, what: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
