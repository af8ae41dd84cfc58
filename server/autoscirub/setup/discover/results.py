"""Finds a project's results files: JSON that holds numbers and that the code writes, not inputs or settings."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from autoscirub.checks import DEFAULT_RESULTS
from autoscirub.checks.artifacts import path_faults
from autoscirub.models import Candidate
from autoscirub.setup.discover.scan import JSON_BYTES
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from autoscirub.setup.discover.code import Code
    from autoscirub.setup.discover.scan import ProjectScan

_FOLDERS = frozenset({
    "results", "result", "outputs", "output", "out", "metrics", "evaluation", "eval", "artifacts",
    "scores", "reports",
})  # fmt: skip
_STEMS = frozenset({
    "results", "result", "metrics", "metric", "summary", "scores", "score", "evaluation", "eval",
    "outputs", "output", "findings", "estimates",
})  # fmt: skip
_NOT_IN = frozenset({
    "data", "datasets", "dataset", "input", "inputs", "raw", "config", "configs", "conf", "settings",
    "schemas", "schema", "fixtures", "tests", "test", "examples", "docs", "i18n", "locales",
})  # fmt: skip
_NOT_RESULTS = re.compile(
    r"(?i)(package|package-lock|composer|[jt]sconfig.*|deno|biome|angular|vercel|renovate|codemeta|pyrightconfig"
    r"|manifest|config|settings|params|parameters|environment|.*[.-](lock|schema|config)|schema|lock)\.json"
)
_MOST_READ = 300
"""JSON files that are opened."""
_MOST_VALUES = 10_000


def find_results_files(seen: ProjectScan, code: dict[str, Code], readme: tuple[str, str]) -> list[Candidate]:
    """The results files that are there, and those that a script says it will write, best first."""
    writers: dict[str, list[str]] = {}
    namers: dict[str, list[str]] = {}
    for script, part in code.items():
        for path in sorted(part.names):
            if _could_be(path):
                (writers if path in part.writes else namers).setdefault(path, []).append(script)
    read_only = {path for part in code.values() for path in part.reads} - set(writers)
    found = []
    inspected = 0
    there = [path for path in seen.files if _could_be(path)]
    for path in there:
        inspected += 1
        if (base := _rank(path, path in writers)) is None or inspected > _MOST_READ:
            continue
        rank, reason = base
        if path not in DEFAULT_RESULTS and (
            path in read_only or not _holds_numbers(seen.read(path, JSON_BYTES))
        ):
            continue
        if path in writers:
            rank, reason = rank + 15, _written(path, writers)
        elif path in namers:
            rank, reason = rank + 5, f"{reason}; {namers[path][0]} names it"
        if path in readme[1]:
            rank, reason = rank + 2, f"{reason}; {readme[0]} names it"
        found.append(Candidate(path, reason, rank))
    promised = [path for path in [*writers, *namers] if path not in seen.files and not path_faults(path)]
    for path in dict.fromkeys(promised):
        if path in writers:
            rank, reason = 70, f"{_written(path, writers)}; not there yet"
        elif posixpath.basename(path)[:-5].lower() in _STEMS and path not in read_only:
            rank, reason = 60, f"{namers[path][0]} names it; not there yet"
        else:
            continue
        if path in DEFAULT_RESULTS:
            rank += 5
        found.append(Candidate(path, reason, rank))
    return sorted(found, key=lambda one: -one.rank)


def _could_be(path: str) -> bool:
    folders, name = posixpath.split(path.lower())
    return (
        name.endswith(".json") and not _NOT_IN & set(folders.split("/")) and not _NOT_RESULTS.fullmatch(name)
    )


def _rank(path: str, written: bool) -> tuple[int, str] | None:
    """How good a candidate a file is by its folder and name; None where neither suggests a results file."""
    folders, name = posixpath.split(path.lower())
    inside = bool(_FOLDERS & set(folders.split("/")))
    if path in DEFAULT_RESULTS:
        return 100, "the place where it is looked for"
    if name == "results.json" and inside:
        return 90, f"results by its name, in {posixpath.dirname(path)}/"
    if name[:-5] in _STEMS and (inside or not folders):
        return 80, "results by its name"
    if inside:
        return 60, f"a JSON file with numbers, in {posixpath.dirname(path)}/"
    return (60, "a JSON file with numbers") if written else None


def _written(path: str, writers: dict[str, list[str]]) -> str:
    script = writers[path][0]
    alone = sum(1 for scripts in writers.values() if script in scripts) == 1
    return f"the only JSON file that {script} writes" if alone else f"{script} writes it"


def _holds_numbers(data: bytes | None) -> bool:
    """Whether it is one JSON object with a number somewhere in it."""
    if data is None:
        return False
    try:
        value = parse(data, allow_nonfinite=True)
    except JsonFault:
        return False
    if not isinstance(value, dict):
        return False
    waiting: list[Any] = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return False
        part = waiting.pop()
        if isinstance(part, int | float) and not isinstance(part, bool):
            return True
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return False
