"""Parses an expression and refuses all that the grammar does not have, by name and column.

The grammar is `GRAMMAR`: a closed table from the type of a syntax node to the rule for it. A node without a
rule is refused, so a node that a later Python adds is refused too.
Source: the reference's page on two-layer verification, "Layer 1".
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from bisect import bisect_right
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from autoscirub.checks.expressions.limits import (
    INT_BOUND,
    MAX_DEPTH,
    MAX_INT_DIGITS,
    MAX_LENGTH,
    MAX_NODES,
)
from autoscirub.checks.expressions.text import shorten
from autoscirub.checks.expressions.tree import BINARY, BLANK, COMPARISONS, LINE_END, UNARY, Tree, where
from autoscirub.errors import ExpressionRefused

if TYPE_CHECKING:
    from collections.abc import Callable

HELPER_ARGUMENTS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "all": (1, 1),
    "any": (1, 1),
    "len": (1, 1),
    "max": (1, None),
    "min": (1, None),
    "round": (1, 2),
    "sum": (1, 2),
}
"""The eight helpers, in the reference's order, with the least and the most arguments each takes."""

_REFUSED_NAMES: dict[type[ast.AST], str] = {
    ast.Await: "await",
    ast.BitAnd: "the bit operator &",
    ast.BitOr: "the bit operator |",
    ast.BitXor: "the bit operator ^",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.IfExp: "a conditional expression (if/else)",
    ast.Invert: "the bit operator ~",
    ast.Is: "'is'",
    ast.IsNot: "'is not'",
    ast.JoinedStr: "an f-string",
    ast.LShift: "the bit operator <<",
    ast.Lambda: "a lambda",
    ast.ListComp: "a list comprehension",
    ast.MatMult: "the operator @",
    ast.NamedExpr: "an assignment (:=)",
    ast.RShift: "the bit operator >>",
    ast.Set: "a set",
    ast.SetComp: "a set comprehension",
    ast.Slice: "a slice",
    ast.Starred: "a starred item",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
}
"""Words for what people do try. A node that is in neither table goes by its own name."""

_NON_ASCII = re.compile(rb"[\x80-\xff]")

# warnings.catch_warnings swaps a global list: two threads that overlap in it would leave it swapped.
_parsing = threading.Lock()


def parse(source: str) -> Tree:
    """Parse one expression.

    Raises:
        ExpressionRefused: it is not an expression, not of this grammar, or over a limit of `limits`.
    """
    if not isinstance(source, str):
        raise ExpressionRefused(f"an expression is a string; got {type(source).__name__}")
    if len(source) > MAX_LENGTH:
        raise ExpressionRefused(
            f"the expression has {len(source):,} characters; at most {MAX_LENGTH:,} are allowed"
        )
    text = source.strip(BLANK)
    if not text:
        raise ExpressionRefused("the expression is empty; expected something like results.slope > 0.4")
    tree = Tree(source, text, _syntax_tree(source, text))
    walk = _GrammarWalk(tree)
    walk.visit(tree.node, 1)
    _refuse_non_ascii(tree, walk.strings)
    return tree


def _syntax_tree(source: str, text: str) -> ast.expr:
    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" is only a warning in some Pythons; it means the same here
            return ast.parse(text, mode="eval").body
    except SyntaxError as fault:
        if str(fault.msg).startswith("Exceeds the limit"):  # Python would advise to write it in hexadecimal
            fault.msg = f"an integer of more than {MAX_INT_DIGITS:,} digits"
        place = _where_it_broke(source, text, fault)
        raise ExpressionRefused(
            f"not a Python expression: {fault.msg} ({place} of {shorten(text)})"
        ) from None
    except (MemoryError, RecursionError):
        raise ExpressionRefused(
            f"the expression is nested too deeply to parse; at most {MAX_DEPTH} levels are allowed: "
            f"{shorten(text)}"
        ) from None
    except ValueError as fault:  # NUL and lone surrogates
        raise ExpressionRefused(f"not Python source text: {fault}") from None


