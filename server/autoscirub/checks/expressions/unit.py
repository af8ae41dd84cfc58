"""What the parts of one expression share while it is compiled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from autoscirub.checks.expressions.helpers import Walked
from autoscirub.checks.expressions.tree import SourcePosition, Tree

Run = Callable[[dict[str, Any]], Any]
"""A compiled expression: results to value, or `NotEvaluable`."""


class Unit:
    """What the builders of one expression share."""

    def __init__(self, tree: Tree, builders: Builders) -> None:
        self.tree, self.builders = tree, builders
        self.walked = Walked()
        self.remembers = False
        """Whether a helper is called in it that remembers the list it walked."""

    def build(self, node: ast.expr) -> Run:
        """Compile one part."""
        return self.builders[type(node)](self, node)

    def build_all(self, nodes: list[ast.expr]) -> list[Run]:
        """Compile several parts."""
        return [self.build(node) for node in nodes]

    def place(self, node: ast.expr) -> SourcePosition:
        """The part, to be named when it has no value."""
        return SourcePosition(self.tree, node)


Builders = Mapping[type[ast.AST], Callable[[Unit, Any], Run]]
"""What compiles each kind of part."""
