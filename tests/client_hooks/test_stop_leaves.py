"""An agent wants to end: when it is left alone, and that nothing that is broken holds it up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import filelock
import pytest
from tests.client_hooks.conftest import lay_down
from tests.client_hooks.hook_calls import ending, later, noted, reason

from autoscirub.store.jobs import new_job
from autoscirub.workflow import check
from autoscirub.workflow.rounds import run_rounds

# Left alone


def test_where_nothing_changed_since_the_check_it_ends(checked, hook) -> None:
    assert hook("stop", ending(checked)) is None


def test_a_file_that_was_written_again_with_the_same_bytes_is_no_change(checked, hook) -> None:
    for name in ("report.md", "results/results.json", "prereg.toml"):
        later(checked / name, (checked / name).read_text())
    assert hook("stop", ending(checked)) is None


def test_an_answer_kept_from_an_earlier_round_is_no_change_of_the_file_that_it_looked_at_then(
    checked, hook
) -> None:
    results = checked / "results" / "results.json"
    results.write_text(json.dumps({"slope": 0.5, "n": 3, "another": 1}))
    check(checked)
    report = json.loads((checked / ".autoscirub" / "verification_report.json").read_text())
    assert [each["reused_from_round"] for each in report["criteria"]] == [1, 1]
    assert hook("stop", ending(checked)) is None
    for path in (results, checked / "report.md"):  # and a change is still one, whatever its time says
        text, before = path.read_text(), path.stat()
        path.write_text(text.replace("0.5", "0.4").replace("slope is", "slope was"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.name in reason(hook("stop", ending(checked, session=path.name)))
        path.write_text(text)


LEFT_OUT = [
    ".autoscirub/x",
    ".git/x",
    "__pycache__/x.pyc",
    "venv/x.py",
    "node_modules/x.js",
    ".cache/x",
    ".claude/settings.json",
    "run.log",
]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_no_work_is_no_change(name, checked, hook) -> None:
    later(checked / name, "x")
    assert hook("stop", ending(checked)) is None


def test_a_virtual_environment_of_any_name_is_no_change(checked, hook) -> None:
    later(checked / "my-env" / "pyvenv.cfg", "")
    later(checked / "my-env" / "x.py", "")
    assert hook("stop", ending(checked)) is None


def test_what_git_ignores_is_no_change_and_what_it_does_not_is(checked, hook) -> None:
    subprocess.run(["git", "init", "-q", str(checked)], check=True)
    (checked / ".gitignore").write_text("scratch/\n")
    later(checked / "scratch" / "x.txt", "x")
    assert hook("stop", ending(checked)) is None
    later(checked / "kept.txt", "x")
    message = reason(hook("stop", ending(checked)))
    assert "kept.txt" in message
    assert "scratch" not in message


def test_the_round_of_another_conversation_sends_nobody_back(checked, hook) -> None:
    noted(hook, checked, session="other")
    check(checked)
    assert hook("stop", ending(checked)) is None


def test_a_round_that_was_verified_before_is_not_this_conversation_s(checked, hook) -> None:
    events = checked / ".autoscirub" / "revisions" / "events.jsonl"
    at = json.loads(events.read_text().splitlines()[-1])["at"]
    events.write_text(events.read_text().replace(at, "2026-01-01T00:00:00Z"))
    noted(hook, checked)
    assert hook("stop", ending(checked)) is None


def test_without_a_frozen_rubric_nobody_is_sent_back(tmp_path, hook) -> None:
    from autoscirub.workflow.locks import freeze

    project = lay_down(tmp_path / "project")
    assert hook("stop", ending(project)) is None  # no state directory
    (project / "rubric.toml").unlink()
    freeze(project)
    later(project / "report.md", "x")
    assert hook("stop", ending(project)) is None  # predictions alone


def test_a_loop_that_ended_satisfied_is_left_alone_until_something_changes(checked, hook) -> None:
    (checked / "results" / "results.json").write_text(json.dumps({"slope": 0.5, "n": 40}))
    noted(hook, checked)
    assert check(checked).ended is not None
    assert hook("stop", ending(checked)) is None
    later(checked / "report.md", "x")
    message = reason(hook("stop", ending(checked)))
    assert "2 of 2 requirements were satisfied" in message
    assert "autoscirub check" in message


def test_a_loop_that_ended_otherwise_is_a_person_s_to_go_on_with(checked, hook) -> None:
    noted(hook, checked)
    assert run_rounds(checked, revise=["true"]).ended is not None
    assert hook("stop", ending(checked)) is None


def test_while_a_job_runs_nobody_is_sent_back(checked, hook) -> None:
    later(checked / "report.md", "x")
    job = new_job(checked / ".autoscirub", "check", {})
    with job.held():
        assert hook("stop", ending(checked)) is None
    assert hook("stop", ending(checked)) is not None


def test_while_a_command_writes_nobody_is_sent_back(checked, hook) -> None:
    later(checked / "report.md", "x")
    with filelock.FileLock(checked / ".autoscirub" / ".lock"):
        assert hook("stop", ending(checked)) is None


def test_an_ended_job_or_one_that_died_holds_nobody_up(checked, hook) -> None:
    later(checked / "report.md", "x")
    for _ in range(2):  # each was begun, and its process is gone
        with new_job(checked / ".autoscirub", "check", {}).held():
            pass
    assert hook("stop", ending(checked)) is not None


def test_the_reviser_of_a_run_is_left_to_the_run(checked, hook, monkeypatch) -> None:
    later(checked / "report.md", "x")
    monkeypatch.setenv("AUTOSCIRUB_PLAN", "plan.json")
    assert hook("stop", ending(checked)) is None


def test_who_may_only_plan_is_left_alone(checked, hook) -> None:
    later(checked / "report.md", "x")
    assert hook("stop", ending(checked, permission_mode="plan")) is None


CLAUDE_TALK = '{"type":"assistant","message":{"content":[{"type":"text","text":"It is 0.5"}]}}\n'
CLAUDE_READ = (
    '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Read","input":{}}]}}\n'
)
CLAUDE_WRITE = (
    '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Edit","input":{}}]}}\n'
)
CODEX_TALK = '{"type":"response_item","payload":{"type":"message","role":"assistant"}}\n'
CODEX_SHELL = (
    '{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}"}}\n'
)


@pytest.mark.parametrize(
    ("transcript", "back"),
    [
        (CLAUDE_TALK, False),
        (CLAUDE_TALK + CLAUDE_READ, False),
        (CLAUDE_READ + CLAUDE_WRITE, True),
        (CODEX_TALK, False),
        (CODEX_TALK + CODEX_SHELL, True),
        ("", True),  # says nothing
    ],
)
def test_who_has_only_read_and_talked_is_left_alone(transcript, back, checked, hook, tmp_path) -> None:
    later(checked / "report.md", "somebody else's change")
    path = tmp_path / "transcript.jsonl"
    path.write_text(transcript)
    assert (hook("stop", ending(checked, transcript_path=str(path))) is not None) is back


def test_a_transcript_that_is_not_there_is_no_conversation(checked, hook) -> None:
    later(checked / "report.md", "x")
    assert hook("stop", ending(checked, transcript_path="/nowhere/a.jsonl")) is not None


def test_the_switch_turns_both_hooks_off(checked, hook, monkeypatch) -> None:
    later(checked / "report.md", "x")
    monkeypatch.setenv("AUTOSCIRUB_HOOKS", "off")
    assert hook("stop", ending(checked)) is None
    write = {"cwd": str(checked), "tool_name": "Write", "tool_input": {"file_path": "rubric.toml"}}
    assert hook("pre-tool-use", write) is None


def test_an_agent_that_went_elsewhere_is_still_of_its_client_s_project(
    checked, hook, monkeypatch, tmp_path
) -> None:
    later(checked / "report.md", "x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert hook("stop", ending(elsewhere)) is None
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(checked))
    assert hook("stop", ending(elsewhere)) is not None


# What is broken


BROKEN = [
    "{",
    "[]",
    "",
    "null",
    '{"locks": 3}',
    '{"locks": {"rubric": {"criteria": 5}}}',
    "\x00",
    "[" * 100_000,
]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize(
    "name", ["run_manifest.json", "verification_report.json", "verification.json", "logs/sessions.json"]
)
def test_a_broken_state_blocks_nobody_and_is_one_line_at_most(name, text, checked, hook) -> None:
    later(checked / "report.md", "x")
    (checked / ".autoscirub" / "logs").mkdir(exist_ok=True)
    (checked / ".autoscirub" / name).write_text(text)
    answer = hook("stop", ending(checked))
    assert hook.stderr.count("\n") <= 1
    if name in ("run_manifest.json", "verification_report.json"):
        assert answer is None
    else:
        assert answer is None or "autoscirub check" in reason(answer)


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"cwd": 3}', b'{"cwd": "/nowhere"}', b'{"cwd": "\\u0000"}'],
)
@pytest.mark.parametrize("event", ["stop", "pre-tool-use"])
def test_an_input_that_cannot_be_used_blocks_nobody(event, payload, hook, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hook(event, payload) is None
    assert hook.stderr.count("\n") <= 1


def test_a_configuration_that_cannot_be_used_blocks_nobody(checked, hook) -> None:
    later(checked / "report.md", "x")
    (checked / "autoscirub.toml").write_text("state_dir = [")
    assert hook("stop", ending(checked)) is None
    assert "autoscirub.toml" in hook.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_state_that_may_not_be_read_blocks_nobody(checked, hook) -> None:
    (checked / ".autoscirub").chmod(0)
    try:
        assert hook("stop", ending(checked)) is None
    finally:
        (checked / ".autoscirub").chmod(0o755)


def test_a_fresh_clone_is_not_taken_for_changed(checked, hook, tmp_path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(checked, clone, copy_function=shutil.copyfile)
    moment = time.time() - 3600
    for path in sorted(clone.rglob("*")):
        os.utime(path, (moment, moment))
        moment += 0.5
    report = clone / ".autoscirub" / "verification_report.json"
    text = report.read_text()
    at = json.loads(text)["decisions"][0]["at"]
    report.write_text(text.replace(at, "2026-01-01T00:00:00Z"))
    os.utime(report, (time.time() - 3600,) * 2)
    for path in clone.rglob("*.py"):
        os.utime(path, (time.time() - 3599,) * 2)
    assert hook("stop", ending(clone)) is None


def test_a_tree_that_is_too_large_blocks_nobody(checked, hook, monkeypatch) -> None:
    from autoscirub.client_hooks import stop
    from autoscirub.client_hooks.changes import Bounds

    later(checked / "report.md", "x")
    monkeypatch.setattr(stop, "Bounds", lambda: Bounds(entries=3))
    assert hook("stop", ending(checked)) is None


def test_the_memory_is_bounded_and_not_committed(checked, hook) -> None:
    for number in range(130):
        noted(hook, checked, session=f"s{number}")
    sessions = json.loads((checked / ".autoscirub" / "logs" / "sessions.json").read_text())["sessions"]
    assert len(sessions) == 100
    assert "s129" in sessions
    assert "s0" not in sessions
    subprocess.run(["git", "init", "-q", str(checked)], check=True)
    status = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=checked, capture_output=True, text=True, check=True
    )
    assert "sessions.json" not in status.stdout
