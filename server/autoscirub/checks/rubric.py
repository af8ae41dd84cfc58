"""The rubric: reading it in both its forms, and finding everything wrong with it before it is frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.checks.artifacts import path_faults, path_warnings
from autoscirub.checks.expressions import compile_expr
from autoscirub.errors import CheckError, ExpressionRefused
from autoscirub.models import Criterion, ExecutableRubric, strict_json
from autoscirub.models.faults import describe_faults
from autoscirub.store import JsonFault, parse, read_toml, sha256_bytes

if TYPE_CHECKING:
    from autoscirub.checks.predictions import Predictions
    from autoscirub.store import Project

__all__ = [
    "RUBRIC_NAME",
    "SHORT_NAME",
    "Rubric",
    "RubricLint",
    "lint_rubric",
    "load_rubric",
    "read_rubric",
    "read_short",
]

RUBRIC_NAME = ExecutableRubric.file_name
SHORT_NAME = "rubric.toml"
RUBRIC_LIMIT = 64 * 1024 * 1024

_SHORT_FIELDS = {"id": "criterion_id", "goals": "goal_ids", "artifacts": "expected_artifacts"}
"""Words of the short form -> the published field. Every published field may be used as it is, too."""


@dataclass(frozen=True)
class Rubric:
    """A rubric that loads: what it says, the file it was read from, and the executable form's bytes."""

    model: ExecutableRubric
    source: str
    """The file that people write: `rubric.toml`, or `executable_rubric.json` itself."""
    source_sha256: str
    executable: bytes = field(repr=False)
    """`executable_rubric.json` as it is, or as the short form makes it."""

    @property
    def sha256(self) -> str:
        """The digest of the executable form."""
        return sha256_bytes(self.executable)

    def criterion(self, criterion_id: str) -> Criterion | None:
        """The criterion with exactly this id."""
        return next((entry for entry in self.model.criteria if entry.criterion_id == criterion_id), None)


@dataclass
class RubricLint:
    """Everything found in a rubric. A fault is refused at freeze; a warning is shown."""

    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def load_rubric(project: Project) -> Rubric | None:
    """The project's rubric; None when it has none. Read-only, and a faulty file is left where it is.

    `executable_rubric.json` in the state directory, `rubric.toml` at the project's top, or the file that
    the configuration names. Raises CheckError, naming the file, the criterion and the field: unreadable,
    malformed, or both forms there and differing.
    """
    short_name = project.config.rubric or SHORT_NAME
    short_data = project.read(short_name, limit=RUBRIC_LIMIT)
    if short_data is None and project.config.rubric:
        raise CheckError(f"{short_name}: is not there, though the configuration names it as the rubric")
    data = project.state.read_bytes(RUBRIC_NAME) if project.state.exists() else None
    if short_data is None:
        return None if data is None else read_rubric(data, RUBRIC_NAME)
    short = (
        read_short(short_data, short_name)
        if short_name.endswith(".toml")
        else read_rubric(short_data, short_name)
    )
    if data is None:
        return short
    executable = read_rubric(data, RUBRIC_NAME)
    if executable.model.model_copy(update={"scope_changes": []}) != short.model.model_copy(
        update={"scope_changes": []}
    ):
        differing = _differing(short.model, executable.model)
        raise CheckError(
            f"{short_name} and {RUBRIC_NAME} are both there and differ ({differing}); the first makes the second, so "
            f"change {short_name} alone: before the freeze remove {RUBRIC_NAME}, after it use `autoscirub scope`"
        )
    return Rubric(executable.model, short_name, sha256_bytes(short_data), data)


def read_rubric(data: bytes, name: str) -> Rubric:
    """A rubric in the published form. Raises CheckError with every fault."""
    try:
        raw = parse(data)
    except JsonFault as fault:
        raise CheckError(f"{name}: {fault}") from None
    return Rubric(_model(raw, data.removeprefix(b"\xef\xbb\xbf"), name), name, sha256_bytes(data), data)


