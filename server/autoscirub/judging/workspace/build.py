"""Copies the files that the walk selected into a new workspace and returns its manifest."""

# ruff: noqa: PTH101, PTH102, PTH106

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.errors import BlindingError
from autoscirub.judging.profiles import prefixes
from autoscirub.judging.workspace.copy_file import UnreadableFile, copy_large, copy_small, is_small, set_time
from autoscirub.judging.workspace.visible import VisibleSelection

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.judging.workspace.limits import Seen, WorkspaceLimits
    from autoscirub.judging.workspace.walk import ProfileWalk
    from autoscirub.models import WorkspaceManifest

_EVERY = 256
"""Files between two calls of the progress callback."""


def fill(
    walk: ProfileWalk,
    target: str,
    limits: WorkspaceLimits,
    progress: Callable[[int, int], None] | None,
    *,
    read_only: bool,
) -> WorkspaceManifest:
    """Copy the visible files into the empty folder `target`. Raises BlindingError: too much, changed, no space."""
    showing = VisibleSelection(walk, limits)
    filling = _Filling(target, progress, showing.total, 0o400 if read_only else 0o600)
    try:
        for path, seen, unwanted in showing.each():
            filling.at = path
            try:
                sha256 = filling.copy(path, seen, unwanted)
            except UnreadableFile as why:
                showing.unreadable(path, why)
                continue
            if sha256 is not None:
                showing.show(path, seen, sha256)
        used = {f"{target}/{folder}" for file in showing.files for folder in prefixes(file.path)[:-1]}
        for folder in sorted(filling.folders, reverse=True):
            if (
                folder not in used and folder != target
            ):  # all that would have been in it turned out to be withheld
                os.rmdir(folder)
                continue
            set_time(folder)
            if read_only:
                os.chmod(folder, 0o500)
    except OSError as cause:
        raise BlindingError(
            f"{printable(filling.at)}: cannot be copied to {target}: {cause.strerror}; the workspace "
            f"takes {showing.total:,} bytes: free some space there, or name another place with TMPDIR"
        ) from cause
    if progress is not None:
        progress(showing.total, showing.total)
    return showing.manifest()


class _Filling:
    def __init__(
        self, target: str, progress: Callable[[int, int], None] | None, total: int, mode: int
    ) -> None:
        self.folders = {target}
        self.at = "."
        """The path that is being copied."""
        self._target = target
        self._progress = progress
        self._total, self._done, self._since = total, 0, 0
        self._mode = mode

    def copy(self, path: str, seen: Seen, unwanted: Callable[[str], bool] | None) -> str | None:
        """Copy one file and return its SHA-256; None, and no copy is left, where that is `unwanted`."""
        into = f"{self._target}/{path}"
        folder = into.rpartition("/")[0]
        if folder not in self.folders:
            self._make(folder)
        if not is_small(seen):
            return copy_large(seen, into, self._mode, unwanted, self._moved)
        sha256 = copy_small(seen, into, self._mode, unwanted)
        self._moved(seen.stamp[2])
        return sha256

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
