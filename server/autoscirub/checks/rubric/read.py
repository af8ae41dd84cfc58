"""Reads the rubric in both its forms, and reports every fault in one message."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, time
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.checks.rubric.changes import rubric_changes
from autoscirub.errors import CheckError, CorruptError
from autoscirub.models import SCHEMA_VERSION, SHORT_RUBRIC, describe_faults, owner, strict_json
from autoscirub.store import JsonFault, decode, parse, read_toml, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.models import Criterion, ExecutableRubric
    from autoscirub.store import Project

RUBRIC_NAME = "executable_rubric.json"
SHORT_NAME = SHORT_RUBRIC
RUBRIC_LIMIT = 8 * 1024 * 1024
"""Bytes."""
RUBRIC_VALUES = 100_000
"""Values in it, some five thousand criteria. The validator has no bound of its own, and takes a thousand times the
bytes of a list of nothing but faults."""
RUBRIC_GOALS = 1_000
"""Goals. Each criterion's goals are looked for among all of them, and listed where one is not there."""

SHORT_WORDS: dict[str, dict[str, str]] = {
    "criteria": {"id": "criterion_id", "goals": "goal_ids", "artifacts": "expected_artifacts"},
    "expected_artifacts": {"path": "expected_path"},
}
"""The short form's words, by the list that they occur in -> the published field. Each published field may be used
as it is, too."""

_LISTED_FAULTS = 50


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


def load_rubric(project: Project) -> Rubric | None:
    """The project's rubric; None when it has none. Read-only, and a faulty file is left where it is.

    `executable_rubric.json` in the state directory, `rubric.toml` at the project's top, or the file that
    the configuration names. Raises CheckError, naming the file, the criterion and the field: unreadable,
    malformed, or both forms there and differing.
    """
    short_name = project.config.rubric_file
    short_data = project.read(short_name, limit=RUBRIC_LIMIT)
    if short_data is None and project.config.rubric:
        raise CheckError(f"{short_name}: is not there, though the configuration names it as the rubric")
    data = project.state.read_bytes(RUBRIC_NAME, limit=RUBRIC_LIMIT) if project.state.exists() else None
    if short_data is None:
        return None if data is None else read_rubric(data, RUBRIC_NAME)
    read = read_short if short_name.endswith(".toml") else read_rubric
    short = read(short_data, short_name)
    if data is None:
        return short
    executable = read_rubric(data, RUBRIC_NAME)
    if differing := rubric_changes(executable.model, short.model).described():
        raise CheckError(
            f"{short_name} and {RUBRIC_NAME} are both there and differ ({differing}); the first makes the second, so "
            f"make {short_name} right and remove {RUBRIC_NAME}, or the other way round"
        )
    return Rubric(executable.model, short_name, sha256_bytes(short_data), data)


def read_rubric(data: bytes, name: str) -> Rubric:
    """A rubric in the published form.

    Raises CheckError with every fault, and NewerVersionError for one that a newer version wrote.
    """
    # NaN and infinities are let through here: the model refuses them, and names whose they are.
    try:
        raw = parse(data, allow_nonfinite=True)
    except JsonFault as fault:
        raise CheckError(f"{name}: {fault}") from None
    _refuse_too_many(raw, name)
    unversioned = _refuse_newer(raw, data, name)
    model = _model(raw, data.removeprefix(b"\xef\xbb\xbf"), name)
    if unversioned:
        raise CheckError(unversioned)
    return Rubric(model, name, sha256_bytes(data), data)


def _refuse_newer(raw: Any, data: bytes, name: str) -> str | None:
    """Raise NewerVersionError before a newer format's fields are taken for faults. What else is wrong is returned."""
    from autoscirub.models import ExecutableRubric

    if isinstance(raw, dict) and raw.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        try:
            decode(data, ExecutableRubric, name)
        except CorruptError as error:
            return str(error)
    return None


def _refuse_too_many(raw: Any, name: str) -> None:
    count, left = 0, [raw]
    while left and count <= RUBRIC_VALUES:
        value = left.pop()
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        count += len(inner)
        left += inner
    goals = raw.get("goals") if isinstance(raw, dict) else None
    if isinstance(goals, list) and len(goals) > RUBRIC_GOALS:
        raise CheckError(f"{name}: goals: {len(goals):,} are more than {RUBRIC_GOALS:,}")
    if count > RUBRIC_VALUES:
        raise CheckError(
            f"{name}: holds more than {RUBRIC_VALUES:,} values; a rubric is read by people: make it shorter"
        )


