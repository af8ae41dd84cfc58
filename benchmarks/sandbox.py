"""The sandbox's fixed cost: `true` in it, against `true` as a plain subprocess, alternating in one run.

python benchmarks/run.py sandbox
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from table import Row

from autoscirub.errors import SandboxError
from autoscirub.sandbox import Isolation, available, run_isolated

REPEATS = 25
KINDS: tuple[Isolation, ...] = ("bubblewrap", "process")


def main() -> list[Row]:
    """The measured rows; a kind that this machine has not is left out."""
    true = shutil.which("true") or "/bin/true"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for kind in KINDS:
            try:
                available(kind)
            except SandboxError:
                continue
            ours, peer = _times(true, Path(name), kind)
            detail = (
                f"{ours * 1e3:.1f} ms against {peer * 1e3:.1f} ms: {(ours - peer) * 1e3:.1f} ms for each run"
            )
            rows.append(Row(f"true, {kind} / a plain subprocess", ours / peer, None, detail))
    return rows


def _times(true: str, folder: Path, kind: Isolation) -> tuple[float, float]:
    ours, peer = [], []
    for _ in range(REPEATS):
        started = time.perf_counter()
        assert run_isolated([true], cwd=folder, isolation=kind).status == 0  # noqa: S101 - a benchmark of a failure
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        subprocess.run([true], check=True, stdin=subprocess.DEVNULL, capture_output=True)
        peer.append(time.perf_counter() - started)
    return min(ours), min(peer)


if __name__ == "__main__":
    from table import show

    show("Sandbox", main())
