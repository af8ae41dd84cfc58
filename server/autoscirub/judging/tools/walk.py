"""Lists everything below a folder of a workspace in order, within bounds, and reports what the bounds left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.errors import ToolRefused
from autoscirub.judging.tools.files import FolderEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from autoscirub.judging.tools.bounds import Clock, ToolBounds
    from autoscirub.judging.tools.files import Folder, Parts


class FolderWalk:
    """Everything below a folder, by name, within the bounds. Afterwards `notes` says what was left out."""

    def __init__(self, folder: Folder, bounds: ToolBounds, clock: Clock) -> None:
        self._folder, self._bounds, self._clock = folder, bounds, clock
        self._scanned = 0
        self._deep = 0
        self._closed = 0
        self._cut = ""

    def below(
        self, top: Parts, levels: int | None = None, enter: Callable[[FolderEntry], bool] | None = None
    ) -> Iterator[FolderEntry]:
        """The entries below `top`, a folder before what is in it, and only in those that `enter` lets in.

        Raises ToolRefused when `top` is no folder.
        """
        depth = self._bounds.depth if levels is None else min(levels, self._bounds.depth)
        waiting: list[FolderEntry] = [FolderEntry(top, "folder")]
        while waiting:
            entry = waiting.pop()
            if entry.parts != top:
                yield entry
            if entry.kind != "folder" or (enter and entry.parts != top and not enter(entry)):
                continue
            if len(entry.parts) - len(top) >= depth:
                self._deep += levels is None or levels > depth
                continue
            if len(entry.path) > self._bounds.path_chars:
                self._deep += 1
                continue
            if self._clock.over():
                self._cut = f"stopped after {self._bounds.seconds:g} s"
                return
            try:
                found, whole = self._folder.scan(entry.parts, self._bounds.entries - self._scanned)
            except (ToolRefused, OSError):
                if entry.parts == top:
                    raise
                self._closed += 1  # another moment's link, or a folder that may not be read
                continue
            self._scanned += len(found)
            waiting.extend(reversed(found))
            if not whole:
                self._cut = f"only {self._bounds.entries:,} files and folders were looked at"
                yield from (each for each in reversed(waiting))
                return

    def notes(self) -> list[str]:
        """What was left out, in words; empty when nothing was."""
        notes = [self._cut] if self._cut else []
        if self._deep:
            notes.append(f"folders too deep to be entered: {self._deep:,}; list or search them by their path")
        if self._closed:
            notes.append(f"folders that could not be opened: {self._closed:,}")
        return notes
