"""Digests of everything that a criterion's answer rests on: the answer is reused while all of them are the same."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from autoscirub.checks.criteria.inputs import artifact_keys, artifact_state
from autoscirub.checks.expressions import MISSING, Expression, Key, compile_expr, look_up, path_of, spelling
from autoscirub.checks.rubric import canonical_json, needs_reading
from autoscirub.errors import ExpressionRefused, PathRefused, ResultsError
from autoscirub.models import PLAIN_PROCESS, weakly_isolated
from autoscirub.store import sha256_bytes

if TYPE_CHECKING:
    from autoscirub.checks.criteria.inputs import Inputs
    from autoscirub.models import Criterion, Decision, Evidence

RULES = "5"
"""The version of the rules by which criteria are decided. Raise it with any change of `criteria*.py`, of the
expressions or the artifact checks that could change a status, a gap or an action: cached results are then
re-evaluated."""


def basis(criterion: Criterion, inputs: Inputs) -> dict[str, str]:
    """The name of each thing that the answer on `criterion` rests on -> its SHA-256.

    `rules` and `criterion`; where a judge would have to read, `report`, `report path`, `judge`, and each thing that it
    sees and is asked as `shown: <name>`; for expressions
    `results file` (its path, or why it cannot be read) and each reference (`results.n`: its value, or that it is
    missing); each artifact's path (its bytes, or why there are none) and, where there is more to say of it,
    `<path>: state`; for a numbers check each file that was read, and `numbers <check id>`: how it was asked; for a
    rerun check `rerun`: the answer, and what that is bound to.
    """
    found = rules_and_criterion(criterion)
    if needs_reading(criterion):
        found["report"] = _report_digest(inputs.report)
        found["report path"] = _digest((inputs.report and inputs.report.path) or "none")
        found["judge"] = _digest(_json(dict(sorted(inputs.judge.items()))))
        found |= {
            f"shown: {name}": digest
            for name, digest in inputs.judge_material.get(criterion.criterion_id, {}).items()
        }
    _add_results(found, criterion, inputs)
    _add_artifacts(found, criterion, inputs)
    for check in criterion.checks:
        if check.kind == "numbers":
            _add_numbers(found, check.id, inputs.numbers[criterion.criterion_id, check.id])
        elif check.kind == "rerun":
            found["rerun"] = _rerun_digest(inputs.rerun)
    return found


def rules_and_criterion(criterion: Criterion) -> dict[str, str]:
    """The part of the basis that no file of the project changes."""
    return {"rules": _digest(RULES), "criterion": _digest(canonical_json(criterion))}


def basis_digest(rests_on: dict[str, str]) -> str:
    """One digest over a whole basis."""
    return _digest(_json(rests_on))


@lru_cache(maxsize=256)
def compiled(source: str) -> Expression | str:
    """The expression of a check, or why it is refused: a rubric need not have been linted."""
    try:
        return compile_expr(source)
    except ExpressionRefused as error:
        return str(error)


def references(expression: Expression) -> list[tuple[Key, ...]]:
    """The keys that lead to each value of the results that it reads, each once, in the order written."""
    return list(dict.fromkeys(path_of(node) or () for node in expression.tree.references))


def _add_results(found: dict[str, str], criterion: Criterion, inputs: Inputs) -> None:
    results = inputs.results
    for check in criterion.checks:
        if check.kind != "expr":
            continue
        unreadable = isinstance(results, ResultsError)
        found["results file"] = _digest(str(results) if isinstance(results, ResultsError) else results.path)
        expression = compiled(check.expr)
        for keys in references(expression) if isinstance(expression, Expression) else ():
            name = spelling(keys)
            found[name] = found["results file"] if unreadable else _value_digest(name, keys, inputs)


def _value_digest(name: str, keys: tuple[Key, ...], inputs: Inputs) -> str:
    if name not in inputs.digests and not isinstance(inputs.results, ResultsError):
        value = look_up(keys, inputs.results.values)
        # NaN as its token: a results file may hold it, and it is not the text "NaN".
        inputs.digests[name] = _digest("missing" if value is MISSING else _json(value))
    return inputs.digests[name]


def _add_artifacts(found: dict[str, str], criterion: Criterion, inputs: Inputs) -> None:
    for path, kind in dict.fromkeys(artifact_keys(criterion)):
        decision = inputs.artifacts[path, kind]
        state = artifact_state(decision)
        sha256 = None if isinstance(decision, PathRefused) else decision.evidence[0].sha256
        name, digest = path, sha256 or _digest(state)
        while found.get(name, digest) != digest:  # a file may be called `report`, or `results.n`
            name = f"./{name}"
        found[name] = digest
        if sha256 and state:
            found[f"{name} as {kind}: state" if kind else f"{name}: state"] = _digest(state)


def _add_numbers(found: dict[str, str], check_id: str, answer: Decision) -> None:
    for entry in answer.evidence:
        if entry.path and entry.sha256:
            found.setdefault(entry.path, entry.sha256)
    found[f"numbers {check_id}"] = _bound(answer)


def _bound(answer: Decision) -> str:
    """An answer by what it is bound to; one that is bound to nothing, by why it is inconclusive."""
    return _digest(_json([answer.answer.value, answer.inputs_digest or answer.open]))


def _rerun_digest(answer: Decision | None) -> str:
    """The rerun that was asked for, and whether it was a plain process: a criterion says so in its evidence."""
    if answer is None:
        return _digest("none")
    return _digest(f"{_bound(answer)} {PLAIN_PROCESS}") if weakly_isolated(answer) else _bound(answer)


def _report_digest(report: Evidence | None) -> str:
    if report is None:
        return _digest("none")
    return report.sha256 or _digest(report.note or "unreadable")


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _digest(text: str) -> str:
    return sha256_bytes(text.encode("utf-8", "surrogatepass"))
