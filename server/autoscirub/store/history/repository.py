"""The bare repository behind a history: creating, querying, writing and tidying it. Nothing is ever checked out."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from autoscirub.errors import HistoryError
from autoscirub.store.files import describe_kind
from autoscirub.store.git import GitRunner, finish, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

NEW_PREFIX = ".new-"
"""Repositories that are still being made begin like this, and are renamed when they are whole."""

_CONFIGURATION = (
    ("core.symlinks", "false"),
    ("core.bigFileThreshold", "8m"),  # larger blobs are streamed, not held in memory
    ("core.fsync", "none"),  # the bundle is what counts, and it is synced
    ("fastimport.unpackLimit", "1"),  # one pack a commit: faster to write and to export than loose files
    ("transfer.fsckObjects", "true"),
)
# No single allocation above this, so that a stranger's delta cannot ask for all the memory there is.
_ENVIRONMENT = {"GIT_ALLOC_LIMIT": "512m"}
_MOST_PACKS = 32
_IDENTITY = b"autoscirub <autoscirub@localhost>"
_CHUNK = 1024 * 1024
_WRITE_SECONDS = 900.0
_OWN_NAME = re.compile(r"\.git(modules|attributes)?|(git|gitmod|gitatt|gi[0-9a-f]{4})~\d+", re.IGNORECASE)
# Code points that HFS+ leaves out when it compares names; git refuses `.g<one of them>it` for that.
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def path_problem(path: str) -> str | None:
    """Why `path` cannot be a file's name in the history; None when it can.

    Names are relative POSIX paths. What git itself refuses to read back (`git fsck --strict`) is refused:
    anything that some file system could take for `.git`, `.gitmodules` or `.gitattributes`.
    """
    if not path or len(path.encode("utf-8", "surrogatepass")) > 1024:
        return "is empty or longer than 1,024 bytes"
    if path.startswith("/"):
        return "is absolute"
    if any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000 for char in path):
        return "holds a control character or is not UTF-8"
    if "\\" in path:
        return "holds a backslash"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"has the part {part!r}"
        # Windows also drops trailing dots and spaces, and reads `name:stream` as name.
        if _OWN_NAME.fullmatch(_UNSEEN.sub("", part).split(":")[0].rstrip(" .")):
            return f"has the part {part!r}, which belongs to git"
    return None


class Repository:
    """One bare repository at `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.git = GitRunner(
            directory, git_dir=directory, configuration=_CONFIGURATION, environment=_ENVIRONMENT
        )

    @classmethod
    def create(cls, directory: Path) -> Repository:
        """Make an empty repository; `directory` must not exist or be empty. Raises HistoryError."""
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as cause:
            raise HistoryError(f"{directory}: cannot be created: {cause.strerror}") from cause
        repository = cls(directory)
        repository.git.run("init", "--bare", "--quiet", "--template=", "--initial-branch=main")
        return repository

    def refs(self) -> dict[str, str]:
        """Every reference and what it names."""
        answer = self.git.run("for-each-ref", "--format=%(objectname) %(refname)")
        pairs = (line.split(" ", 1) for line in answer.out.decode("utf-8", "replace").splitlines())
        return {name: oid for oid, name in pairs}

    def has_commit(self, oid: str) -> bool:
        """Whether that commit is here."""
        found = self.git.object_info(oid)
        return found is not None and found[1] == "commit"

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` is `older` or builds on it. Both must be here."""
        return self.git.run("merge-base", "--is-ancestor", older, newer, accept=(0, 1)).status == 0

    def count(self, head: str, without: str) -> int:
        """How many commits `head` builds on, itself included, that `without` does not."""
        return int(self.git.run("rev-list", "--count", head, f"^{without}", "--").out)

    def line(self, head: str) -> tuple[int, str]:
        """How many commits `head` builds on, itself included, and the oldest of them."""
        oids = self.git.run("rev-list", "--topo-order", head, "--").out.decode().split()
        return len(oids), oids[-1]

    def update_refs(
        self, *changes: tuple[str, str | None, str | None], anyway: Mapping[str, str] | None = None
    ) -> None:
        """Move references, all or none: (name, new, old); None means that it is not there.

        Those in `anyway` are set whatever they were.
        """
        nothing = "0" * 40
        lines = [f"update {name} {new or nothing} {old or nothing}\n" for name, new, old in changes]
        lines += [f"update {name} {new}\n" for name, new in (anyway or {}).items()]
        with _as_file("".join(lines).encode()) as stdin:
            self.git.run("update-ref", "--stdin", stdin=stdin)

    def keep_other_line(self, oid: str) -> str:
        """Keep a line under refs/other/<n>, unless one there holds it already; returns that reference."""
        others = {name: tip for name, tip in self.refs().items() if name.startswith("refs/other/")}
        for name, tip in others.items():
            if oid == tip or self.is_ancestor(oid, tip):
                return name
        number = 1 + max((int(name[11:]) for name in others if name[11:].isdigit()), default=0)
        name = f"refs/other/{number}"
        self.update_refs((name, oid, None))
        return name

    def take_in(self, other: Repository) -> None:
        """Move the packs of `other`, freshly unpacked and checked, in here."""
        ours = self.directory / "objects" / "pack"
        ours.mkdir(parents=True, exist_ok=True)
        found = sorted(
            (other.directory / "objects" / "pack").iterdir(), key=lambda path: path.suffix == ".idx"
        )
        for path in found:  # the index last: without it git does not see the pack
            path.replace(ours / path.name)

    def write_commit(
        self,
        files: Mapping[str, bytes | Path],
        *,
        parent: str | None,
        message: str,
        seconds: int,
        pending: str,
        drop: Sequence[str] | None = None,
    ) -> str:
        """Write one commit and point the reference `pending` at it; returns its id.

        Of exactly `files`; with `drop`, of what the parent keeps, without the paths (or folders) in `drop`, and
        `files` over it. `seconds` since 1970, UTC. Main is not moved. Raises HistoryError; nothing has changed then.
        """
        _refuse_names(files)
        with self.git.started(
            "fast-import", "--quiet", "--force", "--done", "--date-format=raw", stdin=-1
        ) as process:
            stream = cast("IO[bytes]", process.stdin)
            with contextlib.suppress(BrokenPipeError):  # it ended early; its output is read below
                stamp = _IDENTITY + b" %d +0000\n" % seconds
                text = message.encode() + b"\n"
                stream.write(b"commit %s\nmark :1\nauthor %scommitter %s" % (pending.encode(), stamp, stamp))
                stream.write(b"data %d\n%s\n" % (len(text), text))
                if parent is not None:
                    stream.write(b"from %s\n" % parent.encode())
                if drop is None or parent is None:
                    stream.write(b"deleteall\n")
                else:
                    for name in drop:
                        stream.write(b'D "%s"\n' % name.replace('"', '\\"').encode())
                for name in sorted(files):
                    stream.write(b'M 100644 inline "%s"\n' % name.replace('"', '\\"').encode())
                    _stream_file(stream, name, files[name])
                stream.write(b"get-mark :1\ndone\n")
                stream.close()
            answer = finish(process, "fast-import", seconds=_WRITE_SECONDS)
        if answer.status != 0 or not re.fullmatch(rb"[0-9a-f]{40}\n", answer.out):
            self.sweep()
            raise HistoryError(
                f"{self.directory}: the commit could not be written (status {answer.status}): {plain(answer.err)}"
            )
        return answer.out.decode().strip()

    def tidy(self) -> None:
        """Gather the packs into one, once there are many: an export costs more with each of them."""
        with contextlib.suppress(OSError):
            if sum(1 for _ in (self.directory / "objects" / "pack").glob("*.pack")) > _MOST_PACKS:
                self.git.run("repack", "-a", "-d", "-q", seconds=_WRITE_SECONDS)

    def sweep(self) -> None:
        """Remove what git processes that were killed left behind. Only while nobody else writes here."""
        packs = self.directory / "objects" / "pack"
        leftovers = [
            *self.directory.glob("fast_import_crash_*"),
            *self.directory.glob("*.lock"),
            *(self.directory / "refs").rglob("*.lock"),
            *packs.glob("tmp_*"),
        ]
        for leftover in leftovers:
            with contextlib.suppress(OSError):
                leftover.unlink()

    def remove(self) -> None:
        """Take the whole repository away."""
        self.git.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def _refuse_names(files: Mapping[str, bytes | Path]) -> None:
    for name in files:
        problem = path_problem(name)
        if problem:
            raise HistoryError(
                f"history: {name!r} {problem}, so it cannot be recorded; leave it out or rename it"
            )
        parents = name.split("/")[:-1]
        for depth in range(1, len(parents) + 1):
            folder = "/".join(parents[:depth])
            if folder in files:
                raise HistoryError(f"history: {folder!r} is passed as a file, and {name!r} as a file in it")


def _stream_file(stream: IO[bytes], name: str, content: bytes | Path) -> None:
    if isinstance(content, bytes):
        stream.write(b"data %d\n" % len(content))
        stream.write(content)
        stream.write(b"\n")
        return
    try:
        descriptor = os.open(content, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as cause:
        raise HistoryError(f"{content}: cannot be recorded in the history: {cause.strerror}") from cause
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise HistoryError(
                f"{content}: is {describe_kind(before.st_mode)}, so it cannot be recorded in the history"
            )
        stream.write(b"data %d\n" % before.st_size)
        left = before.st_size
        while left and (chunk := _read(descriptor, min(left, _CHUNK), content)):
            stream.write(chunk)
            left -= len(chunk)
        after = os.fstat(descriptor)
        if left or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise HistoryError(f"{content}: changed while it was being recorded as {name}; run this again")
        stream.write(b"\n")
    finally:
        os.close(descriptor)


def _read(descriptor: int, size: int, path: Path) -> bytes:
    try:
        return os.read(descriptor, size)
    except OSError as cause:
        raise HistoryError(f"{path}: cannot be read for the history: {cause.strerror}") from cause


@contextlib.contextmanager
def _as_file(data: bytes) -> Iterator[BinaryIO]:
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def new_folder(parent: Path) -> Path:
    """A name for a repository that is still being made; `parent` holds nothing of that name."""
    return parent / f"{NEW_PREFIX}{secrets.token_hex(8)}"
