"""The numbers found in a report: what is known about each, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_NAMED = 3
"""Sources named in one line."""


class NumberClass(StrEnum):
    """What is known about one number of a report."""

    BOUND = "bound"
    MATCHED = "matched"
    AMBIGUOUS = "ambiguous"
    SET_ASIDE = "set_aside"
    WITHOUT_SOURCE = "without_source"
    BOUND_WRONG = "bound_wrong"


@dataclass(frozen=True)
class ReportNumber:
    """One number of a report, and where it comes from."""

    line: int
    text: str
    cls: NumberClass
    sources: tuple[tuple[str, int | float], ...] = ()
    """(key, value) of each source that it is, or may be; for an ambiguous one the first few."""
    reason: str = ""
    place: str = ""
    """The line, or in a notebook the cell and its line."""
    crowded: bool = False
    """Ambiguous among so many values that a match proves nothing."""
    alike: bool = False
    """Ambiguous among sources that all have the same value, so that it is that value, whichever is meant."""
    weak: bool = False
    """By its form it may not be a claim, or it is only predicted: a match supports nothing."""

    @property
    def known(self) -> str:
        """The sources in a few words: `results.available_wind_twh = 4.1927`."""
        named = ", ".join(f"{key} = {value!r}" for key, value in self.sources[:_NAMED])
        return named + (", …" if len(self.sources) > _NAMED else "")

    @property
    def explanation(self) -> str:
        """What is known about it, in words."""
        return "; ".join(part for part in (self.known, self.reason) if part)

    def facts(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "line": self.line,
            "place": self.place,
            "text": self.text,
            "class": self.cls.value,
            "sources": [{"key": key, "value": value} for key, value in self.sources],
            "reason": self.reason,
        }
