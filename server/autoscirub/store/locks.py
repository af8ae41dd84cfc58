"""One writer at a time in a state directory: an advisory file lock, or a lease file where there is none."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
from typing import TYPE_CHECKING

from autoscirub.errors import BusyError, StateError
from autoscirub.models import now

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["HOLDER_NAME", "LEASE_NAME", "LOCK_NAME", "state_lock"]

LOCK_NAME = ".lock"
LEASE_NAME = ".lock.lease"
HOLDER_NAME = ".lock.holder"

_CANNOT_LOCK = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
"""What `flock` answers where the file system (some NFS, FUSE and cluster mounts) has no locks."""


@contextlib.contextmanager
def state_lock(state_dir: Path, *, seconds: float, notices: list[str] | None = None) -> Iterator[None]:
    """Hold the state directory against other processes, waiting at most `seconds`.

    Where the file system cannot lock, a lease file serves, and `notices` says so. Raises BusyError naming
    the holder, and StateError where the directory cannot be written.
    """
    import filelock

    lock: filelock.BaseFileLock = filelock.FileLock(state_dir / LOCK_NAME)
    try:
        try:
            lock.acquire(timeout=seconds)
        except OSError as cause:
            if isinstance(cause, filelock.Timeout) or cause.errno not in _CANNOT_LOCK:
                raise
            if notices is not None:
                notices.append(
                    f"{state_dir}: this file system cannot lock, so a lease file is used: {LEASE_NAME}"
                )
            lock = filelock.SoftFileLock(state_dir / LEASE_NAME)
            lock.acquire(timeout=seconds)
    except filelock.Timeout:
        raise BusyError(
            f"{state_dir}: held by {_holder(state_dir)}; waited {seconds:g} s. "
            "Wait for it to end, or end it, and run this again"
        ) from None
    except OSError as cause:
        raise StateError(
            f"{state_dir}: cannot be locked for writing: {cause.strerror}; make it writable, or name another "
            "state directory with --state-dir or AUTOSCIRUB_STATE_DIR"
        ) from cause
    try:
        _write_holder(state_dir)
        yield
    finally:
        (state_dir / HOLDER_NAME).unlink(missing_ok=True)
        lock.release()


def _write_holder(state_dir: Path) -> None:
    # Only for people who wonder who it is, so it is neither synced nor trusted.
    command = " ".join(["autoscirub", *sys.argv[1:3]])
    text = json.dumps(
        {"pid": os.getpid(), "host": socket.gethostname(), "command": command[:80], "since": now()}
    )
    with contextlib.suppress(OSError):
        (state_dir / HOLDER_NAME).write_text(text, encoding="utf-8")


def _holder(state_dir: Path) -> str:
    try:
        facts = json.loads((state_dir / HOLDER_NAME).read_text(encoding="utf-8"))
        return f"process {facts['pid']} on {facts['host']} ({facts['command']}) since {facts['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
