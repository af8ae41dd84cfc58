"""Finds the line of a results file that holds a value which a rerun names by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoscirub.checks.artifacts import printable
from autoscirub.checks.rerun.comparison import dotted
from autoscirub.store import JsonFault, lines_of, parse

if TYPE_CHECKING:
    from collections.abc import Collection


def key_lines(data: bytes, keys: Collection[str]) -> dict[str, int]:
    """The line (from 1) of each of `keys` in a JSON document; those that are not in it are left out.

    Keys are as a rerun's Decision names them: `model.slope`, `rows[3].x`.
    """
    try:
        value = parse(data, allow_nonfinite=True)
    except JsonFault:
        return {}
    paths: dict[str, tuple[str | int, ...]] = {}
    waiting: list[tuple[str, tuple[str | int, ...], Any]] = [("", (), value)]
    while waiting and len(paths) < len(keys):
        key, path, value = waiting.pop()
        if key and printable(key) in keys:
            paths.setdefault(printable(key), path)
        if isinstance(value, dict):
            waiting += [(dotted(key, name), (*path, name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{key}[{index}]", (*path, index), inner) for index, inner in enumerate(value)]
    found = lines_of(data.decode("utf-8-sig"), paths.values())
    return {key: line for key, path in paths.items() if (line := found[path]) is not None}
