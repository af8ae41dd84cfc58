"""The one call that comes next, for each way in which a project can stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscirub.models import Answer, CriterionResult, Decision, now
from autoscirub.models.views import LoopView, NextStep, Status
from autoscirub.workflow.next_call import call_of

UNMET = CriterionResult(
    criterion_id="C2",
    satisfied=False,
    status="not_satisfied",
    evidence_gap="out/table.csv: is not there",
    required_actions=["produce out/table.csv"],
)


def status_of(**more: object) -> Status:
    fields: dict[str, object] = {
        "project": Path("p"),
        "project_source": "",
        "state_dir": Path("s"),
        "state_source": "",
        "state_exists": True,
        "config_source": None,
        "policy": None,
        "policy_source": None,
        "results": "results.json",
        "results_exist": False,
        "decisions": [],
        "next": NextStep("autoscirub status", ""),
    }
    return Status(**{**fields, **more})  # type: ignore[arg-type]


def fixed(what: str, word: str) -> Decision:
    question = f"Are the {what} fixed?"
    answer = Answer.HOLDS if word == "frozen" else Answer.INCONCLUSIVE
    return Decision(subject=what, question=question, answer=answer, word=word, at=now())


def outcome(word: str) -> Decision:
    return Decision(subject="predictions", question="q", answer=Answer.HOLDS, word=word, at=now())


def loop(**more: object) -> LoopView:
    fields: dict[str, object] = {
        "round": 3,
        "status": "open",
        "stale": False,
        "ended": None,
        "unmet": [UNMET],
        "inconclusive": {},
    }
    return LoopView(**{**fields, **more})  # type: ignore[arg-type]


RUBRIC_FROZEN, RUBRIC_OPEN = fixed("requirements", "frozen"), fixed("requirements", "not frozen")
PREDICTIONS_FROZEN, PREDICTIONS_OPEN = fixed("predictions", "frozen"), fixed("predictions", "not frozen")
TARGET = {
    "criterion_id": "C2",
    "gap": "out/table.csv: is not there",
    "planned_actions": ["produce out/table.csv"],
}

STANDINGS = [
    # how it stands, the tool, its arguments, what the reason says
    ({}, "write_state", {"file": "executable_rubric.json"}, "there is no rubric yet"),
    ({"decisions": [PREDICTIONS_OPEN]}, "write_state", {"file": "executable_rubric.json"}, "no rubric"),
    ({"decisions": [PREDICTIONS_FROZEN]}, "check", {}, "the predictions are frozen"),
    (
        {"decisions": [PREDICTIONS_OPEN], "next": NextStep("autoscirub freeze", "ready")},
        "write_state",
        {"file": "executable_rubric.json"},
        "to the written predictions alone, freeze() now",
    ),
    ({"decisions": [PREDICTIONS_FROZEN, outcome("verified")]}, None, {}, "came out verified"),
    ({"decisions": [PREDICTIONS_FROZEN, outcome("refuted")]}, None, {}, "which is a finding"),
    ({"decisions": [PREDICTIONS_FROZEN, outcome("failed")]}, "check", {}, "inconclusive"),
    (
        {"decisions": [RUBRIC_FROZEN, PREDICTIONS_OPEN], "next": NextStep("autoscirub freeze", "ready")},
        "freeze",
        {},
        "not frozen: freeze them",
    ),
    ({"decisions": [RUBRIC_OPEN]}, "freeze", {}, "before there are results"),
    ({"decisions": [PREDICTIONS_FROZEN, RUBRIC_OPEN]}, "freeze", {}, "before there are results"),
    (
        {"decisions": [RUBRIC_OPEN], "next": NextStep("autoscirub freeze --dry-run", "2 faults")},
        "freeze",
        {"dry_run": True},
        "2 faults",
    ),
    ({"decisions": [RUBRIC_FROZEN]}, "check", {}, "do the work"),
    ({"decisions": [RUBRIC_FROZEN], "faults": ["results: both"]}, "next", {}, "results: both"),
    ({"faults": ["the rubric: a bare list"]}, "next", {}, "the rubric: a bare list"),
    ({"decisions": [fixed("requirements", "not as frozen")], "faults": ["changed"]}, "next", {}, "changed"),
    ({"loop": loop()}, "plan_round", {"targets": [TARGET]}, "round 3: 1 of the criteria"),
    (
        {"loop": loop(status="planned", targets=["C3"])},
        "check",
        {"changes": [{"criterion_id": "C3"}]},
        "revise the work",
    ),
    (
        {"loop": loop(unmet=[], ended="satisfied", other_failures=["rerun: moved"])},
        None,
        {},
        "what else does not hold: rerun: moved",
    ),
    ({"loop": loop(stale=True)}, "check", {}, "has changed"),
    ({"loop": loop(stale=True, ended="satisfied", unmet=[])}, "check", {}, "has changed"),
    ({"loop": loop(), "faults": ["the rubric: changed"]}, "next", {}, "the rubric: changed"),
    ({"loop": loop(unmet=[], inconclusive={"C1": "no judge"})}, None, {}, "no work of yours closes that"),
    ({"loop": loop(unmet=[], ended="satisfied")}, None, {}, "every criterion is satisfied"),
    ({"loop": loop(unmet=[], ended="satisfied_in_reduced_scope")}, None, {}, "say exactly that"),
    *(
        ({"loop": loop(ended=word)}, None, {}, "not satisfied: C2. Say that to the person")
        for word in ("stalled", "infeasible", "budget_spent", "error")
    ),
]


@pytest.mark.parametrize(("more", "tool", "arguments", "why"), STANDINGS)
def test_one_call_comes_next(
    more: dict[str, object], tool: str | None, arguments: dict[str, object], why: str
) -> None:
    call = call_of(status_of(**more))
    assert (call.tool, call.arguments) == (tool, arguments)
    assert why in call.why


def test_the_outcome_is_that_of_the_predictions_whatever_else_has_failed() -> None:
    other = Decision(subject="a.csv", question="q", answer=Answer.DOES_NOT_HOLD, word="failed", at=now())
    call = call_of(status_of(decisions=[PREDICTIONS_FROZEN, other, outcome("verified")]))
    assert "came out verified" in call.why


def test_a_job_under_way_comes_before_everything() -> None:
    call = call_of(status_of(loop=loop()), "check-000000000000")
    assert (call.tool, call.arguments) == ("job", {"id": "check-000000000000", "action": "wait"})


def test_a_refuted_prediction_is_to_be_said_beside_satisfied() -> None:
    call = call_of(status_of(loop=loop(unmet=[], ended="satisfied"), decisions=[outcome("refuted")]))
    assert call.tool is None
    assert "came out refuted: say that too" in call.why
