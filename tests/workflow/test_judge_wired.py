"""A judge in the workflow: when it is asked, what its word changes, and how often it was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.judged import ledger, statuses

from autoscirub.errors import ConfigError
from autoscirub.models import Answer, DecidedBy
from autoscirub.workflow import check, verify
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.judges import judge
from autoscirub.workflow.locks import freeze

# Criteria


def test_a_judge_is_asked_only_about_what_must_be_read_and_only_when_code_is_content(study, oracle) -> None:
    project = study(table=False)
    checked = check(project)
    assert {request.subject for request in oracle.ASKED} == {
        "READ"
    }  # and no hypothesis: the outcome is failed
    assert statuses(checked) == {"READ": "satisfied", "CODE": "satisfied", "BOTH": "not_satisfied"}
    (project / "out").mkdir()
    (project / "out" / "table.csv").write_text("x,y\n1,2\n")
    checked = check(project)
    assert {request.subject for request in oracle.ASKED} == {"READ", "BOTH", "hypothesis"}
    assert statuses(checked) == dict.fromkeys(("READ", "CODE", "BOTH"), "satisfied")
    decided = {entry.subject: entry.decided_by for entry in checked.report.decisions}
    assert decided == {"READ": DecidedBy.JUDGE, "CODE": DecidedBy.CODE, "BOTH": DecidedBy.JUDGE}


@pytest.mark.parametrize(
    ("scripted", "status", "answer", "word"),
    [
        (True, "satisfied", Answer.HOLDS, "satisfied"),
        (False, "not_satisfied", Answer.DOES_NOT_HOLD, "not satisfied"),
        (None, "cannot_assess", Answer.INCONCLUSIVE, "cannot assess"),
        (RuntimeError("lost"), "error", Answer.INCONCLUSIVE, "error"),
        ("no verdict at all", "error", Answer.INCONCLUSIVE, "error"),
        ('{"criterion_id": "OTHER", "satisfied": true, "evidence_found": ["x"]}', "error", None, None),
        ('{"criteria": [{"criterion_id": "READ", "satisfied": true}, {"criterion_id": "READ", "satisfied": true}]}',
         "error", None, None),
    ],
    ids=["yes", "no", "cannot tell", "crash", "prose", "another criterion", "twice"],
)  # fmt: skip
def test_what_a_judge_says_of_one_criterion_is_that_criterion_s_alone(
    study, oracle, scripted: Any, status: str, answer: Answer | None, word: str | None
) -> None:
    project = study()
    oracle.REPLIES["READ"] = scripted
    checked = check(project)
    assert statuses(checked) == {"READ": status, "CODE": "satisfied", "BOTH": "satisfied"}
    decision = checked.report.decisions[0]
    if answer is not None:
        assert (decision.answer, decision.word) == (answer, word)
    result = checked.report.criteria[0]
    assert result.satisfied is (scripted is True)
    assert result.satisfied or (result.evidence_gap and result.required_actions)
    recorded = [path.name for path in (project / ".autoscirub" / "verdicts").iterdir()]
    assert len(recorded) == (
        3 if status != "error" else 2
    )  # READ, BOTH and the hypothesis; an error is never kept


def test_an_error_is_asked_again_and_an_answer_is_not(study, oracle) -> None:
    project = study()
    oracle.REPLIES["READ"] = RuntimeError("lost")
    oracle.REPLIES["BOTH"] = None
    check(project)
    oracle.ASKED.clear()
    oracle.REPLIES["READ"] = True
    checked = check(project)
    assert [request.subject for request in oracle.ASKED] == ["READ"]
    assert statuses(checked)["BOTH"] == "cannot_assess"
    assert checked.reused == ["CODE", "BOTH"]


@pytest.mark.parametrize(
    ("cited", "problem"),
    [
        (
            {
                "evidence": [
                    {"path": "results/none.json", "at": {"kind": "key", "where": "slope"}, "value": 0.51}
                ]
            },
            "results/none.json",
        ),
        ({"evidence_found": ["results/results.json: slope = 0.77"]}, "0.77"),
        (
            {"evidence_found": ['report.md: "the slope is surely exactly one half everywhere"']},
            "surely exactly",
        ),
        ({"evidence_gap": "the interval is missing"}, "gap"),
        ({"evidence_found": []}, "evidence"),
    ],
    ids=["a missing file", "another value", "no such quotation", "a gap beside a yes", "no evidence"],
)
def test_a_yes_that_does_not_bear_a_look_inconclusive_saying_why(
    study, oracle, cited: dict[str, Any], problem: str
) -> None:
    project = study()
    reply = {
        "criterion_id": "READ", "reasoning": "results/results.json: slope = 0.51.",
        "evidence_found": ["results/results.json: slope = 0.51"], "evidence_gap": "", "required_actions": [],
        "artifact_references": ["results/results.json"], "confidence": 1, "satisfied": True, **cited,
    }  # fmt: skip
    oracle.REPLIES["READ"] = json.dumps(reply)
    checked = check(project)
    assert statuses(checked)["READ"] == "cannot_assess"
    [part] = checked.report.decisions[0].parts
    assert any(problem in line for line in part.open), part.open


def test_a_panel_answers_with_the_one_value_that_enough_members_give(study, oracle) -> None:
    project = study("repeats = 5\nagree = 3\n")
    oracle.REPLIES["READ"] = [True, False, True, None, True]
    oracle.REPLIES["BOTH"] = [True, False, True, False, None]
    checked = check(project)
    assert statuses(checked) == {"READ": "satisfied", "CODE": "satisfied", "BOTH": "cannot_assess"}
    note = checked.report.decisions[0].parts[0].evidence[0].note
    assert "3 of 5 members agree, 3 needed" in note
    assert [line["member"] for line in ledger(project) if line["subject"] == "READ"] == [1, 2, 3, 4, 5]
    assert {line["ask"] for line in ledger(project)} == {1}


MANY = "".join(
    f"""
