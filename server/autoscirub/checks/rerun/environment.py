"""Fingerprints what a program runs on besides the project: environments and modules, by path, size and time."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import SandboxError
from autoscirub.store import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FILES = 200_000
"""Files of an environment. One with more is not identified, and no recorded rerun is reused for it."""
_MARK = "pyvenv.cfg"
_SITES = ("site-packages", "dist-packages")
_CACHE = "__pycache__"


def settings_of(environment: Path) -> dict[str, str]:
    """What `pyvenv.cfg` says, by its keys in lower case; nothing where there is none that can be read."""
    data = None
    with contextlib.suppress(SandboxError):
        data = read_regular(environment / _MARK, limit=100_000, within=environment, error=SandboxError)
    lines = (data or b"").decode("utf-8", "replace").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def is_environment(folder: Path) -> bool:
    """Whether a folder really is a virtual environment. Its `pyvenv.cfg` alone makes none: anybody can write one."""
    if not os.path.lexists(folder / _MARK) or not settings_of(folder).get("home"):
        return False
    started = any(os.path.lexists(folder / "bin" / name) for name in ("python", "python3", "pypy3"))
    started = started or os.path.lexists(folder / "Scripts" / "python.exe")
    sites = [*folder.glob("lib/*/site-packages"), folder / "Lib" / "site-packages"]
    return started and any(site.is_dir() for site in sites)


def environment_of(program: Path, root: Path | None = None) -> Path | None:
    """The virtual environment that a program lies in, below `root` where one is given; None when it lies in none."""
    folders = [folder for folder in program.parents if root is None or root in folder.parents]
    return next((folder for folder in folders if is_environment(folder)), None)


def fingerprint(
    whole: Sequence[Path],
    libraries: Sequence[Path] = (),
    *,
    without: Path | None = None,
    limit: int | None = None,
) -> str | None:
    """One digest over the path, size and time of every file below the folders; None for more than `limit` files.

    `without`: the project, where it lies in its own environment; its files are identified by their bytes elsewhere.

    Of `libraries`, the interpreter's own modules, what is installed next to them is passed over: it belongs to
    another program unless it is named itself. A linked folder is identified by its target, and not entered: what
    can be read inside the sandbox is among the folders by itself. Compiled code is passed over where Python keeps
    it, because it is rewritten whenever somebody starts the program outside.
    """
    digest, count = hashlib.sha256(), 0
    limit = MAX_FILES if limit is None else limit
    seen: set[str] = {os.path.realpath(without)} if without else set()
    waiting: list[tuple[str, tuple[str, ...]]] = [(os.path.realpath(folder), ()) for folder in whole]
    waiting += [(os.path.realpath(folder), _SITES) for folder in libraries]
    waiting.reverse()
    while waiting:
        folder, passed = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        for line, inner in _file_lines(folder, passed):
            if inner is not None:
                waiting.append((inner, passed))
                continue
            count += 1
            if count > limit:
                return None
            digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _file_lines(folder: str, passed: Sequence[str]) -> list[tuple[str, str | None]]:
    """One line for each file of a folder, and the path of each folder in it."""
    found: list[tuple[str, str | None]] = []
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        return [(f"{folder}\0cannot be listed: {error.errno}\n", None)]
    for entry in entries:
        if entry.name == _CACHE or entry.name in passed:
            continue
        if entry.is_dir(follow_symlinks=False):
            found.append(("", entry.path))
            continue
        link = ""
        try:
            link = str(Path(entry.path).readlink()) if entry.is_symlink() else ""
            status = entry.stat()  # of what a link leads to: an edit there is one of the module
            size = "folder" if entry.is_dir() else f"{status.st_size}\0{status.st_mtime_ns}"
        except OSError as error:
            size = f"cannot be looked at: {error.errno}"
        found.append((f"{entry.path}\0{link}\0{size}\n", None))
    return found
