"""The resource limits for a program that is not ours."""

from __future__ import annotations

from dataclasses import dataclass

_GIB = 1024**3
_LONGEST = 10_000_000
"""Seconds, a third of a year. A configuration can hold numbers that no kernel can count to."""


@dataclass(frozen=True)
class Limits:
    """Bounds of one run. What the kernel bounds holds for each process, what is watched holds for all together."""

    seconds: float = 600
    """Wall clock."""
    cpu_seconds: int | None = None
    """Processor time of one process; None: four times the wall clock."""
    memory: int = 8 * _GIB
    """Bytes of private memory of one process (kernel), and of all together (watched)."""
    processes: int = 512
    """Processes and threads at once."""
    open_files: int = 1024
    file_bytes: int = 2 * _GIB
    """Bytes of one file."""
    disk: int = 4 * _GIB
    """Bytes that may be written in all (watched), and in the temporary folder (kernel, under bubblewrap)."""
    new_files: int = 100_000
    """Files and folders that may be made in all (watched)."""
    output: int = 64 * 1024 * 1024
    """Bytes that may be printed."""

    def rlimits(self) -> dict[str, int]:
        """The part that the kernel bounds, by the name of the limit as `prlimit` and `resource` spell it.

        DATA and not AS: some interpreters reserve far more address space than they ever use.
        """
        wall = self.seconds if self.seconds < _LONGEST else _LONGEST  # also for what is no number
        cpu = self.cpu_seconds if self.cpu_seconds is not None else max(1, int(4 * wall) + 1)
        return {
            "core": 0,
            "cpu": cpu,
            "data": self.memory,
            "fsize": self.file_bytes,
            "nofile": self.open_files,
            "nproc": self.processes,
        }
