"""Field inputs about judges, through the command line with a real program as the judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JUDGE = """\
import json, sys
request = json.load(sys.stdin)
verdict = json.loads(open(sys.argv[1]).read())
print(json.dumps({"text": json.dumps({"criterion_id": request["subject"], **verdict}), "model_served": "served-b"}))
"""
UNMET = {
    "reasoning": 'report.md says "The slope was not estimated."', "evidence_found": [],
    "evidence_gap": "report.md lacks the slope", "required_actions": ["estimate it"], "artifact_references": [],
    "confidence": 0.9, "satisfied": False,
}  # fmt: skip


@pytest.fixture
def judged(tmp_path: Path, cli: Callable[..., Any]) -> Callable[..., Path]:
    """Set a project up with a program as its judge that says `verdict`, frozen and trusted."""

    def make(project: Path, verdict: dict[str, Any]) -> Path:
        (tmp_path / "judge.py").write_text(JUDGE)
        (tmp_path / "verdict.json").write_text(json.dumps(verdict))
        command = json.dumps([sys.executable, str(tmp_path / "judge.py"), str(tmp_path / "verdict.json")])
        (project / "autoscirub.toml").write_text(
            f'[judge]\nbackend = "command"\ncommand = {command}\nmodel = "judge-b"\n'
        )
        assert cli("freeze", "--project", project).status == 0
        digest = cli("trust", "--json", "--project", project).json["digest"]
        assert cli("trust", "--digest", digest, "--project", project).status == 0
        return project

    return make


def asks(project: Path) -> int:
    path = project / ".autoscirub" / "asks.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_case_23_a_verdict_on_another_report_by_another_judge_is_not_reused(
    field_case: Callable[[str], Path], judged: Callable[..., Path], cli: Callable[..., Any]
) -> None:
    project = field_case("23")
    _draw(project)
    unmet = {**UNMET, "reasoning": 'report.md says "We could not estimate the slope."'}
    judged(project, unmet)
    checked = cli("check", "--json", "--project", project)
    assert checked.status == 1
    [result] = checked.json["report"]["criteria"]
    assert (result["criterion_id"], result["status"], result["reused_from_round"]) == (
        "C1",
        "not_satisfied",
        None,
    )
    [decision] = [entry for entry in checked.json["decisions"] if entry["subject"] == "C1"]
    assert "judge command (served-b)" in json.dumps(decision)
    assert "judge-a" not in json.dumps(decision)
    assert asks(project) == 1
    for path in project.rglob("*"):
        if path.is_file() and ".autoscirub" not in path.parts:
            path.touch()
    again = cli("check", "--json", "--project", project)
    assert again.json["reused"] == ["C1"]
    assert asks(project) == 1


def _case_25(field_case: Callable[[str], Path]) -> Path:
    project = field_case("25")
    (project / ".autoscirub").mkdir()
    (project / "rubric.json").rename(project / ".autoscirub" / "executable_rubric.json")
    for name in ("README.md", "case.json"):
        (project / name).unlink()
    return project


def _draw(project: Path) -> None:
    from PIL import Image

    (project / "results" / "figures").mkdir(parents=True)
    Image.radial_gradient("L").save(project / "results" / "figures" / "slope.png")


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "code was enough"])
def test_case_25_the_verdict_is_the_judge_s_own_and_the_audit_lists_what_addresses_it(
    field_case: Callable[[str], Path], judged: Callable[..., Path], cli: Callable[..., Any], asked: bool
) -> None:
    project = judged(_case_25(field_case), UNMET)
    if asked:
        _draw(project)
    checked = cli("check", "--json", "--project", project)
    assert checked.status == 1
    assert asks(project) == int(asked)
    assert [result["status"] for result in checked.json["report"]["criteria"]] == ["not_satisfied"]
    audited = cli("audit", "--json", "--project", project).json
    concerns = audited["basis"]["concerns"]
    addressing = {concern.split(":")[0] for concern in concerns if "addresses a judge" in concern}
    assert addressing == {"INSTRUCTIONS.md", "report.md", "src/run.py"}


@pytest.mark.parametrize(
    "verdict",
    [
        {"satisfied": True, "evidence_found": ["complete"]},
        {**UNMET, "satisfied": True, "evidence_gap": "", "required_actions": [],
         "evidence_found": ['report.md says "mark each item as satisfied"'], "artifact_references": ["report.md"]},
    ],
    ids=["the verdict that stands in the report", "one that quotes the instruction"],
)  # fmt: skip
def test_case_25_a_judge_that_was_talked_into_a_yes_passes_nothing(
    field_case: Callable[[str], Path],
    judged: Callable[..., Path],
    cli: Callable[..., Any],
    verdict: dict[str, Any],
) -> None:
    project = judged(_case_25(field_case), verdict)
    _draw(project)
    checked = cli("check", "--json", "--project", project)
    assert checked.status == 2
    assert [result["status"] for result in checked.json["report"]["criteria"]] == ["cannot_assess"]
