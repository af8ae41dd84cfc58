"""Looks up references into results: an attribute is a key of a dict, and nothing but data is ever read."""

from __future__ import annotations

from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.limits import INT_BOUND, MAX_INT_DIGITS, MAX_MESSAGE_KEYS
from autoscirub.checks.expressions.text import shorten
from autoscirub.checks.expressions.tree import spelling
from autoscirub.checks.expressions.values import INDEXABLE, READABLE, kind_of, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.checks.expressions.tree import Key, SourcePosition
    from autoscirub.errors import NotEvaluable

MISSING: Any = object()
"""What `look_up` gives for a reference that leads nowhere."""

_LOWEST, _HIGHEST = -INT_BOUND, INT_BOUND


def reader(keys: tuple[Key, ...], place: SourcePosition) -> Callable[[dict[str, Any]], Any]:
    """The function that reads the value at `keys` from results.

    It raises `NotEvaluable` for a key or index that is not there, for a number that is not finite, and for a
    type that JSON does not have.
    """
    if not keys:
        return _whole
    if len(keys) == 1 and isinstance(keys[0], str):
        return _one_key(keys[0], place)
    return _path(keys, place)


def _whole(results: dict[str, Any]) -> dict[str, Any]:
    return results


def _one_key(key: str, place: SourcePosition) -> Callable[[dict[str, Any]], Any]:
    def read(results: dict[str, Any]) -> Any:
        try:
            value = results[key]
        except KeyError:
            raise _missing((key,), results, place) from None
        kind = type(value)
        if kind is float:
            if value - value == 0.0:  # false of NaN and of both infinities, and quicker than a call
                return value
        elif kind is int:
            if _LOWEST < value < _HIGHEST:
                return value
        elif kind in READABLE:
            return value
        raise _unreadable(value, place)

    return read


def _path(keys: tuple[Key, ...], place: SourcePosition) -> Callable[[dict[str, Any]], Any]:
    steps = _steps(keys)

    def read(results: dict[str, Any]) -> Any:
        value: Any = results
        try:
            for key, holder in steps:
                if type(value) is not holder:
                    raise _missing(keys, results, place)
                value = value[key]
        except (KeyError, IndexError):
            raise _missing(keys, results, place) from None
        kind = type(value)
        if kind is float:
            if value - value == 0.0:
                return value
        elif kind is int:
            if _LOWEST < value < _HIGHEST:
                return value
        elif kind in READABLE:
            return value
        raise _unreadable(value, place)

    return read


def look_up(keys: tuple[Key, ...], results: dict[str, Any]) -> Any:
    """The value at `keys`, finite or not; `MISSING` if there is none."""
    value: Any = results
    for key, holder in _steps(keys):
        if type(value) is not holder:
            return MISSING
        try:
            value = value[key]
        except (KeyError, IndexError):
            return MISSING
    return value


def _steps(keys: tuple[Key, ...]) -> list[tuple[Any, Any]]:
    """Each key with the only type that it is looked up in."""
    return [(key, dict if isinstance(key, str) else list) for key in keys]


def _unreadable(value: Any, place: SourcePosition) -> NotEvaluable:
    kind = type(value)
    if kind is float and not isfinite(value):
        return place.fault(f"is {value!r}, not a finite number")
    if kind is int:
        return place.fault(f"is an integer of more than {MAX_INT_DIGITS:,} digits")
    return place.fault(f"is {kind_of(value)}")


def _missing(keys: tuple[Key, ...], results: dict[str, Any], place: SourcePosition) -> NotEvaluable:
    """Walk again, slowly, to the step that fails, and say what is there instead."""
    value: Any = results
    whole = spelling(keys)
    for step, key in enumerate(keys):
        holder, missing = shorten(spelling(keys[:step])), show(key)
        kind: type = type(value)
        if kind not in INDEXABLE:
            what = "key" if isinstance(key, str) else "index"
            return place.fault(
                f"type mismatch: {holder} is {kind_of(value)}; it has no {what} {missing}", whole
            )
        if isinstance(key, str):
            if kind is list:
                return place.fault(
                    f"type mismatch: {holder} is a list; it has indices, no key {missing}", whole
                )
            if key not in value:
                return place.fault(f"no key {missing}; {holder} has {_listed(value)}", whole)
        else:
            if kind is dict:
                return place.fault(
                    f"type mismatch: {holder} is a dict; it has keys, no index {missing}", whole
                )
            if not -len(value) <= key < len(value):
                return place.fault(f"no index {missing}; {holder} has {len(value):,} items", whole)
        value = value[key]
    raise AssertionError("only called for a reference that leads nowhere")


def _listed(holder: dict[Any, Any]) -> str:
    """The keys there are, in the file's order."""
    if not holder:
        return "no keys"
    first = islice(holder, MAX_MESSAGE_KEYS)
    names = [shorten(key, 60) if type(key) is str else kind_of(key) for key in first]
    more = len(holder) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")
