"""The values that expressions work on: the types of JSON, finite, and displayed in full precision.

Types are compared exactly (`type(x) is float`), never by `isinstance`: a subclass brings its own methods,
and no method of a value that came from outside is ever called. NumPy's `float64` is such a subclass.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.limits import (
    INT_BOUND,
    MAX_DEPTH,
    MAX_INT_DIGITS,
    MAX_MESSAGE_CHARACTERS,
    MAX_MESSAGE_ITEMS,
)
from autoscirub.checks.expressions.text import shorten

if TYPE_CHECKING:
    from autoscirub.checks.expressions.tree import SourcePosition

_Null = type(None)

KINDS: dict[type, str] = {
    float: "a number",
    int: "a number",
    bool: "a boolean",
    str: "a string",
    _Null: "null",
    list: "a list",
    tuple: "a tuple",
    dict: "a dict",
}
"""Every type a value may have, in the words of a message."""

COMPARED_AS: dict[type, str] = {
    float: "number",
    int: "number",
    bool: "number",
    str: "string",
    _Null: "null",
    list: "list",
    tuple: "tuple",
    dict: "dict",
}
"""Values are compared only within one of these. A boolean counts as 0 or 1, as in Python."""

NUMBERS = frozenset({float, int, bool})
SEQUENCES = frozenset({list, tuple})
CONTAINERS = frozenset({list, tuple, dict})
INDEXABLE = frozenset({list, dict})
READABLE = frozenset({str, bool, _Null, list, dict})
"""What a reference may give unchecked; a number is checked first."""

_MESSAGE_LEVELS = 2


def kind_of(value: object) -> str:
    """The value's type for a message; a type that JSON does not have goes by its full name."""
    kind = type(value)
    if kind in KINDS:
        return KINDS[kind]
    return f"a value of the type {kind.__module__}.{kind.__qualname__}, which JSON does not have"


def describe(value: object) -> str:
    """The value's type and the value, for a message: `a string ('ok')`."""
    kind = type(value)
    return kind_of(value) if value is None or kind not in KINDS else f"{KINDS[kind]} ({show(value)})"


def settle(value: Any, place: SourcePosition) -> Any:
    """The number that an operation gave, if it is one that may go on: real, finite, not over-long.

    Raises:
        NotEvaluable: it is not.
    """
    kind = type(value)
    if kind is float:
        if isfinite(value):
            return value
        raise place.fault(f"overflows: gives {value!r}")
    if kind is complex:
        raise place.fault("gives a complex number")
    if -INT_BOUND < value < INT_BOUND:
        return value
    raise place.fault(f"gives an integer of more than {MAX_INT_DIGITS:,} digits")


def require_number(value: Any, place: SourcePosition, what: str) -> None:
    """Raise `NotEvaluable` unless `value` is a finite number or a boolean; `what` names it."""
    kind = type(value)
    if kind not in NUMBERS:
        raise place.fault(f"{what} is {describe(value)}; expected a number")
    if kind is float and not isfinite(value):
        raise place.fault(f"{what} is {value!r}, not a finite number")


def require_finite(value: Any, place: SourcePosition, what: str, levels: int = MAX_DEPTH) -> None:
    """Walk a container: raise `NotEvaluable` at a number that is not finite or a type JSON lacks.

    `what` names the value; the position within it is added. At most `levels` levels are walked, which also
    ends the walk of a list that contains itself.
    """
    kind = type(value)
    if kind is float:
        if not isfinite(value):
            raise place.fault(f"{what} is {value!r}, not a finite number")
    elif kind in SEQUENCES:
        if levels == 0:
            raise place.fault(f"{what} is nested more than {MAX_DEPTH} levels deep")
        for index, item in enumerate(value):
            if type(item) not in _WALKED_OVER:
                require_finite(item, place, f"{what}[{index}]", levels - 1)
    elif kind is dict:
        if levels == 0:
            raise place.fault(f"{what} is nested more than {MAX_DEPTH} levels deep")
        for key, item in value.items():
            if type(key) not in KINDS:
                raise place.fault(f"{what} has a key that is {kind_of(key)}")
            if type(item) not in _WALKED_OVER:
                require_finite(item, place, f"{what}[{show(key)}]", levels - 1)
    elif kind not in KINDS:
        raise place.fault(f"{what} is {kind_of(value)}")


_WALKED_OVER = frozenset({str, int, bool, _Null})


def show(value: Any, levels: int = _MESSAGE_LEVELS) -> str:
    """The value for a message: floats in full precision, long strings, lists and dicts shortened."""
    kind = type(value)
    if kind is str:
        if len(value) <= MAX_MESSAGE_CHARACTERS:
            return repr(value)
        return f"{value[:MAX_MESSAGE_CHARACTERS]!r}… ({len(value):,} characters)"
    if kind is int:
        # Python refuses to spell an integer of more digits than its own limit, which may be set lower.
        try:
            return shorten(repr(value))
        except ValueError:
            return f"an integer of {value.bit_length():,} bits"
    if kind in SEQUENCES:
        opening, closing = ("[", "]") if kind is list else ("(", ")")
        rendered = [show(item, levels - 1) for item in value[:MAX_MESSAGE_ITEMS]] if levels else []
        return opening + _joined(rendered, len(value), kind is tuple) + closing
    if kind is dict:
        items = zip(value.items(), range(MAX_MESSAGE_ITEMS if levels else 0), strict=False)
        rendered = [f"{show(key, 0)}: {show(item, levels - 1)}" for (key, item), _ in items]
        return "{" + _joined(rendered, len(value)) + "}"
    return repr(value) if kind in KINDS else f"<{kind.__module__}.{kind.__qualname__}>"


def _joined(rendered: list[str], length: int, is_tuple: bool = False) -> str:
    if length > len(rendered):
        return ", ".join([*rendered, f"… {length:,} items"])
    return f"{rendered[0]}," if is_tuple and length == 1 else ", ".join(rendered)
