"""Copies one file and hashes it on the way, so that the digest is that of the copy.

A file of ordinary size is read once, whole. A large one is moved by the system (which shares the blocks where the
file system can), and the copy is hashed right behind it by a second thread while it is still in memory.
"""

# Strings and descriptors: ten thousand Path objects would cost more than the copy.

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import queue
import stat
import threading
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.errors import BlindingError
from autoscirub.judging.workspace.limits import Seen, changed, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable

SAME_TIME = 946_684_800
"""Seconds: the modification time of everything in a workspace, 2000-01-01. When a file was made is no evidence."""

_SMALL = 1 << 20
_WINDOW = 8 << 20
_BLOCK = 1 << 18
# What was a regular file a moment ago may be a FIFO, a terminal or a link by now.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNSUPPORTED = frozenset(
    {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
)
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})


class UnreadableFile(Exception):  # noqa: N818 - caught by the one who copies, never shown
    """A file that the system does not let us read; `str` says why."""


def is_small(seen: Seen) -> bool:
    """Whether a file is read whole."""
    return seen.stamp[2] <= _SMALL


def _opened(seen: Seen) -> int:
    try:
        descriptor = os.open(seen.real, _READ)
    except OSError as error:
        if error.errno in _GONE:
            raise changed(seen.path) from error
        raise UnreadableFile(error.strerror) from error
    if stamp_of(os.fstat(descriptor)) != seen.stamp:
        os.close(descriptor)
        raise changed(seen.path)
    return descriptor


def read_small(seen: Seen) -> bytes:
    """All of a small file, as it was listed. Raises BlindingError when it changed, else UnreadableFile."""
    descriptor = _opened(seen)
    try:
        size = seen.stamp[2]
        data = os.read(descriptor, size + 1)
        while len(data) < size and (more := os.read(descriptor, size + 1 - len(data))):
            data += more
        if len(data) != size or stamp_of(os.fstat(descriptor)) != seen.stamp:
            raise changed(seen.path)
    except OSError as error:
        raise UnreadableFile(error.strerror) from error
    finally:
        os.close(descriptor)
    return data


def copy_small(seen: Seen, target: str, mode: int, unwanted: Callable[[str], bool] | None) -> str | None:
    """Copy a small file and return its SHA-256; None, and nothing is written, where that is `unwanted`."""
    data = read_small(seen)
    sha256 = hashlib.sha256(data).hexdigest()
    if unwanted is not None and unwanted(sha256):
        return None
    descriptor = os.open(target, _WRITE, mode)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.utime(descriptor, (SAME_TIME, SAME_TIME))
    finally:
        os.close(descriptor)
    return sha256


def copy_large(
    seen: Seen, target: str, mode: int, unwanted: Callable[[str], bool] | None, moved: Callable[[int], None]
) -> str | None:
    """The same for a large file, which is written before its digest is known; `moved` gets the bytes."""
    source = _opened(seen)
    try:
        copy = os.open(target, _WRITE, mode)
        try:
            sha256 = _move(seen, source, copy, moved)
            if stamp_of(os.fstat(source)) != seen.stamp:
                raise changed(seen.path)
            os.utime(copy, (SAME_TIME, SAME_TIME))
        finally:
            os.close(copy)
    finally:
        os.close(source)
    if unwanted is not None and unwanted(sha256):
        os.unlink(target)  # noqa: PTH108
        return None
    return sha256


def _move(seen: Seen, source: int, copy: int, moved: Callable[[int], None]) -> str:
    size, at = seen.stamp[2], 0
    behind = _Hashing(copy)
    try:
        system = hasattr(os, "copy_file_range")
        while at < size:
            window = min(_WINDOW, size - at)
            number = 0
            if system:
                try:
                    number = os.copy_file_range(source, copy, window, at, at)
                except OSError as error:
                    if error.errno not in _UNSUPPORTED:
                        raise
                system = number > 0  # some file systems say 0 where they cannot
            if not number:
                number = _move_block(source, copy, at, min(window, _BLOCK))
            if not number:
                raise changed(seen.path)
            at += number
            behind.upto(at)
            moved(number)
    finally:
        sha256 = behind.end()
    return sha256


def _move_block(source: int, copy: int, at: int, size: int) -> int:
    data = os.pread(source, size, at)
    rest, to = memoryview(data), at
    while rest:
        number = os.pwrite(copy, rest, to)
        rest, to = rest[number:], to + number
    return len(data)


class _Hashing:
    """A thread that hashes a file while it is written, up to the offset it is given."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ends: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._hash = hashlib.sha256()
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def upto(self, end: int) -> None:
        self._ends.put(end)

    def end(self) -> str:
        self._ends.put(-1)
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._hash.hexdigest()

    def _run(self) -> None:
        at, block = 0, memoryview(bytearray(_BLOCK))
        try:
            while (end := self._ends.get()) != -1:
                while at < end:
                    number = os.preadv(self._descriptor, [block[: min(_BLOCK, end - at)]], at)
                    if not number:
                        raise OSError(errno.EIO, "the copy is shorter than what was written")
                    self._hash.update(block[:number])
                    at += number
        except OSError as error:
            self._failed = error


def digest_of_visible(seen: Seen) -> str:
    """The SHA-256 of a file as it was listed. Raises BlindingError when it changed, else UnreadableFile."""
    descriptor = _opened(seen)
    try:
        sha256 = hash_open(descriptor)
        if stamp_of(os.fstat(descriptor)) != seen.stamp:
            raise changed(seen.path)
    except OSError as error:
        raise UnreadableFile(error.strerror) from error
    finally:
        os.close(descriptor)
    return sha256


def digest_of(seen: Seen) -> str:
    """The SHA-256 of a withheld file, to recognise its copies. Raises BlindingError where it cannot be read."""
    try:
        return digest_of_visible(seen)
    except UnreadableFile as error:
        raise BlindingError(
            f"{printable(seen.path)}: is withheld and cannot be read ({error}), and a file of its size would be shown: "
            "whether that is a copy of it cannot be checked; make it readable"
        ) from error


def hash_open(descriptor: int) -> str:
    """The SHA-256 of an open file, from its beginning."""
    found, block, at = hashlib.sha256(), memoryview(bytearray(_BLOCK)), 0
    while number := os.preadv(descriptor, [block], at):
        found.update(block[:number])
        at += number
    return found.hexdigest()


def open_regular(path: str, within: int) -> int | None:
    """Open a regular file of a workspace; None where it no longer is one."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _READ, dir_fd=within)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    return None


def set_time(path: str) -> None:
    """Give a folder the modification time that everything in a workspace has."""
    os.utime(path, (SAME_TIME, SAME_TIME))
