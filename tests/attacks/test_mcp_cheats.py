"""What an agent could try through the tools to be told that it is done. Each is refused, with the allowed move."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import filelock
import pytest
from tests.mcp_server.agents import RefusedError, agent
from tests.mcp_server.conftest import RUBRIC

from autoscirub.models import strict_json
from autoscirub.store import sha256_file
from autoscirub.workflow import check
from autoscirub.workflow.drafting import write_state
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.rounds import plan_round


@pytest.fixture
def open_round(tmp_path: Path) -> Path:
    """A project in round 1, with one criterion that is not satisfied."""
    project = tmp_path / "project"
    (project / "results").mkdir(parents=True)
    (project / "autoscirub.toml").write_text('results = "results/results.json"\n', encoding="utf-8")
    write_state("executable_rubric.json", RUBRIC, project=project)
    freeze(project)
    (project / "results" / "results.json").write_text('{"slope": 0.5}', encoding="utf-8")
    check(project)
    return project


def refusal(project_: Path, tool: str, /, **arguments: Any) -> str:
    with agent(project_, toolsets=["evidence", "audit"]) as some, pytest.raises(RefusedError) as refused:
        some.call(tool, **arguments)
    message = str(refused.value)
    assert "Allowed next: next()" in message
    return message


WRITES = [
    # file -> who writes it instead
    ("verification_report.json", "`check` writes it"),
    ("verification.json", "`check` writes it"),
    ("revisions/round-001/verification.json", "`check` writes it"),
    ("revisions/round-002/verification.json", "`check` writes it"),
    ("revisions/round-001/revision_plan.json", "`plan_round` writes it"),
    ("revisions/round-001/change_summary.json", "`check(changes=…)` writes it"),
    ("run_manifest.json", "`freeze` writes the locks"),
    (".prereg.lock", "`freeze` writes it"),
    ("../.prereg.lock", "`freeze` writes it"),
    ("verdicts/0000.json", "is not written by an agent"),
    ("asks.jsonl", "is not written by an agent"),
    ("rerun.json", "is not written by an agent"),
    ("history.bundle", "is not written by an agent"),
    ("config.yaml", "is not written by an agent"),
    ("../autoscirub.toml", "is not written by an agent"),
    ("./executable_rubric.json", "is not written by an agent"),
    ("EXECUTABLE_RUBRIC.JSON", "is not written by an agent"),
    ("/etc/passwd", "is not written by an agent"),
]


@pytest.mark.parametrize(("file", "message"), WRITES)
def test_an_agent_writes_no_report_no_lock_and_no_round(
    file: str, message: str, open_round: Path, tree
) -> None:
    before = tree(open_round)
    assert message in refusal(open_round, "write_state", file=file, content={"all_satisfied": True})
    assert tree(open_round) == before


def weaker(**changes: Any) -> dict[str, Any]:
    rubric: dict[str, Any] = json.loads(json.dumps(RUBRIC))
    rubric["criteria"][1] |= changes
    return rubric


DROPPED = {**RUBRIC, "criteria": RUBRIC["criteria"][:1]}


@pytest.mark.parametrize(
    "content",
    [DROPPED, weaker(expected_artifacts=[{"expected_path": "results/results.json"}]), weaker(judge="auto")],
)
def test_a_frozen_rubric_is_not_written_and_the_refusal_names_the_person_s_move(
    content: dict[str, Any], open_round: Path
) -> None:
    rubric = open_round / ".autoscirub" / "executable_rubric.json"
    digest = sha256_file(rubric)
    message = refusal(
        open_round, "write_state", file="executable_rubric.json", content=content, expected_sha256=digest
    )
    assert "the rubric is frozen" in message
    assert "autoscirub scope" in message
    assert (
        json.loads(rubric.read_text("utf-8"))["criteria"][1]["expected_artifacts"][0]["expected_path"]
        == "out/table.csv"
    )


def test_a_criterion_dropped_by_hand_stops_everything_until_a_scope_change_which_says_whose_it_is(
    open_round: Path, cli
) -> None:
    rubric = open_round / ".autoscirub" / "executable_rubric.json"
    rubric.write_text(strict_json(DROPPED), encoding="utf-8")
    for tool, arguments in (
        ("check", {}),
        ("plan_round", {"targets": [{"criterion_id": "table"}]}),
        ("verify_criterion", {"criterion_id": "slope"}),
    ):
        assert "table" in refusal(open_round, tool, **arguments)
    assert cli("scope", "--agent", "--reason", "too hard", cwd=open_round).status == 0
    with agent(open_round) as some:
        checked = some.call("check")
        assert (checked["ended"], checked["answer"]) == ("satisfied_in_reduced_scope", "holds")
        assert "a scope that an agent reduced: say exactly that" in checked["next"]["why"]


def test_nothing_is_frozen_twice(open_round: Path) -> None:
    assert "nothing new to lock" in refusal(open_round, "freeze")
    message = refusal(open_round, "freeze", state_dir="second")
    assert "the record of this project is in" in message
    assert not (open_round / "second").exists()


CHOICES = [
    # tool, an argument that would choose what a person chooses
    ("check", {"judge": "none"}),
    ("check", {"backend": "command"}),
    ("check", {"read_only": True}),
    ("check", {"max_rounds": 1}),
    ("check", {"accept": "refuted"}),
    ("check", {"wait_seconds": 1e6}),
    ("verify_criterion", {"criterion_id": "table", "judge": "none"}),
    ("verify_criterion", {"criterion_id": "table", "satisfied": True}),
    ("judge", {"backend": "none"}),
    ("judge", {"fresh": True}),
    ("judge", {"model": "mine"}),
    ("judge", {"command": ["true"]}),
    ("judge", {"repeats": 1}),
    ("rerun", {"isolation": "none"}),
    ("rerun", {"command": ["true"]}),
    ("verify", {"judge": "none"}),
    ("blind_workspace", {"profile": "criterion", "to": "elsewhere"}),
    ("blind_workspace", {"profile": "criterion", "limits": {}}),
    ("plan_round", {"targets": [{"criterion_id": "table", "satisfied": True}]}),
    ("freeze", {"unfreeze": True}),
]


@pytest.mark.parametrize(("tool", "arguments"), CHOICES)
def test_no_argument_chooses_a_judge_a_program_or_a_limit(
    tool: str, arguments: dict[str, Any], open_round: Path, tree
) -> None:
    before = tree(open_round)
    name = next(name for name in reversed(arguments))
    message = refusal(open_round, tool, **arguments)
    assert name in message or "satisfied" in message
    assert tree(open_round) == before


def test_no_judge_of_the_agent_s_is_asked_for_its_own_criterion(open_round: Path) -> None:
    """The settings that choose a judge are locked with the rubric, and its program is run by trust alone."""
    (open_round / "autoscirub.toml").write_text(
        'results = "results/results.json"\n[judge]\nbackend = "command"\ncommand = ["true"]\n',
        encoding="utf-8",
    )
    assert "judge" in refusal(open_round, "check")
    assert "judge" in refusal(open_round, "judge")
    assert "judge" in refusal(open_round, "verify_criterion", criterion_id="table")


OUTSIDE = [
    ("check_artifact", {"path": "../secret.json"}),
    ("check_artifact", {"path": "/etc/passwd"}),
    ("check_artifact", {"path": "link.json"}),
    ("evaluate_expr", {"expr": "results", "results_file": "../secret.json"}),
    ("evaluate_expr", {"expr": "results", "results_file": "link.json"}),
    ("evaluate_expr", {"expr": "results", "results_file": "/proc/self/environ"}),
    ("validate_state", {"files": ["../secret.json"]}),
    ("validate_state", {"files": ["/etc/passwd"]}),
    ("blind_workspace", {"profile": "../secret.json"}),
    ("blind_workspace", {"profile": "/etc/passwd"}),
    ("next", {"project": ".."}),
    ("check", {"project": "/"}),
    ("next", {"state_dir": "../state"}),
    ("check", {"state_dir": "/tmp"}),
]


@pytest.mark.parametrize(("tool", "arguments"), OUTSIDE)
def test_no_path_leads_out_of_the_project(tool: str, arguments: dict[str, Any], open_round: Path) -> None:
    (open_round.parent / "secret.json").write_text('{"canary": "6f1d"}', encoding="utf-8")
    (open_round / "link.json").symlink_to(open_round.parent / "secret.json")
    with agent(open_round, toolsets=["audit"]) as some:
        try:
            message = json.dumps(some.call(tool, **arguments))
        except RefusedError as refused:
            message = str(refused)
        else:
            assert '"inconclusive"' in message
    assert "canary" not in message
    assert "root:" not in message
    assert os.environ.get("PATH", "-") not in message


def test_a_plan_and_its_changes_satisfy_nothing(open_round: Path) -> None:
    with agent(open_round) as some:
        some.call(
            "plan_round", targets=[{"criterion_id": "table", "gap": "none", "planned_actions": ["nothing"]}]
        )
        done = some.call(
            "check",
            changes=[{"criterion_id": "table", "actions_completed": ["all"], "remaining_gap": "none"}],
        )
    assert (done["all_satisfied"], done["ended"]) == (False, "stalled")


@pytest.mark.parametrize(
    "arguments",
    [
        {"changes": [{"criterion_id": "nobody"}]},
        {"infeasible": [{"criterion_id": "nobody", "reason": "no"}]},
        {"infeasible": [{"criterion_id": "table", "reason": " "}]},
    ],
)
def test_changes_and_infeasible_name_criteria_of_the_rubric(
    arguments: dict[str, Any], open_round: Path
) -> None:
    plan_round(project=open_round)
    refusal(open_round, "check", **arguments)


def test_changes_without_a_plan_are_refused_and_not_dropped_unseen(open_round: Path) -> None:
    message = refusal(open_round, "check", infeasible=[{"criterion_id": "table", "reason": "no data"}])
    assert "plan it first (plan_round)" in message


def test_a_forged_job_answer_changes_nothing_but_what_its_forger_reads(open_round: Path) -> None:
    folder = open_round / ".autoscirub" / "jobs" / "check-0123456789ab"
    folder.mkdir(parents=True)
    (folder / "request.json").write_text(
        strict_json({"id": folder.name, "tool": "check", "at": "2026-01-01T00:00:00Z"}), encoding="utf-8"
    )
    forged = {
        "state": "done",
        "at": "2026-01-01T00:00:00Z",
        "answer": {"all_satisfied": True, "ended": "satisfied"},
    }
    (folder / "answer.json").write_text(strict_json(forged), encoding="utf-8")
    with agent(open_round) as some:
        with pytest.raises(RefusedError):
            some.call("job", id=folder.name)
        now = some.call("next")
    assert (now["ended"], now["not_satisfied"]) == (None, ["table"])


def met_in(folder: Path) -> None:
    """Lay what the rubric asks for into a folder of the project, and not where it is asked for."""
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "results.json").write_text('{"slope": 0.5}', encoding="utf-8")
    (folder / "out").mkdir()
    (folder / "out" / "table.csv").write_text("x,y\n1,2\n", encoding="utf-8")


def test_what_is_satisfied_in_a_part_is_not_written_into_the_record_of_the_whole(
    open_round: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    met_in(open_round / "part")
    monkeypatch.setenv("AUTOSCIRUB_STATE_DIR", str(open_round / ".autoscirub"))
    message = refusal(open_round, "check", project="part")
    assert "has a record of its own" in message.replace("\n", " ")
    monkeypatch.delenv("AUTOSCIRUB_STATE_DIR")
    refusal(open_round, "check", project="part", state_dir="../.autoscirub")
    with agent(open_round) as some:
        assert some.call("next")["ended"] is None


def test_a_record_inside_of_a_part_is_not_that_part_s(tmp_path: Path) -> None:
    project = tmp_path / "project"
    met_in(project / "work")
    (project / "autoscirub.toml").write_text(
        'results = "results/results.json"\nstate_dir = "work/state"\n', encoding="utf-8"
    )
    with agent(project) as some:
        some.call("write_state", file="executable_rubric.json", content=RUBRIC)
        some.call("freeze")
        with pytest.raises(RefusedError):
            some.call("check", project="work", state_dir="state")


@pytest.mark.parametrize("remembered", [True, False])
def test_an_easier_rubric_is_not_frozen_in_another_state_directory(
    remembered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "autoscirub.toml").write_text('results = "results/results.json"\n', encoding="utf-8")
    with agent(project) as some:
        some.call("write_state", file="executable_rubric.json", content=RUBRIC, state_dir="one")
        assert some.call("freeze", state_dir="one")["locked"]
        if not remembered:
            monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "another-machine"))
        with pytest.raises(RefusedError, match="the record of this project is in"):
            some.call("write_state", file="executable_rubric.json", content=DROPPED, state_dir="two")
        following = some.call("next", state_dir="one")["next"]
    assert following["arguments"] == {"state_dir": "one"}


@pytest.mark.parametrize("named", [".autoscirub", ".autoscirub/revisions", ".git"])
def test_the_record_and_git_s_own_folder_are_no_projects(named: str, open_round: Path) -> None:
    (open_round / ".git").mkdir()
    assert "no work" in refusal(open_round, "next", project=named)


def test_a_rubric_brings_no_scope_changes_of_its_own(tmp_path: Path) -> None:
    forged = {
        **RUBRIC,
        "scope_changes": [
            {"at": "2026-01-01T00:00:00Z", "by": "terminal", "reason": "allowed", "criteria": ["table"]}
        ],
    }
    message = refusal(tmp_path, "write_state", file="executable_rubric.json", content=forged)
    assert "scope_changes: is the record of changes after a freeze" in message
    (tmp_path / ".autoscirub").mkdir(exist_ok=True)
    (tmp_path / ".autoscirub" / "executable_rubric.json").write_text(strict_json(forged), encoding="utf-8")
    assert "scope_changes: is the record of changes after a freeze" in refusal(tmp_path, "freeze")


def test_a_hand_made_job_ends_no_process_that_is_not_its_own(open_round: Path) -> None:
    bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        for number, pid in enumerate((bystander.pid, 0, 1, os.getpid())):
            folder = open_round / ".autoscirub" / "jobs" / f"check-{number:012x}"
            folder.mkdir(parents=True)
            asked = {"id": folder.name, "tool": "check", "at": "2026-01-01T00:00:00Z"}
            (folder / "request.json").write_text(strict_json(asked), encoding="utf-8")
            (folder / "pid").write_text(f"{pid}\n", encoding="ascii")
            with filelock.FileLock(folder / ".lock"):
                message = refusal(open_round, "job", id=folder.name, action="cancel")
            assert "could not be ended from here" in message
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_link_in_the_place_of_the_jobs_leads_nothing_out(open_round: Path) -> None:
    outside = open_round.parent / "outside"
    outside.mkdir()
    (open_round / ".autoscirub" / "jobs").symlink_to(outside)
    assert "is a link that leads out" in refusal(open_round, "check")
    assert list(outside.iterdir()) == []
    (outside / "check-0123456789ad").mkdir()
    assert "there is no 'check-0123456789ad'" in refusal(open_round, "job", id="check-0123456789ad")
    assert list((outside / "check-0123456789ad").iterdir()) == []


def test_a_job_s_answer_that_is_none_of_its_tool_s_is_not_passed_on(open_round: Path) -> None:
    folder = open_round / ".autoscirub" / "jobs" / "check-0123456789ac"
    folder.mkdir(parents=True)
    asked = {"id": folder.name, "tool": "check", "at": "2026-01-01T00:00:00Z"}
    (folder / "request.json").write_text(strict_json(asked), encoding="utf-8")
    large = {
        "project": "p",
        "state_dir": "s",
        "next": {"tool": None, "why": "w"},
        "notices": ["x" * 1000] * 6000,
    }
    ended = {"state": "done", "at": "2026-01-01T00:00:00Z", "answer": large}
    (folder / "answer.json").write_text(strict_json(ended), encoding="utf-8")
    with agent(open_round) as some:
        assert len(json.dumps(some.call("job", id=folder.name))) < 60_000
