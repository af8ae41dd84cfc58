"""One question to Claude Code through its SDK, in a process of its own, so that all it starts ends with it.

Reads a JudgeRequest as JSON on stdin. Prints lines of JSON: `{"text": …}` as the model writes, and at the end
`{"reply": …}` or `{"error": …}`. The environment that it is started with is the client's, as it is.
"""

from __future__ import annotations

import json
import os
import signal
from time import monotonic
from typing import TYPE_CHECKING, Any

from autoscirub.errors import AutoscirubError, JudgeError
from autoscirub.judging.backends.limits import OverLimit, one_line
from autoscirub.judging.tools import WorkspaceTools, make_server
from autoscirub.models import JudgeReply, JudgeRequest, Usage
from autoscirub.wire import take_wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage, Transport

_SERVER = "judge"
_OUTPUT_TOOL = "StructuredOutput"
_LINE_BYTES = 32 << 20
"""Of one message of the client's. It repeats what a tool returned: a picture has more than the SDK's own limit."""
_SYNTHETIC = "<synthetic>"
"""The model of a message that the client wrote itself, about an error."""


_FAILURES = {
    "authentication_failed": ("the login is missing or refused", "`claude` and /login, or ANTHROPIC_API_KEY"),
    "billing_error": ("the account has no credit", "another account"),
    "error_max_structured_output_retries": ("no output of the model fits the schema", "another judge.model"),
    "max_output_tokens": (
        "the model's output was cut off at its most tokens",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    ),
    "model_not_found": ("no such model, or no access to it", "another judge.model"),
    "rate_limit": ("rate limit", "again later, or fewer at a time (judge.at_once)"),
}
"""What the client calls an error, what that is, and what to try."""


class ClaudeSession:
    """One question, from the client's messages to a reply. What the model writes goes to `on_text` as it comes."""

    def __init__(self, request: JudgeRequest, on_text: Callable[[str], None] = lambda _: None) -> None:
        self._served: str | None = None
        self._request, self._on_text = request, on_text
        self._tools = WorkspaceTools(request.workspace)
        self._began = monotonic()
        self._turns: set[str] = set()
        self._error: str | None = None
        self._stderr: list[str] = []
        self._retries = 0
        self._result: ResultMessage | None = None

    async def ask(self, transport: Transport | None = None) -> JudgeReply:
        """The reply. Raises JudgeError, and OverLimit where a limit ended it. `transport` takes the client's place."""
        from claude_agent_sdk import ClaudeSDKError, query

        options = _options(self._request, self._tools, self._stderr.append)
        try:
            async for message in query(prompt=self._request.prompt, options=options, transport=transport):
                self._take(message)
        except ClaudeSDKError as cause:
            # After a result that reports an error, the client ends with an error too, which says nothing new.
            if self._result is None:
                words = one_line(" ".join([str(cause), *self._stderr]))
                raise _failed(
                    f"the client failed: {words}; try again, or see whether `claude` works"
                ) from cause
        return self._reply()

    def _take(self, message: Message) -> None:
        from claude_agent_sdk import AssistantMessage, ResultMessage, StreamEvent, SystemMessage

        if isinstance(message, SystemMessage) and message.subtype == "init":
            self._check_confined(message.data)
        elif isinstance(message, SystemMessage) and message.subtype == "api_retry":
            self._check_wait(message.data)
        elif isinstance(message, StreamEvent):
            self._take_event(message.event)
        elif isinstance(message, AssistantMessage):
            if message.model == _SYNTHETIC:
                self._error = message.error
            else:
                self._served = message.model
                self._turns.add(message.message_id or "")
        elif isinstance(message, ResultMessage):
            self._result = message

    def _take_event(self, event: dict[str, Any]) -> None:
        # The client's own limit does not count turns that go on where the model ran out of tokens.
        if event.get("type") == "message_start" and len(self._turns) >= self._request.turns:
            raise self._out_of_turns()
        if event.get("type") == "content_block_start":
            self._on_text("\n")
        delta = event.get("delta") or {}
        if text := delta.get("text") or delta.get("partial_json"):
            self._on_text(text)

    def _check_confined(self, init: dict[str, Any]) -> None:
        """Another client, or somebody's policy for it, may know other tools than those that it was told to offer."""
        offered = set(init.get("tools", ()))
        if offered != {_OUTPUT_TOOL, *_tool_names(self._tools)}:
            raise _failed(
                f"not confined: Claude Code {init.get('claude_code_version')} offers the judge the tools "
                f"{', '.join(sorted(offered)) or '(none)'}; expected the four of the workspace and {_OUTPUT_TOOL}"
            )

    def _check_wait(self, retry: dict[str, Any]) -> None:
        self._retries += 1
        wait = (retry.get("retry_delay_ms") or 0) / 1000
        left = self._request.seconds - (monotonic() - self._began)
        if wait > left:
            raise _failed(
                f"rate limit or overload (HTTP {retry.get('error_status')}): the service asks to wait {wait:,.0f} s, "
                f"and {left:,.0f} s are left (judge.seconds); try again later"
            )

    def _over(self, limit: str, used: str, key: str) -> OverLimit:
        so_far = JudgeReply(text="", model_served=self._served, usage=self._usage())
        message = f"judge claude: {limit} limit reached: {used}, and no verdict ({key})"
        return OverLimit(f"{message}; raise it, or ask for less at a time", so_far)

    def _out_of_turns(self) -> OverLimit:
        return self._over("turn", f"{len(self._turns)} turns of {self._request.turns}", "judge.turns")

    def _reply(self) -> JudgeReply:
        result = self._result
        if result is None:
            raise _failed("the client ended without a result; try again")
        if result.is_error:
            raise self._failure(result)
        if result.structured_output is None:
            raise _failed(
                "the model answered in prose, without the structured output that it was asked for: "
                f"{one_line(result.result or '')}; try again, or another judge.model"
            )
        return JudgeReply(
            text=result.result or json.dumps(result.structured_output),
            structured=result.structured_output,
            model_served=self._served,
            usage=self._usage(),
        )

    def _failure(self, result: ResultMessage) -> JudgeError:
        """By the fields alone: for a failure of the service, the subtype says "success"."""
        status = result.api_error_status
        if result.subtype == "error_max_turns":
            return self._out_of_turns()
        if result.subtype == "error_max_budget_usd":
            spent = f"${result.total_cost_usd or 0:.4g} of ${self._request.money or 0:.4g}"
            return self._over("money", spent, "judge.money")
        if result.stop_reason == "refusal":
            what, hint = "the model refused to answer", "another judge.model"
        elif (known := self._error or result.subtype) in _FAILURES:
            what, hint = _FAILURES[known]
        elif status is None:
            what, hint = "the service could not be reached, or sent no readable answer", "again later"
        else:
            what = "the service failed" if status >= 500 else "the service refused the request"
            hint = "again later" if status >= 500 else "another judge.model"
        http = f" (HTTP {status})" if status is not None else ""
        again = f" after {self._retries} retries" if self._retries else ""
        words = one_line(result.result or "; ".join(result.errors or ()) or result.subtype)
        return _failed(f"{what}{http}{again}: {words}; try {hint}")

    def _usage(self) -> Usage:
        """Of all models that the client used: cached tokens are input too."""
        result = self._result
        if result is None:
            return Usage(turns=len(self._turns))
        models: list[Any] = list((result.model_usage or {}).values())
        listed = all(model.get("costBasis") == "list" for model in models)
        kinds = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        return Usage(
            input_tokens=sum(model.get(kind) or 0 for model in models for kind in kinds),
            output_tokens=sum(model.get("outputTokens") or 0 for model in models),
            turns=len(self._turns),
            cost_usd=result.total_cost_usd,
            price_basis="list prices" if listed else "unknown model",
        )


