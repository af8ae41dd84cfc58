"""A scripted model server: real HTTP on loopback, in OpenAI's chat and responses formats, faults of every kind included.

A script is a list with an answer for each request; the requests are kept, so that a test asserts on what was sent.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Received:
    """One request, as it was on the wire."""

    path: str
    headers: dict[str, str]
    content: bytes

    @cached_property
    def body(self) -> Json:
        read: Json = json.loads(self.content)
        return read

    @property
    def api(self) -> str:
        return "responses" if self.path.endswith("/responses") else "chat"

    @property
    def tools(self) -> list[str]:
        """The names of the tools offered."""
        return [tool.get("function", tool)["name"] for tool in self.body["tools"]]

    @property
    def items(self) -> list[Json]:
        """The conversation, without the system prompt."""
        found: list[Json] = self.body["input"] if self.api == "responses" else self.body["messages"][1:]
        return found

    @property
    def results(self) -> list[str]:
        """What tools returned, in order."""
        outputs = [item.get("output") for item in self.items if item.get("type") == "function_call_output"]
        return outputs or [item["content"] for item in self.items if item.get("role") == "tool"]

    @property
    def pictures(self) -> list[str]:
        """The pictures in it, as data URLs."""
        parts = [
            part for item in self.items if isinstance(item.get("content"), list) for part in item["content"]
        ]
        urls = [part.get("image_url") for part in parts if part["type"] in ("image_url", "input_image")]
        return [url["url"] if isinstance(url, dict) else url for url in urls]

    @property
    def shape(self) -> Json | None:
        """The schema that the answer must have, where one was asked for."""
        if self.api == "responses":
            return self.body.get("text", {}).get("format")
        return self.body.get("response_format", {}).get("json_schema")


@dataclass(frozen=True)
class Answer:
    """What goes back: a model's turn, or with `content` whatever a test likes."""

    text: str | None = None
    calls: tuple[tuple[str, Any], ...] = ()
    usage: tuple[int, int] | None = (100, 10)
    model: str = "served-m"
    finish: str | None = None
    refusal: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    stalls: bool = False
    """Whether it stops in the middle, and waits until the client has gone."""
    breaks: bool = False
    """Whether the connection breaks in the middle."""

    def rendered(self, api: str, number: int) -> bytes:
        if self.content is not None:
            return self.content
        return json.dumps(self._responses(number) if api == "responses" else self._chat(number)).encode()

    def _chat(self, number: int) -> Json:
        calls = [
            {
                "id": f"call_{number}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": _text(arguments)},
            }
            for at, (name, arguments) in enumerate(self.calls)
        ]
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        message |= {"tool_calls": calls} if calls else {}
        finish = self.finish or ("tool_calls" if calls else "stop")
        answer: Json = {"id": "x", "object": "chat.completion", "created": 1, "model": self.model}
        answer["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
        if self.usage:
            counts = dict(zip(("prompt_tokens", "completion_tokens"), self.usage, strict=True))
            answer["usage"] = {**counts, "total_tokens": sum(self.usage)}
        return answer

    def _responses(self, number: int) -> Json:
        output: list[Json] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        part = {"type": "refusal", "refusal": self.refusal} if self.refusal else None
        if self.text is not None:
            part = {"type": "output_text", "text": self.text, "annotations": []}
        if part is not None:
            output.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
        output += [
            {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{number}_{at}", "name": name,
             "arguments": _text(arguments)}
            for at, (name, arguments) in enumerate(self.calls)
        ]  # fmt: skip
        why = {"length": "max_output_tokens"}.get(self.finish or "", self.finish)
        answer: Json = {"id": "resp_1", "object": "response", "model": self.model, "output": output}
        answer |= {
            "status": "incomplete" if why else "completed",
            "incomplete_details": why and {"reason": why},
        }
        if self.usage:
            answer["usage"] = dict(zip(("input_tokens", "output_tokens"), self.usage, strict=True))
        return answer


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def calls(*wanted: tuple[str, Any], **more: Any) -> Answer:
    """A turn that calls tools; arguments that are a text go out as they are."""
    return Answer(calls=wanted, **more)


def failure(status: int, message: str = "something", *, code: str | None = None, **headers: str) -> Answer:
    """An error in OpenAI's form."""
    content = json.dumps(
        {"error": {"message": message, "type": "error", "param": None, "code": code}}
    ).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, content=content, headers=named)


class ModelServer:
    """Plays a script. Whatever it is asked beyond the script fails the test at the end."""

    def __init__(
        self, script: list[Answer | Callable[[Received], Answer]], tls: ssl.SSLContext | None
    ) -> None:
        self.received: list[Received] = []
        self.open = 0
        """Connections that no side has closed."""
        self.beyond = 0
        self.idle = threading.Condition()
        self._script = script
        self._stop = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https" if tls else "http"

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    @property
    def wire(self) -> str:
        """All that was sent to it: paths, headers and bodies."""
        return "\n".join(f"{each.path}\n{each.headers}\n{each.content.decode()}" for each in self.received)

    def answer(self, received: Received) -> tuple[Answer, int]:
        with self.idle:
            self.received.append(received)
            number = len(self.received)
            if number > len(self._script):
                self.beyond += 1
                return failure(418, "the script has no answer for this"), number
            found = self._script[number - 1]
        return (found(received) if callable(found) else found), number

    def all_closed(self, seconds: float = 10) -> bool:
        """Whether the client closed each connection, while the server would have held it open."""
        with self.idle:
            return self.idle.wait_for(lambda: self.open == 0, seconds)

    def wait_until_gone(self, connection: Any) -> None:
        """Hold an unfinished answer until the client closes its end."""
        connection.settimeout(30)
        try:
            while connection.recv(1):
                pass
        except OSError:
            pass


@contextmanager
def model_server(
    *script: Answer | Callable[[Received], Answer], tls: ssl.SSLContext | None = None
) -> Iterator[ModelServer]:
    """A server that plays `script`, until the end of the block; then everything must have been closed."""
    server = ModelServer(list(script), tls)
    thread = threading.Thread(target=server._server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        closed = server.all_closed()
        server._server.shutdown()
        server._server.server_close()
        thread.join()
    assert closed, f"{server.open} connections were left open"
    assert not server.beyond, f"the script has {len(script)} answers, and {len(server.received)} were wanted"


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            with server.idle:
                server.open += 1
            super().setup()

        def finish(self) -> None:
            super().finish()
            with server.idle:
                server.open -= 1
                server.idle.notify_all()

        def do_CONNECT(self) -> None:
            self._play(b"")

        def do_POST(self) -> None:
            self._play(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _play(self, content: bytes) -> None:
            received = Received(self.path, {k.lower(): v for k, v in self.headers.items()}, content)
            answer, number = server.answer(received)
            data = answer.rendered(received.api, number)
            self.send_response(answer.status)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(data)), **answer.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            half = answer.stalls or answer.breaks
            self.wfile.write(data[: len(data) // 2] if half else data)
            if half:
                self.wfile.flush()
                self.close_connection = True
            if answer.stalls:
                server.wait_until_gone(self.connection)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
