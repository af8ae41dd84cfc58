"""Telling an agent the state of its project and the one tool call to make next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks.rubric import RUBRIC_NAME
from autoscirub.models import Answer, LoopView
from autoscirub.store import MARK_NAME, lay_gitignore, open_project, running
from autoscirub.workflow.rounds import unjudged
from autoscirub.workflow.status import status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoscirub.models import CriterionResult, Decision, Status
    from autoscirub.workflow.rounds import RoundCheck

_PREDICTIONS = "predictions"
"""The subject of the outcome's Decision. A file or a rerun can have *failed*, too."""
_OUTCOMES = ("verified", "refuted", "failed")
_MAX_TARGETS = 12
_MAX_TEXT = 300


@dataclass(frozen=True)
class NextCall:
    """The one call to make next. Without a tool, there is nothing for a tool to do: `why` says what then."""

    tool: str | None
    why: str
    arguments: dict[str, Any] = field(default_factory=dict)


def next_call(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    within: str | None = None,
) -> tuple[Status, NextCall]:
    """Inspect a project, make its state directory where there is none, and say what comes next.

    `within`: the job that is calling, which is not waited for.

    Raises ConfigError and StateError where the project cannot be opened or its state directory not be made.
    """
    opened = open_project(project, state_dir)
    if not opened.state.exists():
        with opened.state.writing():
            lay_gitignore(opened.state.root)
    job = next((job for job in running(opened.state.root) if job != within), None)
    if job is None and within is None and opened.state.read_bytes(MARK_NAME) is not None:
        with opened.writing():  # finishes a step that was cut off, which would look like tampering
            pass
    found = status(project, state_dir=state_dir)
    return found, call_of(found, job)


def call_of(found: Status, job: str | None = None) -> NextCall:
    """The next call for a project with this status. `job`: the id of one that is under way."""
    if job is not None:
        return NextCall("job", f"{job} is under way", {"id": job, "action": "wait"})
    if found.loop is not None:
        return _with_failures(
            _in_rounds(found.decisions, found.faults, found.loop), found.loop.other_failures
        )
    rubric, predictions = _state_of(found, rubric=True), _state_of(found, rubric=False)
    if "not as frozen" in (rubric, predictions) or (found.faults and rubric != "not frozen"):
        why = found.faults[0] if found.faults else found.next.why
        return NextCall("next", f"put this right first, then ask again: {_cut(why)}")
    if rubric == "frozen" and predictions == "not frozen" and found.next.command == "autoscirub freeze":
        return NextCall(
            "freeze", "predictions are written but not frozen: freeze them before there are results"
        )
    if rubric == "frozen":
        return NextCall("check", "everything is frozen: do the work, then have it checked")
    if rubric == "not frozen":
        return _freeze(found)
    if predictions == "frozen":
        return _predicted(found.decisions)
    ready = predictions == "not frozen" and found.next.command == "autoscirub freeze"
    alone = " If the work is to be held to the written predictions alone, freeze() now." if ready else ""
    return NextCall(
        "write_state",
        f"there is no rubric yet: write what the work must contain, criterion by criterion, as the content of "
        f"{RUBRIC_NAME} (shape: autoscirub://schemas/executable_rubric); then freeze, before there are results.{alone}",
        {"file": RUBRIC_NAME},
    )


def call_after(checked: RoundCheck) -> NextCall:
    """The one call after a check, from what it found: nothing is inspected a second time."""
    report = checked.report
    if report is None:
        if checked.verification is None:
            return NextCall(
                "next", "it says what can be frozen, so that there is something to hold the work against"
            )
        return _with_failures(_predicted(checked.decisions), _other_failures(checked.decisions, []))
    inconclusive = unjudged(report)
    loop = LoopView(
        round=report.round,
        status="open",
        stale=False,
        ended=checked.ended.state if checked.ended else None,
        unmet=[
            each for each in report.criteria if not each.satisfied and each.criterion_id not in inconclusive
        ],
        inconclusive=inconclusive,
        waiting=checked.waiting,
    )
    call = _in_rounds(checked.decisions, [], loop)
    return _with_failures(
        call, _other_failures(checked.decisions, [each.criterion_id for each in report.criteria])
    )


def _with_failures(call: NextCall, failures: Sequence[str]) -> NextCall:
    """Where no call is left, what else does not hold must be reported too."""
    if call.tool is not None or not failures:
        return call
    listed = "; ".join(failures[:_MAX_TARGETS])
    return NextCall(None, f"{call.why} Also report what else does not hold: {listed}.")


