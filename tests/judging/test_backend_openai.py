"""The openai backend, with a real server on loopback that plays the model in both of its formats."""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from PIL import Image
from tests.e2e.clients.model_server import Answer, ModelServer, Received, calls, failure, model_server
from tests.judging.judges import question as question_of
from tests.judging.openai_judge import KEY, SCHEMA, VERDICT, ask, both, judge

from autoscirub.errors import ConfigError, JudgeError, TrustError
from autoscirub.judging.backends import OverLimit, ask_within, repair_within
from autoscirub.models import JudgeReply, Usage

pytestmark = pytest.mark.usefixtures("plain_openai_client")


# Opening


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"base_url": None}, "judge.base_url is not set; name the server's address, such as http://localhost:8000/v1"),
        ({"base_url": "http://localhost/v1", "model": None}, "judge.model is not set; name a model of that server"),
        ({"base_url": "localhost:8000/v1"}, "is no address of a server; expected one such as"),
        ({"base_url": "ftp://localhost/v1"}, "is no address of a server"),
        ({"base_url": "http:///v1"}, "is no address of a server"),
        ({"base_url": "http://localhost:port/v1"}, "is no address of a server"),
        ({"base_url": "http://[::1/v1"}, "is no address of a server"),
        ({"base_url": "http://localhost/v1\nHost: x"}, "is no address of a server"),
        ({"base_url": "http://lab.example/v1", "key_env": "K"}, "the key in K would travel in the clear to lab.example"),
        ({"base_url": "https://h/v1", "key_env": "sk-1"}, "judge.key_env: expected the name of an environment variable"),
        ({"base_url": "http://0.0.0.0/v1", "key_env": "K"}, "would travel in the clear"),
        ({"base_url": "http://localhost.lab.example/v1", "key_env": "K"}, "would travel in the clear"),
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        judge(**settings)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://me:hunter-22@h/v1",
        "https://hunter-22@h/v1",
        "https://h/v1?key=hunter-22",
        "https://h/v1#hunter-22",
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_and_not_quoted(base_url: str) -> None:
    with pytest.raises(ConfigError, match="holds a user name, a password, or something after") as caught:
        judge(base_url)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url",
    ["https://lab.example/v1", "http://localhost:1/v1", "http://127.9.9.9/v1", "http://[::1]:8000/v1"],
)
def test_a_key_goes_over_tls_or_to_this_machine(base_url: str) -> None:
    backend = judge(base_url, key_env="NOT_SET_AND_NOT_NEEDED_TO_OPEN")
    assert backend.settings() == {"backend": "openai", "model": "m", "base_url": base_url, "api": "chat"}


def test_without_a_key_any_address_will_do() -> None:
    judge("http://lab.example:8000/v1")


@pytest.mark.parametrize("value", [None, "", "  ", "two words", "naïve-key", "line\x00break"])
def test_a_key_that_is_not_there_is_named_and_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    monkeypatch.setattr(os, "environ", {**os.environ, **({"JUDGE_KEY": value} if value is not None else {})})
    with model_server() as server, pytest.raises(ConfigError, match="the environment variable JUDGE_KEY"):
        ask(server, "chat", tmp_path, key_env="JUDGE_KEY")
    assert server.received == []


def test_a_server_that_nobody_trusted_is_sent_nothing(tmp_path: Path, key: str) -> None:
    with model_server() as server:
        backend = judge(server.base_url, trusted=False, key_env=key)
        assert backend.settings()["base_url"] == server.base_url
        with pytest.raises(
            TrustError, match="that files go to http://127.0.0.1:.* was not trusted on this machine"
        ):
            anyio.run(ask_within, backend, question_of(workspace=str(tmp_path)))
    assert server.received == []


def test_without_the_library_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with model_server() as server, pytest.raises(ConfigError, match=r"pip install 'autoscirub\[openai\]'"):
        ask(server, "chat", tmp_path)
    assert server.received == []


# The conversation


