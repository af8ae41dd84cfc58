"""Computes what a workspace would hold without copying it, to see whether an earlier verdict still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.judging.workspace.copy_file import UnreadableFile, digest_of_visible
from autoscirub.judging.workspace.visible import VisibleSelection

if TYPE_CHECKING:
    from autoscirub.judging.workspace.limits import Seen, Stamp, WorkspaceLimits
    from autoscirub.judging.workspace.walk import ProfileWalk
    from autoscirub.models import WorkspaceManifest


class WorkspaceDigests:
    """Digests of files by what identifies their bytes, so that many workspaces of one project read each file once."""

    def __init__(self) -> None:
        self._known: dict[Stamp, str] = {}

    def of(self, seen: Seen) -> str:
        """The file's SHA-256. Raises UnreadableFile, and BlindingError where it changed since it was listed."""
        if seen.stamp not in self._known:
            self._known[seen.stamp] = digest_of_visible(seen)
        return self._known[seen.stamp]


def measure(walk: ProfileWalk, limits: WorkspaceLimits, digests: WorkspaceDigests) -> WorkspaceManifest:
    """The manifest that a workspace built from `walk` would have. Raises BlindingError for more than the limits."""
    showing = VisibleSelection(walk, limits)
    for path, seen, unwanted in showing.each():
        try:
            sha256 = digests.of(seen)
        except UnreadableFile as why:
            showing.unreadable(path, why)
            continue
        if unwanted is None or not unwanted(sha256):
            showing.show(path, seen, sha256)
    return showing.manifest()
