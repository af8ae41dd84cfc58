"""Evaluates every registered check on the results and the files that are there: layer 1 of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.checks.artifacts import check_artifacts
from autoscirub.checks.expressions import check_expr
from autoscirub.errors import CheckError, ResultsError
from autoscirub.models import Answer, ArtifactCheck, CheckResult, Decision, Evidence, ExprCheck

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.checks.predictions.read import Predictions
    from autoscirub.checks.results import Results

CHECK_WORDS: dict[tuple[str, bool | None], tuple[Answer, str]] = {
    ("expr", True): (Answer.HOLDS, "held"),
    ("expr", False): (Answer.DOES_NOT_HOLD, "did not hold"),
    ("expr", None): (Answer.INCONCLUSIVE, "could not be evaluated"),
    ("artifact", True): (Answer.HOLDS, "passed"),
    ("artifact", False): (Answer.DOES_NOT_HOLD, "failed"),
    ("artifact", None): (Answer.INCONCLUSIVE, "could not be evaluated"),
}
"""(kind, passed) -> the answer and the word for it."""

_PASSED = {Answer.HOLDS: True, Answer.DOES_NOT_HOLD: False, Answer.INCONCLUSIVE: None}


@dataclass(frozen=True)
class Evaluated:
    """The results of all checks, in the file's order, and a Decision for each."""

    results: list[CheckResult]
    decisions: list[Decision]


def evaluate_checks(
    predictions: Predictions,
    results: Results | ResultsError,
    root: Path,
    *,
    at: str,
    ignored: Callable[[list[str]], set[str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluated:
    """Evaluate every check. Results that could not be read make every expression *could not be evaluated*."""
    checks = predictions.prereg.checks
    artifacts = [check for check in checks if isinstance(check, ArtifactCheck)]
    found = dict(
        zip(
            (check.id for check in artifacts),
            check_artifacts(root, [(check.path, check.format) for check in artifacts], ignored=ignored),
            strict=True,
        )
    )
    evaluated: list[CheckResult] = []
    for number, check in enumerate(checks, start=1):
        if isinstance(check, ExprCheck):
            evaluated.append(_expression(check, predictions, results))
        else:
            evaluated.append(_artifact(check, found[check.id]))
        if progress:
            progress(number, len(checks))
    return Evaluated(
        evaluated, [_decision(check, result, at) for check, result in zip(checks, evaluated, strict=True)]
    )


def _expression(check: ExprCheck, predictions: Predictions, results: Results | ResultsError) -> CheckResult:
    if isinstance(results, ResultsError):
        return CheckResult(
            id=check.id, kind="expr", passed=None, message=str(results), description=check.description
        )
    expression = predictions.expressions[check.id]
    passed, value, message = check_expr(expression, results.values)
    evidence = [
        Evidence(path=results.path, sha256=results.sha256, key=reference, value=plain_value(read))
        for reference, read in expression.read_values(results.values)
    ]
    return CheckResult(
        id=check.id,
        kind="expr",
        passed=passed,
        value=plain_value(value),
        message=message,
        description=check.description,
        evidence=evidence,
    )


def _artifact(check: ArtifactCheck, found: Decision | CheckError) -> CheckResult:
    if isinstance(found, CheckError):
        passed, message, evidence, value = None, str(found), [], None
    else:
        passed, evidence = _PASSED[found.answer], list(found.evidence)
        notes = [*(entry.note for entry in evidence if entry.note), *found.open]
        message = "; ".join(notes) or f"{check.path}: {found.word}"
        value = next((entry.sha256 for entry in evidence if entry.sha256), None)
    return CheckResult(
        id=check.id,
        kind="artifact",
        passed=passed,
        value=value,
        message=message,
        description=check.description,
        evidence=evidence,
    )


def _decision(check: ExprCheck | ArtifactCheck, result: CheckResult, at: str) -> Decision:
    answer, word = CHECK_WORDS[result.kind, result.passed]
    return Decision(
        subject=result.id,
        question=check.expr
        if isinstance(check, ExprCheck)
        else f"{check.path} is there and is what it should be",
        answer=answer,
        word=word,
        evidence=[*result.evidence, *([Evidence(note=result.message)] if result.passed is False else [])],
        open=[result.message] if result.passed is None else [],
        at=at,
    )


def plain_value(value: Any) -> Any:
    """`value` as strict JSON can hold it: a non-finite number becomes its name, a long container its shape."""
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value] if len(value) <= 20 else f"a list of {len(value):,}"
    if isinstance(value, dict):
        if len(value) > 20:
            return f"an object of {len(value):,} keys"
        return {str(key): plain_value(item) for key, item in value.items()}
    return value