def _where_it_broke(source: str, text: str, fault: SyntaxError) -> str:
    """The place that the parser names; the end of the line when it names none, as for `results.`"""
    lines = LINE_END.split(text.encode("utf-8", "surrogatepass"))
    number = min(fault.lineno or len(lines), len(lines))
    line = lines[number - 1].decode("utf-8", "replace")
    column = fault.offset - 1 if fault.offset and fault.offset > 0 else len(line)
    return where(source, text, number, len(line[:column].encode()))


def _refuse_non_ascii(tree: Tree, strings: list[ast.Constant]) -> None:
    """Outside of strings, ASCII alone: Python folds look-alikes (`ａbs`, `ﬁt`) into other identifiers."""
    if tree.text.isascii():
        return
    outside = bytearray(tree.encoded)
    for node in strings:
        first, last = tree.span(node)
        outside[first:last] = b" " * (last - first)
    found = _NON_ASCII.search(outside)
    if found:
        line = bisect_right(tree.line_starts, found.start())
        place = where(tree.source, tree.text, line, found.start() - tree.line_starts[line - 1])
        character = tree.encoded[found.start() :].decode()[0]
        raise ExpressionRefused(
            f"the character {character!r} is not ASCII; only strings may hold it ({place} of {shorten(tree.text)})"
        )


