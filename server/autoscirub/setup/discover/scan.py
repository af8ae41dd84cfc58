"""Lists a project's files within limits, and reads small texts. Follows no link, opens nothing that could block."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import path_faults
from autoscirub.errors import StateError
from autoscirub.store import read_regular

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

MAX_DEPTH = 4
"""Folders below the project's own."""
MAX_ENTRIES = 20_000
MAX_IN_FOLDER = 2_000
TEXT_BYTES = 256 * 1024
JSON_BYTES = 1024 * 1024
MAX_BYTES = 16 * 1024 * 1024
"""For all files together. What exceeds it is known by name alone."""

_SKIPPED = frozenset({
    "__pycache__", "node_modules", "venv", "env", "virtualenv", "site-packages", "renv", "packrat",
    "build", "dist", "target", "vendor", "third_party", "htmlcov", "_site",
})  # fmt: skip
_FOREIGN = frozenset({"pyvenv.cfg", "conda-meta", ".git"})
"""What shows that a folder below the project is an environment, or another repository."""


@dataclass
class ProjectScan:
    """The files that were found, shallow ones first, and how much may still be read of them."""

    root: Path
    files: list[str] = field(default_factory=list)
    """Paths from the root, of regular files. Names that are unsafe to print in a terminal are left out."""
    cut: bool = False
    left: int = MAX_BYTES

    def read(self, name: str, limit: int = TEXT_BYTES) -> bytes | None:
        """The bytes of a file; None where it is too large, cannot be read, or has changed into something else."""
        try:
            data = read_regular(self.root / name, limit=min(limit, self.left), within=self.root)
        except StateError:
            return None
        self.left -= len(data or b"")
        return data

    def text(self, name: str) -> str:
        """The text of a file; empty where there is none to be had."""
        return (self.read(name) or b"").decode("utf-8", "replace")


def scan_project(root: Path, skip: Collection[str] = ()) -> ProjectScan:
    """List the regular files at `root`. `skip`: folders to leave out, as paths from the root.

    Left out: hidden folders, environments, caches, what other tools make, other repositories, and whatever a
    link leads to. Never raises for what is there.
    """
    seen = ProjectScan(root)
    waiting = deque([("", 0)])
    entries = 0
    while waiting:
        folder, depth = waiting.popleft()
        names = _entries(root / folder)
        if depth and any(name in _FOREIGN for name, _ in names):
            continue
        if len(names) > MAX_IN_FOLDER or entries + len(names) > MAX_ENTRIES:
            seen.cut = True
            names = names[: max(0, min(MAX_IN_FOLDER, MAX_ENTRIES - entries))]
        entries += len(names)
        for name, kind in sorted(names):
            path = f"{folder}/{name}" if folder else name
            if path_faults(path) or "\\" in name:
                continue
            if kind == "file":
                seen.files.append(path)
            elif kind == "folder" and depth < MAX_DEPTH and not _is_skipped(name, path, skip):
                waiting.append((path, depth + 1))
    return seen


def _is_skipped(name: str, path: str, skip: Collection[str]) -> bool:
    return name.startswith(".") or name.lower() in _SKIPPED or path in skip


def _entries(folder: Path) -> list[tuple[str, str]]:
    """Names and kinds, at most one more than the limit for a folder; none where it cannot be listed."""
    found: list[tuple[str, str]] = []
    try:
        # Listed by its descriptor, which no link can replace between the check and the listing.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return found
    try:
        with os.scandir(descriptor) as listed:
            for entry in listed:
                if len(found) > MAX_IN_FOLDER:
                    break
                found.append((entry.name, _kind(entry)))
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return found


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_file(follow_symlinks=False):
            return "file"
        return "folder" if entry.is_dir(follow_symlinks=False) else "other"
    except OSError:
        return "other"
