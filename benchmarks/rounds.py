"""Verifying criteria: a first time, linear in their number, and again after one artifact changed.

Half of the criteria read a result, half an artifact. The peer of the second verification loads and writes the same
files: it reads the rubric, reads the kept report as JSON, takes the digest of every artifact, and writes the report.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scale import git_apart
from table import Row

if TYPE_CHECKING:
    from collections.abc import Callable


SIZES = (100, 1_000)
LINEAR = 1.5
"""A criterion at the largest size costs at most this many times a criterion at the smallest."""
AGAIN = 5.0
"""The second verification takes at most this many times the peer."""
REPEATS = 5
ARTIFACT_BYTES = 20_000
AT = "2026-01-31T09:00:00Z"


def main() -> list[Row]:
    """The measured rows."""
    rows: list[Row] = []
    each: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AUTOSCIRUB_DATA_DIR"] = str(Path(folder) / "data")
        _measure(Path(folder) / "warm-up", 10)
        for size in SIZES:
            first, again, peer = _measure(Path(folder) / str(size), size)
            each.append(first / size)
            rows.append(
                Row(
                    f"first verification, {size:,} criteria / the smallest, a criterion",
                    each[-1] / each[0],
                    LINEAR if len(each) == len(SIZES) else None,
                    f"{each[-1] * 1e6:.0f} µs a criterion",
                )
            )
            rows.append(
                Row(
                    f"one artifact changed, {size:,} criteria / loading and writing the files",
                    again / peer,
                    AGAIN,
                    f"{again * 1e3:.1f} ms against {peer * 1e3:.1f} ms",
                )
            )
    return rows


def _measure(project: Path, size: int) -> tuple[float, float, float]:
    """Seconds of a first verification, of one after a change, and of the peer of the latter; git apart."""
    from autoscirub import freeze

    _project(project, size)
    freeze(project)
    first = min(_check(project, fresh=True)[0] for _ in range(REPEATS))
    again: list[float] = []
    peer: list[float] = []
    for turn in range(REPEATS):  # alternating: what else the machine does then falls on both alike
        _table(project / "tables" / "1.csv", seed=size + turn)
        seconds, evaluated = _check(project)
        if evaluated != ["C1"]:
            raise AssertionError(f"one artifact changed, and evaluated were {evaluated[:5]}")
        again.append(seconds)
        peer.append(_timed(lambda: _peer(project)))
    return first, min(again), min(peer)


def _check(project: Path, *, fresh: bool = False) -> tuple[float, list[str]]:
    """A whole `check`, as a round does it: seconds without those in git, and what was decided anew."""
    from autoscirub import check

    with git_apart() as spent:
        started = time.perf_counter()
        checked = check(project, fresh=fresh)
        seconds = time.perf_counter() - started
    if checked.report is None or not checked.report.all_satisfied:
        raise AssertionError("the benchmark's criteria are all satisfied, or it measures something else")
    return seconds - spent[0], checked.evaluated


def _peer(project: Path) -> None:
    from autoscirub.checks.rubric import read_rubric

    state = project / ".autoscirub"
    read_rubric((state / "executable_rubric.json").read_bytes(), "executable_rubric.json")
    report = state / "verification_report.json"
    kept = json.loads(report.read_bytes())
    for path in sorted((project / "tables").iterdir()):
        hashlib.sha256(path.read_bytes()).hexdigest()
    report.with_suffix(".peer").write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")


def _project(project: Path, size: int) -> None:
    (project / ".autoscirub").mkdir(parents=True)
    (project / "tables").mkdir()
    criteria: list[dict[str, Any]] = []
    results: dict[str, Any] = {}
    for number in range(size):
        check: dict[str, Any] = {"id": "it"}
        if number % 2:
            check |= {"kind": "artifact", "path": f"tables/{number}.csv"}
            _table(project / "tables" / f"{number}.csv", seed=number)
        else:
            check |= {"kind": "expr", "expr": f"results.value_{number} > 0"}
            results[f"value_{number}"] = (number + 1) / 7
        criteria.append(
            {
                "criterion_id": f"C{number}",
                "requirement": f"The {number}th value is there and positive.",
                "required_analysis": ["compute it"],
                "priority": "high",
                "checks": [{**check, "covers": ["compute it"]}],
            }
        )
    rubric = {"schema_version": "1.0", "goals": [], "criteria": criteria, "claims_to_avoid": []}
    (project / ".autoscirub" / "executable_rubric.json").write_text(
        json.dumps(rubric, indent=1), encoding="utf-8"
    )
    (project / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def _table(path: Path, seed: int) -> None:
    line = f"{seed},{seed / 7}\n"
    path.write_text("n,value\n" + line * (ARTIFACT_BYTES // len(line)), encoding="utf-8")


def _timed(call: Callable[[], Any]) -> float:
    gc.collect()
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
