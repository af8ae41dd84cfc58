"""Building a blinded workspace that people can inspect: what a judge would be shown, in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.judging.workspace import build_workspace
from autoscirub.store import open_project
from autoscirub.workflow.criterion import named_criterion

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.judging.workspace import Workspace, WorkspaceLimits


def blind_workspace(
    project: str | Path | None,
    profile: str,
    destination: str | Path,
    criterion_id: str | None = None,
    *,
    state_dir: str | Path | None = None,
    limits: WorkspaceLimits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Workspace:
    """Build what `profile` shows a judge at `destination`, new or empty and outside of the project; it stays there.

    Writes nothing else. Raises BlindingError: no such profile, another destination,
    too much, a file that changed meanwhile; CheckError for a criterion that is not there, and TamperedError where a
    frozen rubric or setting was changed.
    """
    opened = open_project(project, state_dir)
    criterion = None
    if criterion_id is not None:
        with opened.reading() as session:
            criterion = named_criterion(opened, session, criterion_id)[1]
    return build_workspace(
        opened,
        profile,
        criterion=criterion,
        destination=destination,
        limits=limits,
        progress=progress,
    )
