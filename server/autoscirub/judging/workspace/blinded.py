"""Builds a blinded workspace: a copy of the files that a judge may see, in a fresh folder outside of the project.

What a judge must not see is absent, not forbidden. The folder's path reveals nothing about the project or the profile,
and nothing of the project is next to it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from autoscirub.errors import BlindingError
from autoscirub.judging.profiles import HYPOTHESIS, Profile, load_profile
from autoscirub.judging.workspace.build import fill
from autoscirub.judging.workspace.limits import WorkspaceLimits
from autoscirub.judging.workspace.measure import WorkspaceDigests, measure
from autoscirub.judging.workspace.remove import remove_workspace
from autoscirub.judging.workspace.verify import differences
from autoscirub.judging.workspace.walk import ProfileWalk
from autoscirub.judging.workspace.withheld_copies import collect, collect_state
from autoscirub.store import user_data_dir

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from autoscirub.judging.workspace.limits import Seen
    from autoscirub.models import Criterion, WorkspaceManifest
    from autoscirub.store import Project

_INNER = "files"
_NAMED = 10


class Workspace:
    """A built workspace. As a context manager it removes itself, unless it was built at a destination."""

    def __init__(
        self, root: Path, manifest: WorkspaceManifest, led_out: dict[str, str], made: Path | None
    ) -> None:
        self.root = root
        self.manifest = manifest
        self.led_out = led_out
        """The links that were followed out of the project, and where to."""
        self._made = made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def verify(self) -> None:
        """Hash everything again. Raises BlindingError naming what was added, changed or removed since it was built."""
        found = differences(self.root, self.manifest)
        if found:
            more = f"; and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
            raise BlindingError(
                f"the judge's workspace changed after it was built: {'; '.join(found[:_NAMED])}{more}; "
                "what was read from it does not count, because something wrote there while a judge was asked; ask again"
            )

    def close(self) -> None:
        """Remove the workspace, whatever was done to it meanwhile; one that was built at a destination stays."""
        if self._made is not None:
            remove_workspace(self._made)
            self._made = None


def build_workspace(
    project: Project,
    profile: str | Profile = HYPOTHESIS,
    *,
    criterion: Criterion | None = None,
    destination: str | Path | None = None,
    limits: WorkspaceLimits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Workspace:
    """Copy what `profile` shows, for `criterion` where one is given. `progress` gets the bytes done and in all.

    Without a `destination` it is a private temporary folder, its files and folders read-only; with one, that folder,
    which must be new or empty and outside of the project, and which is not removed afterwards.

    Raises BlindingError: no such profile, a place inside of the project or its state directory, more than the limits,
    a file that changed while it was copied, a withheld file that cannot be compared. Then nothing is left of it.
    """
    limits = limits or WorkspaceLimits()
    if not isinstance(profile, Profile):
        profile = load_profile(project, profile, criterion)
    target = None if destination is None else _usable(Path(destination), project)
    made = _fresh(project, target)
    try:
        walk = _walked(project, profile, limits)
        inner = made / _INNER
        inner.mkdir(mode=0o700)
        manifest = fill(walk, str(inner), limits, progress, read_only=target is None)
        if target is None:
            return Workspace(inner, manifest, walk.led_out, made)
        _put(inner, target)
    except BaseException:
        remove_workspace(made)
        raise
    remove_workspace(made)
    return Workspace(target, manifest, walk.led_out, None)


def measure_workspace(
    project: Project,
    profile: str | Profile = HYPOTHESIS,
    *,
    criterion: Criterion | None = None,
    digests: WorkspaceDigests | None = None,
    limits: WorkspaceLimits | None = None,
) -> WorkspaceManifest:
    """The manifest that `build_workspace` would give now, without the copy. `digests` is shared between calls.

    Raises BlindingError as `build_workspace` does.
    """
    limits = limits or WorkspaceLimits()
    if not isinstance(profile, Profile):
        profile = load_profile(project, profile, criterion)
    return measure(_walked(project, profile, limits), limits, digests or WorkspaceDigests())


def _walked(project: Project, profile: Profile, limits: WorkspaceLimits) -> ProfileWalk:
    root, data_dir = os.path.realpath(project.root), user_data_dir(create=False)
    memory = [os.path.realpath(data_dir)] if data_dir is not None else []
    walk = ProfileWalk(
        profile,
        root,
        os.path.realpath(project.state.root),
        limits,
        forbidden=tuple(place for place in memory if not f"{root}/".startswith(f"{place}/")),
    )
    walk.go()
    walk.compared += collect_state(walk.state_dir, limits, walk.count)
    walk.compared += _behind_links(walk)
    return walk


def _behind_links(walk: ProfileWalk) -> list[Seen]:
    """What the profile withholds by exact name, even where the walk does not get to it, such as behind a link."""
    names = list(walk.profile.excluded.words)
    if walk.profile.blind and walk.profile.report is not None:
        names.append(walk.profile.report)
    found = []
    for name in names:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            path = os.path.realpath(f"{walk.root}/{name}")
            found += collect(name, path, os.stat(path), walk.limits, walk.count)  # noqa: PTH116
    return found


def _fresh(project: Project, target: Path | None) -> Path:
    """A new private folder; for a destination, one next to it, so that it can be renamed into place in one step."""
    if target is not None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=".", dir=target.parent))
        except OSError as cause:
            raise BlindingError(f"{target}: cannot be made: {cause.strerror}; name another place") from cause
    place = Path(os.path.realpath(tempfile.gettempdir()))
    if (inside := _inside(place, project)) is not None:
        raise BlindingError(
            f"{place}: the folder for temporary files lies in {inside}, so withheld files would be next to what a "
            "judge sees; set TMPDIR to a folder outside"
        )
    try:
        return Path(tempfile.mkdtemp(dir=place))
    except OSError as cause:
        raise BlindingError(
            f"{place}: no temporary folder can be made: {cause.strerror}; set TMPDIR to one that can be written"
        ) from cause


def _inside(place: Path, project: Project) -> str | None:
    for folder, what in ((project.root, "the project"), (project.state.root, "its state directory")):
        if place.is_relative_to(os.path.realpath(folder)):
            return what
    return None


def _usable(destination: Path, project: Project) -> Path:
    target = Path(os.path.abspath(destination.expanduser()))  # noqa: PTH100 - a link at its end must stay one, to be refused below
    real = Path(os.path.realpath(target))
    if (inside := _inside(real, project)) is not None:
        raise BlindingError(
            f"{target}: lies in {inside}, so withheld files would be next to it; name a folder outside"
        )
    if os.path.lexists(target):
        if target.is_symlink() or not target.is_dir():
            raise BlindingError(f"{target}: is there already and is not a folder; name a new or an empty one")
        if any(target.iterdir()):
            raise BlindingError(
                f"{target}: is not empty, and nothing is overwritten; name a new or an empty folder"
            )
    return target


def _put(inner: Path, target: Path) -> None:
    try:
        if target.is_dir():
            target.rmdir()  # it is empty, or this raises
        inner.rename(target)
    except OSError as cause:
        raise BlindingError(f"{target}: cannot be written: {cause.strerror}; name another place") from cause
