"""What the `claude` judge makes of the client's messages. What the client is sent and does is in tests/e2e/test_judge_claude.py."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from autoscirub.errors import JudgeError, TrustError
from autoscirub.judging.backends import OverLimit, ask_within, open_backend
from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest

pytestmark = pytest.mark.skipif(
    not find_spec("claude_agent_sdk"), reason="the extra [claude] is not installed"
)

TOOLS = ["StructuredOutput", *(f"mcp__judge__{name}" for name in ("list", "glob", "grep", "read"))]
VERDICT = {"reasoning": "it is there", "satisfied": True}
MODEL = {
    "inputTokens": 10,
    "cacheReadInputTokens": 200,
    "cacheCreationInputTokens": 3000,
    "outputTokens": 7,
    "costBasis": "list",
}


class Said:
    """A client that has said all that it will: a Transport of the SDK's."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self._messages = messages
        self._send, self._receive = anyio.create_memory_object_stream[dict[str, Any]](100)

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        sent = json.loads(data)
        if sent["type"] == "control_request":
            answer = {"subtype": "success", "request_id": sent["request_id"], "response": {}}
            self._send.send_nowait({"type": "control_response", "response": answer})
        elif sent["type"] == "user":
            for message in self._messages:
                self._send.send_nowait(message)
            self._send.close()

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        async for message in self._receive:
            yield message

    async def close(self) -> None:
        self._send.close()
        self._receive.close()

    async def end_input(self) -> None:
        pass

    def is_ready(self) -> bool:
        return True


def init(**changes: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "init", "tools": TOOLS, "claude_code_version": "2.1.332", **changes}


def turn(number: int, model: str = "served-a", **changes: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": f"turn {number}"}]
    return {
        "type": "assistant",
        "message": {"id": f"m{number}", "model": model, "content": content},
        "parent_tool_use_id": None,
        **changes,
    }


def event(**fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "uuid": "u", "session_id": "s", "event": fields}


def result(**changes: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "duration_ms": 1,
        "duration_api_ms": 1,
        "is_error": False,
        "num_turns": 1,
        "session_id": "s",
        "total_cost_usd": 0.5,
        "modelUsage": {"a": MODEL},
        "result": json.dumps(VERDICT),
        "structured_output": VERDICT,
        **changes,
    }


@pytest.fixture
def ask(question: Callable[..., JudgeRequest]) -> Callable[..., JudgeReply]:
    def asked(*messages: dict[str, Any], **changes: Any) -> JudgeReply:
        from autoscirub.judging.backends.claude_session import ClaudeSession

        session = ClaudeSession(question(**changes))
        return anyio.run(session.ask, Said(list(messages)))

    return asked


def test_a_reply_has_the_structured_output_the_model_and_all_that_was_used(
    ask: Callable[..., JudgeReply],
) -> None:
    reply = ask(init(), turn(1, "served-a"), turn(1, "served-a"), turn(2, "served-b"), result())
    assert (reply.structured, json.loads(reply.text)) == (VERDICT, VERDICT)
    assert reply.model_served == "served-b"
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.turns, usage.cost_usd) == (3210, 7, 2, 0.5)
    assert usage.price_basis == "list prices"


def test_a_price_rests_on_an_unknown_model_where_one_of_them_is(ask: Callable[..., JudgeReply]) -> None:
    usages = {"a": MODEL, "b": {**MODEL, "costBasis": "unknown"}}
    assert ask(init(), turn(1), result(modelUsage=usages)).usage.price_basis == "unknown model"


FAILED = {"is_error": True, "structured_output": None, "terminal_reason": "api_error"}


