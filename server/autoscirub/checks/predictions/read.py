"""Reads `prereg.toml`, and finds everything wrong with it before anything is frozen."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.checks.artifacts import path_faults, path_warnings
from autoscirub.checks.expressions import Expression, compile_expr
from autoscirub.errors import ExpressionRefused, PredictionsError
from autoscirub.models import ArtifactCheck, Check, ExprCheck, Prereg
from autoscirub.store import read_toml, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

PREDICTIONS_NAME = "prereg.toml"
PREDICTIONS_LIMIT = 64 * 1024 * 1024

_KINDS: dict[str, type[ExprCheck] | type[ArtifactCheck]] = {"expr": ExprCheck, "artifact": ArtifactCheck}


@dataclass(frozen=True)
class Predictions:
    """A predictions file without faults: its bytes' digest, its content, each expression compiled by check id."""

    name: str
    sha256: str
    prereg: Prereg
    expressions: dict[str, Expression] = field(repr=False)


@dataclass
class PredictionsLint:
    """Everything found in a predictions file. A fault is refused at freeze; a warning is shown."""

    name: str
    warn: bool = True
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    predictions: Predictions | None = None

    def refuse(self, doing: str) -> None:
        """Raise PredictionsError with every fault and every warning; do nothing when there is no fault."""
        if not self.faults:
            return
        count = f"{len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}"
        lines = [f"{self.name}: {doing}: {count}"]
        lines += [f"  fault    {fault}" for fault in self.faults]
        lines += [f"  warning  {warning}" for warning in self.warnings]
        raise PredictionsError("\n".join(lines), self.faults, self.warnings)


def read_predictions(data: bytes, name: str = PREDICTIONS_NAME) -> Predictions:
    """A predictions file without faults. Raises PredictionsError naming every fault.

    Whether a check counts and what deserves a warning is the freeze's business, and not repeated here.
    """
    lint = lint_predictions(data, name, warn=False)
    lint.refuse("cannot be used")
    if lint.predictions is None:
        raise PredictionsError(f"{name}: cannot be used")
    return lint.predictions


def lint_predictions(
    data: bytes,
    name: str = PREDICTIONS_NAME,
    progress: Callable[[int, int], None] | None = None,
    *,
    warn: bool = True,
) -> PredictionsLint:
    """Every fault and every warning of a predictions file, in the file's order. Never raises for its content.

    Without `warn` the expressions are read and held against the contract, and no more.
    """
    lint = PredictionsLint(name, warn=warn)
    try:
        table = read_toml(data, name, PredictionsError)
    except PredictionsError as error:
        lint.faults.append(str(error).removeprefix(f"{name}: "))
        return lint
    raw_checks = table.pop("checks", [])
    head = _head(table, lint)
    contract = table.get(
        "results_contract"
    )  # read even where another key is at fault: all faults come at once
    known = set(contract) if isinstance(contract, dict) else None
    checks, expressions = _checks(raw_checks, known, lint, progress)
    if contract is None:
        lint.warnings.append(
            "there is no [results_contract], so the keys that the checks read are not checked"
        )
    if not lint.faults and head:
        prereg = head.model_copy(update={"checks": checks})
        lint.predictions = Predictions(name, sha256_bytes(data), prereg, expressions)
    return lint


def _head(table: dict[str, Any], lint: PredictionsLint) -> Prereg | None:
    try:
        head = Prereg.model_validate(table)
    except ValidationError as error:
        lint.faults += [_structure_fault(fault, list(Prereg.model_fields)) for fault in error.errors()]
        return None
    if not head.hypothesis.strip():
        lint.faults.append("hypothesis is empty: write the one sentence that the results could prove wrong")
    if not head.predictions:
        lint.warnings.append("predictions is empty: say in words what the checks below expect")
    if not head.analysis_plan.strip():
        lint.warnings.append("analysis_plan is empty: say how the results will be computed")
    return head


def _checks(
    raw: Any, contract: set[str] | None, lint: PredictionsLint, progress: Callable[[int, int], None] | None
) -> tuple[list[Check], dict[str, Expression]]:
    checks: list[Check] = []
    expressions: dict[str, Expression] = {}
    if not isinstance(raw, list) or not all(isinstance(entry, dict) for entry in raw):
        lint.faults.append("checks must be tables, each starting with a line [[checks]]")
        return checks, expressions
    seen: dict[str, str] = {}
    counting = 0
    for number, entry in enumerate(raw, start=1):
        if progress:
            progress(number, len(raw))
        check = _structure(entry, number, lint)
        if check is None:
            counting += entry.get("kind") == "expr"  # its own fault is listed; do not add a second for it
            continue
        label = f'check "{check.id}"'
        folded = check.id.strip().casefold()
        if folded in seen:
            other = "" if seen[folded] == check.id else f' (as "{seen[folded]}")'
            lint.faults.append(f"{label}: the id is there twice{other}; every check needs its own")
        seen.setdefault(folded, check.id)
        checks.append(check)
        if isinstance(check, ArtifactCheck):
            _lint_artifact(check, label, lint)
        else:
            expression = _lint_expression(check, label, contract, lint)
            if expression is not None:
                expressions[check.id] = expression
            counting += expression is None or not lint.warn or expression.cannot_be_false is None
    if counting == 0:
        lint.faults.append(
            "nothing to verify: there is no expression check that counts; add one that reads a result and could "
            'be false, such as expr = "abs(results.slope - 0.5) < 0.05"'
        )
    return checks, expressions


def _structure(entry: dict[str, Any], number: int, lint: PredictionsLint) -> Check | None:
    identity = entry.get("id")
    label = (
        f'check "{identity}"' if isinstance(identity, str) and identity.strip() else f"check number {number}"
    )
    kind = entry.get("kind")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        found = "has no kind" if kind is None else f"kind = {kind!r}"
        lint.faults.append(f'{label}: {found}; expected kind = "expr" or kind = "artifact"')
        return None
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        known = list(model.model_fields)
        lint.faults += [f"{label}: {_structure_fault(fault, known)}" for fault in error.errors()]
        return None


def _structure_fault(fault: Any, known: list[str]) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(where, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
        return f"unknown key {where}{hint}"
    if fault["type"] == "missing":
        return f"has no {where}"
    return f"{where} = {fault['input']!r}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _lint_artifact(check: ArtifactCheck, label: str, lint: PredictionsLint) -> None:
    if fault := path_faults(check.path):
        lint.faults.append(f"{label}: {fault}")
    elif warning := path_warnings(check.path):
        lint.warnings.append(f"{label}: {warning}")


def _lint_expression(
    check: ExprCheck, label: str, contract: set[str] | None, lint: PredictionsLint
) -> Expression | None:
    try:
        expression = compile_expr(check.expr)
    except ExpressionRefused as error:
        lint.faults.append(f"{label}: {error}")
        return None
    if contract is not None:
        for key in sorted(expression.keys - contract):
            near = difflib.get_close_matches(key, contract, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            lint.faults.append(f"{label}: reads results.{key}, which [results_contract] does not name{hint}")
    if not lint.warn:
        return expression
    if expression.cannot_be_false:
        lint.warnings.append(f"{label}: does not count: {expression.cannot_be_false}")
    lint.warnings += [f"{label}: {warning}" for warning in expression.warnings]
    return expression