[[criteria]]
id = "C{number}"
requirement = "Table {number} is explained."
required_analysis = ["explain table {number}"]
checks = [{{ id = "t", kind = "artifact", path = "out/t{number}.csv" }}]
"""
    for number in range(200)
)


@pytest.mark.slow
def test_of_two_hundred_criteria_the_one_whose_artifact_changed_is_asked_again(study, oracle) -> None:
    project = study(rubric=MANY)
    for number in range(200):
        (project / "out" / f"t{number}.csv").write_text(f"x,y\n{number},2\n")
    first = check(project)
    assert len({request.subject for request in oracle.ASKED}) == 201
    assert first.ended.state == "satisfied"
    oracle.ASKED.clear()
    (project / "out" / "t7.csv").write_text("x,y\n7,3\n")
    second = check(project)
    assert [request.subject for request in oracle.ASKED if request.kind == "criterion"] == ["C7"]
    assert second.evaluated == ["C7"]
    [again] = [result for result in second.report.criteria if result.criterion_id == "C7"]
    assert "shown: out/t7.csv" in again.asked_again_because


def test_a_change_of_the_report_asks_what_was_shown_it_and_says_so(study, oracle) -> None:
    project = study()
    check(project)
    oracle.ASKED.clear()
    (project / "report.md").write_text("# Slope\n\nThe slope is 0.51, which is near one half, as expected.\n")
    checked = check(project)
    assert {request.subject for request in oracle.ASKED if request.kind == "criterion"} == {"READ", "BOTH"}
    assert "report" in checked.report.criteria[0].asked_again_because
    # Labelled with the judge that really answered, not with the one that was asked for.
    assert checked.report.decisions[0].parts[0].evidence[0].note.startswith("judge oracle (oracle-1)")
    oracle.ASKED.clear()
    (project / "report.md").touch()
    check(project)
    assert oracle.ASKED == []


# Asks


def test_asking_again_with_a_changed_space_shows_in_the_audit_and_meets_the_cap(study, oracle) -> None:
    project = study("asks_per_round = 4\n")
    oracle.REPLIES["READ"] = False
    for spaces in range(10):
        (project / "report.md").write_text(
            "# Slope\n\nThe slope is 0.51, near one half." + " " * spaces + "\n"
        )
        if spaces == 3:
            oracle.REPLIES["READ"] = True
        checked = check(project)
    asks = [line["ask"] for line in ledger(project) if line["subject"] == "READ"]
    assert asks == [1, 2, 3, 4]
    assert statuses(checked)["READ"] == "cannot_assess"
    assert "judge.asks_per_round is 4" in checked.report.criteria[0].evidence_gap
    assert "READ: yes on ask 4 of 4, not before" in audit(project).basis.asks
    dry = judge(project, "READ", dry_run=True)
    assert dry.calls == 1


def test_a_yes_after_a_no_says_on_which_ask_and_what_it_turned_with(study, oracle) -> None:
    project = study()
    oracle.REPLIES["READ"] = False
    check(project)
    (project / "notes.txt").write_text("nothing that matters\n")  # shown, since READ names no file
    oracle.REPLIES["READ"] = True
    checked = check(project)
    reasons = checked.report.decisions[0].parts[0].open
    assert any("satisfied on ask 2 of 2, not before" in line for line in reasons), reasons
    assert any(
        "turned from not satisfied to satisfied with a change of notes.txt" in line for line in reasons
    ), reasons


def test_asking_once_more_for_the_same_is_an_ask_too(study, oracle) -> None:
    project = study()
    oracle.REPLIES["READ"] = False
    check(project)
    oracle.REPLIES["READ"] = True
    run = judge(project, "READ", fresh=True)
    [decision] = run.decisions
    assert decision.answer is Answer.HOLDS
    assert (decision.asks.ask, decision.asks.of) == (2, 2)
    assert any("satisfied on ask 2 of 2, not before" in line for line in decision.open)


# The hypothesis


TABLE = [
    # the predictions, the judge, strict, the outcome, what the headline says of the judge
    ("hold", True, False, "verified", "the judge agrees"),
    ("hold", False, False, "verified", "the judge disagrees"),
    ("hold", None, False, "verified", "the judge cannot tell"),
    ("hold", RuntimeError("lost"), False, "verified", "the judge failed"),
    ("hold", True, True, "verified", "the judge agrees"),
    ("hold", False, True, "refuted", "the judge disagrees"),
    ("hold", None, True, "failed", "the judge cannot tell"),
    ("hold", RuntimeError("lost"), True, "failed", "the judge failed"),
    ("fail", True, False, "refuted", "the judge agrees"),
    ("fail", True, True, "refuted", "the judge agrees"),
    ("fail", None, True, "refuted", "the judge cannot tell"),
    ("missing", True, False, "failed", "not judged"),
    ("missing", False, True, "failed", "not judged"),
    ("no results", True, True, "failed", "not judged"),
]


@pytest.mark.parametrize(("predictions", "scripted", "strict", "outcome", "word"), TABLE)
def test_the_outcome_is_the_reference_s_row_by_row(
    study, oracle, predictions: str, scripted: Any, strict: bool, outcome: str, word: str
) -> None:
    project = study(width=0.001 if predictions == "fail" else 0.1, table=predictions != "missing")
    if predictions == "no results":
        (project / "results" / "results.json").unlink()
    oracle.REPLIES["hypothesis"] = scripted
    verification = verify(project, strict=strict).verification
    assert verification.outcome.value == outcome
    assert f" · {word} · " in verification.headline
    assert (verification.judge is None) is (word in ("not judged", "the judge failed"))
    assert verify_record(project).ok


def test_the_verdict_in_the_file_has_the_reference_s_shape(study, oracle) -> None:
    project = study()
    verify(project)
    recorded = json.loads((project / ".autoscirub" / "verification.json").read_text())["judge"]
    assert recorded["supports_hypothesis"] is True
    assert recorded["confidence"] == 0.7
    assert recorded["concerns"] == ["one seed only"]
    assert recorded["reasoning"] == "The slope was looked at."


def test_strict_without_a_judge_is_refused(slope_project: Path, write_results) -> None:
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    with pytest.raises(ConfigError, match="no judge is set up"):
        verify(slope_project, strict=True)


# A verdict that code set aside is asked for again; a judge's own null is not


def test_a_verdict_that_was_set_aside_is_asked_for_again_twice_a_round(study, oracle) -> None:
    project = study()
    unfounded = json.dumps({"criterion_id": "READ", "reasoning": "yes", "satisfied": True})
    oracle.REPLIES["READ"] = unfounded
    for _ in range(5):
        assert statuses(check(project))["READ"] == "cannot_assess"
    asked = [line["ask"] for line in ledger(project) if line["subject"] == "READ"]
    assert asked == [1, 2, 3]
    # One line of the ledger for an ask, its question back included.
    assert len([request for request in oracle.ASKED if request.subject == "READ"]) == 6


def test_once_it_brings_evidence_the_verdict_counts_and_is_reused(study, oracle) -> None:
    project = study()
    oracle.REPLIES["READ"] = json.dumps({"criterion_id": "READ", "reasoning": "yes", "satisfied": True})
    assert statuses(check(project))["READ"] == "cannot_assess"
    oracle.REPLIES["READ"] = True
    assert statuses(check(project))["READ"] == "satisfied"
    asked = len(oracle.ASKED)
    assert statuses(check(project))["READ"] == "satisfied"
    assert len(oracle.ASKED) == asked


def test_a_judge_s_own_null_is_an_answer_and_is_not_asked_for_again(study, oracle) -> None:
    project = study()
    oracle.REPLIES["READ"] = None
    for _ in range(3):
        assert statuses(check(project))["READ"] == "cannot_assess"
    assert len([line for line in ledger(project) if line["subject"] == "READ"]) == 1


def test_how_often_it_asks_again_is_a_setting(study, oracle) -> None:
    project = study("asks_again = 0\n")
    oracle.REPLIES["READ"] = json.dumps({"criterion_id": "READ", "reasoning": "yes", "satisfied": True})
    for _ in range(3):
        check(project)
    assert len([line for line in ledger(project) if line["subject"] == "READ"]) == 1
