"""Validating state files against their schemas, each fault with its JSON path and line."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Literal

from autoscirub.checks.predictions import lint_predictions
from autoscirub.data import data_dir, load_layout
from autoscirub.errors import AutoscirubError, ConfigError
from autoscirub.models import MODELS, Answer, Decision, Evidence, FileFaults, StateModel, Validation, now
from autoscirub.store import (
    ASIDE_MARK,
    CORRUPT_MARK,
    JsonFault,
    Project,
    decode,
    json_path,
    line_of,
    open_project,
    parse,
    read_regular,
    sha256_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from autoscirub.models import LayoutEntry

_LIMIT = 256 * 1024 * 1024


def validate(
    files: Sequence[Path], *, project: str | Path | None = None, state_dir: str | Path | None = None
) -> Validation:
    """Validate `files`, or every state file, against their schemas. Writes nothing.

    Raises ConfigError for a named file that is not there or that no schema is known for.
    """
    opened = open_project(project, state_dir)
    if not files:
        return validate_project(opened)
    return _validation([_named(opened, path) for path in files])


def validate_project(opened: Project) -> Validation:
    """Every file of the project that the layout gives a schema to, and every file moved aside."""
    found: list[FileFaults] = []
    for where, folder, name in _candidates(opened):
        entry = load_layout().find(name, where)
        if where == "state" and (CORRUPT_MARK in name or ASIDE_MARK in name):
            found.append(
                FileFaults(
                    name, None, note="moved aside because it could not be read; look at it, then remove it"
                )
            )
        elif entry is not None and entry.schema_name:
            found.append(_file(folder / name, name, entry.schema_name))
        elif entry is None:
            found.append(FileFaults(name, None, note="not one of autoscirub's files; left alone"))
    return _validation(found)


def _candidates(opened: Project) -> Iterator[tuple[Literal["state", "project"], Path, str]]:
    for entry in load_layout().file:
        if entry.where == "project" and entry.schema_name and os.path.lexists(opened.root / entry.path):
            yield "project", opened.root, entry.path
    for name in opened.state.files() if opened.state.exists() else []:
        yield "state", opened.state.root, name


def _named(opened: Project, path: Path) -> FileFaults:
    absolute = path.absolute()
    if not os.path.lexists(absolute):
        raise ConfigError(f"{path}: is not there; name an existing file, or none to validate all of them")
    entry: LayoutEntry | None = None
    for where, folder in (("state", opened.state.root), ("project", opened.root)):
        if entry is None and absolute.is_relative_to(folder):
            entry = load_layout().find(absolute.relative_to(folder).as_posix(), where)  # type: ignore[arg-type]
    if entry is None or entry.schema_name is None:  # a file by its name, wherever it lies
        entry = next(
            (known for known in load_layout().file if known.schema_name and known.path == path.name), None
        )
    if entry is None or entry.schema_name is None:
        known = sorted({known.path for known in load_layout().file if known.schema_name})
        raise ConfigError(f"{path}: no schema is known for it; known are {', '.join(known)}")
    return _file(absolute, str(path), entry.schema_name)


def _file(path: Path, name: str, schema: str) -> FileFaults:
    try:
        data = read_regular(path, limit=_LIMIT)
        if data is None:
            return FileFaults(name, schema, [f"{name}: is not there"])
        faults = list(_faults(data, name, schema))
    except AutoscirubError as error:
        return FileFaults(name, schema, str(error).splitlines())
    return FileFaults(name, schema, faults, sha256_bytes(data))


def _faults(data: bytes, name: str, schema: str) -> Iterator[str]:
    if schema == "prereg":
        yield from (f"{name}: {fault}" for fault in lint_predictions(data, name).faults)
    elif schema == "config":
        pass  # opening the project has read and checked it
    elif name.endswith(".jsonl"):
        for number, line in enumerate(data.split(b"\n"), start=1):
            if line.strip():
                yield from _json_faults(line, f"{name} line {number}", schema)
    else:
        yield from _json_faults(data, name, schema)


def _json_faults(data: bytes, name: str, schema: str) -> Iterator[str]:
    """The model's faults, which name whose field it is; then the schema's, in case it says more."""
    try:
        value = parse(data)
    except JsonFault as fault:
        yield f"{name}: {fault}"
        return
    model = MODELS[schema]
    try:
        if issubclass(model, StateModel):
            decode(data, model, name)
    except AutoscirubError as error:
        yield from str(error).splitlines()
        return
    yield from _schema_faults(value, data.decode("utf-8-sig"), name, schema)


def _schema_faults(value: object, text: str, name: str, schema: str) -> Iterator[str]:
    import jsonschema

    shape = data_dir("schemas") / f"{schema}.schema.json"
    validator = jsonschema.Draft202012Validator(json.loads(shape.read_text("utf-8")))
    for error in sorted(
        validator.iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path]
    ):
        path = tuple(error.absolute_path)
        line = line_of(text, path)
        yield f"{name}: {json_path(path)}{f' (line {line})' if line else ''}: {error.message[:300]}"


def _validation(files: list[FileFaults]) -> Validation:
    at = now()
    decisions = [
        Decision(
            subject=file.path,
            question=f"Is it a valid {file.schema}?",
            answer=Answer.DOES_NOT_HOLD if file.faults else Answer.HOLDS,
            word="invalid" if file.faults else "valid",
            evidence=[
                Evidence(path=file.path, sha256=file.sha256),
                *(Evidence(note=fault) for fault in file.faults),
            ],
            at=at,
        )
        for file in files
        if file.schema
    ]
    return Validation(files, decisions)
