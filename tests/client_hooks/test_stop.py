"""An agent wants to end: when it is sent back, with what, and when it is left alone."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import filelock
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from tests.client_hooks.conftest import lay_down

from autoscirub.client_hooks.stop import RULES, Situation, why_back
from autoscirub.store.jobs import new_job
from autoscirub.workflow import check, plan_round, run_rounds


def ending(project: Path, session: str = "mine", **more: Any) -> dict[str, Any]:
    return {
        "session_id": session,
        "cwd": str(project),
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        **more,
    }


def later(path: Path, text: str, seconds: float = 5) -> None:
    """Write a file, and let its time be some seconds from now: a file system's clock may be coarse."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    moment = time.time() + seconds
    os.utime(path, (moment, moment))


def reason(answer: Any) -> str:
    assert answer is not None
    assert list(answer) == ["decision", "reason"]
    assert answer["decision"] == "block"
    return answer["reason"]


def noted(hook: Any, project: Path, session: str = "mine", tool: str = "mcp__autoscirub__check") -> None:
    hook("pre-tool-use", {"session_id": session, "cwd": str(project), "tool_name": tool, "tool_input": {}})


# Sent back


def test_a_change_of_what_was_judged_sends_back_with_what_is_open_and_the_next_call(checked, hook) -> None:
    later(checked / "report.md", "Other words.\n")
    said = reason(hook("stop", ending(checked)))
    assert "report.md" in said
    assert "1 of 2 requirements were satisfied in round 1" in said
    assert "✗ enough: " in said
    assert "written" not in said
    assert "call check of the autoscirub MCP server, or run: autoscirub check" in said
    assert "Or end now: say in your answer which of these are open" in said


