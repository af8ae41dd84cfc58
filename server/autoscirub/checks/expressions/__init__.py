"""The restricted expression evaluator: a check's expression is parsed, refused or compiled, and evaluated.

Nothing here calls `eval`, `exec` or `compile`: the syntax tree is walked through two closed tables, the
grammar's (`grammar.GRAMMAR`) and the compiler's (`compile.BUILDERS`).
"""

from __future__ import annotations

from autoscirub.checks.expressions.check import check_expr
from autoscirub.checks.expressions.expression import Expression, compile_expr, evaluate_expr

__all__ = ["Expression", "check_expr", "compile_expr", "evaluate_expr"]
