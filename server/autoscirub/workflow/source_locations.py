"""Finding the file and line in the repository that a decision is about.

A line helps the reader and decides nothing: there is none where a file cannot be read, is too large or has changed.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.predictions import PREDICTIONS_NAME
from autoscirub.checks.rerun import key_lines
from autoscirub.checks.rubric import RUBRIC_NAME
from autoscirub.errors import AutoscirubError
from autoscirub.store import JsonFault, lines_of, parse, read_regular, repository_top, toml_strings

if TYPE_CHECKING:
    from collections.abc import Collection

    from autoscirub.store import Project

PLACES_LIMIT = 2 * 1024 * 1024
"""Bytes of a file in which a line is looked for."""


class SourceLocations:
    """Files and lines of one project. Each file is read once, when it is first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @cached_property
    def base(self) -> Path:
        """What paths are relative to: the workspace of CI, else the git repository, else the project."""
        root = Path(os.path.realpath(self._project.root))
        workspace = os.environ.get("GITHUB_WORKSPACE", "")
        if workspace:
            named = Path(os.path.realpath(workspace))
            if root.is_relative_to(named):
                return named
        return repository_top(root) or root

    def path(self, name: str | None) -> str | None:
        """A file of the project from the base, in POSIX spelling; None for one outside of it."""
        return None if name is None else self._from_base(self._project.root, name)

    @property
    def config(self) -> str | None:
        """The configuration's file, from the project root."""
        return self._project.location.config.source

    def rubric(self, source: str | None) -> str | None:
        """The file that the criteria are read from, from the base."""
        return None if source is None else self._from_base(*self._rubric_file(source))

    def prediction(self, check_id: str) -> int | None:
        """The line of a check's id in the predictions."""
        return self._predictions.get(check_id)

    def criteria(self, source: str | None) -> dict[str, int]:
        """The line of each criterion's id in the file that they are read from."""
        if source is None:
            return {}
        data = self._read(*self._rubric_file(source))
        if source.endswith(".toml"):
            return _ids(data, {("criteria", "id"), ("criteria", "criterion_id")})
        return _published_ids(data)

    def command(self) -> int | None:
        """The line of the command that a rerun would run; None where the configuration is no TOML."""
        name = self.config
        if name is None or not name.endswith(".toml"):
            return None
        paths = {("run", "command"), ("tool", "autoscirub", "run", "command")}
        text = _text(self._read(self._project.root, name))
        return next((line for _, _, line in toml_strings(text, paths)), None)

    def values(self, name: str, keys: Collection[str]) -> dict[str, int]:
        """The lines of the values that a rerun names, in one results file."""
        if not name.lower().endswith(".json"):
            return {}
        return key_lines(self._read(self._project.root, name), keys)

    @cached_property
    def _predictions(self) -> dict[str, int]:
        return _ids(self._read(self._project.root, PREDICTIONS_NAME), {("checks", "id")})

    def _rubric_file(self, source: str) -> tuple[Path, str]:
        return (self._project.state.root if source == RUBRIC_NAME else self._project.root), source

    def _from_base(self, folder: Path, name: str) -> str | None:
        path = Path(os.path.normpath(Path(os.path.realpath(folder)) / name))
        return path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else None

    def _read(self, folder: Path, name: str) -> bytes:
        """A file's bytes; none where it is not there, is no regular file, leads out, or is too large."""
        try:
            return read_regular(folder / name, limit=PLACES_LIMIT, within=folder) or b""
        except AutoscirubError:
            return b""


def _ids(data: bytes, paths: Collection[tuple[str, ...]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, value, line in toml_strings(_text(data), paths):
        found.setdefault(value, line)
    return found


def _published_ids(data: bytes) -> dict[str, int]:
    try:
        value = parse(data)
    except JsonFault:
        return {}
    criteria = value.get("criteria") if isinstance(value, dict) else None
    named = {
        entry["criterion_id"]: ("criteria", index, "criterion_id")
        for index, entry in enumerate(criteria if isinstance(criteria, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("criterion_id"), str)
    }
    found = lines_of(_text(data), named.values())
    return {name: line for name, path in named.items() if (line := found[path]) is not None}


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
