"""A judge that answers by a script, calibrated through the backend `command`: rates, resuming, binding, the ledger."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.calibration import scripted

from autoscirub.errors import CheckError, ConfigError, JudgeError, TrustError
from autoscirub.models import Answer
from autoscirub.workflow import check, verify_criterion
from autoscirub.workflow.audit import audit, verify_record
from autoscirub.workflow.calibration import calibrate
from autoscirub.workflow.status import status

FEW = {"good": "satisfied", "bad": "not_satisfied"}


def answers(folder: Path) -> dict[str, list[bool | None]]:
    return {
        case["case"]: [answer["answer"] for answer in case["answers"]]
        for case in scripted.recorded(folder)["cases"]
    }


# Rates


@pytest.mark.slow
def test_forty_scripted_cases_give_the_rates_and_intervals_of_an_independent_computation(
    tmp_path: Path,
) -> None:
    from scipy.stats import binomtest

    project = scripted.project(tmp_path)
    labels = {f"good-{n:02}": "satisfied" for n in range(20)} | {
        f"bad-{n:02}": "not_satisfied" for n in range(20)
    }
    # Of 20 good ones 17 are passed, two are not, one is inconclusive; of 20 bad ones 3 are passed, one inconclusive.
    wrong = {"good-03": ["no"], "good-11": ["no"], "good-17": ["cannot tell"], "bad-05": ["cannot tell"]}
    wrong |= {f"bad-{n:02}": ["yes"] for n in (2, 9, 16)}
    script = {name: ["no"] for name in labels if name.startswith("bad")} | wrong
    scripted.script(tmp_path, script)
    run = calibrate(project, scripted.cases(tmp_path, labels))
    assert (run.calls, run.failures) == (120, [])
    rates = scripted.recorded(project)["rates"]
    for name, satisfied in (("true_positive", 17), ("false_positive", 3)):
        expected = binomtest(satisfied, 20).proportion_ci(0.95, method="wilson")
        rate = rates[name]
        assert (rate["cases"], rate["answers"], rate["satisfied"], rate["inconclusive"]) == (
            20,
            60,
            3 * satisfied,
            3,
        )
        assert rate["rate"] == pytest.approx(satisfied / 20)
        assert (rate["low"], rate["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (rates["repeated"], rates["identical"], rates["pairwise"]) == (40, 1.0, 1.0)
    [decision] = run.decisions
    assert (decision.answer, decision.word) == (Answer.HOLDS, "measured")
    assert verify_record(project).ok


def test_repeats_that_differ_are_counted_and_lower_the_agreement(tmp_path: Path) -> None:
    project = scripted.project(tmp_path, "at_once = 1\n")
    scripted.script(tmp_path, {"good": ["yes", "no", "yes"], "bad": ["no", "cannot tell", "yes"]})
    calibrate(project, scripted.cases(tmp_path, FEW))
    assert answers(project) == {"good": [True, False, True], "bad": [False, None, True]}
    rates = scripted.recorded(project)["rates"]
    assert rates["true_positive"]["rate"] == pytest.approx(2 / 3)
    assert rates["false_positive"]["rate"] == pytest.approx(1 / 3)
    assert (rates["identical"], rates["pairwise"]) == (0.0, pytest.approx(1 / 6))


def test_a_panel_is_calibrated_as_a_panel(tmp_path: Path) -> None:
    project = scripted.project(tmp_path, "at_once = 1\nrepeats = 3\nagree = 2\n")
    scripted.script(tmp_path, {"good": ["yes", "yes", "no"], "bad": ["no", "yes", "cannot tell"]})
    run = calibrate(project, scripted.cases(tmp_path, FEW), repeats=1)
    assert run.calls == 6
    assert answers(project) == {"good": [True], "bad": [None]}


def test_one_label_alone_leaves_the_other_rate_unknown(tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    run = calibrate(project, scripted.cases(tmp_path, {"good": "satisfied"}), repeats=1)
    [decision] = run.decisions
    assert (decision.answer, decision.word) == (Answer.INCONCLUSIVE, "incomplete")
    assert decision.open == [
        "no case labelled not_satisfied has an answer, so the false positive rate is unknown"
    ]
    assert scripted.recorded(project)["rates"]["false_positive"]["rate"] is None


# What the judge sees


def test_the_judge_sees_the_work_of_its_case_and_neither_label_nor_name(tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, {"labelled-good": "satisfied", "labelled-bad": "not_satisfied"})
    copied = cases / "labelled-bad" / "results"
    copied.mkdir()
    (copied / "copy.txt").write_bytes((cases / "labelled-bad" / "case.toml").read_bytes())
    (copied / "results.json").write_text('{"slope": 0.51}')
    for name in ("labelled-good", "labelled-bad"):
        (cases / name / "report.md").write_text(f"The slope is 0.51 in {name[-3:]}.\n")
    calibrate(project, cases, repeats=1)
    sent = scripted.requests(tmp_path)
    assert sorted(len(request["files"]) for request in sent) == [1, 2]
    for request in sent:
        text = json.dumps(request)
        for canary in (
            "labelled",
            "not_satisfied",
            "LABELLED-BY-HAND",
            "case.toml",
            "copy.txt",
            str(tmp_path),
        ):
            assert canary not in text.replace('"satisfied"', "")
        assert {file["path"] for file in request["files"]} <= {"report.md", "results/results.json"}
        assert request["subject"] == "C1"


def test_a_criterion_is_asked_about_as_in_a_rubric(tmp_path: Path) -> None:
    """The prompt on a case, apart from its random code, is the one on the same criterion of the same work."""
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    (project / "rubric.toml").write_text(
        '[[criteria]]\nid = "C1"\nrequirement = "The report states the slope."\n'
    )
    (project / "report.md").write_bytes((cases / "good" / "report.md").read_bytes())
    calibrate(project, cases, repeats=1)
    verify_criterion(project, "C1")
    alike = [request for request in scripted.requests(tmp_path) if "in good." in request["prompt"]]
    assert len(alike) == 2
    for request in alike:
        code = re.search(r"judged ([0-9a-f]{32})", request["prompt"])
        assert code
        del request["workspace"]
        request["prompt"] = request["prompt"].replace(code[1], "CODE")
    assert alike[0] == alike[1]


# Resuming


def test_the_same_command_again_asks_nobody_and_records_nothing(tmp_path: Path, tree: Any) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    calibrate(project, cases, repeats=2)
    before = tree(project / ".autoscirub" / "history.bundle"), scripted.recorded(project)
    run = calibrate(project, cases, repeats=2)
    assert (run.calls, run.reused, run.spent) == (0, 4, "")
    assert (tree(project / ".autoscirub" / "history.bundle"), scripted.recorded(project)) == before
    assert scripted.asked(tmp_path) == {"good": 2, "bad": 2}


@pytest.mark.slow
def test_more_repeats_a_new_case_and_another_label_ask_only_what_is_missing(tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    calibrate(project, cases, repeats=1)
    assert calibrate(project, cases, repeats=3).calls == 4
    scripted.cases(tmp_path, {"more": "satisfied"})
    assert calibrate(project, cases, repeats=3).calls == 3
    (cases / "bad" / "case.toml").write_text(scripted.CASE.format(label="satisfied"))
    assert calibrate(project, cases, repeats=3).calls == 0
    assert scripted.recorded(project)["rates"]["true_positive"]["cases"] == 3
    (cases / "bad" / "report.md").write_text("The slope is 0.52 in bad.\n")
    assert calibrate(project, cases, repeats=3).calls == 3
    assert calibrate(project, cases, repeats=1, fresh=True).calls == 3


COMMAND = [sys.executable, "-m", "autoscirub", "calibrate", "--json", "--repeats", "2"]


def interrupted(root: Path) -> int:
    """Calibrate in a process of its own, which the judge ends. Its exit status."""
    server = str(Path(__file__).resolve().parents[3] / "server")
    with subprocess.Popen(
        [*COMMAND, "--project", str(root / "project"), str(root / "cases")],
        env={**os.environ, "PYTHONPATH": server},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        (root / "tools" / "pid").write_text(str(process.pid))
        return process.wait(timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_ended_in_the_middle_and_started_again_it_asks_nothing_twice(tmp_path: Path, how: str) -> None:
    project = scripted.project(tmp_path, "at_once = 1\n")
    labels = {"a": "satisfied", "b": "not_satisfied", "c": "satisfied"}
    cases = scripted.cases(tmp_path, labels)
    # At the second question on b it is ended: a, b, c and a are answered.
    scripted.script(tmp_path, {"b": ["no", how, "no"]})
    assert interrupted(tmp_path) == (-signal.SIGKILL if how == "SIGKILL" else 130)
    assert scripted.asked(tmp_path) == {"a": 2, "b": 2, "c": 1}
    if how == "SIGINT":  # what was answered is recorded already
        assert (scripted.recorded(project)["missing"], len(scripted.ledger(project))) == (2, 5)
    else:
        assert not (project / ".autoscirub" / "calibration.json").exists()
    run = calibrate(project, cases, repeats=2)
    assert (run.reused, run.calls) == (4, 2)
    # Asked again is the one question whose answer never came, and nothing else.
    assert scripted.asked(tmp_path) == {"a": 2, "b": 3, "c": 2}
    assert answers(project) == {"a": [True, True], "b": [False, False], "c": [True, True]}
    assert scripted.recorded(project)["missing"] == 0
    lines = scripted.ledger(project)
    assert len(lines) == 7
    assert [line["error"] for line in lines if line["error"]] == ["cut off: no answer came"]
    assert not (project / ".autoscirub" / ".lock.asking").exists()
    assert verify_record(project).ok


@pytest.mark.slow
def test_the_calls_of_a_killed_calibration_are_recorded_by_whichever_command_comes_next(
    tmp_path: Path,
) -> None:
    project = scripted.project(tmp_path, "at_once = 1\n")
    cases = scripted.cases(tmp_path, {"a": "satisfied", "b": "not_satisfied"})
    scripted.script(tmp_path, {"b": ["SIGKILL", "no"]})
    assert interrupted(tmp_path) == -signal.SIGKILL
    (project / "rubric.toml").write_text(
        '[[criteria]]\nid = "case a"\nrequirement = "The report states the slope."\n'
    )
    (project / "report.md").write_text("The slope is 0.51 in p.\n")
    verify_criterion(project, "case a")
    kinds = [(line["kind"], line["subject"]) for line in scripted.ledger(project)]
    assert kinds == [("calibration", "case a"), ("calibration", "case b"), ("criterion", "case a")]
    run = calibrate(project, cases, repeats=2)
    assert (run.reused, run.calls) == (1, 3)
    assert verify_record(project).ok


def test_an_answer_that_came_with_the_project_is_none(tmp_path: Path) -> None:
    """`calibration.json` counts as the record has it; a file that was put there by hand is set aside."""
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    calibrate(project, cases, repeats=1)
    file = project / ".autoscirub" / "calibration.json"
    forged = scripted.recorded(project)
    forged["cases"][0]["answers"][0]["answer"] = not forged["cases"][0]["answers"][0]["answer"]
    file.write_text(json.dumps(forged))
    assert not verify_record(project).ok
    calibrate(project, cases, repeats=2)
    assert answers(project) == {"bad": [True, True], "good": [True, True]}
    assert verify_record(project).ok


# Failures and money


def test_a_failure_is_no_answer_and_is_asked_about_again(tmp_path: Path) -> None:
    project = scripted.project(tmp_path, "at_once = 1\n")
    cases = scripted.cases(tmp_path, FEW)
    scripted.script(tmp_path, {"bad": ["no", "fail", "no"]})
    run = calibrate(project, cases, repeats=2)
    [decision] = run.decisions
    assert (decision.answer, run.calibration.missing if run.calibration else None) == (Answer.INCONCLUSIVE, 1)
    assert any("bad: " in line and "the model is gone" in line for line in decision.open)
    assert calibrate(project, cases, repeats=2).calls == 1
    assert answers(project) == {"good": [True, True], "bad": [False, False]}


def test_a_judge_that_is_not_there_is_not_asked_about_every_case(tmp_path: Path) -> None:
    project = scripted.project(tmp_path, "at_once = 1\n")
    labels = {f"c{number:02}": "satisfied" for number in range(12)}
    cases = scripted.cases(tmp_path, labels)
    scripted.script(tmp_path, {name: ["fail"] for name in labels})
    run = calibrate(project, cases, repeats=1)
    assert run.calls == sum(scripted.asked(tmp_path).values()) == 5
    assert "failed 5 times in a row" in run.failures[-1]
    assert not (project / ".autoscirub" / "calibration.json").exists()
    assert len(scripted.ledger(project)) == 5


@pytest.mark.parametrize(
    ("settings", "money", "calls", "key"),
    [
        ("", 0.035, 3, "--money"),
        ("money_round = 0.025\n", 1.0, 2, "judge.money_round"),
        ("money_day = 0.015\n", None, 1, "judge.money_day"),
    ],
)
def test_money_bounds_it(study, oracle, tmp_path: Path, settings, money, calls, key) -> None:
    project = study(f"at_once = 1\n{settings}")
    cases = scripted.cases(tmp_path, {f"c{number}": "satisfied" for number in range(6)})
    assert calibrate(project, cases, repeats=1, money=money, dry_run=True).price == pytest.approx(0.06)
    run = calibrate(project, cases, repeats=1, money=money)
    assert (run.calls, len(oracle.ASKED)) == (calls, calls)
    assert any("money limit reached" in line and f"({key})" in line for line in run.failures)


# The judge that it is bound to


@pytest.mark.slow
def test_it_is_stale_where_the_judge_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from autoscirub.judging import prompts
    from autoscirub.workflow.calibration import stale

    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    assert status(project).calibration == ""
    calibrate(project, cases, repeats=1)
    assert status(project).calibration.startswith(
        "judge command on 2 labelled cases × 1: true positive rate 1.000"
    )
    config = project / "autoscirub.toml"
    own = config.read_text()
    for change, why in (
        (own + 'model = "other"\n', "stale, since the model was none and is other"),
        (
            own + "repeats = 3\nagree = 2\n",
            "stale, since the panel (members, alike) was (1, 1) and is (3, 2)",
        ),
        (own.replace('"command"\n', '"replay"\nreplay = "r"\n'), "the backend was command and is replay"),
        (own.replace('"command"\n', '"none"\n'), "the backend was command and is none"),
        (own.replace("judge.py", "nosuch.py"), "stale, since the backend's own settings changed"),
    ):
        config.write_text(change)
        assert why in status(project).calibration, change
    config.write_text(own)
    assert "stale" not in status(project).calibration
    judge = tmp_path / "tools" / "judge.py"
    judge.write_text(judge.read_text() + "# another version\n")
    assert "the backend's own settings changed" in status(project).calibration
    assert calibrate(project, cases, repeats=1).calls == 2
    assert "stale" not in status(project).calibration
    assert prompts.PROMPT_VERSION == stale.PROMPT_VERSION
    monkeypatch.setattr(stale, "PROMPT_VERSION", "next")
    assert "the prompt's version was" in status(project).calibration


def test_a_change_of_the_judge_asks_about_everything_again(tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    calibrate(project, cases, repeats=1)
    config = project / "autoscirub.toml"
    config.write_text(config.read_text() + 'model = "other"\n')
    scripted.trust(project)
    assert calibrate(project, cases, repeats=1).calls == 2
    assert scripted.recorded(project)["model"] == "other"


# The ledger, and the audit


def test_asks_of_a_calibration_are_of_their_own_kind_and_count_for_nothing_else(
    study, oracle, tmp_path: Path
) -> None:
    project = study("asks_per_round = 1\nmoney_round = 0.05\n")
    text = scripted.CASE.replace('"C1"', '"READ"')
    cases = scripted.cases(tmp_path, FEW)
    for label, name in (("satisfied", "good"), ("not_satisfied", "bad")):
        (cases / name / "case.toml").write_text(text.format(label=label))
        (cases / name / "run.py").write_text("print('runs')\n")
    oracle.REPLIES["READ"] = scripted.verdict("READ", yes=False)
    calibrate(project, cases, repeats=2)
    oracle.REPLIES["READ"] = scripted.verdict("READ")
    lines = scripted.ledger(project)
    assert {(line["kind"], line["round"], line["cost_usd"]) for line in lines} == {
        ("calibration", None, 0.01)
    }
    assert sorted(line["ask"] for line in lines if line["subject"] == "case good") == [1, 2]  # asked at once
    checked = check(project)
    assert checked.report.criteria[0].status == "satisfied"
    basis = audit(project).basis
    assert "besides 4 calls to calibrate, $0.04 paid" in basis.asks
    assert "asked 2 times" not in basis.asks
    assert not any("not before" in line for line in basis.asks.split(";"))


def test_the_audit_says_how_often_the_judge_is_right(study, oracle, tmp_path: Path) -> None:
    from autoscirub.workflow import check

    project = study("")
    oracle.REPLIES |= {name: scripted.verdict(name) for name in ("READ", "BOTH", "C1")}
    assert audit(project).basis.calibration == ""
    check(project)
    assert audit(project).basis.calibration == "none: how often this judge is right was not measured"
    calibrate(project, scripted.cases(tmp_path, FEW), repeats=1)
    found = audit(project).basis.calibration
    assert "judge oracle (oracle-1) on 2 labelled cases × 1" in found
    assert "stale" not in found


def test_the_audit_says_where_the_verdicts_are_of_another_judge(
    study, oracle, tmp_path: Path, monkeypatch
) -> None:
    project = study("")
    oracle.REPLIES |= {name: scripted.verdict(name) for name in ("READ", "BOTH", "C1")}
    calibrate(project, scripted.cases(tmp_path, FEW), repeats=1)
    monkeypatch.setattr(oracle.Oracle, "settings", lambda _self: {"backend": "oracle", "temperature": 1})
    check(project)
    assert "stale, since the backend's own settings changed" in audit(project).basis.calibration


# Bad requests


def test_a_dry_run_asks_nobody_and_writes_nothing(tmp_path: Path, tree: Any) -> None:
    project = scripted.project(tmp_path, trusted=False)
    cases = scripted.cases(tmp_path, FEW)
    before = tree(tmp_path)
    run = calibrate(project, cases, dry_run=True)
    assert (run.calls, run.price, run.calibration) == (6, None, None)
    assert tree(tmp_path) == before


def test_without_trust_or_a_judge_nobody_is_asked(tmp_path: Path) -> None:
    project = scripted.project(tmp_path, trusted=False)
    cases = scripted.cases(tmp_path, FEW)
    with pytest.raises(TrustError, match=r"judge \(command\) is not trusted"):
        calibrate(project, cases)
    (project / "autoscirub.toml").write_text("")
    with pytest.raises(ConfigError, match="no judge is set up"):
        calibrate(project, cases)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"repeats": 0}, "expected 1 to 99"),
        ({"repeats": 100}, "1 to 99"),
        ({"money": 0.0}, "more than 0"),
        ({"money": float("nan")}, "more than 0"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(CheckError, match=why):
        calibrate(scripted.project(tmp_path), tmp_path, **options)


def test_two_cases_that_are_the_same_are_refused(tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    (cases / "bad" / "report.md").write_bytes((cases / "good" / "report.md").read_bytes())
    with pytest.raises(
        CheckError, match="bad and good: the same criterion on the same files, labelled not_satisfied and"
    ):
        calibrate(project, cases)


def test_a_failing_oracle_is_named(study, oracle, tmp_path: Path) -> None:
    project = study("")
    oracle.REPLIES["C1"] = JudgeError("judge oracle: no answer")
    run = calibrate(project, scripted.cases(tmp_path, FEW), repeats=1)
    assert sorted(run.failures) == ["bad: judge oracle: no answer", "good: judge oracle: no answer"]