def _other_failures(decisions: Sequence[Decision], criteria: Sequence[str]) -> list[str]:
    """What does not hold, or is inconclusive, besides the criteria and the predictions."""
    return [
        f"{each.subject}: {each.word}"
        for each in decisions
        if each.answer is not Answer.HOLDS and each.subject not in criteria and each.subject != _PREDICTIONS
    ]


def _predicted(decisions: Sequence[Decision]) -> NextCall:
    """With frozen predictions and no rubric: there is an outcome to report, or work to do."""
    outcome = _outcome(decisions)
    if outcome == "verified":
        return NextCall(None, "the predictions came out verified: report that, with its whole headline")
    if outcome == "refuted":
        return NextCall(
            None, "the predictions came out refuted, which is a finding: report it, with its whole headline"
        )
    if outcome == "failed":
        return NextCall("check", "something is inconclusive: put that right in the work, then check again")
    return NextCall("check", "the predictions are frozen: do the work, then have it checked")


def _outcome(decisions: Sequence[Decision]) -> str | None:
    words = (decision.word for decision in decisions if decision.subject == _PREDICTIONS)
    return next((word for word in words if word in _OUTCOMES), None)


def _state_of(found: Status, *, rubric: bool) -> str | None:
    question = "Are the requirements fixed?" if rubric else "Are the predictions fixed?"
    return next((decision.word for decision in found.decisions if decision.question == question), None)


def _freeze(found: Status) -> NextCall:
    if "dry-run" not in found.next.command and found.faults:
        return NextCall("next", f"put this right first, then ask again: {_cut(found.faults[0])}")
    if "dry-run" in found.next.command:
        return NextCall("freeze", f"it names what to fix first: {_cut(found.next.why)}", {"dry_run": True})
    return NextCall("freeze", "what decides is written: freeze it before there are results")


def _in_rounds(decisions: Sequence[Decision], faults: Sequence[str], loop: LoopView) -> NextCall:
    if faults:
        return NextCall("next", f"put this right first, then ask again: {_cut(faults[0])}")
    if loop.stale:
        return NextCall("check", "what is judged has changed since it was checked")
    if loop.ended is not None:
        return NextCall(None, _on_ending(_outcome(decisions), loop))
    if loop.status == "planned":
        return NextCall(
            "check",
            f"round {loop.round} is planned: revise the work, then have it checked; say what you changed in changes, "
            "and what cannot be done in infeasible",
            {"changes": [{"criterion_id": name} for name in loop.targets[:_MAX_TARGETS]]},
        )
    if loop.unmet:
        return NextCall(
            "plan_round",
            f"round {loop.round}: {len(loop.unmet)} of the criteria are not satisfied; plan what to do about them",
            {"targets": [_target(result) for result in loop.unmet[:_MAX_TARGETS]]},
        )
    if loop.waiting:
        return NextCall(
            None,
            f"waiting, and no work of yours closes that: {loop.waiting}. Say exactly that to the person, and end here. "
            "Once they have done it, check again",
        )
    if loop.inconclusive:
        name, why = next(iter(loop.inconclusive.items()))
        return NextCall(
            None,
            f"{len(loop.inconclusive)} of the criteria could not be judged, and no work of yours closes that ({name}: "
            f"{_cut(why)}). Say so to the person; the judge is theirs to set up. Then check again",
        )
    return NextCall("check", "the newest round is incomplete; check again")


def _target(result: CriterionResult) -> dict[str, Any]:
    return {
        "criterion_id": result.criterion_id,
        "gap": _cut(result.evidence_gap),
        "planned_actions": [_cut(action) for action in result.required_actions[:3]],
    }


def _on_ending(outcome: str | None, loop: LoopView) -> str:
    outcome_note = f" The predictions came out {outcome}: say that too." if outcome else ""
    if loop.ended == "satisfied":
        return f"every criterion is satisfied: report that, with what it rests on (autoscirub audit).{outcome_note}"
    if loop.ended == "satisfied_in_reduced_scope":
        return (
            f"every criterion is satisfied, of a scope that an agent reduced: say exactly that.{outcome_note}"
        )
    unmet = ", ".join(result.criterion_id for result in loop.unmet[:_MAX_TARGETS]) or "none"
    return (
        f"the loop has ended: {(loop.ended or '').replace('_', ' ')}; not satisfied: {unmet}. Say that to the person, "
        f"who alone can continue it (autoscirub round --continue).{outcome_note}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