def read_short(data: bytes, name: str) -> Rubric:
    """A rubric in the short form that people write. Raises CheckError with every fault."""
    table = read_toml(data, name, CheckError)
    _refuse_too_many(table, name)
    criteria = table.get("criteria")
    if not isinstance(criteria, list) or not all(isinstance(entry, dict) for entry in criteria):
        raise CheckError(f"{name}: has no criteria; each begins with a line [[criteria]]")
    faults: list[str] = []
    table["criteria"] = [
        _published(entry, f"criteria[{index}]", faults) for index, entry in enumerate(criteria)
    ]
    faults += [_fault(table, path, "a date or time; write it as text, in quotes") for path in _times(table)]
    if faults:
        raise CheckError(_listed(name, faults))
    table.setdefault("schema_version", "1.0")
    model = _model(table, json.dumps(table, ensure_ascii=False).encode("utf-8"), name)
    return Rubric(model, name, sha256_bytes(data), strict_json(model).encode("utf-8"))


def read_criterion(table: dict[str, Any], name: str, place: str, *, default_id: str) -> Criterion:
    """One criterion on its own, in the short or the published form, from the table at `place` of the file `name`.

    Without an id it gets `default_id`. Raises CheckError with every fault.
    """
    from autoscirub.models import Criterion

    _refuse_too_many(table, name)
    faults: list[str] = []
    if not {"id", "criterion_id"} & table.keys():
        table = {"criterion_id": default_id, **table}
    raw = _published(table, place, faults)
    faults += [
        _fault(raw, path, "a date or time; write it as text, in quotes", within=place) for path in _times(raw)
    ]
    if faults:
        raise CheckError(_listed(name, faults))
    try:
        return Criterion.model_validate_json(json.dumps(raw, ensure_ascii=False))
    except ValidationError as error:
        raise CheckError(
            _listed(name, [f"{place}.{fault}" for fault in describe_faults(error, raw)])
        ) from None


def _published(entry: dict[str, Any], place: str, faults: list[str]) -> dict[str, Any]:
    """One criterion of the short form with the published fields; what is said twice goes to `faults`."""
    mapped = _renamed(entry, "criteria", place, faults)
    if "criterion_id" not in mapped:
        faults.append(f"{place}.id: field required")
    label = f"{place} (criterion {mapped.get('criterion_id')!r})"
    artifacts = mapped.get("expected_artifacts")
    if isinstance(artifacts, list):
        mapped["expected_artifacts"] = [
            _renamed(artifact, "expected_artifacts", f"{label}: artifacts[{place}]", faults)
            if isinstance(artifact, dict)
            else artifact
            for place, artifact in enumerate(artifacts)
        ]
    return mapped


def _renamed(entry: dict[str, Any], kind: str, label: str, faults: list[str]) -> dict[str, Any]:
    words = SHORT_WORDS[kind]
    faults += [
        f"{label}: has {word} and {published}, which are the same; write one of them"
        for word, published in words.items()
        if word in entry and published in entry
    ]
    return {words.get(key, key): value for key, value in entry.items()}


def _times(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where a table holds a date or a time: TOML has them, JSON has not."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _times(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _times(inner, (*path, index))
    elif isinstance(value, date | time):  # a datetime is a date
        yield path


def _fault(table: dict[str, Any], path: tuple[str | int, ...], what: str, *, within: str = "") -> str:
    inner = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    place = f"{within}{inner}" if within else inner.removeprefix(".")
    whose = owner(table, path)
    return f"{place}{f' ({whose})' if whose else ''}: {what}"


def _model(raw: Any, data: bytes, name: str) -> ExecutableRubric:
    from autoscirub.models import ExecutableRubric

    try:
        return ExecutableRubric.model_validate_json(data)
    except ValidationError as error:
        raise CheckError(_listed(name, describe_faults(error, raw))) from None


def _listed(name: str, faults: list[str]) -> str:
    lines = [f"{name}: {fault}" for fault in faults[:_LISTED_FAULTS]]
    if (more := len(faults) - len(lines)) > 0:
        lines.append(f"{name}: and {more:,} faults more")
    return "\n".join(lines)
