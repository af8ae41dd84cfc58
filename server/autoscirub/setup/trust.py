"""`trust`: shows which programs would run here, and allows exactly those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.models import Answer, Decision, Trust, now
from autoscirub.store import SENDS_FILES, grant_trust, is_trusted, open_project, trust_view

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.store import Project, TrustView


def look_at_trust(project: str | Path | None = None, *, state_dir: str | Path | None = None) -> Trust:
    """What would run here, and whether it may. Changes nothing."""
    opened = open_project(project, state_dir)
    return _view(opened, trust_view(opened.config))


def record_trust(
    digest: str, *, by: str, project: str | Path | None = None, state_dir: str | Path | None = None
) -> Trust:
    """Allow exactly what has `digest`. Raises TrustError when that is not what would run."""
    opened = open_project(project, state_dir)
    view = trust_view(opened.config)
    grant_trust(view, digest, by=by, project=str(opened.root))
    return _view(opened, view)


def _view(opened: Project, view: TrustView) -> Trust:
    trusted = is_trusted(view, str(opened.root))
    decision = Decision(
        subject="trust",
        question="May the programs that this project names run on this machine?",
        answer=Answer.HOLDS if trusted else Answer.INCONCLUSIVE,
        word="trusted" if trusted else "not trusted",
        inputs_digest=view.digest,
        open=[] if trusted else ["nobody has said so on this machine"],
        at=now(),
    )
    sends_to = SENDS_FILES.get(opened.config.judge.backend, "")
    return Trust(view.programs, view.digest, trusted, str(opened.root), decision, sends_to)
