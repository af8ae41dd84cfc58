"""Runs one answer of a model server: turn after turn within the limits, with the tools that it calls.

The first turns leave the shape of the answer open: a server that decodes under a grammar (vLLM, Ollama) could call no
tool in them. Where no JSON object comes, the same conversation is asked for it in its shape (`response_format`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoscirub.errors import JudgeError, ToolRefused
from autoscirub.judging.backends.limits import OverLimit
from autoscirub.judging.backends.model_server.client import RequestRefused, post
from autoscirub.judging.backends.model_server.conversations import read_turn
from autoscirub.judging.tools import ToolReply
from autoscirub.models import JudgeReply, Usage
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openai import AsyncOpenAI

    from autoscirub.judging.backends.model_server.address import KeyRedaction, ServerAddress
    from autoscirub.judging.backends.model_server.conversations import Conversation
    from autoscirub.judging.backends.model_server.turns import ModelCall, ModelTurn
    from autoscirub.judging.tools import WorkspaceTools
    from autoscirub.models import JudgeRequest

AT_ONCE = 4
"""Calls of one turn that are answered at the same time."""
CALLS_A_TURN = 32
_IN_SHAPE = "Give your answer once more as the one JSON object that was asked for, and nothing else."


class Exchange:
    """One answer: its turns, and what they used."""

    def __init__(
        self,
        client: AsyncOpenAI,
        conversation: Conversation,
        request: JudgeRequest,
        address: ServerAddress,
        redacted: KeyRedaction,
        cost: Callable[[int | None, int | None], float | None],
    ) -> None:
        self._client, self._conversation, self._request = client, conversation, request
        self._address, self._redacted, self._cost = address, redacted, cost
        self._turns = 0
        self._input: int | None = 0
        self._output: int | None = 0
        self._model: str | None = None

    async def verdict(self) -> JudgeReply:
        """The model's answer, with what it used. Raises JudgeError."""
        turn = await self._turn()
        while turn.calls:
            self._conversation.add_results(turn, await self._results(turn.calls))
            turn = await self._turn()
        text = turn.text
        schema = self._request.answer_schema
        if schema and self._turns < self._request.turns and not _ends_in_object(text):
            text = await self._in_shape(text, schema)
        self._conversation.add_text("assistant", text)
        return self._reply(text)

    async def _in_shape(self, text: str, schema: dict[str, Any]) -> str:
        """The same answer in the shape of `schema`; `text` itself where the server knows no shapes."""
        self._conversation.add_text("assistant", text)
        self._conversation.add_text("user", _IN_SHAPE)
        try:
            turn = await self._turn(schema)
        except RequestRefused:
            self._conversation.forget(2)
            return text
        return turn.text or text

    async def _turn(self, schema: dict[str, Any] | None = None) -> ModelTurn:
        limit = self._request.turns
        if self._turns >= limit:
            raise OverLimit(
                f"judge openai: turn limit reached: after {self._turns} turns of {limit} (judge.turns) it still called "
                "tools",
                self._reply(""),
            )
        data, raw = await self._post(schema)
        turn = read_turn(self._conversation, data, raw, self._redacted)
        self._turns += 1
        self._input = _sum(self._input, turn.input_tokens)
        self._output = _sum(self._output, turn.output_tokens)
        self._model = turn.model or self._model
        self._require_whole(turn, raw)
        return turn

    async def _post(self, schema: dict[str, Any] | None) -> tuple[Any, str]:
        arguments = (self._client, self._conversation.api)
        try:
            answer = await post(*arguments, self._conversation.body(schema), self._address, self._redacted)
        except RequestRefused:
            # Servers say in many ways that they take no pictures, so a refusal of the first ones is taken for that.
            if not self._conversation.drop_pictures():
                raise
            answer = await post(*arguments, self._conversation.body(schema), self._address, self._redacted)
        self._conversation.pictures_were_taken()
        return answer

    def _require_whole(self, turn: ModelTurn, raw: str) -> None:
        reply = self._reply(turn.text or raw)
        cost, money = reply.usage.cost_usd, self._request.money
        if money is not None and cost is not None and cost > money:
            raise OverLimit(
                f"judge openai: money limit reached: ${cost:.4g} of ${money:.4g} (judge.money), turn {self._turns}",
                reply,
            )
        if turn.cut_off:
            raise OverLimit(f"judge openai: no whole answer: {turn.ended}", reply)
        if turn.ended:
            raise JudgeError(f"judge openai: no answer: {turn.ended}", raw)
        if not turn.calls and not turn.text.strip():
            raise JudgeError("judge openai: an empty answer: neither a text nor a call of a tool", raw)

    async def _results(self, calls: Sequence[ModelCall]) -> list[tuple[ModelCall, ToolReply]]:
        import anyio
        from anyio.to_thread import run_sync

        results: dict[int, ToolReply] = {}
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def answer(number: int, call: ModelCall) -> None:
            if number >= CALLS_A_TURN:
                results[number] = ToolReply(f"not called: at most {CALLS_A_TURN} calls at once")
            else:
                results[number] = await run_sync(_result, self._conversation.tools, call, limiter=limiter)

        async with anyio.create_task_group() as group:
            for number, call in enumerate(calls):
                group.start_soon(answer, number, call)
        return [(call, results[number]) for number, call in enumerate(calls)]

    def _reply(self, text: str) -> JudgeReply:
        cost = self._cost(self._input, self._output)
        usage = Usage(
            input_tokens=self._input,
            output_tokens=self._output,
            turns=self._turns,
            cost_usd=cost,
            price_basis=None if cost is None else "configured prices",
        )
        return JudgeReply(text=text, structured=_object(text), model_served=self._model, usage=usage)


def _result(tools: WorkspaceTools, call: ModelCall) -> ToolReply:
    if call.arguments is None:
        return ToolReply(call.fault)
    try:
        return tools.call(call.name, call.arguments)
    except ToolRefused as refused:
        return ToolReply(str(refused))


def _sum(sofar: int | None, more: int | None) -> int | None:
    return None if sofar is None or more is None else sofar + more


def _object(text: str) -> dict[str, Any] | None:
    """The one JSON object that a text is; None where it is anything else."""
    try:
        value = parse(text.encode(errors="replace"))
    except JsonFault:
        return None
    return value if isinstance(value, dict) else None


def _ends_in_object(text: str) -> bool:
    """Whether a text holds an answer that can be read: an object at its end, perhaps fenced, after whatever prose."""
    return _object(text[max(text.find("{"), 0) :].rstrip().removesuffix("```")) is not None
