from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from autoscirub.models.rounds import ChangeSummary, Event, RevisionPlan

TARGET = {"criterion_id": "C2", "gap": "no interval", "planned_actions": ["bootstrap"]}
CHANGE = {"criterion_id": "C2", "actions_completed": ["bootstrap"], "artifacts_changed": ["report.md"]}

LOADS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (RevisionPlan, {"round": 1, "targets": []}),
    (RevisionPlan, {"round": 1, "targets": [TARGET], "at": "2026-01-31T09:00:00Z"}),
    (ChangeSummary, {"round": 1, "changes": []}),
    (
        ChangeSummary,
        {"round": 1, "changes": [CHANGE], "infeasible": [{"criterion_id": "C3", "reason": "no data"}]},
    ),
    (Event, {"event": "start"}),
    (Event, {"event": "start", "round": 1, "at": "2026-01-31T09:00:00Z", "seconds": 1.5}),
]


@pytest.mark.parametrize(("model", "data"), LOADS)
def test_it_loads_and_keeps_what_it_was_given(model: type[BaseModel], data: dict[str, Any]) -> None:
    loaded = model.model_validate_json(json.dumps(data))
    assert loaded.model_dump(mode="json", exclude_unset=True) == data


REFUSED: list[tuple[type[BaseModel], dict[str, Any], tuple[Any, ...]]] = [
    (RevisionPlan, {"round": 0, "targets": []}, ("round",)),
    (RevisionPlan, {"targets": []}, ("round",)),
    (RevisionPlan, {"round": 1}, ("targets",)),
    (RevisionPlan, {"round": 1, "targets": [{"gap": "x"}]}, ("targets", 0, "criterion_id")),
    (
        RevisionPlan,
        {"round": 1, "targets": [{**TARGET, "planned_actions": "x"}]},
        ("targets", 0, "planned_actions"),
    ),
    (RevisionPlan, {"round": 1, "targets": [{**TARGET, "mine": float("nan")}]}, ("targets", 0, "mine")),
    (ChangeSummary, {"round": 1}, ("changes",)),
    (ChangeSummary, {"round": "1", "changes": []}, ("round",)),
    (
        ChangeSummary,
        {"round": 1, "changes": [{**CHANGE, "criterion_id": " "}]},
        ("changes", 0, "criterion_id"),
    ),
    (
        ChangeSummary,
        {"round": 1, "changes": [], "infeasible": [{"criterion_id": "C3"}]},
        ("infeasible", 0, "reason"),
    ),
    (ChangeSummary, {"round": 1, "changes": [], "mine": float("inf")}, ("mine",)),
    (Event, {"round": 1}, ("event",)),
    (Event, {"event": ""}, ("event",)),
    (Event, {"event": "start", "round": True}, ("round",)),
    (Event, {"event": "start", "at": "yesterday"}, ("at",)),
]


@pytest.mark.parametrize(("model", "data", "path"), REFUSED)
def test_it_is_refused_at_the_field_that_is_wrong(
    model: type[BaseModel], data: dict[str, Any], path: tuple[Any, ...]
) -> None:
    with pytest.raises(ValidationError) as refusal:
        model.model_validate_json(json.dumps(data))
    assert [fault["loc"] for fault in refusal.value.errors()] == [path]


FIELD_FILES = [
    (RevisionPlan, "round-001/revision_plan.json"),
    (RevisionPlan, "round-002/revision_plan.json"),
    (ChangeSummary, "round-001/change_summary.json"),
]


@pytest.mark.parametrize(("model", "path"), FIELD_FILES)
def test_field_files_of_a_round_load_without_our_fields(
    field_cases: Any, model: type[BaseModel], path: str
) -> None:
    text = (field_cases / "22-interrupted-round" / ".autoscirub" / "revisions" / path).read_text(
        encoding="utf-8"
    )
    assert model.model_validate_json(text).model_dump(mode="json", exclude_unset=True) == json.loads(text)


def test_the_whole_lines_of_a_field_log_load_and_the_cut_off_one_does_not(field_cases: Any) -> None:
    log = field_cases / "22-interrupted-round" / ".autoscirub" / "revisions" / "events.jsonl"
    *whole, cut_off = log.read_text(encoding="utf-8").splitlines()
    assert [Event.model_validate_json(line).event for line in whole] == ["start", "end"]
    with pytest.raises(ValidationError):
        Event.model_validate_json(cut_off)
