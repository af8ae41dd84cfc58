"""Opens files of a workspace and nothing else: folder by folder, never through a link, never blocking.

Nothing in a path is decoded or expanded: `%2e%2e`, `~`, a backslash and a look-alike slash are parts of names. What
could lead out, `..`, a leading slash and a link, is refused, so no path strings have to be compared.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from autoscirub.errors import BlindingError, ToolRefused
from autoscirub.judging.tools.output import named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoscirub.judging.tools.bounds import ToolBounds

Parts = tuple[str, ...]

FORM = "write the path relative to the workspace, with / between names, as list and glob show it"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, and no controlling terminal: what was a file a moment ago may be a FIFO or a tty by now.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})

_KINDS = (
    (stat.S_ISLNK, "a link, which is not followed"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO (named pipe)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def _kind(status: os.stat_result) -> str:
    """`file`, `folder`, or in words what it is that is not read."""
    if stat.S_ISREG(status.st_mode):
        # A workspace holds copies. A file with a second name may be one of the project's, or anybody's.
        return "file" if status.st_nlink <= 1 else "a file with a second name elsewhere (a hard link)"
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return next((name for test, name in _KINDS if test(status.st_mode)), "no file")


@dataclass(frozen=True)
class FolderEntry:
    """Something in a folder. `kind` is `file`, `folder`, or in words what it is that is not read."""

    parts: Parts
    kind: str
    size: int = 0

    @property
    def path(self) -> str:
        return "/".join(self.parts)


class Folder:
    """The root folder of a workspace, which the tools cannot leave."""

    def __init__(self, root: Path | str, bounds: ToolBounds) -> None:
        """Raises BlindingError when `root` is no folder that can be read."""
        self._bounds = bounds
        try:
            self._root = os.path.realpath(root)
            status = os.stat(self._root)  # noqa: PTH116 - a Path would resolve nothing further
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        except (OSError, ValueError) as error:  # ValueError: a NUL in it
            why = getattr(error, "strerror", None) or "no usable path"
            raise BlindingError(
                f"{named(root)}: cannot be the root of a workspace: {why}; name a folder that exists"
            ) from None
        self._identity = status.st_dev, status.st_ino

    def parts(self, path: object) -> Parts:
        """The names that `path` consists of; none for the root. Raises ToolRefused for what could lead out."""
        if not isinstance(path, str):
            raise ToolRefused(f"the path must be text, not {type(path).__name__}; {FORM}")
        if len(path) > self._bounds.path_chars:
            raise ToolRefused(
                f"{named(path, 60)}: the path has {len(path):,} characters; {self._bounds.path_chars:,} is the most"
            )
        if not path:
            raise ToolRefused(f'the path is empty; "." is the workspace itself; {FORM}')
        if "\0" in path:
            raise ToolRefused(f"{named(path)}: the path holds a NUL character; {FORM}")
        if path.startswith("/"):
            raise ToolRefused(f"{named(path)}: an absolute path; {FORM}")
        parts = tuple(part for part in path.split("/") if part not in ("", "."))
        if ".." in parts:
            raise ToolRefused(f'{named(path)}: ".." is not allowed in a path; {FORM}')
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise ToolRefused(
                f"{named(path)}: no file can have this name: half a character; {FORM}"
            ) from None
        return parts

    @contextmanager
    def descriptor(self, parts: Parts) -> Iterator[int]:
        """A descriptor of a folder. Raises ToolRefused when it is none, or lies behind a link."""
        opened = self._open_root()
        try:
            for at, part in enumerate(parts):
                try:
                    inner = os.open(part, _FOLDER, dir_fd=opened)
                except OSError as error:
                    raise self._refusal(opened, parts[: at + 1], error, "a folder") from None
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)

    def _open_root(self) -> int:
        opened = os.open(self._root, _FOLDER)
        status = os.fstat(opened)
        if (status.st_dev, status.st_ino) != self._identity:
            os.close(opened)
            raise ToolRefused("the workspace was replaced since these tools were made; nothing can be read")
        return opened

    def look(self, parts: Parts) -> FolderEntry:
        """What is at `parts`. Raises ToolRefused when nothing is, or it lies behind a link."""
        if not parts:
            return FolderEntry((), "folder")
        with self.descriptor(parts[:-1]) as folder:
            try:
                status = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
            except OSError as error:
                raise self._refusal(folder, parts, error, "a file or folder") from None
        return FolderEntry(parts, _kind(status), status.st_size)

    def open(self, parts: Parts) -> tuple[BinaryIO, int]:
        """A regular file, open for reading, and its size in bytes. Raises ToolRefused for everything else."""
        name = named("/".join(parts) or ".")
        if not parts:
            raise ToolRefused(f"{name}: a folder; list shows what is in it, read takes a file")
        with self.descriptor(parts[:-1]) as folder:
            try:
                before = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
                if (kind := _kind(before)) != "file":
                    hint = "; list shows what is in it, read takes a file" if kind == "folder" else ""
                    kind = "a folder" if kind == "folder" else kind
                    raise ToolRefused(
                        f"{name}: {kind}{hint or '; only regular files of the workspace are read'}"
                    )
                opened = os.open(parts[-1], _FILE, dir_fd=folder)
            except OSError as error:
                raise self._refusal(folder, parts, error, "a file") from None
        after = os.fstat(opened)
        if _kind(after) != "file" or (after.st_dev, after.st_ino) != (before.st_dev, before.st_ino):
            os.close(opened)
            raise ToolRefused(f"{name}: it was replaced while it was being opened; call again")
        return os.fdopen(opened, "rb", buffering=0), after.st_size

    def _refusal(self, folder: int, parts: Parts, error: OSError, wanted: str) -> ToolRefused:
        """In words and by relative path alone: the system's own message may name a path of this machine."""
        name = named("/".join(parts))
        try:
            kind = _kind(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False))
        except (OSError, ValueError):
            kind = ""
        if kind in ("file", "folder") and error.errno != errno.ENOTDIR:
            return ToolRefused(f"{name}: could not be opened: {error.strerror}")
        if kind:
            kind = "a file" if kind == "file" else kind
            return ToolRefused(f"{name}: {kind}, and {wanted} is needed; {FORM}")
        if error.errno in _MISSING:
            return ToolRefused(
                f"{name}: there is none in the workspace; nothing in a path is decoded or expanded "
                f"(percent signs, ~, backslashes, URLs), and letter case counts; {FORM}"
            )
        return ToolRefused(f"{name}: could not be opened: {error.strerror}")

    def scan(self, parts: Parts, most: int) -> tuple[list[FolderEntry], bool]:
        """What is in a folder, by name, and whether that is all: at most `most` are examined."""
        found: list[FolderEntry] = []
        with self.descriptor(parts) as folder, os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= most:
                    return sorted(found, key=lambda each: each.parts), False
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # gone again
                found.append(FolderEntry((*parts, entry.name), _kind(status), status.st_size))
        return sorted(found, key=lambda each: each.parts), True