@both
def test_four_tools_are_offered_and_their_results_go_back(root: Path, api: str, key: str) -> None:
    (root / "fit.txt").write_text("slope = 0.51\n")
    with model_server(
        calls(("list", {}), ("read", {"path": "fit.txt"})),
        calls(("grep", {"pattern": "slope", "path": "fit.txt"})),
        Answer(VERDICT, usage=(200, 20)),
    ) as server:
        reply = ask(server, api, root, key_env=key, input_usd=10.0, output_usd=100.0)
    assert (reply.text, reply.structured) == (VERDICT, json.loads(VERDICT))
    assert reply.model_served == "served-m"
    assert reply.usage.model_dump(exclude={"seconds"}) == {
        "input_tokens": 400, "output_tokens": 40, "turns": 3, "cost_usd": pytest.approx(0.008),
        "price_basis": "configured prices", "recorded_cost_usd": None,
    }  # fmt: skip
    first, second, third = server.received
    for received in server.received:
        assert received.tools == ["list", "glob", "grep", "read"]
        assert received.path == ("/v1/responses" if api == "responses" else "/v1/chat/completions")
        assert received.headers["authorization"] == f"Bearer {KEY}"
        assert "stream" not in received.body
        assert received.shape is None
    assert first.body.get("store") is (False if api == "responses" else None)
    assert [item["content"] for item in first.items] == ["is it so?"]
    listed, read = second.results
    assert '"fit.txt"' in listed
    assert "1│slope = 0.51" in read
    assert len(third.results) == 3
    assert "1│slope = 0.51" in third.results[2]
    # What the server made up for itself is not sent back: it would look for it in a store that has nothing.
    assert not {"rs_1", "fc_0"} & {item.get("id") for item in third.items}


@both
def test_what_is_not_ours_and_what_is_outside_is_refused_without_effect(tmp_path: Path, api: str) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "in.txt").write_text("inside\n")
    outside = tmp_path / "canary.txt"
    outside.write_text("canary-77aa\n")
    attempts = [
        ("Bash", {"command": f"touch {tmp_path}/made"}), ("write", {"path": "made", "text": "x"}),
        ("read", {"path": "../canary.txt"}), ("read", {"path": str(outside)}), ("list", {"path": ".."}),
        ("grep", {"pattern": "canary", "path": "/"}), ("glob", {"pattern": "../*"}),
        ("read", "{\"path\": "), ("read", "[1]"), ("read", "in.txt"), ("read", {"path": "in.txt", "as": "root"}),
        ("read", ""), ("", {}),
    ]  # fmt: skip
    with model_server(calls(*attempts), Answer(VERDICT)) as server:
        assert ask(server, api, root).text == VERDICT
    results = server.received[1].results
    for result, words in zip(
        results,
        ["no such tool; there are list, glob, grep, read", "no such tool", *["relative to the workspace"] * 5,
         "the arguments are no JSON", "must be a JSON object", "the arguments are no JSON", "no argument",
         "path must be a string", "no such tool"],
        strict=True,
    ):  # fmt: skip
        assert words in result
    assert "canary-77aa" not in server.wire
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["canary.txt", "in.txt", "workspace"]
    # Servers read the history again, and fail on arguments that are no JSON.
    for item in server.received[1].items:
        for call in [item, *(each["function"] for each in item.get("tool_calls", ()))]:
            assert isinstance(json.loads(call.get("arguments", "{}")), dict)


@both
def test_of_very_many_calls_at_once_some_are_answered(tmp_path: Path, api: str) -> None:
    with model_server(calls(*[("list", {})] * 40), Answer(VERDICT)) as server:
        ask(server, api, tmp_path)
    assert [result.startswith("not called") for result in server.received[1].results] == [False] * 32 + [
        True
    ] * 8


@both
def test_a_picture_is_sent_as_one_after_the_results(root: Path, api: str) -> None:
    Image.new("RGB", (40, 20), (200, 0, 0)).save(root / "figure.png")
    with model_server(calls(("read", {"path": "figure.png"}), ("list", {})), Answer(VERDICT)) as server:
        ask(server, api, root)
    sent = server.received[1]
    [url] = sent.pictures
    start, data = url.split(";base64,")
    assert start.startswith("data:image/")
    assert base64.b64decode(data)[:4] in {b"\x89PNG", b"\xff\xd8\xff\xe0"}
    assert len(sent.results) == 2
    assert sent.items[-1]["role"] == "user"


@both
@pytest.mark.parametrize("status", [400, 415, 422, 500])
def test_a_server_that_takes_no_pictures_is_told_so_in_words(root: Path, api: str, status: int) -> None:
    Image.new("RGB", (40, 20), (200, 0, 0)).save(root / "figure.png")
    look = calls(("read", {"path": "figure.png"}))

    def no_pictures(received: Received) -> Answer:
        return failure(status, "not multimodal") if received.pictures else look

    tried = 3 if status == 500 else 1
    with model_server(look, *[no_pictures] * tried, no_pictures, Answer(VERDICT)) as server:
        assert ask(server, api, root).usage.turns == 3
    assert [len(received.pictures) for received in server.received] == [0, *[1] * tried, 0, 0]
    assert server.wire.count("takes no pictures") == 3  # once in the next request, twice in the one after


