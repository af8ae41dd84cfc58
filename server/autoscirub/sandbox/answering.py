"""Asking a program one question: on its standard input, with the answer on its standard output.

The keeper process stands in between: what the program leaves running ends with it, and all of it ends with us, even
when we are killed. There is no time limit here. The caller's cancellation is one, and ends the program too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from autoscirub.errors import SandboxError
from autoscirub.sandbox.watch import descendants, end_all, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio import CancelScope

_KEEPER = Path(__file__).with_name("keeper.py")
_LIMITS = {"core": 0}  # a core dump would leave the keys that a program holds on the disk
_CHUNK = 65536
_MAX_ERRORS = 64 * 1024
_POLITE_SECONDS = 1.0
"""Between SIGTERM and SIGKILL."""
_LOOK_SECONDS = 0.05


class AskedProgram:
    """One run of a program. Its output so far can be read while it runs, and after it was cut off."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        mark: Path,
        output_limit: int,
        watch: Callable[[bytes], bool] | None = None,
    ) -> None:
        """`mark`: a path in `environment` that no other run has; it identifies processes that escaped.

        `watch` gets each chunk of output as it arrives, and has the program ended where it returns True.
        """
        self._command, self._cwd, self._environment = list(command), cwd, dict(environment)
        self._mark, self._limit, self._watch = mark, output_limit, watch
        self._output, self._errors = bytearray(), bytearray()
        self.flooded = False
        """Whether it printed more than the limit, and was ended for that."""
        self.left: list[int] = []
        """Processes of the run that could not be ended."""

    @property
    def output(self) -> bytes:
        """What it printed, at most the limit."""
        return bytes(self._output)

    @property
    def errors(self) -> bytes:
        """The end of its standard error."""
        return bytes(self._errors)

    async def run(self, question: bytes) -> int:
        """Start it, ask, and wait for its end. Returns the exit status; 128 + n when signal n ended it.

        Whatever it started has ended too when this returns, or raises. Raises SandboxError when it cannot be started.
        """
        import anyio
        import anyio.to_thread

        process = self._start()
        to_program, from_program, errors = _streams(process)
        try:
            async with anyio.create_task_group() as group:
                scope = group.cancel_scope
                group.start_soon(_feed, to_program, question)
                group.start_soon(_listen, from_program, partial(self._take_output, scope))
                group.start_soon(_listen, errors, self._take_errors)
                group.start_soon(_wait, process, scope)
        finally:
            with anyio.CancelScope(shield=True):
                # A limiter of its own: threads that others block must not keep a program alive.
                self.left = await anyio.to_thread.run_sync(
                    _end, process, self._mark, limiter=anyio.CapacityLimiter(1)
                )
            self._drain(process)
        return status_of(process)

    def _start(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-I", "-S", str(_KEEPER), json.dumps(_LIMITS), *self._command]
        try:
            process = subprocess.Popen(
                words,
                cwd=self._cwd,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as cause:
            raise SandboxError(f"{self._command[0]}: cannot be started in {self._cwd}: {cause}") from cause
        for stream in _streams(process):
            os.set_blocking(stream.fileno(), False)
        return process

    def _take_output(self, scope: CancelScope | None, chunk: bytes) -> None:
        if self._watch is not None and self._watch(chunk) and scope is not None:
            scope.cancel()
        self._output += chunk[: self._limit - len(self._output) + 1]
        if len(self._output) > self._limit:
            del self._output[self._limit :]
            self.flooded = True
            if scope is not None:
                scope.cancel()

    def _take_errors(self, chunk: bytes) -> None:
        self._errors += chunk
        del self._errors[:-_MAX_ERRORS]

    def _drain(self, process: subprocess.Popen[bytes]) -> None:
        """Read what is left in the pipes. Where a process holds one open, its end is not waited for."""
        to_program, from_program, errors = _streams(process)
        self._drain_one(from_program, partial(self._take_output, None))
        self._drain_one(errors, self._take_errors)
        for stream in (to_program, from_program, errors):
            with contextlib.suppress(OSError):
                stream.close()

    def _drain_one(self, stream: IO[bytes], take: Callable[[bytes], None]) -> None:
        with contextlib.suppress(OSError):
            for _ in range(1 + self._limit // _CHUNK):
                if not (chunk := os.read(stream.fileno(), _CHUNK)):
                    return
                take(chunk)


def _streams(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - pipes were asked for
    return process.stdin, process.stdout, process.stderr


async def _feed(stream: IO[bytes], question: bytes) -> None:
    """Write all of it as the program reads, and close. One that does not read it may answer all the same."""
    import anyio

    rest = memoryview(question)
    with contextlib.suppress(OSError):
        while rest:
            await anyio.wait_writable(stream.fileno())
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(stream.fileno(), rest[:_CHUNK]) :]
    with contextlib.suppress(OSError):
        stream.close()


async def _listen(stream: IO[bytes], take: Callable[[bytes], None]) -> None:
    import anyio

    with contextlib.suppress(OSError):
        while True:
            await anyio.wait_readable(stream.fileno())
            with contextlib.suppress(BlockingIOError):
                if not (chunk := os.read(stream.fileno(), _CHUNK)):
                    return
                take(chunk)


async def _wait(process: subprocess.Popen[bytes], scope: CancelScope) -> None:
    """Until the program's end, which ends the feeding and the listening too."""
    import anyio

    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(process.pid)
            try:
                await anyio.wait_readable(descriptor)
            finally:
                os.close(descriptor)
    while process.poll() is None:
        await anyio.sleep(_LOOK_SECONDS)
    scope.cancel()


def _end(process: subprocess.Popen[bytes], mark: Path) -> list[int]:
    """End the run: politely first, so that a program can close its own connections. Returns what is left of it."""
    if process.poll() is None and (running := descendants(process.pid)):
        for pid in running:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_POLITE_SECONDS)
    left = end_all(process, [mark], gently=True)
    return left if process.poll() is not None else list(dict.fromkeys([*left, process.pid]))
