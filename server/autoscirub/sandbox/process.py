"""Running somebody else's program in a process group of its own, with limits on its time and output."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from autoscirub.errors import SandboxError
from autoscirub.programs import on_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_TAIL_BYTES = 64 * 1024
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit status (negative: the signal), the end of its output, and whether in time."""

    status: int
    output: str
    timed_out: bool


def run_program(
    command: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Finished:
    """Run a program to its end, with no standard input, and then end everything it left running.

    `environment` is added to ours. Its output (both streams) goes to `on_output` line by line as it comes; the last
    64 KB are returned. After `seconds` the whole process group is ended. Raises SandboxError when it cannot be started.
    """
    program = on_path(command[0]) if command else None
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
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    reader = _OutputReader(process.stdout, on_output)
    reader.start()
    timed_out = False
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        _end_group(process)
        reader.finish()
    # Killed, but still there: it hangs in the kernel and has no status.
    status = -signal.SIGKILL if process.returncode is None else process.returncode
    return Finished(status, reader.text(), timed_out)


class _OutputReader(threading.Thread):
    """Reads the program's output until nobody holds the pipe, or until `finish` is called.

    A grandchild that left the process group may hold the pipe for ever, so the end of the file is not waited for.
    """

    def __init__(self, stream: IO[bytes], on_output: Callable[[bytes], None] | None) -> None:
        super().__init__(daemon=True)
        self._stream, self._on_output = stream, on_output
        self._wake, self._woken = os.pipe()
        self._tail: deque[bytes] = deque()
        self._size = 0
        self._line = b""

    def run(self) -> None:
        descriptor = self._stream.fileno()
        os.set_blocking(descriptor, False)
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            finishing = False
            while True:
                ready = {key.fd for key, _ in selector.select(timeout=0 if finishing else None)}
                finishing = finishing or self._wake in ready
                if descriptor not in ready:
                    if finishing:
                        return
                    continue
                chunk = os.read(descriptor, 65536)
                if not chunk:
                    return
                self._take(chunk)
                if finishing and self._size > _TAIL_BYTES:
                    return  # it floods the pipe, and has been ended

    def _take(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._size += len(chunk)
        while len(self._tail) > 1 and self._size - len(self._tail[0]) > _TAIL_BYTES:
            self._size -= len(self._tail.popleft())
        if self._on_output is not None:
            *lines, self._line = (self._line + chunk).split(b"\n")
            for line in lines:
                self._on_output(line)
            if len(self._line) > _TAIL_BYTES:
                self._on_output(self._line)
                self._line = b""

    def finish(self) -> None:
        os.write(self._woken, b"x")
        self.join()
        if self._on_output is not None and self._line:
            self._on_output(self._line)
        self._stream.close()
        os.close(self._wake)
        os.close(self._woken)

    def text(self) -> str:
        return b"".join(self._tail)[-_TAIL_BYTES:].decode("utf-8", "replace")


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
