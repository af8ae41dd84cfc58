"""One writer at a time in a state directory: an advisory file lock, or a lease file where there is none."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING

from autoscirub.errors import BusyError, StateError
from autoscirub.models import now, strict_json
from autoscirub.store.files import describe_kind, read_regular
from autoscirub.store.strictjson import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_NAME = ".lock"
LEASE_NAME = ".lock.lease"
HOLDER_NAME = ".lock.holder"

PATIENCE: ContextVar[float | None] = ContextVar("PATIENCE", default=None)
"""Seconds that whoever works here can wait for a lock at most, whatever the configuration allows: a client of ours may
give up sooner. None: no bound but the configuration's."""

_POLL_SECONDS = 0.02
_HOLDER_LIMIT = 4096
_CANNOT_LOCK = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
"""What `flock` answers where the file system (some NFS, FUSE and cluster mounts) has no locks."""


@contextlib.contextmanager
def state_lock(state_dir: Path, *, seconds: float, notices: list[str] | None = None) -> Iterator[None]:
    """Hold the state directory against other processes, waiting at most `seconds`.

    Where the file system cannot lock, a lease file serves, and `notices` says so. Raises BusyError naming
    the holder, and StateError where the directory cannot be written or a lock file is no regular file.
    """
    import filelock

    patience = PATIENCE.get()
    seconds = seconds if patience is None else min(seconds, patience)
    _refuse_irregular(state_dir / LOCK_NAME)
    _refuse_irregular(state_dir / LEASE_NAME)
    # filelock's own fallback would put its marker at the same path, with a warning of its own.
    lock: filelock.BaseFileLock = filelock.FileLock(state_dir / LOCK_NAME, fallback_to_soft=False)
    hint = ""
    try:
        try:
            lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS)
        except OSError as cause:
            if isinstance(cause, filelock.Timeout) or cause.errno not in _CANNOT_LOCK:
                raise
            notice = f"{state_dir}: this file system cannot lock, so a lease file is used: {LEASE_NAME}"
            if notices is not None and notice not in notices:
                notices.append(notice)
            hint = f"; if no such process is left, on any machine, remove {state_dir / LEASE_NAME}"
            lock = filelock.SoftFileLock(state_dir / LEASE_NAME)
            lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS)
    except filelock.Timeout:
        raise BusyError(
            f"{state_dir}: held by {_holder(state_dir)}; waited {seconds:g} s. "
            f"Wait for it to end, or end it, and run this again{hint}"
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
        with contextlib.suppress(OSError):
            (state_dir / HOLDER_NAME).unlink()
        lock.release()


def can_lock(folder: Path) -> bool:
    """Whether the file system of `folder` has locks. Writes nothing; raises OSError where it cannot be tried."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as cause:
        if cause.errno in _CANNOT_LOCK:
            return False
        raise
    finally:
        os.close(descriptor)
    return True


def _refuse_irregular(path: Path) -> None:
    # A repository can carry a link or a FIFO of this name; opening it would reach out, or wait.
    with contextlib.suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise StateError(f"{path}: is {describe_kind(mode)}, expected a regular file; move it away")


def _write_holder(state_dir: Path) -> None:
    # Only tells people who holds the lock, so it is neither synced nor trusted. Created afresh, never opened:
    # what is there may be a link to another file.
    command = " ".join(["autoscirub", *sys.argv[1:3]])
    facts = {"pid": os.getpid(), "host": socket.gethostname(), "command": command[:80], "since": now()}
    path = state_dir / HOLDER_NAME
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            file.write(strict_json(facts, indent=None).encode("utf-8", "replace"))


def _holder(state_dir: Path) -> str:
    try:
        facts = parse(read_regular(state_dir / HOLDER_NAME, limit=_HOLDER_LIMIT) or b"")
        text = f"process {facts['pid']} on {facts['host']} ({facts['command']}) since {facts['since']}"
    except (StateError, JsonFault, KeyError, TypeError):
        return "another process"
    return text if text.isprintable() else "another process"
