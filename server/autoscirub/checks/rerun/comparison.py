"""Compares results before and after: JSON by key, tables by cell, arrays by element, pictures by pixel."""

from __future__ import annotations

import csv
import io
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from autoscirub.checks.rerun.binary import compare_arrays, compare_pictures
from autoscirub.checks.rerun.pairs import (
    ABSENT,
    Tolerance,
    Unclear,
    ValueComparison,
    ValueStatus,
    judge_pair,
    judge_text,
    whole_file,
)
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
_TABLES = {".csv": ",", ".tsv": "\t"}


def compare_file(
    path: str, before: bytes | None, after: bytes | None, tolerance: Tolerance
) -> Iterator[ValueComparison | Unclear]:
    """Compare one file as it was with the one that came out; None where there is none."""
    if before is None or after is None:
        if before is not None:
            yield ValueComparison(path, None, f"{len(before):,} bytes", None, ValueStatus.MISSING)
        if after is not None:
            yield ValueComparison(path, None, None, f"{len(after):,} bytes", ValueStatus.NEW)
        return
    kind = PurePosixPath(path).suffix.lower()
    if kind == ".json":
        yield from _compare_json(path, before, after, tolerance)
    elif kind in _TABLES:
        yield from _compare_tables(path, before, after, tolerance, _TABLES[kind])
    elif before == after:
        yield whole_file(path, before, after)
    elif kind in (".npy", ".npz"):
        yield from compare_arrays(path, before, after, tolerance)
    elif kind in _PICTURES:
        yield from compare_pictures(path, before, after)
    else:
        yield whole_file(path, before, after)


def is_ignored(found: ValueComparison | Unclear, patterns: Sequence[str]) -> bool:
    """Whether a pattern of `[run] ignore` names the file, the key, or both as `path: key`."""
    names = [found.path]
    if isinstance(found, ValueComparison) and found.key is not None:
        names += [found.key, found.name]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _compare_json(
    path: str, before: bytes, after: bytes, tolerance: Tolerance
) -> Iterator[ValueComparison | Unclear]:
    try:
        old = parse(before, allow_nonfinite=True, allow_overflow=False)
    except JsonFault as fault:
        if before == after:
            yield whole_file(path, before, after)
        else:
            yield Unclear(path, f"the one before is no JSON: {fault}")
        return
    try:
        new = parse(after, allow_nonfinite=True, allow_overflow=False)
    except JsonFault as fault:
        yield ValueComparison(path, None, "JSON", f"no JSON: {fault}", ValueStatus.MOVED)
        return
    yield from _walk(path, "", old, new, tolerance)


def _walk(path: str, key: str, old: Any, new: Any, tolerance: Tolerance) -> Iterator[ValueComparison]:
    # A stack and not recursion: the order of the keys is kept by pushing them backwards.
    waiting: list[tuple[str, Any, Any]] = [(key, old, new)]
    while waiting:
        key, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict) and (old or new):
            names = dict.fromkeys([*old, *new])
            inner = [(dotted(key, name), old.get(name, ABSENT), new.get(name, ABSENT)) for name in names]
            waiting += reversed(inner)
        elif isinstance(old, list) and isinstance(new, list) and (old or new):
            pairs = enumerate(zip_longest(old, new, fillvalue=ABSENT))
            waiting += reversed([(f"{key}[{index}]", *pair) for index, pair in pairs])
        else:
            status = judge_pair(old, new, tolerance)
            yield ValueComparison(
                path,
                key or None,
                None if old is ABSENT else old,
                None if new is ABSENT else new,
                status,
            )


def dotted(key: str, name: str) -> str:
    """The key of what `name` holds within `key`."""
    return f"{key}.{name}" if key else name


def _compare_tables(
    path: str, before: bytes, after: bytes, tolerance: Tolerance, delimiter: str
) -> Iterator[ValueComparison | Unclear]:
    if before == after:
        yield whole_file(path, before, after)
        return
    try:
        old, new = _rows(before, delimiter), _rows(after, delimiter)
    except (UnicodeDecodeError, csv.Error) as error:
        yield Unclear(path, f"its bytes differ, and it cannot be read as a table: {error}")
        return
    header = old[0] if old else []
    for row, (left, right) in enumerate(zip_longest(old, new), start=1):
        for column, (one, other) in enumerate(zip_longest(left or [], right or [])):
            name = header[column] if row > 1 and column < len(header) and header[column] else str(column + 1)
            status = (
                ValueStatus.NEW
                if one is None
                else ValueStatus.MISSING
                if other is None
                else judge_text(one, other, tolerance)
            )
            yield ValueComparison(path, f"row {row}, {name}", one, other, status)


def _rows(data: bytes, delimiter: str) -> list[list[str]]:
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    return list(csv.reader(text, delimiter=delimiter))
