"""Reads and writes small files with the standard library alone, so that a hook with nothing to do exits fast.

The same care as in `store.files`: no link is followed, nothing can block, and nobody reads half a file.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any

from autoscirub.errors import StateError


def read_bytes(path: str, limit: int) -> bytes | None:
    """A regular file's bytes; None when it is not there. Raises StateError for everything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise StateError(f"{path}: is no regular file")
        if status.st_size > limit:
            raise StateError(f"{path}: has more than {limit:,} bytes")
        return file.read(limit + 1)


def read_json(path: str, limit: int) -> dict[str, Any] | None:
    """A JSON object; None when the file is not there. Raises StateError for everything else."""
    data = read_bytes(path, limit)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{path}: is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise StateError(f"{path}: holds no JSON object")
    return value


def write_atomic(path: str, data: bytes) -> None:
    """Write to a temporary file next to it and rename. Raises StateError where that cannot be done."""
    # The name is one that the state directory's .gitignore leaves out, and that the next command sweeps away.
    temporary = f"{os.path.dirname(path)}/.tmp-{os.urandom(8).hex()}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise StateError(f"{path}: cannot be written: {error.strerror}") from error
