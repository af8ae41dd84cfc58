"""The scripted model itself: what it sends, what it keeps, and that a script which does not fit fails its test."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import Any

import pytest
from tests.e2e.clients.scripted_model import Call, Json, Say, ScriptedModel

ADD = {"name": "mcp__bare__add", "description": "Adds.", "input_schema": {"type": "object"}}


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def post(model: ScriptedModel, path: str, body: Json) -> str:
    request = urllib.request.Request(model.url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def asked(*messages: Any, **more: Any) -> Json:
    return {
        "model": "m",
        "messages": [{"role": "user", "content": "Add."}, *messages],
        "tools": [ADD],
        **more,
    }


def test_a_turn_is_the_same_streamed_and_whole_and_no_two_calls_share_an_id() -> None:
    with ScriptedModel(lambda _: Call("add", {"a": 1}), listening()) as model:
        [whole] = json.loads(post(model, "/v1/messages", asked()))["content"]
        lines = post(model, "/v1/messages?beta=true", asked(stream=True)).splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    [start] = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    [delta] = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    streamed = {**start, "input": json.loads(delta["partial_json"])}
    assert {**streamed, "id": None} == {**whole, "id": None}
    assert (whole["name"], whole["input"]) == ("mcp__bare__add", {"a": 1})
    assert streamed["id"] != whole["id"]


def test_a_script_is_given_what_came_of_its_calls() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "mcp__bare__add", "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": '[Resource link: x]\n{"sum": 3}'}
    conversation = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    with ScriptedModel(lambda it: Say(str(it.results[0].structured["sum"])), listening()) as model:
        answer = json.loads(post(model, "/v1/messages", asked(*conversation)))
    assert answer["content"] == [{"type": "text", "text": "3"}]
    assert (model.last.results[0].tool, model.last.results[0].arguments) == ("mcp__bare__add", {"a": 1})


@pytest.mark.parametrize("script", [[Call("subtract")], []])
def test_a_script_that_does_not_fit_what_the_client_asks_fails_its_test(script: list[Any]) -> None:
    model = ScriptedModel(script, listening())
    model.__enter__()
    reply = json.loads(post(model, "/v1/messages", asked()))["content"][0]["text"]
    assert reply.startswith("The script failed: ")  # the client ends, and is not left waiting
    with pytest.raises(AssertionError, match=r"called 'subtract'|has 0 turns"):
        model.__exit__(None)


def test_what_a_client_asks_besides_is_answered_and_takes_no_turn_of_the_script() -> None:
    with ScriptedModel([], listening()) as model:
        assert json.loads(post(model, "/v1/messages/count_tokens", {}))["input_tokens"] > 0
        title = json.loads(post(model, "/v1/messages", {"model": "m", "messages": []}))
        assert title["stop_reason"] == "end_turn"
        with urllib.request.urlopen(f"{model.url}/v1/models", timeout=10) as answer:
            assert json.load(answer)["data"] == []
    assert [path for path, _ in model.others] == [
        "POST /v1/messages/count_tokens",
        "POST /v1/messages",
        "GET /v1/models",
    ]
    assert model.asked == []
