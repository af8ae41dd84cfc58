"""The eight helper functions of expressions. Each gives what Python's builtin gives, or `NotEvaluable`.

A helper that walks a list must not let a NaN decide (`max([0.7, nan])` is 0.7), and must not call a method of
an object it finds there. For a list of numbers both are ruled out at the speed of C, by `_finite_sum`; a list that
it cannot vouch for is walked item by item.
"""

from __future__ import annotations

import gc
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from autoscirub.checks.expressions.limits import MAX_INT_DIGITS
from autoscirub.checks.expressions.tree import SourcePosition, Tree
from autoscirub.checks.expressions.values import (
    NUMBERS,
    SEQUENCES,
    describe,
    require_number,
    settle,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from autoscirub.errors import NotEvaluable


class Walked:
    """The list last found to hold finite numbers alone, so that one evaluation walks it once.

    `sum(results.loss) / len(results.loss) < max(results.loss)` walks one list twice. Emptied before and after
    every evaluation: nothing is remembered of results between two.
    """

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: object = None


class Call(SourcePosition):
    """Where a helper is called, and what the evaluation it is called in remembers."""

    __slots__ = ("walked",)

    def __init__(self, tree: Tree, node: ast.expr, walked: Walked) -> None:
        super().__init__(tree, node)
        self.walked = walked


def _abs(call: Call, value: Any) -> Any:
    require_number(value, call, "its argument")
    return abs(value)


def _round(call: Call, value: Any, *digits: Any) -> Any:
    require_number(value, call, "its argument")
    if not digits:
        return round(value)
    decimals = digits[0]
    if type(decimals) is not int:
        raise call.fault(f"its decimals are {describe(decimals)}; expected an integer")
    if type(value) is not float and decimals < -MAX_INT_DIGITS:
        return 0  # Python would first compute 10 ** -decimals
    try:
        return settle(round(value, decimals), call)
    except OverflowError:
        raise call.fault("overflows: gives a number too large for a float") from None


def _len(call: Call, value: Any) -> int:
    if type(value) in _SIZED:
        return len(value)
    raise call.fault(f"its argument is {describe(value)}, which has no length")


_SIZED = frozenset({str, list, tuple, dict})


def _sum(call: Call, values: Any, start: Any = 0) -> Any:
    if type(values) not in SEQUENCES:
        raise _no_sequence(values, call)
    if type(start) is not int:
        require_number(start, call, "its start")
    total = _finite_sum(values, start)
    if total is not None:
        call.walked.values = values
        return total
    _require_numbers(values, call)
    try:
        return settle(sum(values, start), call)
    except OverflowError:
        raise call.fault("overflows: gives a number too large for a float") from None


def _max(call: Call, *arguments: Any) -> Any:
    return max(_comparable(call, arguments))


def _min(call: Call, *arguments: Any) -> Any:
    return min(_comparable(call, arguments))


def _all(call: Call, values: Any) -> bool:
    if type(values) not in SEQUENCES:
        raise _no_sequence(values, call)
    for index, value in enumerate(values):
        if value is not True:
            _require_boolean(value, index, call)
            return False
    return True


def _any(call: Call, values: Any) -> bool:
    if type(values) not in SEQUENCES:
        raise _no_sequence(values, call)
    for index, value in enumerate(values):
        if value is not False:
            _require_boolean(value, index, call)
            return True
    return False


def _comparable(call: Call, arguments: tuple[Any, ...]) -> Any:
    """What `max` and `min` choose from: the items of the one argument, or several arguments."""
    values = arguments[0] if len(arguments) == 1 else arguments
    if type(values) not in SEQUENCES:
        raise _no_sequence(values, call)
    if not values:
        raise call.fault("there is nothing to choose from: it is empty")
    if values is call.walked.values:
        return values
    if _finite_sum(values, 0.0) is not None:
        call.walked.values = values
    elif type(values[0]) is str:
        _require_strings(values, call)
    else:
        _require_numbers(values, call)
    return values


def _finite_sum(values: Any, start: Any) -> float | None:
    """The sum, if it is a finite float: then every item is a finite number. None if that cannot be decided so.

    The garbage collector is asked first, since it asks no object: an instance of a class written in Python
    refers at least to that class, a number to nothing. What refers to nothing and is no number is built in:
    adding it fails, or gives a sum that is no float. (An instance of a class with empty `__slots__` shows
    nothing either, and would be added. No reader of JSON makes one.)
    """
    if not values or type(values[0]) not in NUMBERS or gc.get_referents(*values):
        return None
    try:
        total = sum(values, start)
    except (TypeError, OverflowError):
        return None
    return total if type(total) is float and isfinite(total) else None


def _require_strings(values: Any, call: Call) -> None:
    for index, value in enumerate(values):
        if type(value) is not str:
            raise call.fault(f"type mismatch: item [0] is a string, item [{index}] is {describe(value)}")


def _require_numbers(values: Any, call: Call) -> None:
    for index, value in enumerate(values):
        if type(value) is not int:  # an integer is finite; the rest is checked
            require_number(value, call, f"item [{index}]")


def _no_sequence(values: Any, call: Call) -> NotEvaluable:
    return call.fault(f"its argument is {describe(values)}; expected a list")


def _require_boolean(value: Any, index: int, call: Call) -> None:
    if type(value) is not bool:
        raise call.fault(f"item [{index}] is {describe(value)}; expected True or False")


class Helper(NamedTuple):
    """One helper: its function, and whether that remembers the list it walked."""

    function: Callable[..., Any]
    remembers: bool


HELPERS: dict[str, Helper] = {
    "abs": Helper(_abs, False),
    "all": Helper(_all, False),
    "any": Helper(_any, False),
    "len": Helper(_len, False),
    "max": Helper(_max, True),
    "min": Helper(_min, True),
    "round": Helper(_round, False),
    "sum": Helper(_sum, True),
}
"""In the reference's order. A function takes the call and the values of its arguments."""
