"""Reading others' files without blocking or following links out; writing ours so that nobody reads half a file."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import StateError
from autoscirub.store.write_points import step

if TYPE_CHECKING:
    from collections.abc import Generator

TEMPORARY_PREFIX = ".tmp-"
"""Half-written files begin like this; a kill can leave one behind, and it is never read."""

_CHUNK = 1024 * 1024
_ADVICE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EISDIR: "move the directory away",
    errno.EEXIST: "there is a file where a folder should be; move it away",
    errno.ENOTDIR: "there is a file where a folder should be; move it away",
    errno.ENAMETOOLONG: "choose a shorter name",
}
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


def is_path(text: str | Path) -> bool:
    """Whether the operating system can be asked for `text` at all: no NUL, and nothing that is no text."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def leads_out(path: Path, folder: Path) -> bool:
    """Whether `path`, its links followed, lies outside `folder`. Neither need exist."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def read_regular(
    path: Path, *, limit: int, within: Path | None = None, error: type[Exception] = StateError
) -> bytes | None:
    """The bytes of a regular file of at most `limit` bytes; None when nothing is there.

    A symbolic link, a directory, a FIFO, a socket and a device are refused, and never opened in a way
    that could block. With `within`, a path whose parents lead out of that folder is refused too.
    Raises `error`, saying what was found.
    """
    descriptor = _opened(path, within, error)
    if descriptor is None:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_size > limit:
            raise error(f"{path}: {status.st_size:,} bytes, more than the limit of {limit:,}")
        data = _read_up_to(descriptor, limit, status.st_size)
    except OSError as cause:
        raise error(f"{path}: cannot be read: {cause.strerror}") from cause
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise error(f"{path}: more than the limit of {limit:,} bytes; it grew while it was read")
    return data


def regular_chunks(
    path: Path, *, size: int, within: Path | None = None, error: type[Exception] = StateError
) -> Generator[bytes, None, None]:
    """The bytes of a regular file, `size` at a time; none when nothing is there. Refuses what `read_regular` does."""
    descriptor = _opened(path, within, error)
    if descriptor is None:
        return
    try:
        while chunk := os.read(descriptor, size):
            yield chunk
    except OSError as cause:
        raise error(f"{path}: cannot be read: {cause.strerror}") from cause
    finally:
        os.close(descriptor)


def _opened(path: Path, within: Path | None, error: type[Exception]) -> int | None:
    """A regular file, opened without waiting for it; None when nothing is there."""
    refuse_unusable(path, within, error)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as cause:
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode):
                raise error(_not_regular(path, mode)) from None
        hint = "; make it readable" if isinstance(cause, PermissionError) else ""
        raise error(f"{path}: cannot be opened: {cause.strerror}{hint}") from cause
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise error(_not_regular(path, mode))
    return descriptor


def write_atomic(path: Path, data: bytes, *, within: Path | None = None) -> None:
    """Write `data` so that a reader sees the old bytes or the new, also after a kill or a power cut.

    A link at `path` is itself replaced, and its target is left alone. With
    `within`, a path whose parents lead out of that folder is refused. Raises StateError where the folder
    cannot be written.
    """
    refuse_unusable(path, within, StateError)
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}")
    step("write")
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
            step("rename")
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)
    except OSError as cause:
        raise StateError(f"{path}: cannot be written: {cause.strerror}; {_advice(cause, path)}") from cause


def refuse_unusable(path: Path, within: Path | None, error: type[Exception]) -> None:
    """Raise `error` for what is not a path at all, and for a path whose parents lead out of `within`."""
    if not is_path(path):
        raise error(f"{str(path)!r}: is not a path: it holds a NUL character, or half of a surrogate pair")
    if within is not None and leads_out(path.parent, within):
        raise error(f"{path}: leads out of {within} through a link; put the file itself there")


def _not_regular(path: Path, mode: int) -> str:
    return f"{path}: is {describe_kind(mode)}, expected a regular file; move it away"


def _read_up_to(descriptor: int, limit: int, size: int) -> bytes:
    """All of an open file, or its first `limit + 1` bytes where it is longer than that."""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        pieces = [file.read(size + 1)]
        total = len(pieces[0])
        if total <= size:
            return pieces[0]
        while total <= limit and (piece := file.read(min(_CHUNK, limit + 1 - total))):
            pieces.append(piece)
            total += len(piece)
    return b"".join(pieces)


def _advice(cause: OSError, path: Path) -> str:
    return _ADVICE.get(cause.errno or 0) or (
        f"make {path.parent} writable, or name another state directory with --state-dir or "
        "AUTOSCIRUB_STATE_DIR"
    )


def _sync_directory(folder: Path) -> None:
    # The rename itself must reach the disk. Some network file systems cannot sync a directory; the data
    # is written all the same there, so that is no reason to fail.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
