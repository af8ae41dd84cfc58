"""Another tool's fields, at every level of every file, come out of a rewrite as they went in."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.models.base import strict_json
from autoscirub.models.report import VerificationReport
from autoscirub.models.rounds import ChangeSummary, Event, RevisionPlan
from autoscirub.models.rubric import ExecutableRubric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

PLAN = {
    "round": 1,
    "targets": [{"criterion_id": "C2", "gap": "no interval", "expected_artifacts": ["a.png"]}],
}
SUMMARY = {
    "round": 1,
    "changes": [{"criterion_id": "C2", "artifacts_changed": ["report.md"]}],
    "infeasible": [{"criterion_id": "C3", "reason": "no data"}],
}
EVENT = {"event": "start", "round": 1}

# Names that mean something to Python, to pydantic or to our classes, and are data like any other here.
AWKWARD = [
    "model_config",
    "model_dump",
    "copy",
    "json",
    "schema",
    "__dict__",
    "__class__",
    "rules",
    "file_name",
]
AWKWARD += [
    "texts",
    "uncovered",
    "counted",
    "path",
    "self",
    "",
    " ",
    "$id",
    "criterion_id ",
    "ﬁ",
    "weight\u0000",
]

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(AWKWARD) | st.text(max_size=12)


def objects_in(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from objects_in(part)


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(
        other, sort_keys=True
    )  # 1, 1.0 and true are not the same


@pytest.mark.parametrize("kind", ["rubric", "report", "plan", "summary", "event"])
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_unknown_fields_survive_at_every_level(
    kind: str, rubric: dict[str, Any], report: dict[str, Any], data: st.DataObject
) -> None:
    models: dict[str, tuple[type[BaseModel], Any]] = {
        "rubric": (ExecutableRubric, rubric),
        "report": (VerificationReport, report),
        "plan": (RevisionPlan, PLAN),
        "summary": (ChangeSummary, SUMMARY),
        "event": (Event, EVENT),
    }
    model, original = models[kind]
    input_data = copy.deepcopy(original)
    known = {name for part in objects_in(input_data) for name in part} | {
        "at",
        "schema_version",
        "sha256",
        "size",
    }
    known |= {"key", "note", "inputs_digest", "infeasible", "planned_actions", "risk_or_dependency"}
    known |= {
        "actions_completed",
        "remaining_gap",
        "priority",
        "weight",
        "judge",
        "provenance",
        "scope_changes",
    }
    for part in list(objects_in(input_data)):
        part.update(
            {name: data.draw(values) for name in data.draw(st.lists(names, max_size=2)) if name not in known}
        )

    loaded = model.model_validate_json(json.dumps(input_data))
    assert same(loaded.model_dump(mode="json", exclude_unset=True), input_data)

    again = model.model_validate_json(strict_json(loaded))  # a whole rewrite, defaults written out
    assert same(again.model_dump(mode="json"), loaded.model_dump(mode="json"))


def test_every_object_of_the_examples_was_given_a_field(
    rubric: dict[str, Any], report: dict[str, Any]
) -> None:
    for model, data in ((ExecutableRubric, rubric), (VerificationReport, report)):
        for part in list(objects_in(data)):
            part["of_another_tool"] = {"kept": [1, None]}
        dumped = model.model_validate_json(json.dumps(data)).model_dump(mode="json")
        assert all("of_another_tool" in part for part in objects_in(dumped) if part and "kept" not in part)
