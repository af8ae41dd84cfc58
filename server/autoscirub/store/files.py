"""Reading files that others wrote without blocking or leaving; writing ours so that nobody reads half."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from typing import TYPE_CHECKING

from autoscirub.errors import StateError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TEMPORARY_PREFIX", "describe_kind", "read_regular", "sha256_bytes", "sha256_file", "write_atomic"]

TEMPORARY_PREFIX = ".tmp-"
"""Half-written files begin like this; a kill can leave one behind, and it is never read."""

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
)


def describe_kind(mode: int) -> str:
    """What `st_mode` is, in words, such as "a FIFO"."""
    return next((name for test, name in _KINDS if test(mode)), "a regular file")


def sha256_bytes(data: bytes) -> str:
    """SHA-256 of `data`, lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_regular(
    path: Path, *, limit: int, within: Path | None = None, error: type[Exception] = StateError
) -> bytes | None:
    """The bytes of a regular file of at most `limit` bytes; None when nothing is there.

    A symbolic link, a directory, a FIFO, a socket and a device are refused, and never opened in a way
    that could block. With `within`, a path whose parents lead out of that folder is refused too.
    Raises `error`, saying what was found.
    """
    if within is not None and not path.parent.resolve().is_relative_to(within.resolve()):
        raise error(f"{path}: leads out of {within} through a link; put the file itself there")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as cause:
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode):
                raise error(f"{path}: is {describe_kind(mode)}, expected a regular file") from None
        raise error(f"{path}: cannot be opened: {cause.strerror}") from cause
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise error(f"{path}: is {describe_kind(status.st_mode)}, expected a regular file")
        if status.st_size > limit:
            raise error(f"{path}: {status.st_size:,} bytes, more than the limit of {limit:,}")
        data = file.read(min(limit, status.st_size) + 1)
    if len(data) > status.st_size:
        raise error(f"{path}: grew while it was read; wait until whatever writes it is done")
    return data


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` so that a reader sees the old bytes or the new, also after a kill or a power cut.

    Raises StateError where the folder cannot be written.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}-{path.name}"[:200])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666
        )
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)
    except OSError as cause:
        raise StateError(
            f"{path}: cannot be written: {cause.strerror}; make {path.parent} writable, or name another "
            "state directory with --state-dir or AUTOSCIRUB_STATE_DIR"
        ) from cause


def _sync_directory(folder: Path) -> None:
    # The rename itself must reach the disk. Some network file systems cannot sync a directory; the data
    # is written all the same there, so that is no reason to fail.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
