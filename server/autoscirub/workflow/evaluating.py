"""Evaluating one expression on one results file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.checks import find_results, load_results, read_results
from autoscirub.checks.expressions import compile_expr
from autoscirub.checks.predictions import plain_value
from autoscirub.errors import NotEvaluable, ResultsError
from autoscirub.models import Answer, Decision, Evaluation, Evidence, LimitsConfig, now
from autoscirub.store import open_project, read_regular

if TYPE_CHECKING:
    from autoscirub.checks import Results


def evaluate(
    expr: str,
    *,
    results: str | Path | Mapping[str, Any] | None = None,
    project: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> Evaluation:
    """Evaluate `expr` on results: a file of any place, values as they are, or by default the project's results file.

    Answered as a check would be: a value that is not True or False is given, and decides nothing.
    Status 0 for True and for such a value, 1 for False, 2 could not be evaluated.
    Raises ExpressionRefused for an expression outside the grammar.
    """
    expression = compile_expr(expr)
    try:
        read = None if isinstance(results, Mapping) else _read(results, project, state_dir)
        value = expression.evaluate(results if isinstance(results, Mapping) else read.values if read else {})
    except (ResultsError, NotEvaluable) as error:
        decision = _decision(expr, Answer.INCONCLUSIVE, "could not be evaluated", None, str(error))
        return Evaluation(decision, None, str(error), 2)
    message = f"{expr} is {value!r}"
    if value is True or value is False:
        answer, word = (Answer.HOLDS, "True") if value else (Answer.DOES_NOT_HOLD, "False")
    else:
        answer, word = Answer.INCONCLUSIVE, "a value"
    return Evaluation(
        _decision(expr, answer, word, read, message), plain_value(value), message, int(value is False)
    )


def _read(results: str | Path | None, project: str | Path | None, state_dir: str | Path | None) -> Results:
    if results is not None:
        data = read_regular(Path(results), limit=LimitsConfig().results_bytes, error=ResultsError)
        if data is None:
            raise ResultsError(f"{results}: is not there")
        return read_results(data, str(results))
    opened = open_project(project, state_dir)
    name = find_results(opened.root, opened.config.results)
    return load_results(opened.root, name, limit=opened.config.limits.results_bytes)


def _decision(expr: str, answer: Answer, word: str, read: Results | None, message: str) -> Decision:
    evidence = [Evidence(path=read.path, sha256=read.sha256, note=message)] if read else []
    return Decision(
        subject="expression",
        question=expr,
        answer=answer,
        word=word,
        evidence=evidence,
        open=[message] if answer is Answer.INCONCLUSIVE else [],
        at=now(),
    )
