from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from pydantic import ValidationError

from autoscirub.models.faults import describe_faults
from autoscirub.models.report import CriterionResult, VerificationReport


def faults_of(data: Any) -> list[str]:
    try:
        VerificationReport.model_validate_json(json.dumps(data))
    except ValidationError as error:
        return describe_faults(error, data)
    return []


def test_a_report_with_every_field_loads(report: dict[str, Any]) -> None:
    loaded = VerificationReport.model_validate_json(json.dumps(report))
    assert loaded.criteria[0].reused_from_round == 1
    assert loaded.decisions[0].answer == "holds"


AGREE = [
    # satisfied, status, whether they agree
    (True, "satisfied", True),
    (True, "not_satisfied", False),
    (True, "cannot_assess", False),
    (True, "error", False),
    (True, None, True),
    (False, "satisfied", False),
    (False, "not_satisfied", True),
    (False, "cannot_assess", True),
    (False, "error", True),
    (False, None, True),
]


@pytest.mark.parametrize(("satisfied", "status", "agree"), AGREE)
def test_satisfied_is_true_when_and_only_when_the_status_says_so(
    satisfied: bool, status: Any, agree: bool
) -> None:
    entry = {"criterion_id": "C1", "satisfied": satisfied, "status": status}
    if agree:
        assert CriterionResult.model_validate(entry).satisfied is satisfied
    else:
        with pytest.raises(ValidationError, match="the two must agree"):
            CriterionResult.model_validate(entry)


ALL_SATISFIED = [
    # the criteria's flags, all_satisfied, whether the report stands
    ([], False, True),
    ([], True, False),
    ([True], True, True),
    ([True], False, True),  # the rubric may have criteria that this file leaves out
    ([False], True, False),
    ([False], False, True),
    ([True, False], True, False),
    ([True, True], True, True),
]


@pytest.mark.parametrize(("flags", "claimed", "stands"), ALL_SATISFIED)
def test_all_satisfied_needs_criteria_and_every_one_satisfied(
    flags: list[bool], claimed: bool, stands: bool
) -> None:
    data = {
        "round": 1,
        "all_satisfied": claimed,
        "criteria": [{"criterion_id": f"C{index}", "satisfied": flag} for index, flag in enumerate(flags)],
    }
    assert bool(faults_of(data)) is not stands
    if not stands:
        assert "all_satisfied: true, but" in faults_of(data)[0]


REFUSED = [
    (["round"], 0, "round: "),
    (["round"], 1.5, "round: "),
    (["round"], True, "round: "),
    (["round"], "1", "round: "),
    (["all_satisfied"], 0, "all_satisfied: "),
    (["all_satisfied"], "false", "all_satisfied: "),
    (["criteria", 0, "satisfied"], "yes", "criteria[0].satisfied (criterion 'C1')"),
    (["criteria", 0, "satisfied"], 1, "criteria[0].satisfied (criterion 'C1')"),
    (["criteria", 0, "satisfied"], None, "criteria[0].satisfied (criterion 'C1')"),
    (["criteria", 0, "status"], "fine", "criteria[0].status (criterion 'C1')"),
    (["criteria", 0, "evidence_found"], "report.md", "criteria[0].evidence_found (criterion 'C1')"),
    (["criteria", 0, "reused_from_round"], 0, "criteria[0].reused_from_round (criterion 'C1')"),
    (["criteria", 1, "criterion_id"], "c1", "criteria[1].criterion_id (criterion 'c1')"),
    (["summary", "passed"], 2, "summary.passed: 2, but the criteria count to 1"),
    (["summary", "failed"], 0, "summary.failed: 0, but the criteria count to 1"),
    (["summary", "passed"], -1, "summary.passed: "),
    (["decisions", 0, "answer"], "yes", "decisions[0].answer"),
    (["decisions", 0, "evidence", 0, "value"], float("nan"), "decisions[0].evidence[0].value"),
    (["judge_model"], float("inf"), "judge_model: "),
]


@pytest.mark.parametrize(("path", "value", "message"), REFUSED)
def test_a_report_is_refused_naming_the_field(
    report: dict[str, Any], path: list[Any], value: Any, message: str
) -> None:
    target: Any = report
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    faults = faults_of(report)
    assert any(message in fault for fault in faults), faults


def test_a_summary_that_was_left_out_is_counted(report: dict[str, Any]) -> None:
    del report["summary"]
    summary = VerificationReport.model_validate_json(json.dumps(report)).summary
    assert (summary.passed, summary.failed, summary.highest_priority_gaps) == (1, 1, [])


def test_a_summary_that_is_null_is_refused(report: dict[str, Any]) -> None:
    assert "summary: " in faults_of({**report, "summary": None})[0]


def test_a_counted_report_cannot_claim_more_than_its_criteria() -> None:
    results = [
        CriterionResult(criterion_id="C1", satisfied=True, status="satisfied"),
        CriterionResult(criterion_id="C2", satisfied=False, status="error"),
    ]
    report = VerificationReport.counted(round=3, criteria=results, highest_priority_gaps=["C2"])
    assert (report.all_satisfied, report.summary.passed, report.summary.failed) == (False, 1, 1)
    assert VerificationReport.counted(round=3, criteria=results[:1]).all_satisfied is True
    assert VerificationReport.counted(round=3, criteria=[]).all_satisfied is False


def test_all_satisfied_cannot_be_set_by_hand_afterwards(report: dict[str, Any]) -> None:
    loaded = VerificationReport.model_validate_json(json.dumps(report))
    with pytest.raises(ValidationError, match="true, but not satisfied: C2"):
        loaded.all_satisfied = True


def test_loading_a_report_leaves_the_data_as_it_was(report: dict[str, Any]) -> None:
    del report["summary"], report["decisions"]
    before = copy.deepcopy(report)
    VerificationReport.model_validate(report)
    assert report == before


def test_a_field_report_that_is_satisfied_on_nothing_is_refused(field_cases: Any) -> None:
    text = (field_cases / "07-nothing-to-check" / "verification_report.json").read_text(encoding="utf-8")
    with pytest.raises(ValidationError, match="nothing to verify"):
        VerificationReport.model_validate_json(text)


FIELD_REPORTS = [
    "22-interrupted-round/.autoscirub/verification_report.json",
    "22-interrupted-round/.autoscirub/revisions/round-001/verification.json",
    "22-interrupted-round/.autoscirub/revisions/round-10/verification.json",
    "23-stale-verdict/.autoscirub/verification_report.json",
]


@pytest.mark.parametrize("path", FIELD_REPORTS)
def test_field_reports_of_the_published_format_load_and_keep_what_is_not_ours(
    field_cases: Any, path: str
) -> None:
    text = (field_cases / path).read_text(encoding="utf-8")
    loaded = VerificationReport.model_validate_json(text)
    assert loaded.model_dump(mode="json", exclude_unset=True) == json.loads(text)


def test_a_field_report_that_was_cut_off_is_refused(field_cases: Any) -> None:
    path = field_cases / "22-interrupted-round/.autoscirub/revisions/round-002/verification.json"
    with pytest.raises(ValidationError, match="Invalid JSON"):
        VerificationReport.model_validate_json(path.read_bytes())
