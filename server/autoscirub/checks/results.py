"""Finds and reads a project's results file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ConfigError, ResultsError
from autoscirub.store import JsonFault, parse, read_regular, sha256_bytes

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_RESULTS = ("results/results.json", "results.json")


@dataclass(frozen=True)
class Results:
    """A results file as it was read: its path from the project root, its digest, and its values."""

    path: str
    sha256: str
    size: int
    values: dict[str, Any] = field(repr=False)


def result_places(configured: str | None) -> tuple[str, ...]:
    """Every path at which the results file may lie."""
    return (configured,) if configured else tuple(DEFAULT_RESULTS)


def find_results(root: Path, configured: str | None) -> str:
    """The results file's path from the project root; it need not exist yet.

    The configured one, else the one `results.json` at the root or in `results/`, else
    `results/results.json`. Raises ConfigError when there are two candidates.
    """
    if configured:
        return configured
    present = [name for name in DEFAULT_RESULTS if (root / name).exists()]
    if len(present) > 1:
        raise ConfigError(
            f'{" and ".join(present)} both exist; say which: results = "{present[0]}" in autoscirub.toml'
        )
    return present[0] if present else DEFAULT_RESULTS[0]


def load_results(root: Path, path: str, *, limit: int) -> Results:
    """Read a results file of the project. Raises ResultsError: missing, a link, too large, not JSON, no object."""
    data = read_regular(root / path, limit=limit, within=root, error=ResultsError)
    if data is None:
        raise ResultsError(f"{path}: is not there; run the project's code so that it writes it")
    return read_results(data, path)


def read_results(data: bytes, name: str) -> Results:
    """Results from bytes. NaN and infinities are read: a check on them could not be evaluated."""
    try:
        values = parse(data, allow_nonfinite=True)
    except JsonFault as fault:
        raise ResultsError(f"{name}: {fault}") from None
    if not isinstance(values, dict):
        kind = "a list" if isinstance(values, list) else f"{values!r}"[:40]
        raise ResultsError(f"{name}: holds {kind}, expected an object with named values")
    return Results(name, sha256_bytes(data), len(data), values)
