"""Writing the revision plan of the open round, and continuing a loop that has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.errors import CheckError
from autoscirub.models import Ended, Event, RevisionPlan, RevisionTarget, VerificationReport, now, strict_json
from autoscirub.store import Project, Session, open_project
from autoscirub.workflow.locks import require_rubric, require_settings
from autoscirub.workflow.rounds.rules import (
    FOLDER,
    PLAN,
    VERIFICATION,
    current_round,
    read_rounds,
    recorded_model,
)
from autoscirub.workflow.rounds.verification import EVENTS, event_lines
from autoscirub.workflow.rounds.waiting import unjudged, wait_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoscirub.models import CriterionResult, ExecutableRubric

_MAX_NAMED = 20


@dataclass
class PlanResult:
    """The plan that was written, and for which round."""

    plan: RevisionPlan
    notices: list[str] = field(default_factory=list)


def plan_round(
    targets: Sequence[RevisionTarget] | None = None,
    *,
    project: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> PlanResult:
    """Write the plan of the open round: `targets`, or every criterion that is not satisfied.

    Raises CheckError when no round is open, the loop has ended, or a target is no unmet criterion, and
    TamperedError when what is locked was changed.
    """
    opened = open_project(project, state_dir)
    with opened.writing() as session:
        return plan_step(opened, session, targets)


def plan_step(
    opened: Project, session: Session, targets: Sequence[RevisionTarget] | None = None
) -> PlanResult:
    """Plan on an opened project. See `plan_round`."""
    rubric, _ = require_rubric(opened, session)
    require_settings(opened, session)
    current = current_round(read_rounds(session))
    loop = session.manifest.loop
    if loop is not None and loop.ended is not None:
        raise CheckError(
            f"the loop has ended: {loop.ended.state} ({loop.ended.why}); go on with `autoscirub round --continue`"
        )
    report = None
    if current is not None:
        report = recorded_model(session, f"{FOLDER}/{current.name}/{VERIFICATION}", VerificationReport)
    if current is None or current.number is None or report is None:
        raise CheckError("no round is open; `autoscirub check` opens one by verifying")
    if current.status != "open":
        raise CheckError(
            f"{current.name}: is {current.status}; `autoscirub check` verifies again and opens the next round"
        )
    asked = {criterion.criterion_id for criterion in rubric.model.criteria}
    inconclusive = unjudged(report)
    unmet = {
        result.criterion_id: result
        for result in report.criteria
        if not result.satisfied and result.criterion_id in asked and result.criterion_id not in inconclusive
    }
    if (wait := wait_of(report)) is not None:
        raise CheckError(f"nothing to revise: {wait.note}; then check again")
    if inconclusive and not unmet:
        name, why = next(iter(inconclusive.items()))
        raise CheckError(
            f"nothing to revise: {len(inconclusive)} of the criteria could not be judged ({name}: {why}); make sure "
            "that the judge can be asked, and check again"
        )
    chosen = (
        list(targets) if targets is not None else [_target(rubric.model, result) for result in unmet.values()]
    )
    unknown = [target.criterion_id for target in chosen if target.criterion_id not in unmet]
    if unknown:
        raise CheckError(
            f"targets: {_named(unknown)} is no unmet criterion; unmet are {_named(list(unmet)) or 'none'}"
        )
    at = now()
    plan = RevisionPlan(round=current.number, targets=chosen, at=at)
    state = {
        f"{FOLDER}/{current.name}/{PLAN}": strict_json(plan).encode(),
        EVENTS: event_lines(session, [Event(event="planned", round=current.number, at=at)]),
    }
    facts = {"round": current.number, "targets": [target.criterion_id for target in chosen]}
    session.record("plan", at=at, facts=facts, state=state)
    return PlanResult(plan, session.notices)


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_MAX_NAMED]) + (
        f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    )


def _target(rubric: ExecutableRubric, result: CriterionResult) -> RevisionTarget:
    criterion = next(entry for entry in rubric.criteria if entry.criterion_id == result.criterion_id)
    return RevisionTarget(
        criterion_id=result.criterion_id,
        gap=result.evidence_gap,
        planned_actions=list(result.required_actions),
        expected_artifacts=[artifact.path for artifact in criterion.expected_artifacts if artifact.path],
    )


def continue_loop(session: Session) -> Ended | None:
    """Continue after an ending, on the record, with a fresh budget. Returns the ending."""
    loop = session.manifest.loop
    if loop is None or loop.ended is None:
        return None
    ended, at = loop.ended, now()
    session.manifest.loop = loop.model_copy(
        update={
            "ended": None,
            "continued": [*loop.continued, ended],
            "first_round": (ended.round or loop.first_round) + 1,
            "spent_seconds": 0.0,
        }
    )
    state = {EVENTS: event_lines(session, [Event(event="continued", round=ended.round, at=at)])}
    session.record("continued", at=at, facts={"after": ended.model_dump(mode="json")}, state=state)
    return ended