def _failed(why: str) -> JudgeError:
    return JudgeError(f"judge claude: {why}")


def _options(
    request: JudgeRequest, tools: WorkspaceTools, on_error: Callable[[str], None]
) -> ClaudeAgentOptions:
    """What confines the client; tests/e2e/test_judge_claude.py shows it on the wire.

    Next to the others, `strict_mcp_config`, `skills` and `permission_mode` change nothing that those tests find.
    """
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(
        tools=[],
        allowed_tools=_tool_names(tools),
        mcp_servers={_SERVER: {"type": "sdk", "name": _SERVER, "instance": make_server(tools)}},
        strict_mcp_config=True,
        setting_sources=[],
        skills=[],
        permission_mode="dontAsk",
        verbatim_prompts=True,
        extra_args={"no-session-persistence": None},
        system_prompt=request.system,
        output_format={"type": "json_schema", "schema": request.answer_schema},
        model=request.model,
        max_turns=request.turns,
        max_budget_usd=request.money,
        include_partial_messages=True,
        max_buffer_size=_LINE_BYTES,
        stderr=on_error,
        cwd=os.getcwd(),  # noqa: PTH109 - the SDK sets PWD from it
    )


def _tool_names(tools: WorkspaceTools) -> list[str]:
    return [f"mcp__{_SERVER}__{spec.name}" for spec in tools.tool_specs()]


async def _answer(request: JudgeRequest, send: Callable[..., None]) -> None:
    try:
        reply = await ClaudeSession(request, lambda text: send(text=text)).ask()
    except AutoscirubError as error:
        used = (error.usage, error.model_served) if isinstance(error, OverLimit) else None
        send(error=str(error), over=used and {"usage": used[0].model_dump(), "model_served": used[1]})
        # The SDK would give a client that is in the middle of something five seconds to end by itself.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    else:
        send(reply=reply.model_dump())


def main() -> int:
    """Answer the request on stdin: 0, also where the answer is an error."""
    wire_in, wire_out = take_wire()
    import anyio

    def send(**line: Any) -> None:
        wire_out.write(json.dumps(line).encode() + b"\n")
        wire_out.flush()

    anyio.run(_answer, JudgeRequest.model_validate_json(wire_in.read()), send)
    return 0
