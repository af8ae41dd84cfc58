"""The seven arithmetic operators and the signs: Python's own number, or none.

What could take long is refused by the size of its operands, before it is computed.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.limits import MAX_INT_BITS, MAX_INT_DIGITS, MAX_SEQUENCE
from autoscirub.checks.expressions.values import NUMBERS, describe, require_number, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.checks.expressions.tree import Sides, SourcePosition

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}

QUICK = frozenset({"+", "-", "*", "/"})
"""Of two floats, or a float and an integer, these give a float or raise `ArithmeticError`: no size to fear,
and no complex number, which `**` can give."""

_JOINED = frozenset({str, list, tuple})


def calculate(symbol: str, left: Any, right: Any, sides: Sides) -> Any:
    """`left symbol right`, one of `OPERATIONS`: two numbers, or for `+` two strings, lists or tuples.

    Raises:
        NotEvaluable: wrong types, a division by zero, or a result that is complex, not finite or too large.
    """
    place, kind, other = sides.place, type(left), type(right)
    if symbol == "+" and kind is other and kind in _JOINED:
        if len(left) + len(right) > MAX_SEQUENCE:
            raise place.fault(
                f"gives {len(left) + len(right):,} items or characters; at most {MAX_SEQUENCE:,} are allowed"
            )
        return left + right
    if kind not in NUMBERS or other not in NUMBERS:
        raise place.fault(_wrong_operands(symbol, left, right, sides))
    if kind is not float and other is not float and _is_too_large(symbol, left, right):
        raise place.fault(f"gives an integer of more than {MAX_INT_DIGITS:,} digits")
    try:
        value = OPERATIONS[symbol](left, right)
    except ZeroDivisionError:
        raise place.fault("division by zero") from None
    except OverflowError:
        raise place.fault("overflows: gives a number too large for a float") from None
    return settle(value, place)


def _is_too_large(symbol: str, left: int, right: int) -> bool:
    """Whether the result of two integers is over the limit for sure, without computing it.

    An integer of n bits is at least 2**(n - 1), so these are lower bounds of the result's size. What they let
    pass has at most twice the limit's bits, and is then checked itself.
    """
    bits: int = 0
    if symbol == "*":
        bits = left.bit_length() + right.bit_length() - 2
    elif symbol == "**":
        bits = (left.bit_length() - 1) * right
    return bits > MAX_INT_BITS


def _wrong_operands(symbol: str, left: Any, right: Any, sides: Sides) -> str:
    wanted = "two numbers, strings, lists or tuples" if symbol == "+" else "two numbers"
    return (
        f"type mismatch: {symbol} takes {wanted}; {sides.left_text} is {describe(left)}, "
        f"{sides.right_text} is {describe(right)}"
    )


def signed(symbol: str, value: Any, place: SourcePosition) -> Any:
    """`+value` or `-value`.

    Raises:
        NotEvaluable: it is no number.
    """
    require_number(value, place, "the operand")
    return -value if symbol == "-" else +value
