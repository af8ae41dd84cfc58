"""Putting a workspace together from what the walk found."""

# ruff: noqa: PTH101, PTH102, PTH106

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts.paths import shown
from autoscirub.errors import BlindingError
from autoscirub.judging.profiles_patterns import prefixes
from autoscirub.judging.workspace_compared import SMALLEST, Compared
from autoscirub.judging.workspace_copy import Unreadable, copy_large, copy_small, is_small, set_time
from autoscirub.judging.workspace_limits import Seen, WorkspaceLimits, too_much
from autoscirub.judging.workspace_names import shown_name
from autoscirub.models import Withheld, WorkspaceFile, WorkspaceManifest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoscirub.judging.workspace_walk import Walk

__all__ = ["fill", "workspace_digest"]

_EVERY = 256
"""Files between two calls of the progress callback."""


def workspace_digest(profile: str, files: Sequence[WorkspaceFile]) -> str:
    """One digest of all that is shown: of the profile's name, and path and SHA-256 of every file."""
    whole = hashlib.sha256(profile.encode("utf-8"))
    for file in files:
        whole.update(f"\0{file.path}\0{file.sha256}".encode())
    return whole.hexdigest()


def fill(
    walk: Walk,
    target: str,
    limits: WorkspaceLimits,
    progress: Callable[[int, int], None] | None,
    *,
    read_only: bool,
) -> WorkspaceManifest:
    """Copy what is shown into the empty folder `target`. Raises BlindingError: too much, changed, no space."""
    found = sorted(((shown_name(seen.path), seen) for seen in walk.shown), key=lambda each: each[0])
    total = _within(found, limits)
    filling = _Filling(walk, target, progress, total, 0o400 if read_only else 0o600)
    try:
        for path, seen in found:
            filling.take(path, seen)
        used = {f"{target}/{folder}" for file in filling.files for folder in prefixes(file.path)[:-1]} | {
            target
        }
        for folder in sorted(filling.folders, reverse=True):
            if folder not in used:  # all that would have been in it turned out to be withheld
                os.rmdir(folder)
                continue
            set_time(folder)
            if read_only:
                os.chmod(folder, 0o500)
    except OSError as cause:
        raise BlindingError(
            f"{shown(filling.at)}: cannot be copied to {target}: {cause.strerror}; the workspace "
            f"takes {total:,} bytes: free some space there, or name another place with TMPDIR"
        ) from cause
    if progress is not None:
        progress(total, total)
    return WorkspaceManifest(
        profile=walk.profile.name,
        files=filling.files,
        withheld=[Withheld(path=path, why=why) for path, why in sorted(walk.withheld.items())],
        digest=workspace_digest(walk.profile.name, filling.files),
    )


def _within(found: list[tuple[str, Seen]], limits: WorkspaceLimits) -> int:
    total = 0
    for path, seen in found:
        size = seen.stamp[2]
        if size > limits.file_bytes:
            raise too_much(path, f"a file of {size:,} bytes", f"{limits.file_bytes:,} bytes of one file")
        total += size
        if total > limits.bytes:
            raise too_much(path, f"with it {total:,} bytes", f"{limits.bytes:,} bytes in all")
    return total


class _Filling:
    def __init__(
        self, walk: Walk, target: str, progress: Callable[[int, int], None] | None, total: int, mode: int
    ) -> None:
        self.files: list[WorkspaceFile] = []
        self.folders = {target}
        self.at = "."
        """The path that is being copied."""
        self._walk = walk
        self._target = target
        self._compared = Compared(walk.compared, walk.limits)
        self._progress = progress
        self._total, self._done, self._since = total, 0, 0
        self._mode = mode

    def take(self, path: str, seen: Seen) -> None:
        """Copy one file, unless it is a withheld one by another name."""
        self.at = path
        same = self._compared.same_file(seen)
        if same is not None:
            self._walk.withheld[path] = f"the same file as {shown_name(same.path)}, which is withheld"
            return
        size = seen.stamp[2]
        unwanted = None
        if size > SMALLEST and self._compared.has_size(size):
            unwanted = self._holds_withheld(path, size)
        into = f"{self._target}/{path}"
        folder = into.rpartition("/")[0]
        if folder not in self.folders:
            self._make(folder)
        try:
            if is_small(seen):
                sha256 = copy_small(seen, into, self._mode, unwanted)
                self._moved(size)
            else:
                sha256 = copy_large(seen, into, self._mode, unwanted, self._moved)
        except Unreadable as why:
            self._walk.withheld[path] = f"cannot be read: {why}"
            return
        if sha256 is not None:
            self.files.append(WorkspaceFile.model_construct(path=path, sha256=sha256, size=size))

    def _holds_withheld(self, path: str, size: int) -> Callable[[str], bool]:
        def holds(sha256: str) -> bool:
            same = self._compared.same_bytes(size, sha256)
            if same is not None:
                self._walk.withheld[path] = (
                    f"holds the same bytes as {shown_name(same.path)}, which is withheld"
                )
            return same is not None

        return holds

    def _make(self, folder: str) -> None:
        missing = []
        while folder not in self.folders:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        for each in reversed(missing):
            os.mkdir(each, 0o700)
            self.folders.add(each)

    def _moved(self, number: int) -> None:
        self._done += number
        self._since += 1
        if self._progress is not None and (self._since % _EVERY == 0 or number > 1 << 20):
            self._progress(min(self._done, self._total), self._total)
