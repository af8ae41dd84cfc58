"""`history.bundle`: the one file that the history is exported as, read as untrusted data.

The header (see gitformat-bundle) is read here; the pack behind it goes to `git index-pack --strict`, which
checks every object and that none is missing. No transport is used, and only `refs/heads/main` is taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from autoscirub.errors import CorruptError, HistoryError
from autoscirub.store.files import TEMPORARY_PREFIX, describe_kind
from autoscirub.store.git import plain

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.store.git import GitAnswer, GitRunner

BUNDLE_NAME = "history.bundle"
MAIN = "refs/heads/main"

_HEADER_LIMIT = 256 * 1024
_UNPACK_SECONDS = 900.0
_OID = re.compile(rb"[0-9a-f]{40}")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
# Git's messages when the machine, not the bundle, is at fault: then the bundle is not called corrupt.
_MACHINE = re.compile(
    r"No space left|quota|Permission denied|Read-only file system|unable to create|write error|"
    r"unable to write|out of memory|Out of memory|attempting to allocate|Cannot allocate|unable to mmap|"
    r"cannot pread|Input/output error",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FileMark:
    """Tells whether a file is still the one that was written, mostly without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """The mark as plain JSON data."""
        return asdict(self)

    def same_stat(self, status: os.stat_result) -> bool:
        """Whether the file system says that nothing was written since."""
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode) == (
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
        )


@dataclass
class Bundle:
    """An opened bundle whose header has been read. `head` is what it gives `refs/heads/main`."""

    path: Path
    file: BinaryIO
    head: str
    pack_offset: int

    def is_as(self, mark: FileMark | None) -> bool:
        """Whether the bytes are those that `mark` was taken of."""
        status = os.fstat(self.file.fileno())
        if mark is None or status.st_size != mark.size:
            return False
        return mark.same_stat(status) or self.mark().sha256 == mark.sha256

    def mark(self) -> FileMark:
        """The mark of the file as it is now. Reads all of it."""
        return _mark(self.file)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def open_bundle(path: Path) -> Bundle | None:
    """Open the bundle at `path` and read its header; None when nothing is there.

    Raises HistoryError for what must be left alone (a link, a directory, a FIFO, a Git LFS pointer, a
    bundle of a newer kind), and CorruptError for a file that is not a history.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as cause:
        with contextlib.suppress(OSError):
            _refuse_kind(path, path.lstat().st_mode)
        raise HistoryError(f"{path}: cannot be opened: {cause.strerror}") from cause
    try:
        _refuse_kind(path, os.fstat(descriptor).st_mode)
        head, offset = _header(path, os.pread(descriptor, _HEADER_LIMIT, 0))
        return Bundle(path, os.fdopen(descriptor, "rb", buffering=0), head, offset)
    except BaseException:
        os.close(descriptor)
        raise


def unpack(bundle: Bundle, git: GitRunner) -> None:
    """Take the bundle's objects into the empty repository behind `git` and point its main at the head.

    Raises CorruptError when the bundle is damaged or incomplete, and HistoryError when this machine
    could not do it.
    """
    os.lseek(bundle.file.fileno(), bundle.pack_offset, os.SEEK_SET)
    answer = git.run(
        "index-pack",
        "--stdin",
        "--strict",
        stdin=bundle.file,
        accept=None,
        seconds=_UNPACK_SECONDS,
        most=_HEADER_LIMIT,
    )
    _judge(bundle, answer)
    if not re.fullmatch(rb"(?:pack|keep)\t[0-9a-f]{40,64}\n", answer.out):
        raise CorruptError(f"{bundle.path}: there are bytes after the end of its pack")
    # update-ref refuses what is not there or is no commit.
    _judge(bundle, git.run("update-ref", MAIN, bundle.head, accept=None))


def write_bundle(path: Path, git: GitRunner) -> FileMark:
    """Export `refs/heads/main` to `path`, atomically. Raises HistoryError."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}-{BUNDLE_NAME}")
    try:
        git.run("bundle", "create", "--quiet", os.fspath(temporary), MAIN, seconds=_UNPACK_SECONDS)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
            sha256 = _mark(file).sha256
        temporary.replace(path)
        _sync_directory(path.parent)
        status = path.lstat()
    except OSError as cause:
        raise HistoryError(
            f"{path}: cannot be written: {cause.strerror}; make {path.parent} writable"
        ) from cause
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return FileMark(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, sha256)


def remove_leftovers(state_dir: Path) -> None:
    """Remove what a killed export left next to the bundle. Only under the state directory's lock."""
    for leftover in state_dir.glob(f"{TEMPORARY_PREFIX}*-{BUNDLE_NAME}*"):
        with contextlib.suppress(OSError):
            leftover.unlink()


def _header(path: Path, data: bytes) -> tuple[str, int]:
    """The commit of main, and where the pack begins."""
    if data.startswith(_LFS_POINTER):
        raise HistoryError(
            f"{path}: is a Git LFS pointer, not the bundle itself; fetch it with `git lfs pull`, and preferably "
            "keep it out of LFS"
        )
    signature, _, rest = data.partition(b"\n")
    if signature not in (b"# v2 git bundle", b"# v3 git bundle"):
        if re.fullmatch(rb"# v\d+ git bundle", signature):
            raise HistoryError(
                f"{path}: is a {plain(signature.decode())[2:]}, newer than what is read here (v2, v3)"
            )
        raise CorruptError(f"{path}: is not a git bundle: it is {_beginning(data)}")
    lines, end, _ = rest.partition(b"\n\n")
    if not end:
        raise CorruptError(f"{path}: its header does not end within {len(data):,} bytes")
    heads = set()
    for line in lines.split(b"\n"):
        oid, _, name = line.partition(b" ")
        if line.startswith(b"@"):
            if line != b"@object-format=sha1":
                raise CorruptError(f"{path}: requires what our histories never do: {_quote(line)}")
        elif line.startswith(b"-"):
            raise CorruptError(f"{path}: holds only part of a history: it builds on {_quote(line[1:41])}")
        elif not _OID.fullmatch(oid):
            raise CorruptError(f"{path}: its header is damaged at {_quote(line)}")
        elif name == MAIN.encode():
            heads.add(oid.decode())
    if len(heads) != 1:
        found = "no" if not heads else "more than one"
        raise CorruptError(f"{path}: has {found} {MAIN}, so it is not one of our histories")
    return heads.pop(), len(signature) + 1 + len(lines) + 2


def _judge(bundle: Bundle, answer: GitAnswer) -> None:
    if answer.status == 0:
        return
    words = plain(answer.err)
    if answer.status < 0 or _MACHINE.search(answer.err):
        raise HistoryError(f"{bundle.path}: could not be unpacked here (status {answer.status}): {words}")
    raise CorruptError(f"{bundle.path}: is damaged: {words}")


def _mark(file: BinaryIO) -> FileMark:
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    status = os.fstat(file.fileno())
    digest = hashlib.sha256()
    while chunk := os.read(file.fileno(), 1024 * 1024):
        digest.update(chunk)
    return FileMark(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, digest.hexdigest())


def _refuse_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise HistoryError(
            f"{path}: is {describe_kind(mode)}, expected a regular file; it is neither read nor replaced. "
            "Put the file itself there, or move it away"
        )


def _beginning(data: bytes) -> str:
    return "empty" if not data else f"something that begins with {_quote(data[:24])}"


def _quote(data: bytes) -> str:
    return repr(data[:80].decode("utf-8", "replace"))


def _sync_directory(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system can; the data itself is written
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
