"""A model that plays a script: an HTTP server that speaks as much of both wires as the clients use.

It keeps every request, so that a test asserts on the wire: what the client offered, what it handed back, what a hook said.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from tests.e2e.clients.wire import (
    Asked,
    Call,
    Failing,
    Json,
    Say,
    Sent,
    Turn,
    anthropic_events,
    anthropic_message,
    call,
    openai_events,
    say,
)

__all__ = ["Asked", "Call", "Failing", "Json", "Say", "Script", "ScriptedModel", "Sent", "Turn"]

Script = Callable[[Asked], Turn] | Sequence[Turn | Callable[[Asked], Turn]]


class ScriptedModel:
    """Serves a script on a listening socket. `asked` are the requests for a turn; `others` whatever else a client wanted.

    A list plays one turn for each request. A callable is given what was asked. Where a script has nothing for a request, or
    calls what was not offered, the model says so to the client, which ends; `faults` has it, and fails the test at the end.
    `served` is the name under which it answers; without, the one that it is asked for.
    """

    def __init__(self, script: Script, listening: socket.socket, served: str | None = None) -> None:
        self.served = served
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

    def turn(self, asked: Asked) -> list[Json] | Failing | Sent:
        """Play the script's turn: the blocks to send, in the shape of the request's wire, or how it fails."""
        with self._lock:
            self.asked.append(asked)
            try:
                turn = self._play(asked)
                if isinstance(turn, Failing | Sent):
                    return turn
                if isinstance(turn, Say):
                    return [say(asked, turn.text, turn.stop)]
                calls = [turn] if isinstance(turn, Call) else turn
                return [call(asked, each, f"call_{next(self._numbers):04}") for each in calls]
            except (LookupError, TypeError, ValueError, AssertionError) as fault:
                self.faults.append(f"{type(fault).__name__}: {fault}")
                return [say(asked, f"The script failed: {fault}")]

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
                asked = Asked("anthropic", body, headers, model.served)
                if (blocks := self._turn(asked)) is None:
                    return
                if body.get("stream"):
                    self._events(anthropic_events(asked, blocks))
                else:
                    self._send(json.dumps(anthropic_message(asked, blocks)).encode(), "application/json")
            elif path.endswith("/responses"):
                if (blocks := self._turn(Asked("openai", body, headers, model.served))) is not None:
                    self._events(openai_events(blocks))
            else:
                model.others.append((f"POST {path}", body))
                known = {"input_tokens": 100} if path.endswith("/count_tokens") else {}
                self._send(json.dumps(known).encode(), "application/json")

        def _turn(self, asked: Asked) -> list[Json] | None:
            """The blocks to send; None where a failure was sent in their place."""
            if asked.tools:
                turn = model.turn(asked)
                if isinstance(turn, Failing):
                    error = {"type": turn.kind, "message": "scripted", "code": turn.kind}
                    failed = json.dumps({"type": "error", "error": error}).encode()
                    self._send(failed, "application/json", turn.status, turn.headers)
                elif isinstance(turn, Sent):
                    self._send(turn.content, "text/event-stream", length=not turn.stalls)
                    if turn.stalls:
                        with contextlib.suppress(OSError):
                            self.connection.recv(1)  # until the client has gone
                else:
                    return turn
                return None
            model.others.append(
                (f"POST {self.path}", asked.body)
            )  # a title, a summary: no turn of the script's
            return [say(asked, '{"title": "Scripted"}')]

        def _events(self, events: Iterator[Json]) -> None:
            sent = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self._send(sent.encode(), "text/event-stream")

        def _send(
            self,
            content: bytes,
            kind: str,
            status: int = 200,
            headers: Mapping[str, str] = MappingProxyType({}),
            *,
            length: bool = True,
        ) -> None:
            with contextlib.suppress(ConnectionError):  # the client has gone
                self.send_response(status)
                self.send_header("Content-Type", kind)
                if length:
                    self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
