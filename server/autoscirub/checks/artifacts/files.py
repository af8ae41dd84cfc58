"""Finds and opens one file of a project: never outside it, never blocking, and on one descriptor.

A path is resolved, must lie inside the project's real root, and is then opened directory by directory without following
any link, so that a link swapped in between cannot lead out. What is read and hashed is what was opened.
"""

# Strings all through: ten thousand Path objects would cost more than the check.
# ruff: noqa: PTH112, PTH116, PTH118

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from autoscirub.checks.artifacts.finding import HEAD_BYTES, ArtifactFinding
from autoscirub.checks.artifacts.paths import printable
from autoscirub.errors import CheckError, PathRefused

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.checks.artifacts.nearby import Directories

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, and the times (ns) of the last write and the last change of status."""

_BLOCK = 1 << 20
_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
# Non-blocking, and no controlling terminal: what was a file a moment ago may be a FIFO or a tty by now.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO (named pipe)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})


def project_root(project: str | Path) -> str:
    """The real, absolute path of `project`. Raises CheckError when it is no directory."""
    try:
        root = os.path.realpath(project)
        if os.path.isdir(root):
            return root
    except (OSError, ValueError):  # ValueError: a NUL in it
        pass
    raise CheckError(f"{printable(project)}: no such directory; the project must be one")


def resolve(root: str, path: str) -> str:
    """Where `path` really is, all links followed. Raises PathRefused when that is outside `root`."""
    try:
        real = os.path.realpath(os.path.join(root, path))
    except RecursionError:  # Python 3.11 and 3.12 follow a chain of links by recursion
        return os.path.join(root, path)  # the system gives up on it too, and open_file says so
    if os.path.commonpath([root, real]) != root:
        raise PathRefused(
            f"{printable(path)}: a link on the way leads out of the project, to {printable(real)}; "
            "an artifact must be a file of the project itself: copy it in"
        )
    return real


def open_file(directories: Directories, path: str, real: str) -> BinaryIO | ArtifactFinding:
    """The open file at `real`, which `path` resolved to; or why it fails or is inconclusive.

    A regular, non-empty file. `directories` are those of the project, for hints.
    """
    root = directories.root
    try:
        # Asked of the system, which is stricter than a resolved string: `file.png/.` and `none/../x` are missing.
        before = os.stat(os.path.join(root, path))
        if not stat.S_ISREG(before.st_mode):
            kind = next((name for test, name in _KINDS if test(before.st_mode)), "something that is no file")
            return ArtifactFinding(fault=f"not a file: it is {kind}")
        if (spelling := directories.other_spelling(path)) is not None:
            return ArtifactFinding(fault=f"missing: {spelling}")
        descriptor = _open_beneath(root, os.path.relpath(real, root).split("/"))
    except OSError as error:
        return _refusal(directories, path, error)
    opened = os.fstat(descriptor)
    if not stat.S_ISREG(opened.st_mode) or (opened.st_dev, opened.st_ino) != (before.st_dev, before.st_ino):
        os.close(descriptor)
        return ArtifactFinding(unknown="it was replaced while it was being opened; check again")
    if opened.st_size == 0:
        os.close(descriptor)
        return ArtifactFinding(fault="empty: 0 bytes")
    return os.fdopen(descriptor, "rb")


def _open_beneath(root: str, parts: list[str]) -> int:
    directory = os.open(root, _DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = inner
        return os.open(parts[-1], _FILE, dir_fd=directory)
    finally:
        os.close(directory)


def _refusal(directories: Directories, path: str, error: OSError) -> ArtifactFinding:
    if error.errno not in _MISSING:
        return ArtifactFinding(unknown=f"could not be opened: {error.strerror}")
    if error.errno == errno.ENAMETOOLONG:
        return ArtifactFinding(fault="missing: no file can have so long a name here")
    hint, nothing_like_it = directories.instead_of(path)
    return ArtifactFinding(fault=f"missing: {hint}", nothing_like_it=nothing_like_it)


def stamp(source: BinaryIO) -> Stamp:
    """What identifies the bytes of an open file, short of reading them."""
    now = os.fstat(source.fileno())
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def digest(source: BinaryIO, size: int) -> tuple[str, bytes]:
    """SHA-256 (lower-case hex) of the first `size` bytes of an open file, and its head.

    No more than `size` is read, so a file that grows as fast as it is read comes to an end.
    Raises OSError when the system cannot read it.
    """
    source.seek(0)
    total, head = hashlib.sha256(), b""
    while size > 0 and (block := source.read(min(size, _BLOCK))):
        head = head or block[:HEAD_BYTES]
        total.update(block)
        size -= len(block)
    return total.hexdigest(), head
