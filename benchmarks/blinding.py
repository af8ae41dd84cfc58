"""A blinded workspace, every file copied and hashed, against `cp -a` of the same tree, alternating in one run.

python benchmarks/run.py blinding
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from table import Row

from autoscirub.judging.workspace import build_workspace
from autoscirub.store import open_project

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 5
SMALL_FILES, SMALL_BYTES = 10_000, 1_000
LARGE_BYTES = 2_000_000_000
_BLOCK = 1 << 20


def main() -> list[Row]:
    """The measured rows: many small files, and one large file."""
    with tempfile.TemporaryDirectory(prefix="blinding-") as name:
        folder = Path(name)
        small = _row(
            "10,000 files of 1 kB, copied and hashed / cp -a", folder / "small", _small_files, goal=4.0
        )
        large = _row("one file of 2 GB, copied and hashed / cp -a", folder / "large", _large_file, goal=2.5)
    return [small, large]


def _row(title: str, folder: Path, fill: Callable[[Path], None], *, goal: float) -> Row:
    project = folder / "project"
    (project / "results").mkdir(parents=True)
    fill(project / "results")
    ours, peer = _times(project, folder / "copy")
    shutil.rmtree(folder)
    return Row(title, ours / peer, goal, f"{ours:.2f} s against {peer:.2f} s")


def _small_files(folder: Path) -> None:
    for number in range(SMALL_FILES):
        place = folder / f"part-{number // 100:03}"
        if number % 100 == 0:
            place.mkdir()
        (place / f"{number:05}.txt").write_bytes(os.urandom(SMALL_BYTES))


def _large_file(folder: Path) -> None:
    block = os.urandom(_BLOCK)
    with (folder / "array.bin").open("wb") as file:
        for start in range(0, LARGE_BYTES, _BLOCK):
            file.write(block[: LARGE_BYTES - start])


def _times(project: Path, copy: Path) -> tuple[float, float]:
    """Best of all. What is removed afterwards is no part of it, and the disk is idle before each."""
    opened = open_project(project)
    ours, peer = [], []
    for _ in range(REPEATS):
        os.sync()
        started = time.perf_counter()
        workspace = build_workspace(opened)
        ours.append(time.perf_counter() - started)
        workspace.close()
        os.sync()
        started = time.perf_counter()
        subprocess.run(["cp", "-a", "--reflink=never", project, copy], check=True)
        peer.append(time.perf_counter() - started)
        shutil.rmtree(copy)
    return min(ours), min(peer)


if __name__ == "__main__":
    from table import show

    show("Blinding", main())
