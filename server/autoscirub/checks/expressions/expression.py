"""An expression: compiled once, evaluated on any results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from autoscirub.checks.expressions.compile import build
from autoscirub.checks.expressions.grammar import parse
from autoscirub.checks.expressions.limits import CACHED_EXPRESSIONS
from autoscirub.checks.expressions.lint import ExpressionLint, lint_tree
from autoscirub.checks.expressions.references import MISSING, look_up
from autoscirub.checks.expressions.text import shorten
from autoscirub.checks.expressions.tree import Key, Tree, canonical, path_of
from autoscirub.checks.expressions.values import kind_of
from autoscirub.errors import ExpressionRefused, NotEvaluable

if TYPE_CHECKING:
    from autoscirub.checks.expressions.unit import Run


class Expression:
    """A compiled expression. It keeps no results; one instance serves any number of evaluations."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        """The parsed expression."""
        paths: dict[tuple[Key, ...], str] = {}
        for node in tree.references:
            paths.setdefault(path_of(node) or (), tree.segment(node))
        self._paths = paths

    @cached_property
    def _run(self) -> Run:
        # Built when it is first needed: the grammar has refused all that can be refused, and a freeze
        # of ten thousand checks evaluates none of them.
        return build(self.tree, self.tree.node)

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    @property
    def source(self) -> str:
        """The expression as it was given."""
        return self.tree.source

    @property
    def keys(self) -> frozenset[str]:
        """The top-level keys of results that it reads."""
        return frozenset(path[0] for path in self._paths if path and isinstance(path[0], str))

    @property
    def reads(self) -> tuple[str, ...]:
        """Each whole reference once, as first written, in order: `("results.n", "results.a.b[0]")`."""
        return tuple(self._paths.values())

    @property
    def reads_results(self) -> bool:
        """Whether it refers to results at all."""
        return bool(self._paths)

    @cached_property
    def canonical(self) -> str:
        """A normal form: the same for two expressions that differ in blanks, parentheses or quotes alone."""
        return canonical(self.tree.node)

    @cached_property
    def _lint(self) -> ExpressionLint:
        return lint_tree(self.tree)

    @property
    def cannot_be_false(self) -> str | None:
        """Why it cannot come out False, in words; None if it can. See `lint`."""
        return self._lint.cannot_be_false

    @property
    def warnings(self) -> list[str]:
        """What is allowed but most likely not meant, such as `==` on a float."""
        return self._lint.warnings

    def evaluate(self, results: Mapping[str, Any]) -> Any:
        """Its value on `results`: Python's own value of the same expression, of the same type.

        A list or dict is returned as it stands in results, not copied and not walked.

        Raises:
            NotEvaluable: it has no value on these results; the message names the sub-expression and why.
        """
        if type(results) is not dict:
            results = as_dict(results)
        try:
            return self._run(results)
        except RecursionError:
            raise NotEvaluable(
                f"could not be evaluated: {shorten(self.source)}: the interpreter's stack was already nearly full"
            ) from None

    def read_values(self, results: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The values of those of its references that lead somewhere, finite or not, for a message."""
        read = as_dict(results)
        found = [(text, look_up(path, read)) for path, text in self._paths.items()]
        return [(text, value) for text, value in found if value is not MISSING]


def compile_expr(source: str) -> Expression:
    """Parse and compile one expression of the restricted grammar.

    Raises:
        ExpressionRefused: it is outside the grammar or over its limits; the message names what and where.
    """
    try:
        return Expression(parse(source))
    except RecursionError:
        raise ExpressionRefused(
            f"could not be compiled: {shorten(source)}: the interpreter's stack was already nearly full"
        ) from None


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def _compiled(source: str) -> Expression:
    return compile_expr(source)


def evaluate_expr(expr: str, results: Mapping[str, Any]) -> Any:
    """The value of `expr` on `results`. Compiled expressions are cached by their source, results never.

    Raises:
        ExpressionRefused: it is outside the grammar or over its limits.
        NotEvaluable: it has no value on these results.
    """
    compiled = _compiled(expr) if type(expr) is str else compile_expr(expr)
    return compiled.evaluate(results)


def as_dict(results: Mapping[str, Any]) -> dict[str, Any]:
    """`results` as the plain dict that everything below works on.

    Raises:
        NotEvaluable: it is no mapping.
    """
    if type(results) is dict:
        return results
    if isinstance(results, Mapping):
        return dict(results)
    raise NotEvaluable(
        f"could not be evaluated: results is {kind_of(results)}; expected a dict of named values"
    )