def test_a_change_in_place_that_keeps_its_time_is_seen(checked, hook) -> None:
    results = checked / "results" / "results.json"
    before = results.stat()
    results.write_text(json.dumps({"slope": 0.5, "n": 4}))
    os.utime(results, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "results/results.json" in reason(hook("stop", ending(checked)))


def test_a_new_file_sends_back_and_so_does_code(checked, hook) -> None:
    later(checked / "results" / "figure.svg", "<svg/>")
    later(checked / "run.py", "print('other')\n")
    said = reason(hook("stop", ending(checked)))
    assert "results/figure.svg" in said
    assert "run.py" in said


def test_a_judged_file_that_is_gone_sends_back(checked, hook) -> None:
    (checked / "results" / "results.json").unlink()
    assert "results/results.json" in reason(hook("stop", ending(checked)))


def test_before_the_first_check_work_after_the_freeze_sends_back(frozen, hook) -> None:
    assert hook("stop", ending(frozen)) is None
    later(frozen / "results" / "results.json", "{}")
    said = reason(hook("stop", ending(frozen)))
    assert "None of the requirements was looked at yet" in said
    assert "? written" in said
    assert "? enough" in said


def test_who_opened_the_round_is_sent_back_to_plan(checked, hook) -> None:
    noted(hook, checked)
    check(checked)
    said = reason(hook("stop", ending(checked)))
    assert "the round that you opened is not finished" in said
    assert (
        'plan_round of the autoscirub MCP server with targets for "enough", or run: autoscirub round' in said
    )


def test_with_a_plan_the_next_call_is_a_check(checked, hook) -> None:
    noted(hook, checked)
    check(checked)
    plan_round(project=checked)
    said = reason(hook("stop", ending(checked)))
    assert "close the gaps, then call check" in said


def test_a_command_in_the_shell_opens_a_round_as_well(checked, hook) -> None:
    call = {"session_id": "mine", "cwd": str(checked), "tool_name": "Bash"}
    hook("pre-tool-use", {**call, "tool_input": {"command": "autoscirub check"}})
    check(checked)
    assert hook("stop", ending(checked)) is not None


def test_a_subagent_is_sent_back_for_itself(checked, hook) -> None:
    later(checked / "report.md", "x")
    first = ending(checked, hook_event_name="SubagentStop", agent_id="a1")
    assert hook("stop", first) is not None
    assert hook("stop", first) is None
    assert hook("stop", ending(checked)) is not None


# Left alone


def test_where_nothing_changed_since_the_check_it_ends(checked, hook) -> None:
    assert hook("stop", ending(checked)) is None


def test_a_file_that_was_written_again_with_the_same_bytes_is_no_change(checked, hook) -> None:
    for name in ("report.md", "results/results.json", "prereg.toml"):
        later(checked / name, (checked / name).read_text())
    assert hook("stop", ending(checked)) is None


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
    said = reason(hook("stop", ending(checked)))
    assert "kept.txt" in said
    assert "scratch" not in said


def test_the_round_of_another_conversation_sends_nobody_back(checked, hook) -> None:
    noted(hook, checked, session="other")
    check(checked)
    assert hook("stop", ending(checked)) is None


def test_a_round_that_was_verified_before_is_not_this_conversation_s(checked, hook, monkeypatch) -> None:
    report = json.loads((checked / ".autoscirub" / "verification_report.json").read_text())
    old = json.dumps(report).replace(report["decisions"][0]["at"], "2026-01-01T00:00:00Z")
    (checked / ".autoscirub" / "verification_report.json").write_text(old)
    noted(hook, checked)
    assert hook("stop", ending(checked)) is None


def test_without_a_frozen_rubric_nobody_is_sent_back(tmp_path, hook) -> None:
    from autoscirub.workflow import freeze

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
    said = reason(hook("stop", ending(checked)))
    assert "2 of 2 requirements were satisfied" in said
    assert "autoscirub check" in said


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


# Once


def test_it_is_said_once_and_again_only_after_another_change(checked, hook) -> None:
    later(checked / "report.md", "x")
    assert hook("stop", ending(checked)) is not None
    assert hook("stop", ending(checked, stop_hook_active=True)) is None
    assert hook("stop", ending(checked)) is None  # the next answer, of the same state
    later(checked / "report.md", "y", 9)
    assert hook("stop", ending(checked)) is not None


def test_a_client_that_does_not_say_that_it_was_sent_back_is_not_sent_back_twice(checked, hook) -> None:
    later(checked / "report.md", "x")
    assert hook("stop", ending(checked)) is not None
    later(checked / "report.md", "y", 9)
    assert hook("stop", ending(checked)) is None
    later(checked / "report.md", "z", 12)
    assert hook("stop", ending(checked)) is not None


@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_ever_sent_back_twice_in_a_row(seed, checked, hook) -> None:
    steps = itertools.islice(
        itertools.cycle(itertools.permutations(("change", "note", "check", "stop"))), seed, seed + 4
    )
    before = False
    for number, step in enumerate(each for order in steps for each in (*order, "stop")):
        if step == "change":
            later(checked / "report.md", f"{number}\n", 5 + number)
        elif step == "note":
            noted(hook, checked)
        elif step == "check":
            check(checked)
        else:
            back = hook("stop", ending(checked)) is not None
            assert not back or not before
            before = back


def test_where_the_note_cannot_be_kept_nobody_is_sent_back(checked, hook) -> None:
    later(checked / "report.md", "x")
    (checked / ".autoscirub" / "logs").write_text("no folder")
    assert hook("stop", ending(checked)) is None
    assert hook.said.count("\n") == 1


# The rules


@drawn(st.builds(Situation))
def test_the_first_rule_that_applies_decides(situation: Situation) -> None:
    why = why_back(situation)
    if situation.sent_back_before or situation.at_work or situation.conversation or situation.told_before:
        assert why is None
    if why == "own round":
        assert situation.own_round
        assert (situation.ended, situation.changed, situation.all_satisfied) in (
            (None, False, False),
            ("", False, False),
        )
    if why == "changed":
        assert situation.changed
        assert situation.ended != "error"


def test_the_rules_name_what_a_situation_has() -> None:
    names = {name for name, _ in RULES} - {"ended in error"}
    assert names == set(Situation.__dataclass_fields__)


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
    assert hook.said.count("\n") <= 1
    if name in ("run_manifest.json", "verification_report.json"):
        assert answer is None
    else:
        assert answer is None or "autoscirub check" in reason(answer)


@pytest.mark.parametrize(
    "given",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"cwd": 3}', b'{"cwd": "/nowhere"}', b'{"cwd": "\\u0000"}'],
)
@pytest.mark.parametrize("event", ["stop", "pre-tool-use"])
def test_an_input_that_cannot_be_used_blocks_nobody(event, given, hook, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hook(event, given) is None
    assert hook.said.count("\n") <= 1


def test_a_configuration_that_cannot_be_used_blocks_nobody(checked, hook) -> None:
    later(checked / "report.md", "x")
    (checked / "autoscirub.toml").write_text("state_dir = [")
    assert hook("stop", ending(checked)) is None
    assert "autoscirub.toml" in hook.said


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
    kept = json.loads((checked / ".autoscirub" / "logs" / "sessions.json").read_text())["sessions"]
    assert len(kept) == 100
    assert "s129" in kept
    assert "s0" not in kept
    subprocess.run(["git", "init", "-q", str(checked)], check=True)
    shown = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=checked, capture_output=True, text=True, check=True
    )
    assert "sessions.json" not in shown.stdout
