"""When a rerun is run, when a cached rerun counts, and what criteria, outcomes and the audit say of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import CheckError, TamperedError, TrustError
from autoscirub.models import Answer, DecidedBy, RerunRecord
from autoscirub.setup import look_at_trust, record_trust
from autoscirub.workflow import check, rerun, verify, verify_criterion
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.status import status

SCRIPT = """\
import json, pathlib
readings = [float(line) for line in pathlib.Path("data.csv").read_text().split()]
values = {"slope": sum(readings) / len(readings), "n": len(readings)}
pathlib.Path("results").mkdir(exist_ok=True)
pathlib.Path("results/results.json").write_text(json.dumps(values))
"""
RUBRIC = """\
[[criteria]]
id = "AGAIN"
requirement = "The results come out of the code again."
judge = "never"
checks = [{ id = "again", kind = "rerun" }]

[[criteria]]
id = "NUMBERS"
requirement = "Every number of the report is in the results."
judge = "never"
checks = [{ id = "numbers", kind = "numbers", strict = true }]
"""
CONFIG = """\
[run]
command = {command}
inputs = ["data.csv"]
seconds = {seconds}
"""


@pytest.fixture
def project(slope_project: Path) -> Path:
    """A project whose script gives the results that are there, with a frozen rubric that asks for that."""
    command = json.dumps([sys.executable, "run.py"])
    (slope_project / "autoscirub.toml").write_text(CONFIG.format(command=command, seconds=60))
    (slope_project / "run.py").write_text(SCRIPT)
    (slope_project / "data.csv").write_text("0.5\n0.52\n0.51\n")
    (slope_project / "report.md").write_text("# Slope\n\nThe slope is 0.51.\n")
    (slope_project / "rubric.toml").write_text(RUBRIC)
    freeze(slope_project)
    subprocess.run([sys.executable, "run.py"], cwd=slope_project, check=True)
    return slope_project


def allow(project: Path) -> None:
    digest = look_at_trust(project).digest
    assert digest is not None
    record_trust(digest, by="ci", project=project)


def statuses(checked: Any) -> dict[str, str]:
    return {result.criterion_id: result.status for result in checked.report.criteria}


def test_without_trust_nothing_runs_and_the_criterion_cannot_be_assessed(project: Path) -> None:
    (project / "run.py").write_text("open('ran', 'w')\n" + SCRIPT)
    checked = check(project)
    assert checked.rerun is not None
    assert not checked.rerun.ran
    assert checked.rerun.decision.answer is Answer.INCONCLUSIVE
    assert checked.rerun.decision.open[0].startswith("not rerun here: not trusted (`autoscirub trust` shows")
    assert statuses(checked) == {"AGAIN": "cannot_assess", "NUMBERS": "satisfied"}
    assert checked.verification is not None
    assert checked.verification.headline.endswith("not judged · not rerun")
    assert "not rerun" in checked.verification.decisions[0].open
    assert not (project / ".autoscirub" / RerunRecord.file_name).exists()


def test_a_trusted_rerun_decides_the_criterion_and_stands_beside_the_outcome(project: Path) -> None:
    allow(project)
    checked = check(project)
    assert checked.rerun is not None
    assert checked.rerun.ran
    assert checked.ended is not None
    assert checked.ended.state == "satisfied"
    assert checked.verification is not None
    assert checked.verification.headline.endswith("not judged · rerun: reproduced")
    assert "not rerun" not in checked.verification.decisions[0].open
    again = next(decision for decision in checked.report.decisions if decision.subject == "AGAIN")
    assert again.decided_by is DecidedBy.RERUN
    record = RerunRecord.model_validate_json((project / ".autoscirub" / "rerun.json").read_text())
    assert record.decision.inputs_digest == record.basis.digest
    assert str(project) not in (project / ".autoscirub" / "rerun.json").read_text()


def test_a_kept_rerun_stands_while_nothing_changed_and_is_run_again_only_when_asked(project: Path) -> None:
    allow(project)
    first = check(project)
    second = check(project)
    assert not second.rerun.ran
    assert second.reused == ["AGAIN", "NUMBERS"]
    assert second.rerun.decision == first.rerun.decision
    assert verify(project).verification.headline.endswith("rerun: reproduced")
    assert check(project, fresh=True).rerun.ran


@pytest.mark.parametrize(
    ("path", "text", "part"),
    [
        ("run.py", SCRIPT + "# once more\n", "code"),
        ("helper.py", "x = 1\n", "code"),
        ("data.csv", "0.5\n0.52\n0.51\n\n", "inputs"),
    ],
)
def test_a_rerun_goes_stale_with_code_and_inputs_and_a_look_says_so(
    project: Path, path: str, text: str, part: str
) -> None:
    allow(project)
    check(project)
    (project / path).write_text(text)
    criterion_result, decision = verify_criterion(project, "AGAIN")
    assert criterion_result.status == "cannot_assess"
    assert f"is out of date: {part} changed since" in decision.parts[0].open[0]
    headline = verify(project).verification.headline
    assert headline.endswith("not judged · not rerun")
    assert any("stale" in decision.word for decision in status(project).decisions)
    checked = check(project)
    assert checked.rerun.ran
    assert statuses(checked)["AGAIN"] == "satisfied"


def test_a_rerun_goes_stale_with_another_interpreter(project: Path, tmp_path: Path) -> None:
    allow(project)
    check(project)
    record = project / ".autoscirub" / RerunRecord.file_name
    recorded = RerunRecord.model_validate_json(record.read_text())
    assert recorded.basis.environment is not None
    other = recorded.basis.model_copy(update={"environment": "0" * 64})
    assert recorded.basis.changed_since(other) == ["environment"]
    assert recorded.basis.model_copy(update={"environment": None}).changed_since(other) == []


def test_results_that_do_not_come_out_again_are_named_with_both_values(project: Path) -> None:
    allow(project)
    results = project / "results" / "results.json"
    results.write_text(results.read_text().replace("0.51", "0.53"))
    checked = check(project)
    result = next(result for result in checked.report.criteria if result.criterion_id == "AGAIN")
    assert result.status == "not_satisfied"
    assert "slope: moved: 0.53 before, 0.51 after" in result.evidence_gap
    assert checked.verification.headline.endswith("rerun: moved")


def test_a_run_that_comes_to_no_answer_is_never_kept_as_one(project: Path) -> None:
    (project / "run.py").write_text("raise SystemExit(3)\n")
    allow(project)
    first = check(project)
    assert first.rerun.decision.answer is Answer.INCONCLUSIVE
    assert statuses(first)["AGAIN"] == "cannot_assess"
    assert check(project).rerun.ran  # once more, rather than the answer that was none


def test_the_command_records_and_the_next_check_does_not_run_again(project: Path) -> None:
    allow(project)
    assert rerun(project).decision.answer is Answer.HOLDS
    checked = check(project)
    assert not checked.rerun.ran
    assert statuses(checked)["AGAIN"] == "satisfied"


def test_before_anything_is_frozen_a_check_reruns_and_keeps_that(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "unfrozen"
    shutil.copytree(project, other, ignore=shutil.ignore_patterns(".autoscirub", ".prereg.lock"))
    allow(other)
    assert check(other).rerun.ran
    assert not check(other).rerun.ran
    assert check(other, read_only=True, fresh=True).rerun.ran


def test_a_read_only_check_reruns_and_writes_nothing(
    project: Path, tree: Callable[[Path], dict[str, Any]]
) -> None:
    allow(project)
    check(project)
    (project / "run.py").write_text(SCRIPT + "# once more\n")
    before = tree(project)
    assert check(project, read_only=True).rerun.ran
    assert tree(project) == before


def elsewhere(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone on a machine that knows nothing of the project."""
    clone = tmp_path / "clone"
    shutil.copytree(project, clone)
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other-machine"))
    return clone


