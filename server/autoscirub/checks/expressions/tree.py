"""A parsed expression: positions in its source, its references, and its normal form."""

from __future__ import annotations

import ast
import json
import keyword
import re
from typing import Any, NoReturn

from autoscirub.checks.expressions.text import shorten
from autoscirub.errors import ExpressionRefused, NotEvaluable

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
UNARY: dict[type[ast.unaryop], str] = {ast.UAdd: "+", ast.USub: "-", ast.Not: "not "}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
"""The operators there are, and how each is written."""

BLANK = " \t\r\n\f"
LINE_END = re.compile(rb"\r\n|\r|\n")

Key = str | int
"""One step of a reference: a key of a dict or an index of a list."""


class Tree:
    """A parsed expression that the grammar allows, and where its nodes stand in the source."""

    def __init__(self, source: str, text: str, node: ast.expr) -> None:
        self.source = source
        """As it was given."""
        self.text = text
        """Without blanks around it, as it was parsed."""
        self.node = node
        """The root."""
        self.references: list[ast.expr] = []
        """Every whole reference into results, in the order written."""
        self.nodes: list[ast.expr] = []
        """Every node that the grammar has a rule for, parents first."""
        self.reading: list[ast.expr] = []
        """Those of them that read results, themselves or in a part."""
        self.encoded = text.encode()
        self.line_starts = [0, *(end.end() for end in LINE_END.finditer(self.encoded))]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Where the node begins and ends in `encoded`."""
        first = self.line_starts[node.lineno - 1] + node.col_offset
        last = self.line_starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return first, last

    def segment(self, node: ast.expr) -> str:
        """The node's own source, shortened. (`ast.get_source_segment` splits the text again every time.)"""
        first, last = self.span(node)
        return shorten(self.encoded[first:last].decode())

    def where(self, node: ast.expr | ast.keyword) -> str:
        """The node's place in the source as given, counted in characters from 1."""
        return where(self.source, self.text, node.lineno, node.col_offset)

    def refuse(self, node: ast.expr | ast.keyword, what: str) -> NoReturn:
        """Raise `ExpressionRefused`, saying what and where."""
        raise ExpressionRefused(f"{what} ({self.where(node)} of {shorten(self.text)})")


class SourcePosition:
    """A node to name when an evaluation fails there. Its source is looked up only then."""

    __slots__ = ("node", "tree")

    def __init__(self, tree: Tree, node: ast.expr) -> None:
        self.tree = tree
        self.node = node

    def fault(self, detail: str, reference: str | None = None) -> NotEvaluable:
        """The error to raise: names the sub-expression and says what is wrong with it."""
        return NotEvaluable(
            f"could not be evaluated: {self.tree.segment(self.node)}: {detail}", reference=reference
        )


class Sides:
    """Where an operation of two operands stands, and its two sides, to be named when it has no value."""

    __slots__ = ("_left", "_right", "place")

    def __init__(self, place: SourcePosition, left: ast.expr, right: ast.expr) -> None:
        self.place = place
        self._left = left
        self._right = right

    @property
    def left_text(self) -> str:
        """The source of the left side, shortened."""
        return self.place.tree.segment(self._left)

    @property
    def right_text(self) -> str:
        """The source of the right side, shortened."""
        return self.place.tree.segment(self._right)


def where(source: str, text: str, line: int, byte_column: int) -> str:
    """`column 7`, or `line 2, column 7` of `source`; `line` and `byte_column` are those of `text`."""
    lines = LINE_END.split(text.encode("utf-8", "surrogatepass"))
    written = lines[min(line, len(lines)) - 1]  # a syntax error may point behind the last line
    column = len(written[:byte_column].decode("utf-8", "replace")) + 1
    before = source[: len(source) - len(source.lstrip(BLANK))]
    lead = LINE_END.split(before.encode())
    if line == 1:
        column += len(lead[-1])
    line += len(lead) - 1
    return f"column {column}" if line == 1 else f"line {line}, column {column}"


