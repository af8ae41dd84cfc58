"""Finds everything wrong with a rubric that loads, before it is frozen."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks.artifacts import path_faults, path_warnings
from autoscirub.checks.expressions import compile_expr
from autoscirub.checks.numbers import source_fault
from autoscirub.checks.rubric.changes import needs_reading
from autoscirub.checks.rubric.read import SHORT_WORDS
from autoscirub.errors import CheckError, ExpressionRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.checks.predictions import Predictions
    from autoscirub.checks.rubric.read import Rubric
    from autoscirub.models import Criterion, FrozenModel, RubricCheck, StateModel

DECIDED_KINDS = ("expr", "artifact", "numbers", "rerun")
"""The kinds of a criterion's check that this version decides; the others are inconclusive."""


@dataclass
class RubricLint:
    """Everything found in a rubric, each naming criterion and field. A fault is refused at freeze; a warning is
    shown."""

    name: str
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, doing: str) -> None:
        """Raise CheckError with every fault and every warning; do nothing when there is no fault."""
        if not self.faults:
            return
        count = f"{len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}"
        lines = [f"{self.name}: {doing}: {count}"]
        lines += [f"  fault    {fault}" for fault in self.faults]
        lines += [f"  warning  {warning}" for warning in self.warnings]
        raise CheckError("\n".join(lines))


def lint_rubric(
    rubric: Rubric,
    predictions: Predictions | None = None,
    *,
    judged: bool = True,
    runnable: bool = True,
) -> RubricLint:
    """Everything that a freeze refuses or warns of, besides what loading has refused already.

    `judged` says whether a judge is set up, `runnable` whether a run command is; without one, what needs it is
    warned of.
    """
    lint = RubricLint(rubric.source)
    predicted: dict[str, str] = {}
    for name, expression in predictions.expressions.items() if predictions else ():
        predicted.setdefault(expression.canonical, name)
    contract = predictions.prereg.results_contract if predictions else None
    for criterion in rubric.model.criteria:
        label = f'criterion "{criterion.criterion_id}"'
        for check in criterion.checks:
            where = f'{label}, check "{check.id}"'
            _lint_check(check, where, predicted, contract, lint)
            if check.kind == "rerun" and not runnable:
                lint.warnings.append(f"{where}, kind: is a rerun, and no [run] command says how")
        for artifact in criterion.expected_artifacts:
            if artifact.path:
                named = f" of {artifact.name!r}" if artifact.name else ""
                _lint_path(artifact.path, f"{label}, expected_path{named}", lint)
        lint.warnings += _reading_warnings(criterion, label, judged)
    _lint_goals(rubric, judged, lint)
    lint.warnings += _unknown_fields(rubric)
    return lint


def _lint_check(
    check: RubricCheck,
    where: str,
    predicted: dict[str, str],
    contract: dict[str, str] | None,
    lint: RubricLint,
) -> None:
    if check.kind == "expr":
        _lint_expression(check.expr, f"{where}, expr", predicted, contract, lint)
    elif check.kind == "artifact":
        _lint_path(check.path, f"{where}, path", lint)
    elif check.kind == "numbers":
        if check.report is not None:
            _lint_path(check.report, f"{where}, report", lint)
        lint.faults += [
            f"{where}, sources: {fault}" for name in check.sources if (fault := source_fault(name))
        ]
    elif check.kind not in DECIDED_KINDS:
        lint.warnings.append(
            f"{where}, kind: {check.kind} is not decided by this version, so the criterion cannot be assessed"
        )


def _lint_expression(
    source: str, where: str, predicted: dict[str, str], contract: dict[str, str] | None, lint: RubricLint
) -> None:
    try:
        expression = compile_expr(source)
    except ExpressionRefused as error:
        lint.faults.append(f"{where}: {error}")
        return
    if expression.cannot_be_false:
        lint.faults.append(f"{where}: decides nothing: {expression.cannot_be_false}")
    if twin := predicted.get(expression.canonical):
        lint.faults.append(
            f'{where}: is the prediction "{twin}" again; a prediction may fail, so it cannot be a requirement. '
            "Ask for what must be there whatever comes out, such as that the value was computed"
        )
    lint.warnings += [f"{where}: {warning}" for warning in expression.warnings]
    for key in sorted(expression.keys - contract.keys()) if contract is not None else ():
        near = difflib.get_close_matches(key, contract or (), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        lint.warnings.append(f"{where}: reads results.{key}, which [results_contract] does not name{hint}")


def _lint_path(path: str, where: str, lint: RubricLint) -> None:
    if fault := path_faults(path):
        lint.faults.append(f"{where}: {fault}")
    elif warning := path_warnings(path):
        lint.warnings.append(f"{where}: {warning}")
    elif any(sign in path for sign in "*?"):
        lint.warnings.append(f"{where}: {path}: * and ? are taken literally; name one file")


def _reading_warnings(criterion: Criterion, label: str, judged: bool) -> Iterator[str]:
    if criterion.judge == "never" and criterion.uncovered():
        yield f"{label}, judge: is never, and no check covers {_quoted(criterion.uncovered())}"
    if not judged and needs_reading(criterion):
        texts = _quoted(criterion.uncovered()) or "it"
        yield f"{label}, judge: no check settles {texts}, and no judge is set up, so it cannot be assessed"


def _lint_goals(rubric: Rubric, judged: bool, lint: RubricLint) -> None:
    named: set[str] = set()
    decidable: set[str] = set()
    for criterion in rubric.model.criteria:
        named |= set(criterion.goal_ids)
        computed = any(check.kind in DECIDED_KINDS for check in criterion.checks) or any(
            artifact.path for artifact in criterion.expected_artifacts
        )
        if computed or (judged and needs_reading(criterion)):
            decidable |= set(criterion.goal_ids)
    for goal in rubric.model.goals:
        if goal.goal_id not in decidable:
            why = (
                "no criterion for it is computed or judged"
                if goal.goal_id in named
                else "no criterion is for it"
            )
            lint.warnings.append(f'goal "{goal.goal_id}": {why}, so nothing decides whether it is met')


def _unknown_fields(rubric: Rubric) -> Iterator[str]:
    """Fields that no one here reads. The published format may carry any, so there only what looks like a typing
    error is named; in the file that people write, all are."""
    short = rubric.source.endswith(".toml")
    yield from _unknown(rubric.model, "the file", {}, short)
    for criterion in rubric.model.criteria:
        label = f'criterion "{criterion.criterion_id}"'
        yield from _unknown(criterion, label, SHORT_WORDS["criteria"], short)
        for artifact in criterion.expected_artifacts:
            words = SHORT_WORDS["expected_artifacts"]
            yield from _unknown(artifact, f"{label}, expected_artifacts", words, short)
        for check in criterion.checks:
            yield from _unknown(check, f'{label}, check "{check.id}"', {}, short)


def _unknown(
    entry: FrozenModel | StateModel, label: str, words: dict[str, str], short: bool
) -> Iterator[str]:
    known = [*type(entry).model_fields, *(words if short else ())]
    extra: dict[str, Any] = entry.model_extra or {}
    for name in extra:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if near or short:
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"{label}, {name}: unknown field, and not read{hint}"


def _quoted(texts: list[str]) -> str:
    quoted = ", ".join(f'"{text[:60]}"' for text in texts[:3])
    return quoted if len(texts) <= 3 else f"{quoted} and {len(texts) - 3} more"
