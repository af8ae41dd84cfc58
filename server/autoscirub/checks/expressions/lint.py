"""Finds, before there are results, what is wrong with a check: it cannot be false, or it is fragile.

*Cannot be false* is a list, not a theorem prover: constants, what folds to True, `len(…) >= 0`, `abs(…) >= 0`,
`x == x`, `a or not a`, and what `and`, `or`, `not` make of these. "Cannot be false" leaves open that it could
not be evaluated.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from autoscirub.checks.expressions.comparison import RELATIONS
from autoscirub.checks.expressions.compile import build
from autoscirub.checks.expressions.tree import COMPARISONS, Tree, canonical, parts_of
from autoscirub.errors import NotEvaluable

_UNKNOWN: Any = object()

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
}
"""A comparison that holds exactly when the other does not; there is no NaN that would break this."""

_REFLEXIVE = {"==": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}
"""What a comparison of a value with itself gives."""

_NEVER_NEGATIVE = {"len": "length", "abs": "absolute value"}


class ExpressionLint(NamedTuple):
    """What there is to say about an expression besides what the grammar refuses."""

    cannot_be_false: str | None
    """Why it cannot come out False, in words; None if it can, as far as the list tells."""
    warnings: list[str]
    """What is allowed but most likely not meant, in the order of the source."""


def lint_tree(tree: Tree) -> ExpressionLint:
    """Everything that a freeze says of an expression, found in one pass."""
    if not tree.references:
        return ExpressionLint(
            "it reads no result, so the work cannot change its answer", _warnings(tree, None)
        )
    truth = _Truth(tree)
    return ExpressionLint(truth.always(tree.node, True), _warnings(tree, truth))


def _warnings(tree: Tree, truth: _Truth | None) -> list[str]:
    found = []
    for node in tree.nodes:
        if isinstance(node, ast.Compare):
            found += [(node.lineno, node.col_offset, text) for text in _float_equality(tree, node)]
    warnings = [text for _, _, text in sorted(found)]
    if isinstance(tree.node, _GIVES_NO_BOOLEAN) or _name_called(tree.node) in _GIVE_NUMBERS:
        warnings.append(f"{tree.segment(tree.node)} never gives True or False, which a check must")
    never = truth.always(tree.node, False) if truth else None
    if never:
        warnings.append(f"it can never be true: {never}")
    return warnings


class _Truth:
    """Decides of a part whether it is always True, or always False, whenever it has a value."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.reading = {id(node) for node in tree.reading}
        """The ids of the nodes that read results; the tree outlives this object."""

    def always(self, node: ast.expr, wanted: bool) -> str | None:
        """Why `node` can only give `wanted`; None if it can give the other, as far as the list tells."""
        if id(node) not in self.reading:
            return self._folded(node, wanted)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.always(node.operand, not wanted)
        if isinstance(node, ast.BoolOp):
            return self._joined(node, node.values, isinstance(node.op, ast.Or), wanted)
        if isinstance(node, ast.Compare):
            return self._chain(node, wanted)
        match node:
            case ast.Call(
                func=ast.Name(id="any" | "all" as name), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]
            ):
                return self._joined(node, parts, name == "any", wanted)
        return None

    def _folded(self, node: ast.expr, wanted: bool) -> str | None:
        word = "true" if wanted else "false"
        return f"{self.tree.segment(node)} is always {word}" if self._constant(node) is wanted else None

    def _constant(self, node: ast.expr) -> Any:
        """The value of a part that reads no result; `_UNKNOWN` for a part that does, or that has none."""
        if id(node) in self.reading:
            return _UNKNOWN
        try:
            return build(self.tree, node)({})
        except NotEvaluable:
            return _UNKNOWN

    def _joined(self, node: ast.expr, parts: list[ast.expr], is_or: bool, wanted: bool) -> str | None:
        """`or` is True by one part and False only by all; `and` the other way round."""
        reasons = [self.always(part, wanted) for part in parts]
        if is_or is not wanted:
            return "; ".join(reason for reason in reasons if reason) if all(reasons) and reasons else None
        for reason in reasons:
            if reason:
                return reason
        seen: dict[str, ast.expr] = {}
        for part in parts_of(node) if isinstance(node, ast.BoolOp) else parts:
            opposite = seen.get(_key(part, negated=True))
            if opposite is not None:
                first, second = self.tree.segment(opposite), self.tree.segment(part)
                return f"of {first} and {second}, always exactly one holds"
            seen[_key(part)] = part
        return None

    def _chain(self, node: ast.Compare, wanted: bool) -> str | None:
        operands = [node.left, *node.comparators]
        reasons = [
            self._link(left, COMPARISONS[type(op)], right, wanted)
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        if wanted:
            return "; ".join(reason for reason in reasons if reason) if all(reasons) else None
        return next((reason for reason in reasons if reason), None)

    def _link(self, left: ast.expr, symbol: str, right: ast.expr, wanted: bool) -> str | None:
        segment = self.tree.segment
        if symbol in _REFLEXIVE:
            if _REFLEXIVE[symbol] is wanted and canonical(left) == canonical(right):
                return f"{segment(left)} is compared with itself"
            return self._bounded(left, symbol, right, wanted) or self._bounded(
                right, _MIRRORED[symbol], left, wanted
            )
        if isinstance(right, ast.List | ast.Tuple) and wanted is (symbol == "in"):
            same = canonical(left)
            if any(canonical(item) == same for item in right.elts):
                return f"{segment(left)} is searched for in a list that it is in"
        return None

    def _bounded(self, left: ast.expr, symbol: str, right: ast.expr, wanted: bool) -> str | None:
        """`len(…)` and `abs(…)` against a constant: nothing below zero is among their values."""
        kind = _NEVER_NEGATIVE.get(_name_called(left) or "")
        bound = self._constant(right) if kind else _UNKNOWN
        if type(bound) not in (int, float, bool):
            return None
        always = {">=": bound <= 0, ">": bound < 0, "!=": bound < 0}.get(symbol, False)
        never = {"<": bound <= 0, "<=": bound < 0, "==": bound < 0}.get(symbol, False)
        if always if wanted else never:
            text = f"{self.tree.segment(left)} {symbol} {self.tree.segment(right)}"
            return f"{text} is {'true' if wanted else 'false'} of every {kind}"
        return None


def _name_called(node: ast.expr) -> str | None:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _key(node: ast.expr, negated: bool = False) -> str:
    """A normal form under negation and mirroring: `not x > 0`, `0 >= x` and `x <= 0` have the same one."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, negated = node.operand, not negated
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = canonical(node.left), canonical(node.comparators[0])
        symbol = COMPARISONS[type(node.ops[0])]
        if negated:
            symbol = _OPPOSITE[symbol]
        if symbol in RELATIONS and left > right:
            left, symbol, right = right, _MIRRORED[symbol], left
        return f"({left} {symbol} {right})"
    return f"(not {canonical(node)})" if negated else canonical(node)


_DISPLAYS = (ast.List, ast.Tuple, ast.Dict)
_GIVES_NO_BOOLEAN = (ast.BinOp, *_DISPLAYS)
_GIVE_NUMBERS = frozenset({"abs", "len", "round", "sum"})


def _float_equality(tree: Tree, node: ast.Compare) -> list[str]:
    """`==`, `!=`, `in` and `not in` where a side is a float by its source, and no side was rounded first."""
    operands = [node.left, *node.comparators]
    found = []
    for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
        symbol = COMPARISONS[type(op)]
        if symbol not in ("==", "!=", "in", "not in") or "round" in (_name_called(left), _name_called(right)):
            continue
        if _is_float(left) or _is_float(right):
            first, second = tree.segment(left), tree.segment(right)
            scalars = not isinstance(left, _DISPLAYS) and not isinstance(right, _DISPLAYS)
            instead = (
                f"abs({first} - {second}) < 1e-9"
                if scalars
                else "one comparison with a tolerance for each item"
            )
            found.append(
                f"{first} {symbol} {second} compares a float exactly ({tree.where(node)}); safer is {instead}"
            )
    return found


def _is_float(node: ast.expr) -> bool:
    """Whether the source alone tells that the value is, or holds, a float."""
    match node:
        case ast.Constant(value=value):
            return type(value) is float
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _is_float(operand)
        case ast.BinOp(op=ast.Div()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_float(left) or _is_float(right)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return any(_is_float(item) for item in items)
        case ast.Call(func=ast.Name(id="abs" | "max" | "min" | "sum"), args=arguments):
            return any(_is_float(argument) for argument in arguments)
    return False
