"""Start-up: `--version` and `--help` against bare programs of the same kind, started in the same run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import Row

REPEATS = 15
GOAL = 1.3


def main() -> list[Row]:
    """The measured rows."""
    from autoscirub.cli.app import app

    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(_bare_app(len(app.registered_commands)), encoding="utf-8")
        program = str(Path(sys.executable).with_name("autoscirub"))
        pairs = (
            ("--version / import typer", [program, "--version"], [sys.executable, "-c", "import typer"]),
            ("--help / a bare typer app", [program, "--help"], [sys.executable, str(bare), "--help"]),
        )
        return [_row(name, ours, peer) for name, ours, peer in pairs]


def _bare_app(commands: int) -> str:
    lines = ["import typer", "app = typer.Typer()"]
    for number in range(commands):
        lines += [
            "@app.command()",
            f"def command_{number}(name: str = 'x', json: bool = False):",
            "    'Do it.'",
        ]
    return "\n".join([*lines, "app()"])


def _row(name: str, ours: list[str], peer: list[str]) -> Row:
    # Alternating, and the best of each: what else the machine does then falls on both alike.
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(REPEATS):
        for side, command in (("ours", ours), ("peer", peer)):
            started = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            times[side].append(time.perf_counter() - started)
    mine, theirs = min(times["ours"]), min(times["peer"])
    return Row(name, mine / theirs, GOAL, f"{mine * 1e3:.0f} ms against {theirs * 1e3:.0f} ms")
