"""`calibrate`, through the real command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.workflow.calibration import scripted

FEW = {"good": "satisfied", "bad": "not_satisfied"}


@pytest.mark.slow
def test_it_prints_rates_agreement_and_where_the_judge_was_wrong(cli, tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, {**FEW, "worse": "not_satisfied"})
    scripted.script(tmp_path, {"bad": ["yes"], "worse": ["no"]})
    ran = cli("calibrate", cases, "--project", project, "--repeats", "2")
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "✓ calibration: measured · judge command, prompt " + lines[0].split("prompt ")[1]
    assert lines[0].endswith(" · 3 cases × 2")
    assert (
        "  true positive rate   1.000 (95 % interval 0.207 to 1.000); satisfied 2 of 2 times on 1 case"
        in lines[1]
    )
    assert (
        "  false positive rate  0.500 (95 % interval 0.095 to 0.905); satisfied 2 of 4 times on 2 case"
        in lines[2]
    )
    assert lines[3] == "  inconclusive         0 of 6 answers, never counted as right"
    assert lines[4] == "  repeats              all agree on 100.0% of 3 cases; two of them agree in 100.0%"
    assert lines[5] == "  bad, labelled not satisfied: satisfied 2 of 2 times"
    assert lines[6].startswith("    The report was read: ")
    assert lines[7] == "6 calls: $0 spent, the cost of 6 more unknown"
    assert len(lines) == 8
    assert (
        "judge     judge command on 3 labelled cases × 2: true positive rate 1.000"
        in cli("status", "--project", project).out
    )
    assert "calibration: judge command on 3 labelled cases × 2" in cli("audit", "--project", project).out
    assert cli("validate", "--project", project).status == 0


def test_as_json_it_is_one_document(cli, tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    cases = scripted.cases(tmp_path, FEW)
    ran = cli("calibrate", cases, "--project", project, "--repeats", "1", "--dry-run", "--json")
    assert (ran.status, ran.json["ok"], ran.json["decisions"], ran.json["calls"], ran.json["price"]) == (
        0,
        True,
        [],
        2,
        None,
    )
    ran = cli("calibrate", cases, "--project", project, "--repeats", "1", "--json")
    assert (ran.status, ran.json["ok"], ran.json["calls"]) == (0, True, 2)
    [decision] = ran.json["decisions"]
    assert (decision["subject"], decision["answer"], decision["word"]) == ("calibration", "holds", "measured")
    assert ran.json["calibration"]["rates"]["false_positive"]["rate"] == 1.0


def test_what_is_missing_is_status_2(cli, tmp_path: Path) -> None:
    project = scripted.project(tmp_path)
    scripted.script(tmp_path, {"bad": ["fail"]})
    ran = cli("calibrate", scripted.cases(tmp_path, FEW), "--project", project, "--repeats", "1")
    assert ran.status == 2
    assert ran.out.startswith("? calibration: incomplete")
    assert "1 answers are missing; the same command asks for them again" in ran.out


REFUSED = [
    (["nosuch"], "CheckError", "nosuch: is not there; name a folder"),
    ([], "UsageError", "Missing argument"),
    (["cases", "--repeats", "0"], "UsageError", "--repeats"),
    (["cases", "--money", "-1"], "CheckError", "--money -1: expected US dollars, more than 0"),
    (["cases"], "TrustError", "is not trusted on this machine"),
    (["cases", "--project", "."], "ConfigError", "no judge is set up"),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), REFUSED)
def test_a_wrong_request_is_status_3(cli, tmp_path: Path, arguments, kind, message) -> None:
    scripted.cases(tmp_path, FEW)
    project = scripted.project(tmp_path, trusted=False)
    ran = cli("calibrate", "--json", "--project", project, *arguments, cwd=tmp_path)
    assert (ran.status, ran.json["error"]["kind"]) == (3, kind)
    assert message in ran.json["error"]["message"]
