"""What `codex exec --json` prints, read piece by piece: turns, usage, the model that served, and why a run failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autoscirub.judging.backends.codex.events import CodexEvents


def line(kind: str, **more: Any) -> bytes:
    return json.dumps({"type": kind, **more}).encode() + b"\n"


def call(kind: str, identity: str) -> bytes:
    return line(f"item.{kind}", item={"id": identity, "type": "mcp_tool_call"})


def session(home: Path, **payload: Any) -> Path:
    file = home / "sessions" / "2026" / "rollout-1.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps({"type": "event_msg", "payload": payload}) + "\n")
    return home


def answered(home: Path, identity: str) -> Path:
    return session(home, response_id=identity, usage={"input_tokens": 1})


def test_turns_are_the_model_s_answers_and_what_goes_on_after_the_last_one_is_ended(tmp_path: Path) -> None:
    events = CodexEvents(2, tmp_path)
    assert not events.take(call("started", "a") + call("started", "b") + call("completed", "a"))
    answered(answered(tmp_path, "r1"), "r1")
    assert not events.take(call("started", "c"))
    answered(tmp_path, "r2")
    assert not events.take(
        line("turn.completed", usage={"input_tokens": 7, "output_tokens": 2, "other": "x"})
    )
    found = events.usage
    assert (found.input_tokens, found.output_tokens, found.turns, found.cost_usd) == (7, 2, 2, None)
    assert events.take(call("started", "d")) is True
    assert events.over


def test_where_answers_have_no_number_their_tokens_are_counted(tmp_path: Path) -> None:
    assert CodexEvents(2, tmp_path).usage.turns is None
    for info in (None, {"total": 1}, {"total": 2}):
        session(tmp_path, type="token_count", info=info)
    assert CodexEvents(2, tmp_path).usage.turns == 2


def test_a_line_may_arrive_in_pieces_and_what_is_no_event_is_passed_over(tmp_path: Path) -> None:
    whole = line("turn.failed", error={"message": "it broke"})
    events = CodexEvents(10, tmp_path)
    for piece in (b"WARNING\n[1]\n", whole[:9], whole[9:-1]):
        events.take(piece)
    assert not events.failed
    events.take(whole[-1:])
    assert events.failed


def test_the_model_is_the_one_that_it_was_rerouted_to_else_the_one_asked_for(tmp_path: Path) -> None:
    events = CodexEvents(10, tmp_path)
    assert events.model is None
    session(tmp_path, model="asked-for")
    assert events.model == "asked-for"
    text = "model rerouted: asked-for -> served-b (Reason)"
    events.take(line("item.completed", item={"id": "1", "type": "error", "message": text}))
    assert events.model == "served-b"


@pytest.mark.parametrize(
    ("info", "todo"),
    [
        ({"http_connection_failed": {"http_status_code": 401}}, "run `codex login`"),
        ({"response_too_many_failed_attempts": {"http_status_code": 429}}, "wait, and run this again"),
        ({"response_stream_connection_failed": {"http_status_code": 502}}, "its provider failed"),
        ({"http_connection_failed": {"http_status_code": None}}, "cannot be reached"),
        ("usage_limit_exceeded", "a limit of its provider is used up"),
        ("context_window_exceeded", "lower judge.inline"),
        ("other", "where it fails again, update codex"),
        (None, "where it fails again, update codex"),
        ({"new_kind": "x"}, "where it fails again, update codex"),
    ],
)
def test_what_to_do_comes_from_the_error_s_name_not_from_its_words(
    tmp_path: Path, info: Any, todo: str
) -> None:
    events = CodexEvents(10, tmp_path)
    events.take(line("turn.failed", error={"message": "429 or so\nsomething"}))
    session(tmp_path, type="task_complete", error={"message": "x", "codex_error_info": info})
    why = events.failure(1, "")
    assert why.startswith("429 or so something; ")
    assert todo in why


def test_a_run_that_says_nothing_is_described_by_its_end(tmp_path: Path) -> None:
    why = CodexEvents(10, tmp_path).failure(127, "unknown option --json")
    assert why.startswith(
        "it ended with exit status 127, and its standard error with: unknown option --json; "
    )
