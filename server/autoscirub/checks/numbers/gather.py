"""Reads the sources of a report's numbers: the results, the predictions, and the tables that are named."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import path_faults
from autoscirub.checks.numbers.labels import csv_labels, json_labels
from autoscirub.checks.numbers.sources import MAX_VALUES, csv_values, prediction_values, source_values
from autoscirub.checks.predictions import PREDICTIONS_NAME
from autoscirub.checks.results import find_results, load_results, read_results
from autoscirub.errors import CheckError
from autoscirub.models import Evidence
from autoscirub.store import read_regular, read_toml, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from autoscirub.checks.numbers.sources import Source
    from autoscirub.models import ProjectConfig

_PREDICTIONS_LIMIT = 1024 * 1024
_FILES = (".csv", ".tsv", ".json")


@dataclass
class Gathered:
    """The values and names, the files that they were read from, and what could not be read, in words."""

    sources: list[Source] = field(default_factory=list, repr=False)
    files: list[Evidence] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    labels: set[str] = field(default_factory=set, repr=False)
    """Names in the results that hold a number."""


def source_fault(name: str) -> str | None:
    """Why `name` names no source; None when it does."""
    if name == "predictions" or _of_results(name):
        return None
    if name.endswith(_FILES):
        return path_faults(name)
    return f"{name}: no source: name results, one of its keys, predictions, or a .csv, .tsv or .json file"


def source_files(names: Iterable[str]) -> list[str]:
    """Those of the sources that are files of their own."""
    return [name for name in names if name.endswith(_FILES) and path_faults(name) is None]


def _of_results(name: str) -> bool:
    return name == "results" or (name.startswith(("results.", "results[")) and not name.endswith(_FILES))


def gather_sources(root: Path, config: ProjectConfig, names: Sequence[str] | None) -> Gathered:
    """The sources that `names` says, or by default the results, and the predictions where there are any.

    A source that cannot be read is a problem, and the others are still used. Raises CheckError for more than
    MAX_VALUES values.
    """
    gathered = Gathered()
    for name in dict.fromkeys(names if names is not None else ("results", "predictions")):
        try:
            _gather(gathered, root, config, name, asked=names is not None)
        except _TooManyError as error:
            raise CheckError(str(error)) from None
        except CheckError as error:
            gathered.problems.append(str(error).replace(f"{root}/", ""))
    return gathered


class _TooManyError(CheckError):
    pass


def _gather(gathered: Gathered, root: Path, config: ProjectConfig, name: str, *, asked: bool) -> None:
    if (fault := source_fault(name)) is not None:
        raise CheckError(fault)
    if name == "predictions":
        data = _read(root, PREDICTIONS_NAME, _PREDICTIONS_LIMIT, needed=asked)
        if data is not None:
            _take(gathered, prediction_values(read_toml(data, PREDICTIONS_NAME, CheckError)))
            gathered.files.append(Evidence(path=PREDICTIONS_NAME, sha256=sha256_bytes(data), size=len(data)))
    elif _of_results(name):
        results = load_results(root, find_results(root, config.results), limit=config.limits.results_bytes)
        values = source_values(results.values)
        before = len(gathered.sources)
        _take(gathered, (v for v in values if name == "results" or _under(v.key, name)))
        if name != "results" and len(gathered.sources) == before:
            raise CheckError(f"{results.path}: no number under {name}")
        gathered.labels.update(json_labels(results.values))
        evidence = Evidence(path=results.path, sha256=results.sha256, size=results.size)
        if evidence not in gathered.files:
            gathered.files.append(evidence)
    else:
        data = _read(root, name, config.limits.results_bytes, needed=True) or b""
        if name.endswith(".json"):
            loaded = read_results(data, name)  # of the same bytes as the digest below
            _take(gathered, source_values(loaded.values, name))
            gathered.labels.update(json_labels(loaded.values))
        else:
            _take(gathered, csv_values(data, name))
            gathered.labels.update(csv_labels(data, name))
        gathered.files.append(Evidence(path=name, sha256=sha256_bytes(data), size=len(data)))


def _under(key: str, name: str) -> bool:
    return key == name or key.startswith((f"{name}.", f"{name}["))


def _take(gathered: Gathered, values: Iterable[Source]) -> None:
    room = MAX_VALUES - len(gathered.sources)
    taken = list(islice(values, room + 1))
    if len(taken) > room:
        raise _TooManyError(
            f"the sources hold more than {MAX_VALUES:,} values; name fewer, or one key of the results"
        )
    gathered.sources += taken


def _read(root: Path, name: str, limit: int, *, needed: bool) -> bytes | None:
    data = read_regular(root / name, limit=limit, within=root, error=CheckError)
    if data is None and needed:
        raise CheckError(f"{name}: is not there")
    return data
