"""What a workspace would hold, without the copy: for telling whether a verdict still stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.judging.workspace_build import workspace_digest
from autoscirub.judging.workspace_compared import SMALLEST, Compared
from autoscirub.judging.workspace_copy import Unreadable, digest_of_shown
from autoscirub.judging.workspace_names import shown_name
from autoscirub.models import Withheld, WorkspaceFile, WorkspaceManifest

if TYPE_CHECKING:
    from autoscirub.judging.workspace_limits import Seen, Stamp, WorkspaceLimits
    from autoscirub.judging.workspace_walk import Walk

__all__ = ["Digests", "measure"]


class Digests:
    """Digests of files by what identifies their bytes, so that many workspaces of one project read each file once."""

    def __init__(self) -> None:
        self._known: dict[Stamp, str] = {}

    def of(self, seen: Seen) -> str:
        """The file's SHA-256. Raises Unreadable, and BlindingError where it changed since it was listed."""
        if seen.stamp not in self._known:
            self._known[seen.stamp] = digest_of_shown(seen)
        return self._known[seen.stamp]


def measure(walk: Walk, limits: WorkspaceLimits, digests: Digests) -> WorkspaceManifest:
    """The manifest that a workspace built from `walk` would have."""
    compared = Compared(walk.compared, limits)
    withheld = dict(walk.withheld)
    files: list[WorkspaceFile] = []
    for path, seen in sorted(
        ((shown_name(seen.path), seen) for seen in walk.shown), key=lambda each: each[0]
    ):
        if (same := compared.same_file(seen)) is not None:
            withheld[path] = f"the same file as {shown_name(same.path)}, which is withheld"
            continue
        try:
            sha256 = digests.of(seen)
        except Unreadable as why:
            withheld[path] = f"cannot be read: {why}"
            continue
        size = seen.stamp[2]
        if size > SMALLEST and compared.has_size(size) and (same := compared.same_bytes(size, sha256)):
            withheld[path] = f"holds the same bytes as {shown_name(same.path)}, which is withheld"
            continue
        files.append(WorkspaceFile.model_construct(path=path, sha256=sha256, size=size))
    return WorkspaceManifest(
        profile=walk.profile.name,
        files=files,
        withheld=[Withheld(path=path, why=why) for path, why in sorted(withheld.items())],
        digest=workspace_digest(walk.profile.name, files),
    )
