"""Plans a rerun: what stays out of its copy, what it compares, and what must be compared because answers rest on it."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.checks.numbers import source_files
from autoscirub.checks.rerun.copying import CopyLayout, matches, walk
from autoscirub.checks.results import find_results
from autoscirub.checks.rubric import load_rubric
from autoscirub.errors import CheckError, ConfigError, PathRefused, SandboxError, StateError
from autoscirub.store import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoscirub.models import RunConfig
    from autoscirub.store import Project

_FILE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class Plan:
    """The files of one rerun, by what they are to it."""

    layout: CopyLayout
    names: tuple[str, ...]
    """What is compared: files, folders and patterns."""
    declared: tuple[str, ...]
    """Those of `names` that somebody wrote down, so that it is said where they lead to nothing."""
    deciding: tuple[str, ...]
    """Files that something is decided on: what `[run] ignore` leaves out of one is not all of it."""
    undeclared: tuple[str, ...] = ()
    """Files that numbers are looked for in, and that are neither an input nor an output."""

    def refuse_undeclared(self) -> None:
        """Raise SandboxError where a file that decides could be anything: nothing makes it, and nothing reads it."""
        if self.undeclared:
            names = ", ".join(printable(name) for name in self.undeclared[:5])
            raise SandboxError(
                f"{names}: a source of numbers, and no rerun compares it; declare it in autoscirub.toml as "
                "[run] outputs where the command writes it, or as [run] inputs where the command reads it"
            )


def configured(project: Project) -> RunConfig:
    """`[run]` of the configuration. Raises ConfigError where there is none."""
    if project.config.run is None:
        raise ConfigError(
            'not rerun: nothing says how; add [run] command = ["python3", "run.py"] to autoscirub.toml'
        )
    return project.config.run


def planned(project: Project) -> Plan:
    """What a rerun of a project compares.

    The results file is always compared, whatever `outputs` and `results` say, because everything is decided on it;
    so is a file that numbers are looked for in, where the command writes it. Raises ConfigError without a command,
    or where two files could be the results, and PathRefused for a path outside of the project, or for all of it.
    """
    config = configured(project)
    for pattern in (*config.outputs, *config.results, *config.inputs):
        _refuse_outside(pattern)
    for pattern in (*config.outputs, *config.results):
        _refuse_everything(pattern)
    results = _results_file(project)
    outputs = tuple(dict.fromkeys([*config.outputs, *config.results, results]))
    sources = [name for name in _sources(project) if name != results]
    written = [name for name in sources if matches(name, outputs)]
    undeclared = [name for name in sources if name not in written and not matches(name, config.inputs)]
    declared = tuple(dict.fromkeys([*(config.results or config.outputs), *written]))
    if project.config.results or not declared:
        declared = tuple(dict.fromkeys([*declared, results]))
    return Plan(
        CopyLayout(project.root, project.state.root, outputs, tuple(config.inputs)),
        tuple(dict.fromkeys([*declared, results])),
        declared,
        (results, *written),
        tuple(undeclared),
    )


def read_results(
    root: Path, layout: CopyLayout, names: Iterable[str]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """The results that are there, and those that are there and cannot be read, with why."""
    names = tuple(names)
    found: dict[str, bytes] = {}
    unread: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for path, _ in walk(layout, left_out):
        if matches(path, names) and ((root / path).is_symlink() or not (root / path).is_dir()):
            try:
                data = read_regular(root / path, limit=_FILE_BYTES, within=root, error=SandboxError)
            except SandboxError as error:
                unread[path] = str(error).replace(f"{root}{os.sep}", "")
            else:
                if data is not None:
                    found[path] = data
    unread |= {path: why for path, why in left_out.items() if matches(path, names)}
    return found, unread


def _results_file(project: Project) -> str:
    name = find_results(project.root, project.config.results)
    if Path(name).is_absolute() and Path(name).is_relative_to(project.root):
        name = str(Path(name).relative_to(project.root))
    _refuse_outside(name, "results")
    return str(PurePosixPath(name))  # as a walk through the project spells it


def _sources(project: Project) -> list[str]:
    """The files that numbers of the report are looked for in, as `[numbers]` and the criteria name them."""
    named = list(project.config.numbers.sources or ())
    with contextlib.suppress(CheckError, StateError):  # nothing is decided of a rubric that does not load
        rubric = load_rubric(project)
        for criterion in rubric.model.criteria if rubric else ():
            named += [name for check in criterion.checks if check.kind == "numbers" for name in check.sources]
    return list(dict.fromkeys(str(PurePosixPath(name)) for name in source_files(named)))


def _refuse_outside(pattern: str, key: str = "[run]") -> None:
    if not pattern or pattern.startswith("/") or ".." in pattern.split("/") or "\0" in pattern:
        raise PathRefused(
            f"{key} {printable(pattern)!r}: expected a path inside the project, relative to its root"
        )


def _refuse_everything(pattern: str) -> None:
    if re.fullmatch(r"(?:[*?./]|\[!?.\])*", pattern):
        raise PathRefused(
            f"[run] {printable(pattern)!r}: would be the whole project, the code too; name the files or folders that "
            'the command writes, such as outputs = ["results/"]'
        )
