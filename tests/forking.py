"""Commands in real processes that are forked off one that has everything loaded: a test that runs a hundred of them
would otherwise spend most of its time loading the same modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Forking"]

REPOSITORY = Path(__file__).resolve().parents[1]

LOADED = """
import json, os, signal, sys, traceback
sys.path.insert(0, sys.argv[1])
import autoscirub.cli.exit_status, autoscirub.report, autoscirub.setup, autoscirub.workflow
import filelock, git, jsonschema, rich.console
from autoscirub.store import write_points as steps

def worked(order):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(order["seconds"])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(order["output"] + ".out", flags), 1)
    os.dup2(os.open(order["output"] + ".err", flags), 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.argv = ["autoscirub", *order["arguments"]]
    taken = 0

    def observe(kind):
        nonlocal taken
        taken += 1
        if taken == order["kill_at"]:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.OBSERVERS.append(observe)
    status = autoscirub.cli.main(order["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    with open(order["output"] + ".steps", "w") as file:
        file.write(str(taken))
    return status

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            status = worked(json.loads(line))
        except BaseException:
            traceback.print_exc()
            status = 99
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Forked:
    """How a command ended."""

    status: int
    """The exit status, or minus the signal that killed it."""
    out: str
    err: str
    steps: int | None
    """The steps of the store that it took; None where it was killed."""


class Forking:
    """The process with everything loaded. One command after another."""

    def __init__(self, folder: Path) -> None:
        self._output = folder / "output"
        self._process = subprocess.Popen(
            [sys.executable, "-c", LOADED, str(REPOSITORY / "server")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=folder,
        )

    def run(
        self,
        *arguments: str | Path,
        cwd: Path,
        environment: dict[str, str] | None = None,
        kill_at: int = 0,
        seconds: int = 120,
    ) -> Forked:
        """`autoscirub` with these arguments, killed just before its `kill_at`th step of the store (0: not), and by
        SIGALRM after so many seconds."""
        order = {
            "arguments": [str(argument) for argument in arguments],
            "cwd": str(cwd),
            "environment": dict(os.environ) if environment is None else environment,
            "kill_at": kill_at,
            "seconds": seconds,
            "output": str(self._output),
        }
        steps = Path(f"{self._output}.steps")
        steps.unlink(missing_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        out, err = (Path(f"{self._output}.{name}").read_bytes().decode("utf-8") for name in ("out", "err"))
        return Forked(status, out, err, int(steps.read_text()) if steps.exists() else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(timeout=30)
