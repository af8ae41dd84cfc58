"""Running a program with the best isolation that this machine offers, and reporting which that was."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Literal

from autoscirub.errors import SandboxError
from autoscirub.sandbox.bubblewrap import (
    HOME,
    bubblewrap_command,
    bubblewrap_problem,
    fresh_user,
    hand_over,
)
from autoscirub.sandbox.limits import Limits
from autoscirub.sandbox.scratch import remove_tree
from autoscirub.sandbox.watch import ResourceUsage, can_look, end_all, excess, status_of, usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Isolation = Literal["best", "bubblewrap", "process"]

_TAIL_BYTES = 64 * 1024
_WATCH_SECONDS = 0.1
_PATIENCE = 5.0
_KEEPER = Path(__file__).with_name("keeper.py")

_LIMITED = (
    "wall clock",
    "processor time of each process",
    "memory",
    "size of each file",
    "bytes and files written in its folder (watched)",
    "output",
    "clean environment",
    "no standard input",
)


@dataclass(frozen=True)
class Isolated:
    """How an isolated program ended."""

    status: int
    """Exit status; 128 + n when signal n ended it."""
    output: str
    """The end of both output streams, at most 64 KB; what is not UTF-8 is replaced."""
    ended: str | None
    """Why it was ended from outside, such as "ran longer than 60 s"; None when it ended by itself."""
    timed_out: bool
    seconds: float
    isolation: Literal["bubblewrap", "process"]
    enforced: tuple[str, ...] = field(default=())
    not_enforced: tuple[str, ...] = field(default=())
    """What was not enforced here, each with the reason."""

    @property
    def summary(self) -> str:
        """The isolation in one line."""
        return f"isolation: {self.isolation}" + "".join(
            f"; not enforced: {word}" for word in self.not_enforced
        )


def available(isolation: Isolation = "best") -> tuple[Literal["bubblewrap", "process"], str | None]:
    """What would be used here, and why it is no better. Raises SandboxError for a bubblewrap that is not there."""
    if isolation == "process":
        return "process", "bubblewrap was not asked for"
    problem = bubblewrap_problem(Limits())
    if problem is None:
        return "bubblewrap", None
    if isolation == "bubblewrap":
        raise SandboxError(
            f"isolation bubblewrap: {problem}; install it, or ask for isolation best or process"
        )
    return "process", problem


def run_isolated(
    command: Sequence[str],
    *,
    cwd: Path,
    isolation: Isolation = "best",
    limits: Limits | None = None,
    network: bool = False,
    environment: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    mounted_as: Path | None = None,
) -> Isolated:
    """Run a program in the folder `cwd`, a copy that it may change freely, and end all it started.

    `environment`: added to PATH, HOME, LANG and TMPDIR, which is all it gets otherwise. `readable`: folders that it
    may read besides the system's programs, under bubblewrap. `mounted_as`: where `cwd` appears to it, under
    bubblewrap. Raises SandboxError when it cannot be started, and when `isolation` cannot be had.
    """
    limits = limits or Limits()
    if not command:
        raise SandboxError("(no command): nothing to run")
    kind, problem = available(isolation)
    scratch = Path(tempfile.mkdtemp(prefix="run-")).resolve()
    try:
        if kind == "bubblewrap":
            user = fresh_user()
            hand_over(cwd, user)
            inside = _environment(environment, home=HOME, temporary="/tmp")  # noqa: S108 - its own, inside
            words = bubblewrap_command(
                command,
                folder=cwd,
                mounted_as=mounted_as or cwd,
                readable=readable,
                environment=inside,
                limits=limits,
                network=network,
                user=user,
            )
            run = _Run(words, scratch, {"PATH": os.defpath}, limits, [cwd], [], gently=False)
        else:
            home, temporary = scratch / "home", scratch / "tmp"
            home.mkdir()
            temporary.mkdir()
            bounds = {**limits.rlimits(), "nproc": limits.processes + _running()}
            words = [sys.executable, "-I", "-S", str(_KEEPER), json.dumps(bounds), *command]
            inside = _environment(environment, home=str(home), temporary=str(temporary))
            run = _Run(words, cwd, inside, limits, [cwd, scratch], [scratch], gently=True)
        return run.finish(kind, *_words(kind, problem, network))
    finally:
        remove_tree(scratch)


def _environment(extra: Mapping[str, str] | None, *, home: str, temporary: str) -> dict[str, str]:
    own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    return {**own, **(extra or {}), "HOME": home, "TMPDIR": temporary}


def _running() -> int:
    """How many processes and threads the user has: the kernel counts those in the limit of a plain process."""
    count = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if entry.stat().st_uid == os.geteuid():
                        count += len(os.listdir(f"/proc/{entry.name}/task"))  # noqa: PTH208
    return count


def _words(kind: str, problem: str | None, network: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    off = () if network else ("no network",)
    on = ("network (declared open)",) if network else ()
    looks = can_look()
    limited = (
        _LIMITED if looks else (*(word for word in _LIMITED if word != "memory"), "memory of each process")
    )
    unwatched: tuple[str, ...] = (
        () if looks else ("memory of all its processes together (no /proc to look at them)",)
    )
    if kind == "bubblewrap":
        inside = ("file system", "sight of other processes", "number of processes", "end of all it started")
        rootly = ("making user namespaces (run as root)",) if os.geteuid() == 0 else ()
        return (*inside, *off, *limited), (*on, *rootly, *unwatched)
    asked = f" ({problem})" if problem else ""
    open_to = (
        f"files outside its folder can be read and written, the earlier results among them{asked}",
        "the network is open",
        "other processes of this user can be seen and ended",
    )
    if not looks:
        unwatched += (
            "number of processes, and the end of those that leave its group (no /proc to look at them)",
        )
        return limited, (*open_to, *unwatched)
    return ("number of processes (watched)", *limited), open_to


class _Run:
    """One running program: its output is read, its use of resources is watched."""

    def __init__(
        self,
        words: list[str],
        cwd: Path,
        environment: Mapping[str, str],
        limits: Limits,
        folders: list[Path],
        marks: list[Path],
        *,
        gently: bool,
    ) -> None:
        self._limits, self._folders, self._marks, self._gently = limits, folders, marks, gently
        self._before: ResourceUsage = usage(folders)
        self._tail: deque[bytes] = deque()
        self._printed_bytes = 0
        self._began = monotonic()
        try:
            self._process = subprocess.Popen(
                words,
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as cause:
            raise SandboxError(f"{words[0]}: cannot be started: {cause}") from cause
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        self._stream: IO[bytes] = self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def finish(
        self,
        kind: Literal["bubblewrap", "process"],
        enforced: tuple[str, ...],
        not_enforced: tuple[str, ...],
    ) -> Isolated:
        """Wait for the end, or bring it about."""
        timed_out, ended = False, None
        left: list[int] = []
        try:
            timed_out, ended = self._wait()
        finally:
            left = end_all(self._process, self._marks, gently=self._gently)
            self._reader.join(timeout=_PATIENCE)
            if not self._reader.is_alive():
                self._stream.close()
        if ended is None and self._printed_bytes > self._limits.output:
            ended = f"printed more than {self._limits.output:,} bytes"
        if self._process.returncode is None:
            ended = f"{ended or 'it ran on'}, and could not be ended"
        elif ended is None and self._process.returncode < 0:
            ended = f"the process that keeps it was ended by {_signal(-self._process.returncode)}"
        text = b"".join(self._tail)[-_TAIL_BYTES:].decode("utf-8", "replace")
        more = (f"{len(left)} of its processes could not be ended",) if left else ()
        return Isolated(
            status_of(self._process),
            text,
            ended,
            timed_out,
            monotonic() - self._began,
            kind,
            enforced,
            (*not_enforced, *more),
        )

    def _wait(self) -> tuple[bool, str | None]:
        deadline = self._began + self._limits.seconds
        pause = _WATCH_SECONDS
        while True:
            left = deadline - monotonic()
            if left <= 0:
                return True, f"ran longer than {self._limits.seconds:g} s"
            if _ended(self._process, min(pause, left)):
                return False, excess(self._process.pid, self._limits, self._before, self._folders)
            if self._printed_bytes > self._limits.output:
                return False, f"printed more than {self._limits.output:,} bytes"
            scan_began = monotonic()
            found = excess(self._process.pid, self._limits, self._before, self._folders)
            if found is not None:
                return False, found
            # Looking at a large folder takes time of its own: at most a tenth of the run's.
            pause = max(_WATCH_SECONDS, 10 * (monotonic() - scan_began))

    def _read(self) -> None:
        size = 0
        with contextlib.suppress(OSError, ValueError):
            while chunk := self._stream.read1(65536):  # type: ignore[attr-defined]
                self._printed_bytes += len(chunk)
                self._tail.append(chunk)
                size += len(chunk)
                while size - len(self._tail[0]) > _TAIL_BYTES:
                    size -= len(self._tail.popleft())


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    # `Popen.wait` with a timeout looks every 50 ms; a descriptor of the process reports it at once.
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(process.pid)
            try:
                waiting = select.poll()
                waiting.register(descriptor, select.POLLIN)
                waiting.poll(seconds * 1000)
            finally:
                os.close(descriptor)
            return process.poll() is not None
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    return process.poll() is not None


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
