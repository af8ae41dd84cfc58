"""Where an agent stands, and the one call that it is to make next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks import RUBRIC_NAME
from autoscirub.data import template
from autoscirub.store import open_project
from autoscirub.store.jobs import running
from autoscirub.workflow.standing import status

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.models import CriterionResult
    from autoscirub.models.views import LoopView, Status

__all__ = ["NextCall", "call_of", "next_call"]

_SHOWN_TARGETS = 12
_SHOWN_TEXT = 400


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
    """Look at a project, lay down its state directory where there is none, and say what comes next.

    `within`: the job that asks, which is not to be waited for.

    Raises ConfigError and StateError where the project cannot be opened or its state directory not be made.
    """
    opened = open_project(project, state_dir)
    if not opened.state.exists():
        with opened.state.writing() as state:
            state.write_bytes(".gitignore", template("gitignore").encode("utf-8"))
    found = status(project, state_dir=state_dir)
    others = (job for job in running(opened.state.root) if job != within)
    return found, call_of(found, next(others, None))


def call_of(found: Status, job: str | None = None) -> NextCall:
    """The one call for a project that stands like that. `job`: the id of one that is under way."""
    if job is not None:
        return NextCall("job", f"{job} is under way", {"id": job, "action": "wait"})
    if found.loop is not None:
        return _in_rounds(found, found.loop)
    rubric, predictions = _state_of(found, rubric=True), _state_of(found, rubric=False)
    if "not as frozen" in (rubric, predictions) or (found.faults and rubric != "not frozen"):
        why = found.faults[0] if found.faults else found.next.why
        return NextCall("next", f"put this right first, then ask again: {_cut(why)}")
    if rubric == "frozen":
        return NextCall("check", "everything is frozen: do the work, then have it checked")
    if rubric == "not frozen":
        return _freeze(found)
    if predictions == "frozen":
        return NextCall("check", "the predictions are frozen: do the work, then have it checked")
    return NextCall(
        "write_state",
        f"there is no rubric yet: write what the work must contain, criterion by criterion, as the content of "
        f"{RUBRIC_NAME} (shape: autoscirub://schemas/executable_rubric); then freeze, before there are results",
        {"file": RUBRIC_NAME},
    )


def _state_of(found: Status, *, rubric: bool) -> str | None:
    question = "Are the requirements fixed?" if rubric else "Are the predictions fixed?"
    return next((decision.word for decision in found.decisions if decision.question == question), None)


def _freeze(found: Status) -> NextCall:
    if found.faults or "dry-run" in found.next.command:
        return NextCall(
            "freeze", f"it names what is to be mended first: {_cut(found.next.why)}", {"dry_run": True}
        )
    return NextCall("freeze", "what decides is written: fix it, before there are results")


def _in_rounds(found: Status, loop: LoopView) -> NextCall:
    if found.faults:
        return NextCall("next", f"put this right first, then ask again: {_cut(found.faults[0])}")
    if loop.stale:
        return NextCall("check", "what is judged has changed since it was checked")
    if loop.ended is not None:
        return NextCall(None, _on_ending(found, loop))
    if loop.status == "planned":
        return NextCall(
            "check",
            f"round {loop.round} is planned: revise the work, then have it checked; say what you changed in changes, "
            "and what cannot be done in infeasible",
            {"changes": [{"criterion_id": result.criterion_id} for result in loop.unmet[:_SHOWN_TARGETS]]},
        )
    if loop.unmet:
        return NextCall(
            "plan_round",
            f"round {loop.round}: {len(loop.unmet)} of the criteria are not satisfied; plan what to do about them",
            {"targets": [_target(result) for result in loop.unmet[:_SHOWN_TARGETS]]},
        )
    if loop.untold:
        name, why = next(iter(loop.untold.items()))
        return NextCall(
            None,
            f"{len(loop.untold)} of the criteria could not be judged, and no work of yours closes that ({name}: "
            f"{_cut(why)}). Say so to the person; the judge is theirs to set up. Then check again",
        )
    return NextCall("check", "the newest round is not whole; check again")


def _target(result: CriterionResult) -> dict[str, Any]:
    return {
        "criterion_id": result.criterion_id,
        "gap": _cut(result.evidence_gap),
        "planned_actions": [_cut(action) for action in result.required_actions[:3]],
    }


def _on_ending(found: Status, loop: LoopView) -> str:
    refuted = next(
        (decision.word for decision in found.decisions if decision.word in {"verified", "refuted", "failed"}),
        None,
    )
    beside = f" The predictions came out {refuted}: say that too." if refuted else ""
    if loop.ended == "satisfied":
        return f"every criterion is satisfied: report that, with what it rests on (autoscirub audit).{beside}"
    if loop.ended == "satisfied_in_reduced_scope":
        return f"every criterion is satisfied, of a scope that an agent reduced: say exactly that.{beside}"
    unmet = ", ".join(result.criterion_id for result in loop.unmet[:_SHOWN_TARGETS]) or "none"
    return (
        f"the loop has ended: {(loop.ended or '').replace('_', ' ')}; not satisfied: {unmet}. Say that to the person, "
        f"who alone can go on (autoscirub round --continue).{beside}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
