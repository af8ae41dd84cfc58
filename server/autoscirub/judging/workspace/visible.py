"""Selects which files of a walk are visible, leaving out copies of withheld ones, and makes their manifest."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from autoscirub.judging.workspace.limits import Seen, WorkspaceLimits, too_much
from autoscirub.judging.workspace.names import display_name
from autoscirub.judging.workspace.withheld_copies import SMALLEST, Compared
from autoscirub.models import Withheld, WorkspaceFile, WorkspaceManifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from autoscirub.judging.workspace.walk import ProfileWalk


def workspace_digest(profile: str, files: Sequence[WorkspaceFile]) -> str:
    """One digest of a workspace: of the profile's name, and the path and SHA-256 of every visible file."""
    whole = hashlib.sha256(profile.encode("utf-8"))
    for file in files:
        whole.update(f"\0{file.path}\0{file.sha256}".encode())
    return whole.hexdigest()


class VisibleSelection:
    """The visible files of a walk, one after the other; the same whether they are then copied or only measured."""

    def __init__(self, walk: ProfileWalk, limits: WorkspaceLimits) -> None:
        """Raises BlindingError for more than the limits, before anything is read."""
        self.files: list[WorkspaceFile] = []
        self._walk = walk
        self._compared = Compared(walk.compared)
        self._found = sorted(
            ((display_name(seen.path), seen) for seen in walk.visible), key=lambda each: each[0]
        )
        self.total = _within(self._found, limits)
        """Bytes of all files that may be visible."""

    def each(self) -> Iterator[tuple[str, Seen, Callable[[str], bool] | None]]:
        """Each file, by its path, that is not a withheld one under another name.

        With it comes a function from its SHA-256 to whether it is a copy of a withheld one; None where it cannot be.
        """
        for path, seen in self._found:
            if (same := self._compared.same_file(seen)) is not None:
                self._walk.withheld[path] = f"the same file as {display_name(same.path)}, which is withheld"
                continue
            size = seen.stamp[2]
            alike = size > SMALLEST and self._compared.has_size(size)
            yield path, seen, partial(self._holds_withheld, path, size) if alike else None

    def _holds_withheld(self, path: str, size: int, sha256: str) -> bool:
        same = self._compared.same_bytes(size, sha256)
        if same is not None:
            self._walk.withheld[path] = (
                f"holds the same bytes as {display_name(same.path)}, which is withheld"
            )
        return same is not None

    def show(self, path: str, seen: Seen, sha256: str) -> None:
        """Take a file into the manifest."""
        self.files.append(WorkspaceFile.model_construct(path=path, sha256=sha256, size=seen.stamp[2]))

    def unreadable(self, path: str, why: Exception) -> None:
        """Withhold what the system does not let us read."""
        self._walk.withheld[path] = f"cannot be read: {why}"

    def manifest(self) -> WorkspaceManifest:
        """The manifest: all visible files, and what was withheld and why."""
        return WorkspaceManifest(
            profile=self._walk.profile.name,
            files=self.files,
            withheld=[Withheld(path=path, why=why) for path, why in sorted(self._walk.withheld.items())],
            digest=workspace_digest(self._walk.profile.name, self.files),
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