def path_of(node: ast.expr) -> tuple[Key, ...] | None:
    """The keys that lead from results to what the node refers to; None if it is no reference."""
    keys: list[Key] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        keys.append(node.attr if isinstance(node, ast.Attribute) else _key(node.slice))
        node = node.value
    return tuple(reversed(keys)) if isinstance(node, ast.Name) else None


def _key(node: ast.expr) -> Key:
    if isinstance(node, ast.UnaryOp):
        return -int(_key(node.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return node.value
    raise AssertionError("the grammar allows nothing else as a key")


NOT_LITERAL: Any = object()
"""What `literal` gives for a node that is no literal."""


def literal(node: ast.expr) -> Any:
    """The value of a constant or of a signed number; `NOT_LITERAL` for all else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        if type(value) in (int, float, bool) and not isinstance(node.op, ast.Not):
            return -value if isinstance(node.op, ast.USub) else +value  # type: ignore[operator]
    return NOT_LITERAL


def spelling(keys: tuple[Key, ...]) -> str:
    """A reference as one would write it: `results.a.b[0]`, `results["mean squared error"]`."""
    parts = [
        f".{key}"
        if isinstance(key, str) and key.isascii() and key.isidentifier() and not keyword.iskeyword(key)
        else f"[{_quoted(key)}]"
        for key in keys
    ]
    return "results" + "".join(parts)


def _quoted(key: Key) -> str:
    if isinstance(key, int):
        return str(key)
    # JSON's spelling is Python's too; a lone surrogate must not reach a message that is then encoded.
    return json.dumps(key, ensure_ascii=not key.isprintable())


def canonical(node: ast.expr) -> str:
    """A normal form: expressions that differ only in blanks, parentheses, quotes, the spelling of a number,
    or `results["a"]` for `results.a` have the same one."""
    keys = path_of(node)
    if keys is not None:
        return spelling(keys)
    match node:
        case ast.Constant(value=value):
            return _spelled(value)
        case ast.List(elts=items):
            return "[" + _listed(items) + "]"
        case ast.Tuple(elts=items):
            return "(" + "".join(f"{canonical(item)}, " for item in items) + ")"
        case ast.Dict(keys=dict_keys, values=values):
            pairs = zip(dict_keys, values, strict=True)
            return "{" + ", ".join(f"{canonical(k)}: {canonical(v)}" for k, v in pairs if k) + "}"
        case ast.UnaryOp(op=op, operand=operand):
            return f"({UNARY[type(op)]}{canonical(operand)})"
        case ast.BinOp(left=left, op=op, right=right):
            return f"({canonical(left)} {BINARY[type(op)]} {canonical(right)})"
        case ast.BoolOp(op=op):
            joint = " and " if isinstance(op, ast.And) else " or "
            return "(" + joint.join(canonical(part) for part in parts_of(node)) + ")"
        case ast.Compare(left=left, ops=ops, comparators=others):
            links = zip(ops, others, strict=True)
            return (
                f"({canonical(left)}"
                + "".join(f" {COMPARISONS[type(op)]} {canonical(other)}" for op, other in links)
                + ")"
            )
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return f"{name}({_listed(arguments)})"
    raise AssertionError(f"the grammar let {type(node).__name__} pass")


def parts_of(node: ast.BoolOp) -> list[ast.expr]:
    """The parts of an `or` (or an `and`), and of those directly within it: `(a or b) or c` has three."""
    parts: list[ast.expr] = []
    for part in node.values:
        same = isinstance(part, ast.BoolOp) and type(part.op) is type(node.op)
        parts += parts_of(part) if same else [part]  # type: ignore[arg-type]
    return parts


def _listed(items: list[ast.expr]) -> str:
    return ", ".join(canonical(item) for item in items)


def _spelled(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # Python was told to spell shorter integers only; hexadecimal has no limit
        return hex(value)