def read_short(data: bytes, name: str) -> Rubric:
    """A rubric in the short form that people write. Raises CheckError with every fault."""
    table = read_toml(data, name, CheckError)
    criteria = table.get("criteria")
    if not isinstance(criteria, list) or not all(isinstance(entry, dict) for entry in criteria):
        raise CheckError(f"{name}: has no criteria; each begins with a line [[criteria]]")
    table["criteria"] = [
        {_SHORT_FIELDS.get(key, key): value for key, value in entry.items()} for entry in criteria
    ]
    table.setdefault("schema_version", "1.0")
    try:
        text = strict_json(table).encode("utf-8")
    except (TypeError, ValueError) as error:  # TOML has dates and NaN, JSON has not
        raise CheckError(f"{name}: {error}; write dates as text and leave out what is no number") from None
    model = _model(table, text, name)
    return Rubric(model, name, sha256_bytes(data), strict_json(model).encode("utf-8"))


def _model(raw: Any, data: bytes, name: str) -> ExecutableRubric:
    try:
        return ExecutableRubric.model_validate_json(data)
    except ValidationError as error:
        raise CheckError("\n".join(f"{name}: {fault}" for fault in describe_faults(error, raw))) from None


def _differing(one: ExecutableRubric, other: ExecutableRubric) -> str:
    mine = {entry.criterion_id: entry for entry in one.criteria}
    theirs = {entry.criterion_id: entry for entry in other.criteria}
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    return f"criteria {', '.join(names[:5])}" if names else "in what is not a criterion"


def lint_rubric(rubric: Rubric, predictions: Predictions | None = None) -> RubricLint:
    """Everything that a freeze refuses or warns of, besides what loading has refused already."""
    lint = RubricLint()
    predicted = (
        {expression.canonical: name for name, expression in predictions.expressions.items()}
        if predictions
        else {}
    )
    contract = predictions.prereg.results_contract if predictions else None
    for criterion in rubric.model.criteria:
        label = f'criterion "{criterion.criterion_id}"'
        for check in criterion.checks:
            where = f'{label}, check "{check.id}"'
            if check.kind == "expr":
                _lint_expression(check.expr, where, predicted, contract, lint)
            elif check.kind == "artifact":
                _lint_path(check.path, where, lint)
            else:
                lint.warnings.append(
                    f"{where}: kind {check.kind} cannot be decided by this version: could not be told"
                )
        for artifact in criterion.expected_artifacts:
            if artifact.path:
                _lint_path(
                    artifact.path, f"{label}, expected artifact {artifact.name or artifact.path!r}", lint
                )
        if criterion.judge == "never" and criterion.uncovered():
            lint.warnings.append(
                f"{label}: judge is never, and no check covers {_quoted(criterion.uncovered())}"
            )
    _lint_goals(rubric.model, lint)
    return lint


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
    if contract is not None:
        missing = sorted(expression.keys - contract.keys())
        lint.warnings += [
            f"{where}: reads results.{key}, which [results_contract] does not name" for key in missing
        ]


def _lint_path(path: str, where: str, lint: RubricLint) -> None:
    if fault := path_faults(path):
        lint.faults.append(f"{where}: {fault}")
    elif warning := path_warnings(path):
        lint.warnings.append(f"{where}: {warning}")


def _lint_goals(rubric: ExecutableRubric, lint: RubricLint) -> None:
    reached = {goal for criterion in rubric.criteria for goal in criterion.goal_ids}
    for goal in rubric.goals:
        if goal.goal_id not in reached:
            lint.warnings.append(
                f'goal "{goal.goal_id}": no criterion is for it, so nothing decides whether it is met'
            )


def _quoted(texts: list[str]) -> str:
    shown = ", ".join(f'"{text[:60]}"' for text in texts[:3])
    return shown if len(texts) <= 3 else f"{shown} and {len(texts) - 3} more"
