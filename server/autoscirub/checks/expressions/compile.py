"""Compiles a parsed expression into nested closures, built once and called for every evaluation.

`BUILDERS` is closed like the grammar's table, and in its order. A closure takes results and gives a value;
what it gives is of a known type, and a number is finite. The common case of each operation is answered in
the closure itself; everything else goes to the module that knows the rules (`arithmetic`, `comparison`,
`helpers`, `references`), which gives the answer or says why there is none.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.arithmetic import OPERATIONS, QUICK, calculate, signed
from autoscirub.checks.expressions.chains import build_comparison
from autoscirub.checks.expressions.helpers import HELPERS, Call
from autoscirub.checks.expressions.references import reader
from autoscirub.checks.expressions.tree import (
    BINARY,
    NOT_LITERAL,
    UNARY,
    Sides,
    SourcePosition,
    Tree,
    literal,
    path_of,
)
from autoscirub.checks.expressions.unit import Run, Unit
from autoscirub.checks.expressions.values import CONTAINERS, NUMBERS, describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.errors import NotEvaluable


def build(tree: Tree, node: ast.expr) -> Run:
    """Compile `node`, the root of `tree` or a part of it."""
    unit = unit_of(tree)
    run = unit.build(node)
    if not unit.remembers:
        return run
    walked = unit.walked

    def evaluate(results: dict[str, Any]) -> Any:
        walked.values = None
        try:
            return run(results)
        finally:
            walked.values = None

    return evaluate


def unit_of(tree: Tree) -> Unit:
    """What the builders of the expression `tree` share."""
    return Unit(tree, BUILDERS)


def _constant(_unit: Unit, node: ast.Constant) -> Run:
    value = node.value
    return lambda _results: value


def _list(unit: Unit, node: ast.List) -> Run:
    items = unit.build_all(node.elts)
    return lambda results: [item(results) for item in items]


def _tuple(unit: Unit, node: ast.Tuple) -> Run:
    items = unit.build_all(node.elts)
    return lambda results: tuple([item(results) for item in items])


def _dict(unit: Unit, node: ast.Dict) -> Run:
    place = unit.place(node)
    pairs = [
        (unit.build(key), unit.build(value)) for key, value in zip(node.keys, node.values, strict=True) if key
    ]

    def run(results: dict[str, Any]) -> Any:
        made = {}
        for get_key, get_value in pairs:
            key = get_key(results)
            if type(key) in CONTAINERS:
                raise place.fault(f"a key of a dict cannot be {describe(key)}")
            made[key] = get_value(results)
        return made

    return run


def _reference(unit: Unit, node: ast.expr) -> Run:
    keys = path_of(node)
    assert keys is not None  # noqa: S101 - the grammar lets no other name, attribute or item pass
    return reader(keys, unit.place(node))


def _unary(unit: Unit, node: ast.UnaryOp) -> Run:
    symbol, operand, place = UNARY[type(node.op)], unit.build(node.operand), unit.place(node)
    value = literal(node)
    if value is not NOT_LITERAL:
        return lambda _results: value
    if isinstance(node.op, ast.Not):
        truth = unit.place(node.operand)

        def negate(results: dict[str, Any]) -> bool:
            value = operand(results)
            if value is False or value is True:
                return value is False
            raise _not_boolean(value, truth)

        return negate
    return lambda results: signed(symbol, operand(results), place)


def _binary(unit: Unit, node: ast.BinOp) -> Run:
    symbol, left, right = BINARY[type(node.op)], unit.build(node.left), unit.build(node.right)
    sides = Sides(unit.place(node), node.left, node.right)
    if symbol not in QUICK:
        return lambda results: calculate(symbol, left(results), right(results), sides)
    operation = OPERATIONS[symbol]
    constant = literal(node.right)
    if type(constant) is float:

        def with_constant(results: dict[str, Any]) -> Any:
            a = left(results)
            if type(a) is float:
                try:
                    value = operation(a, constant)
                    if value - value == 0.0:  # finite
                        return value
                except ArithmeticError:
                    pass
            return calculate(symbol, a, constant, sides)

        return with_constant

    def run(results: dict[str, Any]) -> Any:
        a, b = left(results), right(results)
        if type(a) is float and type(b) in NUMBERS:
            try:
                value = operation(a, b)
                if value - value == 0.0:  # finite
                    return value
            except ArithmeticError:
                pass
        return calculate(symbol, a, b, sides)

    return run


def _and_or(unit: Unit, node: ast.BoolOp) -> Run:
    operands = [(unit.build(value), unit.place(value)) for value in node.values]
    goes_on = isinstance(node.op, ast.And)
    ends: bool = not goes_on

    def run(results: dict[str, Any]) -> bool:
        for operand, place in operands:
            value = operand(results)
            if value is goes_on:
                continue
            if value is ends:
                return not goes_on
            raise _not_boolean(value, place)
        return goes_on

    return run


def _not_boolean(value: Any, place: SourcePosition) -> NotEvaluable:
    return place.fault(f"is {describe(value)}; and, or and not take True and False only")


def _call(unit: Unit, node: ast.Call) -> Run:
    assert isinstance(node.func, ast.Name)  # noqa: S101 - the grammar lets no other call pass
    name, call = node.func.id, Call(unit.tree, node, unit.walked)
    helper = HELPERS[name]
    function = helper.function
    unit.remembers = unit.remembers or helper.remembers
    arguments = unit.build_all(node.args)
    if len(arguments) > 1:
        return lambda results: function(call, *[argument(results) for argument in arguments])
    argument = arguments[0]
    if name == "abs":

        def absolute(results: dict[str, Any]) -> Any:
            value = argument(results)
            return abs(value) if type(value) is float else function(call, value)

        return absolute
    if name == "len":

        def length(results: dict[str, Any]) -> Any:
            value = argument(results)
            return len(value) if type(value) is list else function(call, value)

        return length
    return lambda results: function(call, argument(results))


BUILDERS: dict[type[ast.AST], Callable[[Unit, Any], Run]] = {
    ast.Constant: _constant,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Dict: _dict,
    ast.Name: _reference,
    ast.Attribute: _reference,
    ast.Subscript: _reference,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: build_comparison,
    ast.BoolOp: _and_or,
    ast.Call: _call,
}
"""One builder for each rule of the grammar."""
