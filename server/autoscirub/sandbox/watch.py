"""Watching a running program from outside (processes, memory, files written), and ending everything it started."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.sandbox.limits import Limits

_PROC = Path("/proc")
_PATIENCE = 5.0
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class ResourceUsage:
    """What lies below a folder: bytes on the disk, and how many files and folders."""

    size: int
    files: int


def usage(folders: Iterable[Path]) -> ResourceUsage:
    """What lies below `folders` now. What vanishes meanwhile, or cannot be listed, is not counted."""
    size = files = 0
    waiting = [str(folder) for folder in folders]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    files += 1
                    size += getattr(status, "st_blocks", 0) * 512
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
    return ResourceUsage(size, files)


def can_look() -> bool:
    """Whether processes can be listed here: where not, finding none means nothing."""
    return (_PROC / "self" / "stat").is_file()


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, parents first; [] where there is no /proc."""
    children: dict[int, list[int]] = {}
    for other, parent in _parents():
        children.setdefault(parent, []).append(other)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def excess(pid: int, limits: Limits, before: ResourceUsage, folders: Iterable[Path]) -> str | None:
    """What the run uses beyond its limits, in words; None while it keeps to them."""
    processes = descendants(pid)
    if len(processes) > limits.processes:
        return f"more than {limits.processes:,} processes at once"
    # Pages that processes share are resident in each: ask again, exactly, before ending anything.
    if all(sum(map(count, processes)) > limits.memory for count in (_resident, _proportional)):
        return f"more than {limits.memory:,} bytes of memory"
    now = usage(folders)
    if now.size - before.size > limits.disk:
        return f"more than {limits.disk:,} bytes written"
    if now.files - before.files > limits.new_files:
        return f"more than {limits.new_files:,} files made"
    return None


def end_all(process: subprocess.Popen[bytes], folders: Sequence[Path], *, gently: bool) -> list[int]:
    """End the run and all it started, wherever that went. Returns what could not be ended.

    `gently`: the keeper is asked first, since it alone has adopted what left the process tree. What escaped
    it is recognized by `folders`, which no other run has: its working directory, its HOME.
    """
    if gently and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_PATIENCE / 5)
    until = monotonic() + _PATIENCE
    while True:
        left = descendants(process.pid) if process.poll() is None else []
        left += [pid for pid in _strays(folders) if pid != process.pid] if gently else []
        _kill(left if gently else [process.pid])
        if process.poll() is None and (not left or not gently):
            _kill([process.pid])
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_PATIENCE)
        if process.poll() is not None and not (left and gently):
            return []
        if monotonic() > until:
            return left


def status_of(process: subprocess.Popen[bytes]) -> int:
    """Its exit status, 128 + n when signal n ended it. That of a kill where it was killed, and has not ended."""
    status = process.returncode
    return _KILLED if status is None else status if status >= 0 else 128 - status


def _parents() -> list[tuple[int, int]]:
    found = []
    for name in _numbers():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] != b"Z":
                found.append((int(name), int(fields[1])))
    return found


def _numbers() -> list[str]:
    try:
        return [name for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names are wanted
    except OSError:
        return []


def _strays(folders: Sequence[Path]) -> list[int]:
    marks = [os.fsencode(folder) for folder in folders]
    found = []
    for name in _numbers():
        folder = _PROC / name
        with contextlib.suppress(OSError):
            known = os.fsencode(os.readlink(folder / "cwd")) + b"\0" + (folder / "environ").read_bytes()  # noqa: PTH115
            if any(mark in known for mark in marks) and int(name) != os.getpid():
                found.append(int(name))
    return found


def _kill(processes: list[int]) -> None:
    for pid in processes:
        with contextlib.suppress(OSError):
            # A whole group at once: a program that only forks cannot outrun that.
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((_PROC / str(pid) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _proportional(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return 0
