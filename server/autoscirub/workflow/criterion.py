"""Verifying one criterion alone, without opening a round or writing a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.criteria import LOOKUP_ONLY, decide_criterion, gather
from autoscirub.checks.rubric import RUBRIC_NAME, load_rubric
from autoscirub.errors import CheckError
from autoscirub.models import now
from autoscirub.store import open_project
from autoscirub.workflow.judges import Reader, judge_session_of
from autoscirub.workflow.locks import require_rubric, require_settings, with_judge
from autoscirub.workflow.rerunning import rerun_status
from autoscirub.workflow.rounds import current_round, read_rounds

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.checks.rubric import Rubric
    from autoscirub.models import Criterion, CriterionResult, Decision
    from autoscirub.store import Project, Session


def verify_criterion(
    project: str | Path | None,
    criterion_id: str,
    *,
    state_dir: str | Path | None = None,
    judge: str | None = None,
) -> tuple[CriterionResult, Decision]:
    """Decide one criterion now. No round is opened and no report written; a judge's calls are in the ledger.

    The rubric need not be frozen. `judge`: a backend instead of the configured one; `none`: no judge.
    Raises CheckError when there is no rubric or no such criterion, and TamperedError when a frozen rubric or setting
    was changed.
    """
    opened = with_judge(open_project(project, state_dir), judge)
    with opened.reading() as session:
        result, decision = _look(opened, session, criterion_id, may_ask=False)
    if not any(part.word == LOOKUP_ONLY for part in decision.parts):
        return result, decision
    with opened.writing() as session:
        return _look(opened, session, criterion_id, may_ask=True)


def _look(
    opened: Project, session: Session, criterion_id: str, *, may_ask: bool
) -> tuple[CriterionResult, Decision]:
    at = now()
    rubric, criterion = named_criterion(opened, session, criterion_id)
    alone = rubric.model.model_copy(update={"criteria": [criterion]})
    rerun = rerun_status(opened, session, may="ask")
    inputs = gather(opened, alone, ignored=session.ignored, rerun=rerun.decision if rerun else None)
    current = current_round(read_rounds(session))
    judge_session = judge_session_of(opened, session, current.number if current else None, at)
    if judge_session is not None:
        reader = Reader(judge_session, at=at, may_ask=may_ask)
        inputs = reader.read(alone, inputs, cached={}, fresh=False)
    result, decision = decide_criterion(criterion, inputs, at=at)
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
                f"there is no rubric: neither {opened.config.rubric_file} nor {RUBRIC_NAME} in the state directory"
            )
        rubric = found
    criterion = rubric.criterion(criterion_id)
    if criterion is None:
        known = ", ".join(entry.criterion_id for entry in rubric.model.criteria[:20])
        raise CheckError(f"{rubric.source}: no criterion {criterion_id!r}; it has {known}")
    return rubric, criterion
