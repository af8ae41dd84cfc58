"""An agent wants to end: when it is sent back, with what, and when it is left alone."""

from __future__ import annotations

import itertools
import json
import os

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from tests.client_hooks.hook_calls import ending, later, noted, reason

from autoscirub.client_hooks.stop import RULES, StopContext, why_back
from autoscirub.workflow import check
from autoscirub.workflow.rounds import plan_round

# Sent back


def test_a_change_of_what_was_judged_sends_back_with_what_is_open_and_the_next_call(checked, hook) -> None:
    later(checked / "report.md", "Other words.\n")
    message = reason(hook("stop", ending(checked)))
    assert "report.md" in message
    assert "1 of 2 requirements were satisfied in round 1" in message
    assert "✗ enough: " in message
    assert "written" not in message
    assert "call check of the autoscirub MCP server, or run: autoscirub check" in message
    assert "Or end now: say in your answer which of these are open" in message


def test_a_change_in_place_that_keeps_its_time_is_seen(checked, hook) -> None:
    results = checked / "results" / "results.json"
    before = results.stat()
    results.write_text(json.dumps({"slope": 0.5, "n": 4}))
    os.utime(results, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "results/results.json" in reason(hook("stop", ending(checked)))


def test_a_new_file_sends_back_and_so_does_code(checked, hook) -> None:
    later(checked / "results" / "figure.svg", "<svg/>")
    later(checked / "run.py", "print('other')\n")
    message = reason(hook("stop", ending(checked)))
    assert "results/figure.svg" in message
    assert "run.py" in message


def test_a_judged_file_that_is_gone_sends_back(checked, hook) -> None:
    (checked / "results" / "results.json").unlink()
    assert "results/results.json" in reason(hook("stop", ending(checked)))


def test_before_the_first_check_work_after_the_freeze_sends_back(frozen, hook) -> None:
    assert hook("stop", ending(frozen)) is None
    later(frozen / "results" / "results.json", "{}")
    message = reason(hook("stop", ending(frozen)))
    assert "None of the requirements was checked yet" in message
    assert "? written" in message
    assert "? enough" in message


def test_who_opened_the_round_is_sent_back_to_plan(checked, hook) -> None:
    noted(hook, checked)
    check(checked)
    message = reason(hook("stop", ending(checked)))
    assert "the round that you opened is not finished" in message
    assert (
        'plan_round of the autoscirub MCP server with targets for "enough", or run: autoscirub round'
        in message
    )


@pytest.mark.parametrize("log", [None, "", "{", "[]\n", '{"event": "verified"\n', '["verified"]\n'])
def test_a_check_whose_answers_are_all_kept_is_of_who_called_it(checked, hook, log) -> None:
    report = checked / ".autoscirub" / "verification_report.json"
    at = json.loads(report.read_text())["decisions"][0]["at"]
    noted(hook, checked)
    check(checked)
    report.write_text(report.read_text().replace(at, "2026-01-01T00:00:00Z"))
    if log is not None:  # then it is not known whose it is
        (checked / ".autoscirub" / "revisions" / "events.jsonl").write_text(log)
    assert (hook("stop", ending(checked)) is not None) is (log is None)


def test_with_a_plan_the_next_call_is_a_check(checked, hook) -> None:
    noted(hook, checked)
    check(checked)
    plan_round(project=checked)
    message = reason(hook("stop", ending(checked)))
    assert "close the gaps, then call check" in message


def test_a_command_in_the_shell_opens_a_round_as_well(checked, hook) -> None:
    call = {"session_id": "mine", "cwd": str(checked), "tool_name": "Bash"}
    hook("pre-tool-use", {**call, "tool_input": {"command": "autoscirub check"}})
    check(checked)
    assert hook("stop", ending(checked)) is not None


def test_a_subagent_is_sent_back_for_itself(checked, hook) -> None:
    later(checked / "report.md", "x")
    first = ending(checked, hook_event_name="SubagentStop", agent_id="a1")
    report = "put your whole report into it"  # what it said before is lost to who started it
    assert report in reason(hook("stop", first))
    assert hook("stop", first) is None
    assert report not in reason(hook("stop", ending(checked)))


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
    assert hook.stderr.count("\n") == 1


# The rules


@drawn(st.builds(StopContext))
def test_the_first_rule_that_applies_decides(situation: StopContext) -> None:
    why = why_back(situation)
    if situation.sent_back_before:
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
    assert names == set(StopContext.__dataclass_fields__)