def test_a_clone_reuses_every_kept_answer_and_says_that_it_did_not_rerun(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(project)
    check(project)
    clone = elsewhere(project, tmp_path, monkeypatch)
    checked = check(clone, read_only=True)
    assert checked.reused == ["AGAIN", "NUMBERS"]
    assert checked.evaluated == []
    assert checked.rerun.elsewhere
    assert checked.rerun.decision.word == "reproduced elsewhere"
    assert checked.rerun.decision.open[0].startswith("not rerun here: not trusted (")
    assert "; recorded at " in checked.rerun.decision.open[0]
    allow(clone)
    trusted = check(clone, read_only=True)
    assert trusted.rerun.ran
    assert not trusted.rerun.elsewhere


def test_a_clone_whose_code_changed_says_that_the_kept_rerun_is_out_of_date(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(project)
    check(project)
    clone = elsewhere(project, tmp_path, monkeypatch)
    (clone / "run.py").write_text(SCRIPT + "# once more\n")
    checked = check(clone, read_only=True)
    assert checked.rerun.decision.answer is Answer.INCONCLUSIVE
    assert "code changed since" in checked.rerun.decision.open[0]
    assert checked.evaluated == ["AGAIN"]
    assert statuses(checked)["AGAIN"] == "cannot_assess"


def test_a_trusted_command_that_changes_is_not_trusted_any_more(project: Path) -> None:
    allow(project)
    check(project)
    config = (project / "autoscirub.toml").read_text()
    (project / "autoscirub.toml").write_text(config.replace('"run.py"', '"other.py"'))
    (project / "other.py").write_text("open('ran', 'w')\n" + SCRIPT)
    with pytest.raises(
        TamperedError, match=r"run\.command was"
    ):  # it is one of the settings that a freeze locks
        check(project)
    with pytest.raises(TrustError, match="not rerun: not trusted"):
        rerun(project)
    assert not (project / "ran").exists()


def test_a_rerun_file_that_was_written_by_hand_counts_for_nothing(project: Path) -> None:
    allow(project)
    check(project)
    path = project / ".autoscirub" / RerunRecord.file_name
    forged = json.loads(path.read_text())
    results = project / "results" / "results.json"
    results.write_text(results.read_text().replace("0.51", "0.53"))
    forged["decision"]["word"] = "reproduced"
    forged["basis"]["results"] = "0" * 64
    path.write_text(json.dumps(forged))
    checked = check(project)
    assert checked.rerun.ran
    assert statuses(checked)["AGAIN"] == "not_satisfied"
    assert any("rerun.json: was not as the history has it; set aside" in notice for notice in checked.notices)


def test_the_audit_counts_the_rerun_and_holds_answers_against_it(project: Path) -> None:
    allow(project)
    check(project)
    found = audit(project)
    assert found.basis.decided == {"rerun": 1, "code": 1}
    assert found.basis.not_done == ["not judged"]
    assert found.basis.rerun.startswith("reproduced at ")
    verified = verify_record(project)
    assert verified.ok, verified


def test_a_status_starts_nothing(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "started"
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho x >> {mark}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    config = project / "autoscirub.toml"
    other = tmp_path / "other"
    shutil.copytree(project, other, ignore=shutil.ignore_patterns(".autoscirub", ".prereg.lock"))
    (other / "autoscirub.toml").write_text(config.read_text().replace(json.dumps(sys.executable), '"python"'))
    freeze(other)
    check(other)
    status(other)
    audit(other)
    verify_criterion(other, "AGAIN")
    assert not mark.exists()
    allow(other)
    check(other)
    started = mark.read_text()
    status(other)
    audit(other)
    assert mark.read_text() == started


@pytest.fixture
def required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lab's policy that asks every project on this machine for a rerun."""
    policy = tmp_path / "policy.toml"
    policy.write_text("[rerun]\nrequired = true\n", encoding="utf-8")
    monkeypatch.setenv("AUTOSCIRUB_POLICY", str(policy))


@pytest.mark.usefixtures("required")
def test_a_required_rerun_that_was_not_run_here_counts_in_every_exit_status(
    project: Path, cli: Callable[..., Any]
) -> None:
    run = cli("verify", "--project", project)
    assert run.status == 2
    assert "not judged · not rerun, which is required here" in run.out
    allow(project)
    assert cli("rerun", "--project", project).status == 0
    assert cli("verify", "--project", project).status == 0
    results = project / "results" / "results.json"
    results.write_text(results.read_text().replace('"n": 3', '"n": 4'))
    assert cli("rerun", "--project", project).status == 1
    moved = cli("verify", "--project", project)
    assert (moved.status, "rerun: moved" in moved.out) == (1, True)


@pytest.mark.usefixtures("required")
def test_a_required_rerun_is_not_met_by_one_that_was_run_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(project)
    check(project)
    clone = elsewhere(project, tmp_path, monkeypatch)
    checked = check(clone, read_only=True)
    assert checked.rerun.decision.answer is Answer.INCONCLUSIVE
    assert checked.rerun.decision.open[0].startswith("a rerun is required here: not rerun here: not trusted")
    assert statuses(checked)["AGAIN"] == "cannot_assess"
    allow(clone)
    assert statuses(check(clone, read_only=True))["AGAIN"] == "satisfied"


@pytest.mark.usefixtures("required")
@pytest.mark.parametrize(
    ("config", "rubric", "fault"),
    [
        (None, RUBRIC.split("\n\n")[1], "no criterion has a check of kind rerun"),
        ("", RUBRIC, "no [run] command says how"),
    ],
    ids=["no check", "no command"],
)
def test_where_a_rerun_is_required_a_freeze_refuses_what_cannot_give_one(
    project: Path, tmp_path: Path, config: str | None, rubric: str, fault: str
) -> None:
    other = tmp_path / "other"
    shutil.copytree(project, other, ignore=shutil.ignore_patterns(".autoscirub", ".prereg.lock"))
    (other / "rubric.toml").write_text(rubric)
    if config is not None:
        (other / "autoscirub.toml").write_text(config)
    with pytest.raises(CheckError, match="a rerun is required") as refused:
        freeze(other)
    assert fault in str(refused.value)
