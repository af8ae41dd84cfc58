"""One criterion, looked at: neither a round nor a report comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks import decide_criterion, gather, load_rubric
from autoscirub.errors import CheckError
from autoscirub.models import now
from autoscirub.store import open_project
from autoscirub.workflow.locking import require_rubric, require_settings
from autoscirub.workflow.rerunning import standing_rerun

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.checks import Rubric
    from autoscirub.models import Criterion, CriterionResult, Decision
    from autoscirub.store import Project, Session

__all__ = ["named_criterion", "verify_criterion"]


def verify_criterion(
    project: str | Path | None, criterion_id: str, *, state_dir: str | Path | None = None
) -> tuple[CriterionResult, Decision]:
    """What one criterion comes to now. Writes nothing.

    A rubric that is not frozen is looked at too. Raises CheckError when there is no rubric or no such
    criterion, and TamperedError when a frozen rubric or setting was changed.
    """
    opened = open_project(project, state_dir)
    with opened.reading() as session:
        rubric, criterion = named_criterion(opened, session, criterion_id)
        alone = rubric.model.model_copy(update={"criteria": [criterion]})
        rerun = standing_rerun(opened, session, may="ask")
    inputs = gather(opened, alone, ignored=session.ignored, rerun=rerun.decision if rerun else None)
    result, decision = decide_criterion(criterion, inputs, at=now())
    return result, decision.model_copy(update={"open": [*decision.open, *session.notices]})


def named_criterion(opened: Project, session: Session, criterion_id: str) -> tuple[Rubric, Criterion]:
    """A criterion by its id, with its rubric: the frozen one, or where none is frozen the one that is there.

    Raises CheckError when there is no rubric or no such criterion, and TamperedError when a frozen rubric or
    setting was changed.
    """
    if session.recorded_locks.rubric is not None:
        require_settings(opened, session)
        rubric = require_rubric(opened, session)[0]
    else:
        found = load_rubric(opened)
        if found is None:
            raise CheckError(
                "there is no rubric: neither rubric.toml nor executable_rubric.json in the state directory"
            )
        rubric = found
    criterion = rubric.criterion(criterion_id)
    if criterion is None:
        known = ", ".join(entry.criterion_id for entry in rubric.model.criteria[:20])
        raise CheckError(f"{rubric.source}: no criterion {criterion_id!r}; it has {known}")
    return rubric, criterion
