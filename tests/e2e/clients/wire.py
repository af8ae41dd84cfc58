"""What goes between a client and a model, on both wires: what was asked, read; a turn, written.

Anthropic's Messages and OpenAI's Responses, as far as the clients use them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """The model calls a tool, by the end of its name as offered: `next` finds `mcp__autoscirub__next`.

    With `unseen=True` the name goes out as it is, offered or not: what a model may try, and a client must refuse.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    unseen: bool = False


@dataclass(frozen=True)
class Say:
    """The model ends its turn with a text. `stop`: why, in the words of Anthropic's wire."""

    text: str
    stop: str = "end_turn"


@dataclass(frozen=True)
class Failing:
    """The model's server refuses the request, with a status of HTTP."""

    status: int
    kind: str = "api_error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sent:
    """What the server sends in place of a turn, as it is. With `stalls`, it then leaves the connection open and is silent."""

    content: bytes
    stalls: bool = False


MORE_TOOLS = ("additional_tools", "tool_search_output")
OPENAI_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "tool_search_call": "arguments"}

Turn = Call | Say | Failing | Sent | Sequence[Call]


@dataclass(frozen=True)
class Offered:
    """A tool as the model is shown it; `namespace` is Codex's name for the server that it belongs to."""

    name: str
    schema: Json
    description: str
    namespace: str | None
    raw: Json


@dataclass(frozen=True)
class Result:
    """What came of a call, as the model is shown it."""

    tool: str
    arguments: Json
    text: str
    is_error: bool

    @property
    def structured(self) -> Any:
        """The JSON in the text. Clients put lines before it: how long it took, a link to a resource."""
        for at, letter in enumerate(self.text):
            if letter == "{" and (at == 0 or self.text[at - 1] == "\n"):
                return json.loads(self.text[at:])
        raise ValueError(f"no structured result of {self.tool}: {self.text[:2000]}")


@dataclass(frozen=True)
class Asked:
    """A request for the model's next turn."""

    wire: Literal["anthropic", "openai"]
    body: Json
    headers: Json = field(default_factory=dict)
    served: str | None = None
    """The model that answers, where it is another than the one that is asked for."""

    @cached_property
    def tools(self) -> list[Offered]:
        """The tools offered, those inside a namespace too."""
        listed = list(self.body.get("tools") or [])
        for item in (
            self.body.get("input") or []
        ):  # where Codex puts those of its newest models, and those found
            listed += item.get("tools", []) if item.get("type") in MORE_TOOLS else []
        found = []
        for tool in listed:
            inner = tool.get("tools", []) if tool.get("type") == "namespace" else [tool]
            space = tool["name"] if tool.get("type") == "namespace" else None
            for one in inner:
                schema = one.get("input_schema") or one.get("parameters") or {}
                name = one.get("name") or one.get("type", "")
                found.append(Offered(name, schema, one.get("description", ""), space, one))
        return found

    def tool(self, name: str) -> Offered:
        """The one tool offered whose name is this or ends in `__` and this."""
        exact = [tool for tool in self.tools if tool.name == name]
        found = exact or [tool for tool in self.tools if tool.name.endswith(f"__{name}")]
        if len(found) != 1:
            offered = [f"{tool.namespace or ''}/{tool.name}" for tool in self.tools]
            raise LookupError(f"{len(found)} tools offered are called {name!r}; offered: {offered}")
        return found[0]

    @cached_property
    def results(self) -> list[Result]:
        """What came of all calls of this conversation so far, in order."""
        return _anthropic_results(self.body) if self.wire == "anthropic" else _openai_results(self.body)

    @cached_property
    def texts(self) -> list[str]:
        """All that was said to the model so far but results: prompt, reminders, feedback of hooks."""
        if self.wire == "anthropic":
            messages = self.body["messages"]
        else:
            messages = [item for item in self.body["input"] if item.get("type", "message") == "message"]
        return [
            text
            for message in messages
            if message["role"] != "assistant"
            for text in _texts(message["content"])
        ]

    @property
    def system(self) -> str:
        """The system prompt."""
        prompt = self.body.get("system") or self.body.get("instructions") or ""
        return "\n".join(_texts(prompt))


# How each wire writes a turn.


def say(asked: Asked, text: str, stop: str = "end_turn") -> Json:
    if asked.wire == "anthropic":
        return {"type": "text", "text": text, "stop": stop}
    part = {"type": "output_text", "text": text}
    return {"type": "message", "id": "msg_scripted", "role": "assistant", "content": [part]}


def call(asked: Asked, wanted: Call, identity: str) -> Json:
    offered = None if wanted.unseen else asked.tool(wanted.tool)
    name = offered.name if offered else wanted.tool
    arguments = dict(wanted.arguments)
    if asked.wire == "anthropic":
        return {"type": "tool_use", "id": f"toolu_{identity}", "name": name, "input": arguments}
    sent = {"call_id": identity, "name": name}
    if offered and offered.namespace:
        sent["namespace"] = offered.namespace
    if offered and offered.raw.get("type") == "custom":  # its argument is a text: a patch, a program
        return {"type": "custom_tool_call", **sent, "input": arguments["input"]}
    if offered and offered.raw.get("type") == "tool_search":
        found = {"call_id": identity, "execution": "client", "arguments": arguments}
        return {"type": "tool_search_call", **found}
    return {"type": "function_call", **sent, "arguments": json.dumps(arguments)}


def anthropic_message(asked: Asked, blocks: list[Json]) -> Json:
    called = any(block["type"] == "tool_use" for block in blocks)
    reason = "tool_use" if called else blocks[-1]["stop"]
    blocks = [{key: value for key, value in block.items() if key != "stop"} for block in blocks]
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": asked.served or asked.body.get("model", "scripted"),
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def anthropic_events(asked: Asked, blocks: list[Json]) -> Iterator[Json]:
    whole = anthropic_message(asked, blocks)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        at = {"index": index}
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", **at, "content_block": start}
        yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def openai_events(blocks: list[Json]) -> Iterator[Json]:
    identity = f"resp_{id(blocks):x}"
    yield {"type": "response.created", "response": {"id": identity}}
    for index, block in enumerate(blocks):
        yield {"type": "response.output_item.done", "output_index": index, "item": block}
    counts = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    yield {"type": "response.completed", "response": {"id": identity, "usage": counts}}


# How each wire writes what came of a call.


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if isinstance(part, dict) and "text" in part]


def _anthropic_results(body: Json) -> list[Result]:
    blocks = [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    calls = {block["id"]: block for block in blocks if block["type"] == "tool_use"}
    return [
        Result(
            calls[block["tool_use_id"]]["name"],
            calls[block["tool_use_id"]]["input"],
            "\n".join(_texts(block.get("content"))),
            bool(block.get("is_error")),
        )
        for block in blocks
        if block["type"] == "tool_result"
    ]


def _openai_results(body: Json) -> list[Result]:
    calls = {item["call_id"]: item for item in body["input"] if item.get("type") in OPENAI_CALLS}
    found = []
    for item in body["input"]:
        kind = item.get("type", "")
        if not kind.endswith("_output"):
            continue
        call = calls[item["call_id"]]
        passed = call[OPENAI_CALLS[call["type"]]]
        if call["type"] == "custom_tool_call":
            passed = {"input": passed}
        elif isinstance(passed, str):
            passed = json.loads(passed)
        text = "\n".join(_texts(item.get("output")))
        found.append(
            Result(call.get("name", "tool_search"), passed, text, False)
        )  # no word here on what failed
    return found