# The shape of the answer


@both
def test_an_answer_in_prose_is_asked_for_in_its_shape(tmp_path: Path, api: str) -> None:
    with model_server(Answer("It is satisfied, {I think}."), Answer(VERDICT)) as server:
        reply = ask(server, api, tmp_path)
    assert (reply.structured, reply.usage.turns) == (json.loads(VERDICT), 2)
    shape = server.received[1].shape
    assert shape is not None
    assert (shape["schema"], shape["strict"]) == (SCHEMA, True)
    assert server.received[1].body["tool_choice"] == "none"
    assert [item["content"] for item in server.received[1].items][1] == "It is satisfied, {I think}."


@both
@pytest.mark.parametrize(
    ("text", "structured"),
    [
        (f"\n {VERDICT}\n", True),
        (f"```json\n{VERDICT}\n```\n", False),
        (f"I looked at it.\n{VERDICT}", False),
        (f"<think>well</think>{VERDICT}", False),
    ],
)
def test_an_answer_that_can_be_read_is_left_as_it_is(
    tmp_path: Path, api: str, text: str, structured: bool
) -> None:
    with model_server(Answer(text)) as server:
        reply = ask(server, api, tmp_path)
    assert reply.text == text
    assert (reply.structured is not None) is structured


@both
@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_knows_no_shapes_gives_a_text(tmp_path: Path, api: str, status: int) -> None:
    refusal = failure(status, "response_format of type json_schema is not supported")
    with model_server(Answer("Yes, it is."), refusal, Answer(VERDICT)) as server:
        backend = judge(server.base_url, api=api)
        asked = question_of(workspace=str(tmp_path), answer_schema=SCHEMA)
        reply = anyio.run(ask_within, backend, asked)
        assert (reply.text, reply.structured, reply.usage.turns) == ("Yes, it is.", None, 1)
        anyio.run(repair_within, backend, asked, reply, "no JSON object")
    said = [item["content"] for item in server.received[2].items]
    assert said == ["is it so?", "Yes, it is.", "no JSON object"]


def test_in_the_last_turn_the_text_is_taken_as_it_is(tmp_path: Path) -> None:
    with model_server(Answer("Yes.")) as server:
        assert ask(server, "chat", tmp_path, request={"turns": 1}).text == "Yes."


def test_a_message_in_parts_and_a_call_without_an_id_are_read(tmp_path: Path) -> None:
    call = {"function": {"name": "list", "arguments": {}}}
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": VERDICT}]
    turns = [
        {"choices": [{"message": {"content": None, "tool_calls": [call]}}]},
        {"choices": [{"message": {"content": parts}, "finish_reason": None}]},
    ]
    with model_server(*(Answer(content=json.dumps(turn).encode()) for turn in turns)) as server:
        reply = ask(server, "chat", tmp_path, input_usd=1, output_usd=1)
    assert reply.structured == json.loads(VERDICT)
    assert (reply.model_served, reply.usage.input_tokens, reply.usage.cost_usd) == (None, None, None)
    [called, result] = server.received[1].items[1:]
    assert called["tool_calls"][0]["id"] == result["tool_call_id"] != ""


# Repairs


@both
def test_a_repair_goes_on_in_the_same_conversation_as_often_as_asked(root: Path, api: str) -> None:
    (root / "fit.txt").write_text("slope = 0.51\n")
    script = [
        calls(("read", {"path": "fit.txt"})),
        Answer(VERDICT),
        Answer('{"confirmed": true}'),
        Answer("{}"),
    ]

    async def talk(server: ModelServer) -> list[JudgeReply]:
        backend = judge(server.base_url, api=api)
        asked = question_of(workspace=str(root))
        replies = [await ask_within(backend, asked)]
        for text in ("is it meant?", "once more"):
            replies.append(await repair_within(backend, asked, replies[-1], text))
        return replies

    with model_server(*script) as server:
        replies = anyio.run(talk, server)
    assert [reply.text for reply in replies] == [VERDICT, '{"confirmed": true}', "{}"]
    assert [reply.usage.turns for reply in replies] == [2, 1, 1]
    last = server.received[-1]
    assert [item["content"] for item in last.items if item.get("role") in ("user", "assistant") and item["content"]] == [
        "is it so?", VERDICT, "is it meant?", '{"confirmed": true}', "once more",
    ]  # fmt: skip
    assert "slope = 0.51" in last.results[0]


