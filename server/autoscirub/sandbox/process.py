"""A program of somebody else's in a process group of its own: bounded in time and in what it may say."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from autoscirub.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["Finished", "run_program"]

_KEPT_BYTES = 64 * 1024
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit status (negative: the signal), the end of what it said, and whether in time."""

    status: int
    output: str
    timed_out: bool


def run_program(
    command: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    said: Callable[[bytes], None] | None = None,
) -> Finished:
    """Run a program to its end, with no standard input, and then end everything it left running.

    `environment` is added to ours. Its output (both streams) goes to `said` as it comes; the last 64 KB are
    kept. After `seconds` the whole process group is ended. Raises SandboxError when it cannot be started.
    """
    program = shutil.which(command[0], path=os.environ.get("PATH")) if command else None
    if program is None:
        raise SandboxError(f"{command[0] if command else '(no command)'}: no such program on PATH")
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as cause:
        raise SandboxError(f"{command[0]}: cannot be started: {cause.strerror}") from cause
    tail: deque[bytes] = deque()
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    reader = threading.Thread(target=_read, args=(process.stdout, tail, said), daemon=True)
    reader.start()
    timed_out = False
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        _end_group(process)
        # A grandchild that left the group may hold the pipe open; it is not waited for.
        reader.join(timeout=_GRACE_SECONDS)
        process.stdout.close()
    text = b"".join(tail)[-_KEPT_BYTES:].decode("utf-8", "replace")
    return Finished(process.returncode, text, timed_out)


def _read(stream: IO[bytes], tail: deque[bytes], said: Callable[[bytes], None] | None) -> None:
    size = 0
    with contextlib.suppress(OSError, ValueError):
        while chunk := stream.read1(8192):  # type: ignore[attr-defined]
            if said is not None:
                said(chunk)
            tail.append(chunk)
            size += len(chunk)
            while size - len(tail[0]) > _KEPT_BYTES:
                size -= len(tail.popleft())


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_SECONDS)
            if number is signal.SIGTERM and not _group_lives(process.pid):
                return


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