class _GrammarWalk:
    """One pass over a tree: every node is counted, and goes to its rule."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.nodes = 0
        self.strings: list[ast.Constant] = []

    def visit(self, node: ast.expr, depth: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.tree.refuse(node, f"the expression has more than {MAX_NODES:,} parts")
        if depth > MAX_DEPTH:
            self.tree.refuse(node, f"the expression is nested more than {MAX_DEPTH} levels deep")
        rule = GRAMMAR.get(type(node))
        if rule is None:
            self.refuse_type(node, node)
        self.tree.nodes.append(node)
        read = len(self.tree.references)
        rule(self, node, depth + 1)
        if len(self.tree.references) > read:
            self.tree.reading.append(node)

    def refuse_type(self, node: ast.AST, at: ast.expr) -> NoReturn:
        name = _REFUSED_NAMES.get(type(node), type(node).__name__)
        self.tree.refuse(at, f"{name} is not allowed")


def _constant(walk: _GrammarWalk, node: ast.Constant, _depth: int) -> None:
    value: Any = node.value
    kind = type(value)
    if kind is str:
        walk.strings.append(node)
    elif kind is float:
        if not isfinite(value):
            walk.tree.refuse(node, "a number too large for a float is not allowed")
    elif kind is int:
        if value >= INT_BOUND:
            walk.tree.refuse(node, f"an integer of more than {MAX_INT_DIGITS:,} digits is not allowed")
    elif kind is not bool and value is not None:
        name = {bytes: "a bytes constant", complex: "a complex constant"}.get(kind, "an Ellipsis")
        walk.tree.refuse(node, f"{name} is not allowed")


def _sequence(walk: _GrammarWalk, node: ast.List | ast.Tuple, depth: int) -> None:
    for item in node.elts:
        walk.visit(item, depth)


def _dict(walk: _GrammarWalk, node: ast.Dict, depth: int) -> None:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            walk.tree.refuse(value, "dict unpacking (**) is not allowed")
        walk.visit(key, depth)
        walk.visit(value, depth)


def _unary(walk: _GrammarWalk, node: ast.UnaryOp, depth: int) -> None:
    if type(node.op) not in UNARY:
        walk.refuse_type(node.op, node)
    walk.visit(node.operand, depth)


def _binary(walk: _GrammarWalk, node: ast.BinOp, depth: int) -> None:
    if type(node.op) not in BINARY:
        walk.refuse_type(node.op, node)
    walk.visit(node.left, depth)
    walk.visit(node.right, depth)


def _and_or(walk: _GrammarWalk, node: ast.BoolOp, depth: int) -> None:
    for operand in node.values:
        walk.visit(operand, depth)


def _compare(walk: _GrammarWalk, node: ast.Compare, depth: int) -> None:
    walk.visit(node.left, depth)
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        if type(operator) not in COMPARISONS:
            walk.refuse_type(operator, node)
        walk.visit(operand, depth)


def _name(walk: _GrammarWalk, node: ast.Name, _depth: int) -> None:
    if node.id == "results":
        walk.tree.references.append(node)
    elif node.id in HELPER_ARGUMENTS:
        walk.tree.refuse(node, f"the helper {node.id} is only allowed as a call: {node.id}(…)")
    else:
        helpers = ", ".join(HELPER_ARGUMENTS)
        walk.tree.refuse(
            node, f"the name {node.id!r} is not allowed; there are results and the helpers {helpers}"
        )


def _lookup(walk: _GrammarWalk, node: ast.Attribute | ast.Subscript, depth: int) -> None:
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute | ast.Subscript):
        if isinstance(inner, ast.Subscript):
            _require_key(walk, inner)
        inner = inner.value
        walk.nodes += 1
        depth += 1
        if depth > MAX_DEPTH:
            walk.tree.refuse(node, f"the expression is nested more than {MAX_DEPTH} levels deep")
    if not (isinstance(inner, ast.Name) and inner.id == "results"):
        walk.visit(inner, depth)  # what is wrong inside goes first: it says more
        what = "an attribute" if isinstance(node, ast.Attribute) else "an item"
        walk.tree.refuse(node, f"{what} of anything but results is not allowed")
    walk.tree.references.append(node)


def _require_key(walk: _GrammarWalk, node: ast.Subscript) -> None:
    key = node.slice
    if isinstance(key, ast.Slice | ast.Tuple | ast.Starred):
        what = "a slice" if isinstance(key, ast.Slice) else "a key of several parts"
        walk.tree.refuse(key, f"{what} is not allowed")
    if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub):
        key = key.operand
        allowed: tuple[type, ...] = (int,)
    else:
        allowed = (int, str)
    if not isinstance(key, ast.Constant):
        walk.tree.refuse(key, "a key of results must be written out: a string or an integer constant")
    if type(key.value) not in allowed:
        walk.tree.refuse(key, f"{key.value!r} is no key or index; expected a string or an integer")
    walk.visit(key, 1)


def _call(walk: _GrammarWalk, node: ast.Call, depth: int) -> None:
    function = node.func
    if not isinstance(function, ast.Name) or function.id not in HELPER_ARGUMENTS:
        walk.visit(function, depth)  # what is wrong inside goes first: it says more
        called, helpers = walk.tree.segment(function), ", ".join(HELPER_ARGUMENTS)
        walk.tree.refuse(function, f"{called} cannot be called; there are the helpers {helpers}")
    walk.nodes += 1
    if node.keywords:
        walk.tree.refuse(node.keywords[0], f"a keyword argument to {function.id} is not allowed")
    for argument in node.args:
        walk.visit(argument, depth)
    least, most = HELPER_ARGUMENTS[function.id]
    if len(node.args) < least or (most is not None and len(node.args) > most):
        expected = (
            f"{least}" if most == least else f"{least} or more" if most is None else f"{least} or {most}"
        )
        walk.tree.refuse(node, f"{function.id} takes {expected} argument(s), not {len(node.args)}")


GRAMMAR: dict[type[ast.AST], Callable[[_GrammarWalk, Any, int], None]] = {
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Dict: _dict,
    ast.Name: _name,
    ast.Attribute: _lookup,
    ast.Subscript: _lookup,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _and_or,
    ast.Call: _call,
}
"""The grammar: what a node of each type must be. No rule, no node."""
