from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from pydantic import ValidationError

from autoscirub.models.faults import describe_faults
from autoscirub.models.rubric import Criterion, ExecutableRubric


def faults_of(data: Any) -> list[str]:
    try:
        ExecutableRubric.model_validate_json(json.dumps(data))
    except ValidationError as error:
        return describe_faults(error, data)
    return []


def changed(data: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(data)
    target: Any = data
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    return data


def test_a_rubric_with_every_field_loads(rubric: dict[str, Any]) -> None:
    loaded = ExecutableRubric.model_validate_json(json.dumps(rubric))
    assert [criterion.criterion_id for criterion in loaded.criteria] == ["C1", "C2"]
    assert [check.kind for check in loaded.criteria[0].checks] == [
        "expr",
        "artifact",
        "numbers",
        "rerun",
        "judge",
        "score",
    ]


def test_what_is_left_out_has_its_default() -> None:
    criterion = Criterion(criterion_id="C1", requirement="Say what was left out.")
    assert (criterion.priority, criterion.judge, criterion.weight) == ("medium", "auto", None)


REFUSED = [
    # path, value, what the fault must say: criterion, field, and what is wrong
    (["criteria", 0, "criterion_id"], "", ["criteria[0].criterion_id"]),
    (["criteria", 0, "criterion_id"], "  ", ["criteria[0].criterion_id"]),
    (["criteria", 0, "criterion_id"], 1, ["criteria[0].criterion_id", "string"]),
    (["criteria", 0, "requirement"], " ", ["criteria[0].requirement (criterion 'C1')"]),
    (["criteria", 0, "requirement"], None, ["criteria[0].requirement (criterion 'C1')"]),
    (["criteria", 0, "metrics"], "slope", ["criteria[0].metrics (criterion 'C1')", "array", "'slope'"]),
    (["criteria", 0, "goal_ids"], "G1", ["criteria[0].goal_ids (criterion 'C1')"]),
    (
        ["criteria", 0, "goal_ids"],
        ["G9"],
        ["goal_ids[0] (criterion 'C1')", "no goal 'G9'; the goals are: G1"],
    ),
    (["criteria", 0, "goal_ids"], ["g1"], ["no goal 'g1'; the goals are: G1"]),
    (["criteria", 0, "priority"], "critical", ["criteria[0].priority (criterion 'C1')", "'critical'"]),
    (["criteria", 0, "priority"], "High", ["'High'"]),
    (["criteria", 0, "priority"], None, ["criteria[0].priority (criterion 'C1')"]),
    (["criteria", 0, "weight"], 0, ["criteria[0].weight (criterion 'C1')", "greater than 0"]),
    (["criteria", 0, "weight"], -1, ["greater than 0"]),
    (["criteria", 0, "weight"], "0.5", ["number", "'0.5'"]),
    (["criteria", 0, "weight"], True, ["number", "True"]),
    (["criteria", 0, "weight"], float("nan"), ["finite"]),
    (["criteria", 0, "weight"], float("inf"), ["finite"]),
    (["criteria", 0, "weight"], 10**400, ["criteria[0].weight (criterion 'C1')", "number"]),
    (["criteria", 0, "judge"], "sometimes", ["criteria[0].judge (criterion 'C1')", "'sometimes'"]),
    (
        ["criteria", 0, "expected_artifacts"],
        {"type": "figure"},
        ["criteria[0].expected_artifacts (criterion 'C1')"],
    ),
    (
        ["criteria", 0, "expected_artifacts"],
        ["a.png"],
        ["criteria[0].expected_artifacts[0] (criterion 'C1')"],
    ),
    (["criteria", 0, "expected_artifacts", 0, "expected_path"], 3, ["expected_artifacts[0].expected_path"]),
    (["criteria", 0, "provenance"], ["x"], ["criteria[0].provenance (criterion 'C1')"]),
    (
        ["criteria", 0, "provenance", "literature"],
        "x",
        ["criteria[0].provenance.literature (criterion 'C1')"],
    ),
    (["criteria", 0, "checks", 0, "kind"], "exec", ["criteria[0].checks[0] (criterion 'C1')", "'exec'"]),
    (
        ["criteria", 0, "checks", 0],
        {"id": "x", "kind": "expr"},
        ["checks[0].expr.expr (criterion 'C1')", "required"],
    ),
    (["criteria", 0, "checks", 0], {"id": "x", "kind": "expr", "expr": " "}, ["checks[0].expr.expr"]),
    (["criteria", 0, "checks", 1, "format"], "gif", ["checks[1].artifact.format (criterion 'C1')", "'gif'"]),
    (["criteria", 0, "checks", 1, "path"], "", ["checks[1].artifact.path (criterion 'C1')"]),
    (["criteria", 0, "checks", 1, "id"], " SLOPE", ["checks[1].id (criterion 'C1')", "checks[0]", "'slope'"]),
    (
        ["criteria", 0, "checks", 0, "covers"],
        ["a line"],
        ["checks[0].covers[0] (criterion 'C1')", "word for word"],
    ),
    (["criteria", 0, "checks", 0, "covers"], "fit a line", ["checks[0].expr.covers (criterion 'C1')"]),
    (["criteria", 0, "judge"], "never", ["criteria[0].checks[4].kind (criterion 'C1')", "asks a judge"]),
    (["criteria", 1, "judge"], "never", ["criteria[1].judge (criterion 'C2')", "nothing else decides"]),
    (["criteria", 1, "criterion_id"], "C1", ["criteria[1].criterion_id (criterion 'C1')", "criteria[0]"]),
    (["criteria", 1, "criterion_id"], " c1\t", ["criteria[1].criterion_id", "criteria[0]", "'C1'"]),
    (["criteria", 1], {"criterion_id": "C2"}, ["criteria[1].requirement (criterion 'C2')", "required"]),
    (["criteria", 1], {"requirement": "x"}, ["criteria[1].criterion_id", "required"]),
    (["criteria"], [], ["criteria: nothing to verify: the rubric has no criteria"]),
    (["criteria"], {"C1": {}}, ["criteria: ", "array"]),
    (["goals", 0, "goal_id"], " ", ["goals[0].goal_id"]),
    (["goals"], [], ["criteria[0].goal_ids[0] (criterion 'C1')", "no goal 'G1'; the rubric has no goals"]),
    (
        ["goals"],
        [{"goal_id": "G1"}, {"goal_id": "g1 "}],
        ["goals[1].goal_id (goal 'g1 ')", "goals[0]", "'G1'"],
    ),
    (["claims_to_avoid"], "all", ["claims_to_avoid: "]),
    (["scope_changes", 0, "by"], "me", ["scope_changes[0].by", "'me'"]),
    (["scope_changes", 0, "at"], "2026-01-31T09:00:00", ["scope_changes[0].at", "time zone"]),
    (["scope_changes", 0, "reason"], "", ["scope_changes[0].reason"]),
    (["scope_changes", 0, "criteria"], [], ["scope_changes[0].criteria"]),
    (["schema_version"], 1, ["schema_version"]),
    (["mine"], float("nan"), ["mine: ", "strict JSON"]),
    (
        ["criteria", 0, "mine"],
        {"deep": [float("-inf")]},
        ["criteria[0].mine.deep[0] (criterion 'C1')", "strict JSON"],
    ),
]


@pytest.mark.parametrize(("path", "value", "message"), REFUSED, ids=lambda part: str(part)[:40])
def test_a_rubric_is_refused_naming_the_criterion_and_the_field(
    rubric: dict[str, Any], path: list[Any], value: Any, message: list[str]
) -> None:
    faults = faults_of(changed(rubric, path, value))
    assert any(all(part in fault for part in message) for fault in faults), faults


UNREAD = {"criterion_id": "C2", "requirement": "x", "judge": "never"}

ACCEPTED: list[tuple[list[Any], Any]] = [
    (["criteria", 0, "weight"], 3),
    (["criteria", 0, "weight"], 1e-300),
    (["criteria", 0, "weight"], None),
    (["criteria", 0, "priority"], "low"),
    (["criteria", 0, "expected_artifacts"], [{}]),
    (["criteria", 0, "expected_artifacts", 0, "type"], "movie"),
    (["criteria", 0, "satisfaction_condition"], None),
    (
        ["criteria", 0, "checks", 0, "covers"],
        ["fit against points", "the number and the figure are both present"],
    ),
    (["criteria", 1, "criterion_id"], "C1.1"),
    (["criteria", 1, "checks"], [{"id": "slope", "kind": "rerun"}]),
    (["goals", 0], {"goal_id": "G1"}),
    (["claims_to_avoid"], []),
    (["criteria", 1], {**UNREAD, "checks": [{"id": "r", "kind": "rerun"}]}),
    (["criteria", 1], {**UNREAD, "expected_artifacts": [{"expected_path": "a"}]}),
]


@pytest.mark.parametrize(("path", "value"), ACCEPTED)
def test_a_rubric_is_accepted(rubric: dict[str, Any], path: list[Any], value: Any) -> None:
    assert faults_of(changed(rubric, path, value)) == []


@pytest.mark.parametrize("path", [None, "", "  "])
def test_an_artifact_without_a_path_does_not_do_for_judge_never(
    rubric: dict[str, Any], path: str | None
) -> None:
    criterion = {**UNREAD, "expected_artifacts": [{"expected_path": path}]}
    assert "nothing else decides" in faults_of(changed(rubric, ["criteria", 1], criterion))[0]


def test_a_judges_check_alone_does_not_do_for_judge_never(rubric: dict[str, Any]) -> None:
    faults = faults_of(changed(rubric, ["criteria", 1], {**UNREAD, "checks": [{"id": "r", "kind": "judge"}]}))
    assert [fault.split(" ")[0] for fault in faults] == ["criteria[1].checks[0].kind", "criteria[1].judge"]


def test_every_fault_is_in_one_list(rubric: dict[str, Any]) -> None:
    rubric["criteria"][0]["weight"] = "1"
    rubric["criteria"][1]["priority"] = "urgent"
    assert len(faults_of(rubric)) == 2


def test_the_texts_are_what_the_format_asks_to_be_settled_each_once() -> None:
    criterion = Criterion.model_validate(
        {
            "criterion_id": "C1",
            "requirement": "not a text that a check can cover",
            "expected_artifacts": [{"must_show": "points"}, {"must_show": None}, {"must_show": " "}],
            "required_analysis": ["fit", "points"],
            "satisfaction_condition": "both are there",
            "checks": [{"id": "a", "kind": "rerun", "covers": ["fit"]}],
        }
    )
    assert criterion.texts() == ["points", "fit", "both are there"]
    assert criterion.uncovered() == ["points", "both are there"]


def test_each_malformed_field_rubric_is_refused_naming_criterion_and_field(malformed_rubric: Any) -> None:
    text = malformed_rubric.file.read_text(encoding="utf-8")
    with pytest.raises(ValidationError) as refusal:
        ExecutableRubric.model_validate_json(text)
    message = "\n".join(describe_faults(refusal.value, json.loads(text)))
    assert [part for part in malformed_rubric.faults if part not in message] == []


def test_an_empty_field_rubric_is_nothing_to_verify(field_cases: Any) -> None:
    text = (field_cases / "07-nothing-to-check" / "empty-rubric.json").read_text(encoding="utf-8")
    with pytest.raises(ValidationError, match="nothing to verify: the rubric has no criteria"):
        ExecutableRubric.model_validate_json(text)


def test_a_field_rubric_with_low_priority_alone_loads_as_any_other(field_cases: Any) -> None:
    text = (field_cases / "07-nothing-to-check" / "only-low.json").read_text(encoding="utf-8")
    assert ExecutableRubric.model_validate_json(text).criteria[0].priority == "low"


def test_a_mark_and_windows_line_ends_change_nothing(field_cases: Any) -> None:
    with_mark = (field_cases / "14-encodings" / "rubric-bom.json").read_bytes()
    with_crlf = (field_cases / "14-encodings" / "rubric-crlf.json").read_bytes()
    assert with_mark.startswith(b"\xef\xbb\xbf")
    assert b"\r\n" in with_crlf
    plain = ExecutableRubric.model_validate_json(with_crlf.replace(b"\r\n", b"\n"))
    assert ExecutableRubric.model_validate_json(with_mark.removeprefix(b"\xef\xbb\xbf")) == plain
    assert ExecutableRubric.model_validate_json(with_crlf) == plain


@pytest.mark.parametrize("case", ["22-interrupted-round", "23-stale-verdict"])
def test_rubrics_of_the_published_format_load_unchanged(field_cases: Any, case: str) -> None:
    text = (field_cases / case / ".autoscirub" / "executable_rubric.json").read_text(encoding="utf-8")
    loaded = ExecutableRubric.model_validate_json(text)
    assert loaded.model_dump(mode="json", exclude_unset=True) == json.loads(text)