def own(error: str) -> dict[str, Any]:
    """What the client itself writes as the model's words."""
    message = turn(9, "<synthetic>")
    return {**message, "error": error, "message": {**message["message"], "id": "m9"}}


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([own("authentication_failed"), result(**FAILED, result="no")], "missing or refused: no; try `claude` and /login"),
        ([own("authentication_failed"), result(**FAILED, api_error_status=403)], r"missing or refused \(HTTP 403\)"),
        ([own("billing_error"), result(**FAILED, api_error_status=400)], r"no credit \(HTTP 400\)"),
        ([own("model_not_found"), result(**FAILED, api_error_status=404)], r"no such model.*\(HTTP 404\)"),
        ([own("invalid_request"), result(**FAILED, stop_reason="refusal")], "refused to answer"),
        ([own("max_output_tokens"), result(**FAILED)], "cut off at its most tokens.*CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
        ([own("rate_limit"), result(**FAILED, api_error_status=429)], r"rate limit \(HTTP 429\)"),
        ([own("server_error"), result(**FAILED, api_error_status=503)], r"the service failed \(HTTP 503\)"),
        ([own("unknown"), result(**FAILED, api_error_status=413)], r"refused the request \(HTTP 413\)"),
        ([own("server_error"), result(**FAILED, result="API Error: x\ny")], "could not be reached.*: API Error: x y;"),
        ([result(structured_output=None, result="Fine.")], "answered in prose.*: Fine.;"),
        ([turn(1)], "ended without a result"),
    ],
)  # fmt: skip
def test_the_fields_of_a_result_say_what_failed(
    ask: Callable[..., JudgeReply], messages: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(JudgeError, match=rf"^judge claude: .*{says}"):
        ask(init(), *messages)


def test_a_limit_that_ended_it_says_what_was_used(ask: Callable[..., JudgeReply]) -> None:
    spent = result(**{**FAILED, "subtype": "error_max_budget_usd", "total_cost_usd": 2.25})
    with pytest.raises(OverLimit, match=r"money limit reached: \$2.25 of \$2, .*judge.money") as caught:
        ask(init(), turn(1), spent, money=2.0)
    assert (caught.value.usage.cost_usd, caught.value.model_served) == (2.25, "served-a")


def test_a_turn_that_begins_after_the_last_one_ends_it(ask: Callable[..., JudgeReply]) -> None:
    messages = [init(), turn(1), turn(2), event(type="message_start"), result()]
    assert ask(*messages, turns=3).structured == VERDICT
    with pytest.raises(OverLimit, match="turn limit reached: 2 turns of 2") as caught:
        ask(*messages, turns=2)
    assert caught.value.usage.turns == 2


def test_a_wait_that_is_longer_than_what_is_left_ends_it(ask: Callable[..., JudgeReply]) -> None:
    retry = {"type": "system", "subtype": "api_retry", "error_status": 529, "retry_delay_ms": 59_000}
    assert ask(init(), retry, turn(1), result(), seconds=80.0).structured == VERDICT
    with pytest.raises(JudgeError, match=r"HTTP 529\): the service asks to wait 59 s, and 50 s are left"):
        ask(init(), retry, turn(1), result(), seconds=50.0)


@pytest.mark.parametrize("tools", [[*TOOLS, "Bash"], TOOLS[:-1], []])
def test_a_client_that_offers_other_tools_is_not_believed(
    ask: Callable[..., JudgeReply], tools: list[str]
) -> None:
    with pytest.raises(JudgeError, match=r"not confined: Claude Code 2.1.332 offers the judge the tools"):
        ask(init(tools=tools), turn(1), result())


def test_what_the_model_writes_is_passed_on_as_it_comes(question: Callable[..., JudgeRequest]) -> None:
    from autoscirub.judging.backends.claude_session import ClaudeSession

    written: list[str] = []
    messages = [
        init(),
        event(type="message_start"),
        event(type="content_block_start"),
        event(type="content_block_delta", delta={"type": "text_delta", "text": "I look."}),
        event(type="content_block_start"),
        event(type="content_block_delta", delta={"type": "input_json_delta", "partial_json": '{"path"'}),
        turn(1),
        result(),
    ]
    anyio.run(ClaudeSession(question(), written.append).ask, Said(messages))
    assert "".join(written) == '\nI look.\n{"path"'


def backend(tmp_path: Path, *, trusted: bool = True) -> Any:
    return open_backend(JudgeConfig(backend="claude", model="m"), tmp_path, trusted=trusted)


def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, question: Callable[..., JudgeRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)
    with pytest.raises(JudgeError, match=r"pip install 'autoscirub\[claude\]'"):
        anyio.run(ask_within, backend(tmp_path), question())


def test_it_is_not_asked_untrusted_and_its_price_is_unknown(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    with pytest.raises(TrustError, match="autoscirub trust"):
        anyio.run(ask_within, backend(tmp_path, trusted=False), question())
    assert backend(tmp_path).price(question()) is None


def test_its_settings_name_the_model_and_both_versions(tmp_path: Path) -> None:
    settings = backend(tmp_path).settings()
    assert (settings["backend"], settings["model"], settings["sdk"]) == (
        "claude",
        "m",
        version("claude-agent-sdk"),
    )
    assert settings["client"]


def test_a_session_that_dies_is_an_error_with_the_end_of_its_standard_error(
    tmp_path: Path, question: Callable[..., JudgeRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    from autoscirub.judging.backends import claude

    monkeypatch.setattr(claude, "_SESSION", "import sys; sys.exit('it broke')")
    with pytest.raises(
        JudgeError, match="its session ended with exit status 1, without an answer .it broke."
    ):
        anyio.run(ask_within, backend(tmp_path), question())