def test_a_repair_of_a_reply_that_is_not_known_is_a_new_question(tmp_path: Path) -> None:
    asked = question_of(workspace=str(tmp_path))
    with model_server(Answer(VERDICT)) as server:
        reply = JudgeReply(text="of an earlier process", usage=Usage())
        anyio.run(repair_within, judge(server.base_url), asked, reply, "it is no JSON")
    [item] = server.received[0].items
    assert item["content"].startswith("is it so?")
    assert "it is no JSON" in item["content"]


def test_members_of_a_panel_have_conversations_of_their_own(tmp_path: Path) -> None:
    first = question_of(workspace=str(tmp_path))
    second = first.model_copy(update={"member": 2})
    with model_server(Answer("{}"), Answer("{}"), Answer(VERDICT)) as server:
        backend = judge(server.base_url)
        reply = anyio.run(ask_within, backend, first)
        anyio.run(ask_within, backend, second)
        anyio.run(repair_within, backend, second, reply, "is it?")
    assert [len(received.items) for received in server.received] == [1, 1, 3]


# Limits


@both
def test_turns_are_cut_while_it_runs(tmp_path: Path, api: str) -> None:
    with model_server(*[calls(("list", {}))] * 3) as server, pytest.raises(OverLimit) as caught:
        ask(server, api, tmp_path, request={"turns": 3}, input_usd=1000, output_usd=0)
    assert "turn limit reached: after 3 turns of 3 (judge.turns)" in str(caught.value)
    assert (caught.value.usage.turns, caught.value.usage.cost_usd) == (3, pytest.approx(0.3))
    assert caught.value.model_served == "served-m"


@both
def test_money_is_counted_after_each_turn(tmp_path: Path, api: str) -> None:
    with model_server(*[calls(("list", {}))] * 2) as server, pytest.raises(OverLimit) as caught:
        ask(server, api, tmp_path, request={"money": 0.15}, input_usd=1000, output_usd=0)
    assert "money limit reached: $0.2 of $0.15 (judge.money), turn 2" in str(caught.value)
    assert caught.value.usage.cost_usd == pytest.approx(0.2)


def test_a_price_needs_both_prices_and_grows_with_the_question() -> None:
    asked = question_of(prompt="x" * 4_000_000, system="")
    assert judge("http://localhost/v1").price(asked) is None
    assert judge("http://localhost/v1", input_usd=3.0).price(asked) is None
    assert judge("http://localhost/v1", input_usd=3.0, output_usd=5.0).price(asked) == pytest.approx(3.005)
    assert judge("http://localhost/v1", input_usd=0, output_usd=0).price(asked) == 0.0


@both
def test_a_stall_in_the_middle_ends_with_the_time_and_what_had_come_is_kept(
    tmp_path: Path, api: str, key: str
) -> None:
    text = f"half of a verdict {KEY} " * 50
    with model_server(Answer(text, stalls=True)) as server:
        began = time.monotonic()
        with pytest.raises(JudgeError, match="no answer within 0.5 s") as caught:
            ask(server, api, tmp_path, request={"seconds": 0.5}, key_env=key)
        assert time.monotonic() - began < 5
        assert server.all_closed()
    assert "half of a verdict [JUDGE_KEY]" in caught.value.raw
    assert KEY not in caught.value.raw


@both
def test_a_wait_that_the_server_asks_for_is_kept_where_there_is_time(tmp_path: Path, api: str) -> None:
    with model_server(failure(429, retry_after="0.05"), Answer(VERDICT)) as server:
        assert ask(server, api, tmp_path).text == VERDICT


def test_a_wait_beyond_the_limit_is_not_begun(tmp_path: Path) -> None:
    with model_server(failure(429, "slow down", retry_after="90")) as server:
        began = time.monotonic()
        with pytest.raises(
            JudgeError, match=r"too many requests, or no credit \(429\): slow down; try again in 90 s"
        ):
            ask(server, "chat", tmp_path, request={"seconds": 30.0})
        assert time.monotonic() - began < 10
