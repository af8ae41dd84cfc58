"""Compares two values under one key: equal, within tolerance, moved, missing or new."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from autoscirub.checks.cells import number_in
from autoscirub.store import sha256_bytes

ABSENT: Any = object()
"""Stands for a value that is not there; null is one that is."""

_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


class ValueStatus(StrEnum):
    """How a value of the rerun compares with the one before."""

    EQUAL = "equal"
    WITHIN_TOLERANCE = "within_tolerance"
    MOVED = "moved"
    MISSING = "missing"
    NEW = "new"
    IGNORED = "ignored"


@dataclass(frozen=True)
class ValueComparison:
    """One value: where it is, what it was, what the rerun gave. `key` None: the whole file."""

    path: str
    key: str | None
    before: Any
    after: Any
    status: ValueStatus

    @property
    def name(self) -> str:
        """The file and the key in it."""
        return self.path if self.key is None else f"{self.path}: {self.key}"


@dataclass(frozen=True)
class Unclear:
    """A file that could not be compared, and why."""

    path: str
    why: str


@dataclass(frozen=True)
class Tolerance:
    """Two numbers agree when |after - before| <= atol + rtol * |before|. Whole numbers agree only when equal."""

    rtol: float
    atol: float

    def agree(self, before: float, after: float) -> bool:
        """Whether two numbers agree; NaN agrees with NaN, an infinity only with itself."""
        if math.isnan(before) or math.isnan(after):
            return math.isnan(before) and math.isnan(after)
        if math.isinf(before) or math.isinf(after):
            return before == after
        return abs(after - before) <= self.atol + self.rtol * abs(before)


def judge_pair(before: Any, after: Any, tolerance: Tolerance) -> ValueStatus:
    """How two JSON scalars compare. `true` is no number, and 1 is 1.0."""
    if before is ABSENT:
        return ValueStatus.NEW
    if after is ABSENT:
        return ValueStatus.MISSING
    if _is_number(before) and _is_number(after):
        if before == after:
            return ValueStatus.EQUAL
        if isinstance(before, int) and isinstance(after, int):
            return ValueStatus.MOVED
        try:
            same, close = _is_nan(before) and _is_nan(after), tolerance.agree(float(before), float(after))
        except OverflowError:  # a whole number beyond any float
            return ValueStatus.MOVED
        return ValueStatus.EQUAL if same else ValueStatus.WITHIN_TOLERANCE if close else ValueStatus.MOVED
    return ValueStatus.EQUAL if type(before) is type(after) and before == after else ValueStatus.MOVED


def judge_text(before: str, after: str, tolerance: Tolerance) -> ValueStatus:
    """How two cells of a table compare: as text, and where both are numbers and not both whole, as numbers."""
    if before == after:
        return ValueStatus.EQUAL
    if _INTEGER.fullmatch(before) and _INTEGER.fullmatch(after):
        return (
            ValueStatus.EQUAL
            if before.strip().lstrip("+") == after.strip().lstrip("+")
            else ValueStatus.MOVED
        )
    old, new = number_in(before), number_in(after)
    return ValueStatus.MOVED if old is None or new is None else judge_pair(old, new, tolerance)


def whole_file(path: str, before: bytes, after: bytes) -> ValueComparison:
    """Two files by their bytes."""
    status = ValueStatus.EQUAL if before == after else ValueStatus.MOVED
    return ValueComparison(path, None, _describe(before), _describe(after), status)


def _describe(data: bytes) -> str:
    return f"{len(data):,} bytes, sha256 {sha256_bytes(data)[:16]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)
