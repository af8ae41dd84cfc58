"""Makes the fresh copy that a rerun runs in: the project without its results, and without anything that holds them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.rerun.environment import is_environment
from autoscirub.errors import SandboxError
from autoscirub.store import describe_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CHUNK = 1024 * 1024
_MAX_BYTES = 20 * 1024**3
_MAX_FILES = 200_000
_NEVER = {".git": "version control", "__pycache__": "compiled code"}
_OURS = ".prereg.lock"
EXECUTABLE = " executable"
SAME_BYTES = "holds the same bytes as an output"
LINK_OUT = "a link out of the project"


class CannotRead(str):
    """Why a file or folder could not be listed or read, as the reason that it is not in the copy."""

    __slots__ = ()


"""Why something is left out that a rerun says of itself: these, and what begins with the last."""


@dataclass(frozen=True)
class CopyLayout:
    """The roles of a project's files. The patterns are files, folders or globs, relative to its root."""

    root: Path
    state_dir: Path
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]


@dataclass
class Copied:
    """What the copy holds, by path from the root, each with its SHA-256; and what was left out, with why.

    A file that can be executed says so after its digest. A folder is listed with a slash after its name: code can ask
    whether one is there.
    """

    code: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path is one of `patterns`, lies in a folder that is one, or fits one as a glob."""
    return any(
        path == (name := pattern.removeprefix("./").rstrip("/"))
        or path.startswith(f"{name}/")
        or fnmatchcase(path, name)
        for pattern in patterns
    )


def walk(layout: CopyLayout, left_out: dict[str, str] | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Everything in the project that could go into the copy, folders too; what could not goes to `left_out`."""
    left_out = {} if left_out is None else left_out
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(layout.root / folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            left_out[folder or "."] = CannotRead(f"cannot be listed: {error.strerror}")
            continue
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:  # gone since it was listed
                continue
            why = _why_not(layout, entry, status)
            if why is not None:
                left_out[path] = why
                continue
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)


def stamps(layout: CopyLayout) -> dict[str, tuple[int, int, int]]:
    """Size and times of every file of the project: another one later means that somebody wrote there."""
    return {
        path: (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        for path, status in walk(layout)
        if not stat.S_ISDIR(status.st_mode)
    }


def copy_project(layout: CopyLayout, target: Path) -> Copied:
    """Copy the project into the new folder `target`; each file is read once, so its digest is the copy's.

    Left out: `.git`, the state directory, virtual environments, the outputs, every file whose bytes equal an
    output's (an empty one tells nothing, and stays), links out of the project, special files. Raises
    SandboxError for a project beyond 20 GiB or 200,000 files and folders.
    """
    target.mkdir(parents=True)
    return _taken(layout, target)


def measure_project(layout: CopyLayout) -> Copied:
    """What `copy_project` would say, without the copy: what would be in it, each with its digest."""
    return _taken(layout, None)


def _taken(layout: CopyLayout, target: Path | None) -> Copied:
    copied = Copied()
    outputs: set[tuple[int, str]] = set()
    files: list[tuple[str, os.stat_result]] = []
    size = folders = 0
    for path, status in walk(layout, copied.left_out):
        if stat.S_ISDIR(status.st_mode):
            folders += 1
            if target is not None:
                (target / path).mkdir()
            (copied.inputs if matches(path, layout.inputs) else copied.code)[f"{path}/"] = "folder"
        elif matches(path, layout.outputs):
            with contextlib.suppress(
                OSError
            ):  # one that cannot be read cannot be compared either, and that is said
                if stat.S_ISREG(status.st_mode) and status.st_size:
                    digest, read = _copy(layout.root / path, None)
                    outputs.add((read, digest))
        else:
            files.append((path, status))
            size += status.st_size
        if size > _MAX_BYTES or len(files) + folders > _MAX_FILES:
            raise SandboxError(
                f"{layout.root}: more than {_MAX_BYTES:,} bytes or {_MAX_FILES:,} files and folders to copy; "
                "keep large data outside of the project's folder"
            )
    for path, status in files:
        _take(layout, target, path, status, outputs, copied)
    return copied


def holding_any(folders: Sequence[Path], contents: Iterable[bytes]) -> list[Path]:
    """The files below `folders` whose bytes equal one of `contents`. What is empty tells nothing."""
    wanted: dict[int, set[str]] = {}
    for data in contents:
        if data:
            wanted.setdefault(len(data), set()).add(hashlib.sha256(data).hexdigest())
    found: list[Path] = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for path in (Path(place, name) for name in names):
                with contextlib.suppress(OSError):
                    status = path.lstat()
                    if not stat.S_ISREG(status.st_mode) or status.st_size not in wanted:
                        continue
                    if digest_of(path) in wanted[status.st_size]:
                        found.append(path)
    return found


def _take(
    layout: CopyLayout,
    target: Path | None,
    path: str,
    status: os.stat_result,
    outputs: set[tuple[int, str]],
    copied: Copied,
) -> None:
    source, into = layout.root / path, target / path if target is not None else None
    if stat.S_ISLNK(status.st_mode):
        real = Path(os.path.realpath(source))
        link = os.path.relpath(real, os.path.realpath(source.parent))
        if into is not None:
            into.symlink_to(link)
        digest = hashlib.sha256(link.encode("utf-8", "surrogateescape")).hexdigest()
    else:
        try:
            digest, size = _copy(source, into)
        except OSError as error:
            if into is not None:
                into.unlink(missing_ok=True)
            copied.left_out[path] = CannotRead(f"cannot be read: {error.strerror}")
            return
        if (size, digest) in outputs:
            if into is not None:
                into.unlink()
            copied.left_out[path] = SAME_BYTES
            return
        executable = bool(status.st_mode & 0o100)
        if into is not None:
            into.chmod(0o700 if executable else 0o600)
        digest += EXECUTABLE if executable else ""
    (copied.inputs if matches(path, layout.inputs) else copied.code)[path] = digest


def digest_of(path: Path) -> str:
    """The SHA-256 of a file that may be large. Raises OSError for a link, and where it cannot be read."""
    return _copy(path, None)[0]


def _copy(source: Path, target: Path | None) -> tuple[str, int]:
    """Read a file once, into `target` where there is one: its SHA-256 and its size as it was read."""
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(os.fdopen(descriptor, "rb"))
        writer = stack.enter_context(target.open("xb")) if target else None
        while chunk := reader.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if writer is not None:
                writer.write(chunk)
    return digest.hexdigest(), size


def _why_not(layout: CopyLayout, entry: os.DirEntry[str], status: os.stat_result) -> str | None:
    if entry.name in _NEVER:
        return _NEVER[entry.name]
    if Path(entry.path) == layout.state_dir:
        return "the state directory"
    if Path(entry.path) == layout.root / _OURS:
        return "the lock of the predictions"  # a freeze changes nothing that a run could need
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        real, root = os.path.realpath(entry.path), os.path.realpath(layout.root)
        return None if Path(real).is_relative_to(root) else LINK_OUT
    if stat.S_ISDIR(mode):
        return "a virtual environment" if is_environment(Path(entry.path)) else None
    return None if stat.S_ISREG(mode) else describe_kind(mode)
