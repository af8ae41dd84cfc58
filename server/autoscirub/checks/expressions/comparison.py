"""The eight comparison operators: Python's own answer, or none where the two sides cannot be compared.

Python answers `"0.4" == 0.4` with False. Here that is a type mismatch: a check must not come out as a
refutation because a number was saved as text. The same holds within containers, and for a null.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.limits import MAX_DEPTH
from autoscirub.checks.expressions.values import (
    COMPARED_AS,
    CONTAINERS,
    SEQUENCES,
    describe,
    kind_of,
    require_finite,
    show,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.checks.expressions.tree import Sides

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The operators but for `in` and `not in`, which are `contains` and its negation."""


def compare(symbol: str, left: Any, right: Any, sides: Sides) -> bool:
    """`left symbol right`, one of `RELATIONS`, elementwise for containers.

    Raises:
        NotEvaluable: their types do not match, here or in the items they have in common; a number in one of
            them is not finite; or the operator is not defined for them.
    """
    require_finite(left, sides.place, sides.left_text)
    require_finite(right, sides.place, sides.right_text)
    mismatch = _mismatch(left, right, "")
    if mismatch:
        raise sides.place.fault(_described(mismatch, sides))
    try:
        return RELATIONS[symbol](left, right)
    except TypeError:
        raise sides.place.fault(f"{symbol} is not defined between {kind_of(left)} and another") from None


_Mismatch = tuple[str, Any, str, Any]
"""Where in the left side, what is there, where in the right side, what is there."""


def _mismatch(left: Any, right: Any, at: str, levels: int = MAX_DEPTH) -> _Mismatch | None:
    """The first pair, of those at the same place in both, that cannot be compared."""
    kind = type(left)
    if COMPARED_AS[kind] != COMPARED_AS[type(right)]:
        return at, left, at, right
    if kind not in CONTAINERS or levels == 0:
        return None
    shared: Any = range(min(len(left), len(right)))
    if kind is dict:
        shared = [key for key in left if key in right]
    for place in shared:
        mismatch = _mismatch(left[place], right[place], f"{at}[{show(place)}]", levels - 1)
        if mismatch:
            return mismatch
    return None


def _described(mismatch: _Mismatch, sides: Sides) -> str:
    left_at, left, right_at, right = mismatch
    return (
        f"type mismatch: {sides.left_text}{left_at} is {describe(left)}, "
        f"{sides.right_text}{right_at} is {describe(right)}"
    )


def contains(item: Any, container: Any, sides: Sides) -> bool:
    """`item in container`: a part of a string, an item of a list or tuple, a key of a dict.

    Raises:
        NotEvaluable: there is nothing to look in; a number seen is not finite; or no item equals and one at
            least could not be compared.
    """
    kind = type(container)
    if kind is str:
        if type(item) is str:
            return item in container
        raise sides.place.fault(_described(("", item, "", container), sides))
    if kind is dict:
        if type(item) in CONTAINERS:
            raise sides.place.fault(f"{sides.left_text} is {kind_of(item)}, which is no key of a dict")
        candidates: Any = list(container)
        if not candidates and type(item) is not str:
            raise sides.place.fault(f"{sides.left_text} is {kind_of(item)}; a key of a dict is a string")
    elif kind in SEQUENCES:
        candidates = container
        require_finite(item, sides.place, sides.left_text)
    else:
        raise sides.place.fault(f"nothing is in {sides.right_text}: it is {kind_of(container)}")
    require_finite(candidates, sides.place, sides.right_text)
    found: _Mismatch | None = None
    for index, candidate in enumerate(candidates):
        mismatch = _mismatch(item, candidate, "")
        if mismatch is None:
            if item == candidate:
                return True
        elif found is None:
            at = f"[{index}]" if kind is not dict else f", key {show(candidate)},"
            found = mismatch[0], mismatch[1], at + mismatch[2], mismatch[3]
    if found:
        raise sides.place.fault(_described(found, sides))
    return False


def contains_null(container: Any, sides: Sides) -> bool:
    """`None in container`: the literal asks for a null on purpose, so that nothing mismatches it."""
    if type(container) not in CONTAINERS:
        raise sides.place.fault(f"None is not in {kind_of(container)}")
    require_finite(list(container), sides.place, sides.right_text)
    return None in container
