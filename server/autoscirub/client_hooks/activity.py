"""Detects whether a job or another command is at work in a state directory."""

from __future__ import annotations

import os

_LOCK = ".lock"


def at_work(state: str) -> bool:
    """Whether a job runs there, or another process writes."""
    if _held(f"{state}/{_LOCK}"):
        return True
    if not _unanswered(f"{state}/jobs"):
        return False
    from pathlib import Path

    from autoscirub.store import running

    return bool(running(Path(state)))


def _unanswered(folder: str) -> bool:
    """Whether there is a job without an answer. In the usual case there is none, and the store is not loaded."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(
        os.path.lexists(f"{folder}/{name}/request.json")
        and not os.path.lexists(f"{folder}/{name}/answer.json")
        for name in names
    )


def _held(path: str) -> bool:
    """Whether a process holds the lock on a file. Where the file system cannot lock, nobody does."""
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
