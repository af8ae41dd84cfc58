"""Evaluates an expression as a check: True, False or neither, and the values that the answer came from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.chains import links_of
from autoscirub.checks.expressions.compile import build, unit_of
from autoscirub.checks.expressions.expression import as_dict
from autoscirub.checks.expressions.limits import MAX_MESSAGE_VALUES
from autoscirub.checks.expressions.text import shorten
from autoscirub.checks.expressions.values import CONTAINERS, kind_of, show
from autoscirub.errors import NotEvaluable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.checks.expressions.expression import Expression
    from autoscirub.checks.expressions.tree import Tree


def check_expr(expression: Expression, results: Mapping[str, Any]) -> tuple[bool | None, Any, str]:
    """Evaluate `expression` as a check: `(passed, value, message)`.

    `passed` is True or False as the expression is, and None if it could not be evaluated or gives something
    else: neither a pass nor a refutation. `value` is what it gives; None for a list, tuple or dict, which may
    hold anything. `message` shows the values that the answer came from, in full precision.
    """
    tree = expression.tree
    try:
        read = as_dict(results)
        if isinstance(tree.node, ast.Compare):  # the commonest check: one pass for the answer and its reason
            value, reason = _links(tree, tree.node, read)
        else:
            value = expression.evaluate(read)
            if value is not True and value is not False:
                gives = f"gives {show(value)}, {kind_of(value)}; a check must give True or False"
                scalar = None if type(value) in CONTAINERS else value
                return None, scalar, f"could not be evaluated: {shorten(expression.source.strip())}: {gives}"
            reason = _reason(tree, tree.node, read)
    except NotEvaluable as fault:
        return None, None, str(fault)
    values = ", ".join(f"{text} = {show(found)}" for text, found in expression.read_values(read))
    rendered = shorten("; ".join(part for part in (reason, values) if part), MAX_MESSAGE_VALUES)
    return (
        value,
        value,
        f"{shorten(expression.source.strip())} is {value}" + (f": {rendered}" if rendered else ""),
    )


def _reason(tree: Tree, node: ast.expr, results: dict[str, Any]) -> str:
    """The comparison that decided, with its values: `0.7426620047798608 < 0.05`. Empty if there is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _reason(tree, node.operand, results)
        return f"not ({inner})" if inner else ""
    if isinstance(node, ast.BoolOp):
        return _deciding_parts(tree, node, results)
    if isinstance(node, ast.Compare):
        return _links(tree, node, results)[1]
    return ""


def _deciding_parts(tree: Tree, node: ast.BoolOp, results: dict[str, Any]) -> str:
    """Of `and` and `or`: the one part that ended it, or all of them when it took all."""
    is_and = isinstance(node.op, ast.And)
    reasons = []
    for part in node.values:
        reason = _reason(tree, part, results) or tree.segment(part)
        if build(tree, part)(results) is not is_and:
            return reason
        reasons.append(reason)
    return (" and " if is_and else " or ").join(reasons)


def _links(tree: Tree, node: ast.Compare, results: dict[str, Any]) -> tuple[bool, str]:
    """A chain's answer, and the one link that failed, or the whole of it when none did."""
    first, links = links_of(unit_of(tree), node)
    left = first(results)
    rendered = show(left)
    for symbol, link, run in links:
        right = run(results)
        if not link(left, right):
            return False, f"{show(left)} {symbol} {show(right)}"
        rendered += f" {symbol} {show(right)}"
        left = right
    return True, rendered
