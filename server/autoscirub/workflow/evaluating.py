"""One expression, on one results file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks import find_results, load_results, read_results
from autoscirub.checks.expressions import compile_expr
from autoscirub.checks.predictions import plain_value
from autoscirub.errors import NotEvaluable, ResultsError
from autoscirub.models import Answer, Decision, Evaluation, Evidence, now
from autoscirub.store import open_project, read_regular

if TYPE_CHECKING:
    from autoscirub.checks import Results


def evaluate(
    expr: str,
    *,
    results: str | Path | None = None,
    project: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> Evaluation:
    """Evaluate `expr` on a results file (default: the project's).

    Status 0 for True and for any value that is not a boolean, 1 for False, 2 could not be evaluated.
    Raises ExpressionRefused for an expression outside the grammar.
    """
    expression = compile_expr(expr)
    try:
        read = _read(results, project, state_dir)
        value = expression.evaluate(read.values)
    except (ResultsError, NotEvaluable) as error:
        told = _decision(expr, Answer.INCONCLUSIVE, "could not be evaluated", None, str(error))
        return Evaluation(told, None, str(error), 2)
    shown = f"{expr} is {value!r}"
    answer, word, status = (
        (Answer.DOES_NOT_HOLD, "False", 1)
        if value is False
        else (Answer.HOLDS, "True" if value is True else "a value", 0)
    )
    return Evaluation(_decision(expr, answer, word, read, shown), plain_value(value), shown, status)


def _read(results: str | Path | None, project: str | Path | None, state_dir: str | Path | None) -> Results:
    if results is not None:
        path = Path(results)
        limit = 64 * 1024 * 1024
        data = read_regular(path, limit=limit, error=ResultsError)
        if data is None:
            raise ResultsError(f"{path}: is not there")
        return read_results(data, str(results))
    opened = open_project(project, state_dir)
    name = find_results(opened.root, opened.config.results)
    return load_results(opened.root, name, limit=opened.config.limits.results_bytes)


def _decision(expr: str, answer: Answer, word: str, read: Results | None, message: str) -> Decision:
    told = answer is not Answer.INCONCLUSIVE
    evidence = [Evidence(path=read.path, sha256=read.sha256, note=message)] if read and told else []
    return Decision(
        subject="expression",
        question=expr,
        answer=answer,
        word=word,
        evidence=evidence,
        open=[] if told else [message],
        at=now(),
    )
