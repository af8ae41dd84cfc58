"""Compiles comparisons and chains of them into closures, with a fast path for the two commonest shapes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.comparison import RELATIONS, compare, contains, contains_null
from autoscirub.checks.expressions.tree import COMPARISONS, Sides, literal
from autoscirub.checks.expressions.values import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.checks.expressions.unit import Run, Unit

    Link = tuple[str, Callable[[Any, Any], bool], Run]

_COMPARABLE: dict[type, frozenset[type]] = {
    float: NUMBERS,
    int: NUMBERS,
    bool: NUMBERS,
    str: frozenset({str}),
}
"""For a scalar of this type, the types it is compared with unchecked."""


def build_comparison(unit: Unit, node: ast.Compare) -> Run:
    """A comparison or a chain of them: True or False, stopping at the first link that does not hold."""
    symbols = [COMPARISONS[type(op)] for op in node.ops]
    if len(symbols) == 1:
        return _one_comparison(unit, node, symbols[0], node.left, node.comparators[0])
    if len(symbols) == 2:
        between = _between_constants(unit, node, symbols)
        if between:
            return between
    first, links = links_of(unit, node)

    def chain(results: dict[str, Any]) -> bool:
        left = first(results)
        for _, link, run in links:
            right = run(results)
            if not link(left, right):
                return False
            left = right
        return True

    return chain


def links_of(unit: Unit, node: ast.Compare) -> tuple[Run, list[Link]]:
    """A comparison taken apart: its first operand, then each symbol with its relation and its operand."""
    operands = [node.left, *node.comparators]
    symbols = [COMPARISONS[type(op)] for op in node.ops]
    first, *rest = unit.build_all(operands)
    return first, [
        (symbol, _link(unit, node, symbol, left, right), run)
        for symbol, left, right, run in zip(symbols, operands, operands[1:], rest, strict=False)
    ]


def _one_comparison(unit: Unit, node: ast.Compare, symbol: str, left: ast.expr, right: ast.expr) -> Run:
    get_left, get_right = unit.build(left), unit.build(right)
    link = _link(unit, node, symbol, left, right)
    relation = RELATIONS.get(symbol)
    constant = literal(right)
    comparable = _COMPARABLE.get(type(constant))
    if relation is None:
        return lambda results: link(get_left(results), get_right(results))
    if comparable is not None:

        def with_constant(results: dict[str, Any]) -> bool:
            value = get_left(results)
            if type(value) in comparable:
                return relation(value, constant)
            return link(value, constant)

        return with_constant

    def run(results: dict[str, Any]) -> bool:
        a, b = get_left(results), get_right(results)
        if (type(a) in NUMBERS and type(b) in NUMBERS) or (type(a) is str and type(b) is str):
            return relation(a, b)
        return link(a, b)

    return run


def _between_constants(unit: Unit, node: ast.Compare, symbols: list[str]) -> Run | None:
    """`10.2 < results.ratio < 12.4`: the commonest chain; None if it is another."""
    low, high = literal(node.left), literal(node.comparators[1])
    first, second = RELATIONS.get(symbols[0]), RELATIONS.get(symbols[1])
    if type(low) not in NUMBERS or type(high) not in NUMBERS or first is None or second is None:
        return None
    get_middle = unit.build(node.comparators[0])
    first_link = _link(unit, node, symbols[0], node.left, node.comparators[0])

    def between(results: dict[str, Any]) -> bool:
        value = get_middle(results)
        if type(value) in NUMBERS:
            return first(low, value) and second(value, high)
        return first_link(low, value)  # raises: no number

    return between


def _link(
    unit: Unit, node: ast.Compare, symbol: str, left: ast.expr, right: ast.expr
) -> Callable[[Any, Any], bool]:
    """One comparison of a chain, as a function of its two values.

    `None`, written out, asks for a null on purpose: then, and only then, a null is equal to nothing else.
    """
    sides = Sides(unit.place(node), left, right)
    null_left, null_right = literal(left) is None, literal(right) is None
    if symbol in ("==", "!=") and (null_left or null_right):
        wanted = symbol == "=="
        return lambda a, b: (a is b) is wanted
    if symbol in RELATIONS:
        return lambda a, b: compare(symbol, a, b, sides)
    wanted = symbol == "in"
    if null_left:
        return lambda _, b: contains_null(b, sides) is wanted
    nulls = [literal(item) is None for item in right.elts] if isinstance(right, ast.List | ast.Tuple) else []
    if not any(nulls):
        return lambda a, b: contains(a, b, sides) is wanted

    def among(a: Any, b: Any) -> bool:
        others = [item for item, is_null in zip(b, nulls, strict=True) if not is_null]
        return (a is None or contains(a, others, sides)) is wanted

    return among
