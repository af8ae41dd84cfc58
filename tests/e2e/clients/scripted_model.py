"""A model that plays a script: an HTTP server that speaks Anthropic's Messages and OpenAI's Responses as far as the clients use them.

It keeps every request, so that a test asserts on the wire: what the client offered, what it handed back, what a hook said.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    """The model ends its turn with a text."""

    text: str


MORE_TOOLS = ("additional_tools", "tool_search_output")
OPENAI_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "tool_search_call": "arguments"}

Turn = Call | Say | Sequence[Call]
Script = Callable[["Asked"], Turn] | Sequence[Turn | Callable[["Asked"], Turn]]


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
    def said(self) -> list[str]:
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
        told = self.body.get("system") or self.body.get("instructions") or ""
        return "\n".join(_texts(told))


class ScriptedModel:
    """Serves a script on a listening socket. `asked` are the requests for a turn; `others` whatever else a client wanted.

    A list plays one turn for each request. A callable is given what was asked. Where a script has nothing for a request, or
    calls what was not offered, the model says so to the client, which ends; `faults` has it, and fails the test at the end.
    """

    def __init__(self, script: Script, listening: socket.socket) -> None:
        self.asked: list[Asked] = []
        self.others: list[tuple[str, Json]] = []
        self.faults: list[str] = []
        self._script = script
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.port: int = listening.getsockname()[1]
        self._server = ThreadingHTTPServer(listening.getsockname(), _handler(self), bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = listening
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Asked:
        """The last request: it holds the whole conversation."""
        return self.asked[-1]

    def turn(self, asked: Asked) -> list[Json]:
        """Play the script's turn: the blocks to send, in the shape of the request's wire."""
        with self._lock:
            self.asked.append(asked)
            try:
                turn = self._play(asked)
                if isinstance(turn, Say):
                    return [_say(asked, turn.text)]
                calls = [turn] if isinstance(turn, Call) else turn
                return [_call(asked, call, f"call_{next(self._numbers):04}") for call in calls]
            except (LookupError, TypeError, ValueError, AssertionError) as fault:
                self.faults.append(f"{type(fault).__name__}: {fault}")
                return [_say(asked, f"The script failed: {fault}")]

    def _play(self, asked: Asked) -> Turn:
        if callable(self._script):
            return self._script(asked)
        number = len(self.asked) - 1
        if number >= len(self._script):
            raise LookupError(f"the script has {len(self._script)} turns, and the client asks for another")
        turn = self._script[number]
        return turn(asked) if callable(turn) else turn

    def __enter__(self) -> ScriptedModel:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        assert kind or not self.faults, self.faults


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._send(b"", "application/json")

        def do_GET(self) -> None:
            model.others.append((f"GET {self.path}", {}))
            listed = {"data": [], "has_more": False, "models": []}
            self._send(json.dumps(listed).encode(), "application/json")

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(content) if content.startswith(b"{") else {}
            path = self.path.partition("?")[0]
            headers = dict(self.headers.items())
            if path.endswith("/messages"):
                asked = Asked("anthropic", body, headers)
                blocks = self._turn(asked)
                if body.get("stream"):
                    self._events(_anthropic_events(asked, blocks))
                else:
                    self._send(json.dumps(_anthropic_message(asked, blocks)).encode(), "application/json")
            elif path.endswith("/responses"):
                self._events(_openai_events(self._turn(Asked("openai", body, headers))))
            else:
                model.others.append((f"POST {path}", body))
                known = {"input_tokens": 100} if path.endswith("/count_tokens") else {}
                self._send(json.dumps(known).encode(), "application/json")

        def _turn(self, asked: Asked) -> list[Json]:
            if asked.tools:
                return model.turn(asked)
            model.others.append(
                (f"POST {self.path}", asked.body)
            )  # a title, a summary: no turn of the script's
            return [_say(asked, '{"title": "Scripted"}')]

        def _events(self, events: Iterator[Json]) -> None:
            sent = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self._send(sent.encode(), "text/event-stream")

        def _send(self, content: bytes, kind: str) -> None:
            with contextlib.suppress(ConnectionError):  # the client has gone
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


# How each wire writes a turn.


def _say(asked: Asked, text: str) -> Json:
    if asked.wire == "anthropic":
        return {"type": "text", "text": text}
    said = {"type": "output_text", "text": text}
    return {"type": "message", "id": "msg_scripted", "role": "assistant", "content": [said]}


def _call(asked: Asked, call: Call, identity: str) -> Json:
    offered = None if call.unseen else asked.tool(call.tool)
    name = offered.name if offered else call.tool
    arguments = dict(call.arguments)
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


def _anthropic_message(asked: Asked, blocks: list[Json]) -> Json:
    reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    return {
        "id": f"msg_{id(blocks):x}",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", "scripted"),
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def _anthropic_events(asked: Asked, blocks: list[Json]) -> Iterator[Json]:
    whole = _anthropic_message(asked, blocks)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(blocks):
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


def _openai_events(blocks: list[Json]) -> Iterator[Json]:
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
        given = call[OPENAI_CALLS[call["type"]]]
        if call["type"] == "custom_tool_call":
            given = {"input": given}
        elif isinstance(given, str):
            given = json.loads(given)
        text = "\n".join(_texts(item.get("output")))
        found.append(
            Result(call.get("name", "tool_search"), given, text, False)
        )  # no word here on what failed
    return found
