"""`freeze` and `verify` at 10, 1,000 and 10,000 checks, as a ratio to reading the same files.

The peer is `tomllib.load` plus `json.load` of the project's own two files, in the same process. Time spent
in git (the history, and asking the user's repository) is measured apart: it does not grow with the checks.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from table import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (10, 1_000, 10_000)
GOAL = 8.0
"""At the largest size: at most this many times the peer, git apart."""


def main() -> list[Row]:
    """The measured rows."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AUTOSCIRUB_DATA_DIR"] = str(Path(folder) / "data")
        _measure(Path(folder) / "warm-up", 10)
        for size in SIZES:
            peer, freeze, freeze_git, verify, verify_git = _measure(Path(folder) / str(size), size)
            goal = GOAL if size == SIZES[-1] else None
            for name, seconds, git in (("freeze", freeze, freeze_git), ("verify", verify, verify_git)):
                detail = (
                    f"{seconds / size * 1e6:.0f} µs a check, git {git * 1e3:.0f} ms, peer {peer * 1e3:.1f} ms"
                )
                rows.append(Row(f"{name}, {size:,} checks", seconds / peer, goal, detail))
    return rows


def _measure(project: Path, size: int) -> tuple[float, float, float, float, float]:
    from autoscirub import freeze, verify

    _project(project, size)
    peer = min(_timed(lambda: _peer(project)) for _ in range(3))
    with git_apart() as spent:
        whole = _timed(lambda: freeze(project))
        frozen = whole - spent[0], spent[0]
    verified: list[tuple[float, float]] = []
    for _ in range(3):
        with git_apart() as spent:
            whole = _timed(lambda: verify(project))
            verified.append((whole - spent[0], spent[0]))
    return peer, *frozen, *min(verified)


def _project(project: Path, size: int) -> None:
    project.mkdir()
    results = {f"value_{number}": number / 7 for number in range(size)}
    contract = "\n".join(f'value_{number} = "the {number}th value, metres"' for number in range(size))
    check = '[[checks]]\nid = "check-{0}"\nkind = "expr"\nexpr = "abs(results.value_{0} - {1}) < 0.05"\n'
    checks = "\n".join(check.format(number, number / 7) for number in range(size))
    text = 'hypothesis = "All values are as measured."\npredictions = ["all"]\nanalysis_plan = "Read them."\n'
    (project / "prereg.toml").write_text(
        f"{text}\n[results_contract]\n{contract}\n\n{checks}", encoding="utf-8"
    )
    (project / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def _peer(project: Path) -> None:
    with (project / "prereg.toml").open("rb") as file:
        tomllib.load(file)
    with (project / "results.json").open("rb") as file:
        json.load(file)


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


@contextlib.contextmanager
def git_apart() -> Iterator[list[float]]:
    """Sum the time of every call that goes to git, nested calls once."""
    from autoscirub.store import session as session_room
    from autoscirub.store.history.steps import History
    from autoscirub.workflow import verify as _  # noqa: F401 - loaded before it is patched

    spent, depth = [0.0], [0]

    def timed(function: Any) -> Any:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            depth[0] += 1
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                depth[0] -= 1
                if depth[0] == 0:
                    spent[0] += time.perf_counter() - started

        return call

    kept: list[tuple[Any, str, Any]] = []
    for owner, name in (
        (History, "open_for_writing"),
        (History, "open_for_reading"),
        (History, "commit"),
        (History, "export"),
        (History, "close"),
        (History, "commits"),
        (History, "read"),
        (History, "files"),
        (session_room, "project_head"),
    ):
        raw = owner.__dict__[name]
        kept.append((owner, name, raw))
        if isinstance(raw, classmethod):
            setattr(owner, name, classmethod(timed(raw.__func__)))
        else:
            setattr(owner, name, timed(raw))
    try:
        yield spent
    finally:
        for owner, name, raw in kept:
            setattr(owner, name, raw)
