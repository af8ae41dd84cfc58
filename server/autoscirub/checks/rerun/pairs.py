"""Two values under one key, and how they compare."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from autoscirub.checks.cells import number_in
from autoscirub.store import sha256_bytes

__all__ = ["ABSENT", "Comparison", "Status", "Tolerance", "Unclear", "judge_pair", "judge_text", "whole_file"]

ABSENT: Any = object()
"""Stands for a value that is not there; null is one that is."""

_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


class Status(StrEnum):
    """How a value came out of the code again."""

    EQUAL = "equal"
    WITHIN_TOLERANCE = "within_tolerance"
    MOVED = "moved"
    MISSING = "missing"
    NEW = "new"
    IGNORED = "ignored"


@dataclass(frozen=True)
class Comparison:
    """One value: where it stands, what it was, what the rerun gave. `key` None: the whole file."""

    path: str
    key: str | None
    before: Any
    after: Any
    status: Status

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


def judge_pair(before: Any, after: Any, tolerance: Tolerance) -> Status:
    """How two JSON scalars compare. `true` is no number, and 1 is 1.0."""
    if before is ABSENT:
        return Status.NEW
    if after is ABSENT:
        return Status.MISSING
    if _is_number(before) and _is_number(after):
        if before == after:
            return Status.EQUAL
        if isinstance(before, int) and isinstance(after, int):
            return Status.MOVED
        try:
            same, close = _is_nan(before) and _is_nan(after), tolerance.agree(float(before), float(after))
        except OverflowError:  # a whole number beyond any float
            return Status.MOVED
        return Status.EQUAL if same else Status.WITHIN_TOLERANCE if close else Status.MOVED
    return Status.EQUAL if type(before) is type(after) and before == after else Status.MOVED


def judge_text(before: str, after: str, tolerance: Tolerance) -> Status:
    """How two cells of a table compare: as text, and where both are numbers and not both whole, as numbers."""
    if before == after:
        return Status.EQUAL
    if _INTEGER.fullmatch(before) and _INTEGER.fullmatch(after):
        return Status.EQUAL if before.strip().lstrip("+") == after.strip().lstrip("+") else Status.MOVED
    old, new = number_in(before), number_in(after)
    return Status.MOVED if old is None or new is None else judge_pair(old, new, tolerance)


def whole_file(path: str, before: bytes, after: bytes) -> Comparison:
    """Two files by their bytes."""
    status = Status.EQUAL if before == after else Status.MOVED
    return Comparison(path, None, _describe(before), _describe(after), status)


def _describe(data: bytes) -> str:
    return f"{len(data):,} bytes, sha256 {sha256_bytes(data)[:16]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)
