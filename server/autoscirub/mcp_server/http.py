"""Serves over streamable HTTP, on loopback, to whoever has the token.

A page in a browser on this machine can send requests here too. Three checks keep it out: it does not have the token,
its Origin is another, and a name that was bound to loopback to fool the browser is not an accepted Host.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sys
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ConfigError, StateError
from autoscirub.store import read_regular, user_data_dir, write_atomic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from pathlib import Path

    from mcp.server import Server

    Scope = MutableMapping[str, Any]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
TOKEN_VARIABLE = "AUTOSCIRUB_TOKEN"  # noqa: S105 - the variable's name
_TOKEN_NAME = "serve-token"  # noqa: S105 - the file's name
_LEAST_TOKEN = 32
_SESSIONS = 32
_SESSION_SECONDS = 10 * 60
_HEADER_SECONDS = 10.0
"""For the whole head of a request: an idle connection would take a place from those who have the token."""
_CONNECTIONS = 128
_BODY_BYTES = 4 * 1024 * 1024


def token() -> tuple[str, str]:
    """The token, and where it is from: the environment's, else one in a private file that is made at first use.

    Raises ConfigError for one that is too short to be a secret, and StateError where none can be kept.
    """
    supplied = os.environ.get(TOKEN_VARIABLE)
    if supplied:
        if (
            len(supplied) < _LEAST_TOKEN
            or not supplied.isascii()
            or not supplied.isprintable()
            or " " in supplied
        ):
            raise ConfigError(
                f"{TOKEN_VARIABLE}: is not a usable secret; set at least {_LEAST_TOKEN} printable ASCII characters "
                "without spaces, such as those of: openssl rand -hex 32"
            )
        return supplied, TOKEN_VARIABLE
    folder = user_data_dir()
    if folder is None:
        raise StateError(f"there is no user data directory to keep a token in; set {TOKEN_VARIABLE}")
    path = folder / _TOKEN_NAME
    stored = _stored_token(path)
    if stored is None:
        stored = secrets.token_hex(32)
        before = os.umask(0o177)  # private from the first moment
        try:
            write_atomic(path, f"{stored}\n".encode(), within=folder)
        finally:
            os.umask(before)
    path.chmod(0o600)
    return stored, str(path)


def _stored_token(path: Path) -> str | None:
    data = read_regular(path, limit=4096)
    if data is None:
        return None
    text = data.decode("ascii", "replace").strip()
    if len(text) < _LEAST_TOKEN:
        raise StateError(f"{path}: holds no token; remove it, and a new one is made")
    return text


class HttpGuard:
    """Lets a request through when its Host is ours, its Origin is ours or none, and it has the token.

    Decided on the headers alone, before anything of the body is read.
    """

    def __init__(self, app: App, secret: str, port: int) -> None:
        self._app = app
        self._secret = secret.encode("ascii")
        names = ("127.0.0.1", "localhost", "[::1]")
        self._hosts = {f"{name}:{port}" for name in names}
        self._origins = {f"http://{name}:{port}" for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            raise RuntimeError(f"{scope['type']}: only HTTP is served")
        elif (refusal := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        else:
            await _refuse(send, *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]

        def all_of(name: bytes) -> list[str]:
            return [value.decode("latin-1") for key, value in headers if key == name]

        host, origin, supplied = all_of(b"host"), all_of(b"origin"), all_of(b"authorization")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return 421, "Host: expected this server's own, such as 127.0.0.1 with its port"
        if len(origin) > 1 or any(each.lower() not in self._origins for each in origin):
            return 403, "Origin: no other page may use this server"
        scheme, _, rest = supplied[0].partition(" ") if len(supplied) == 1 else ("", "", "")
        right = hmac.compare_digest(rest.encode("latin-1"), self._secret)
        if scheme.lower() != "bearer" or not right:
            return (
                401,
                "Authorization: expected Bearer and the token; `autoscirub serve --http` says where it is kept",
            )
        return None


async def _refuse(send: Send, status: int, why: str) -> None:
    body = f"{why}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _impatient(seconds: float) -> type[Any]:
    """uvicorn's protocol with a limit on the wait for a request's head; by itself it waits for ever."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes a connection whose request is not whole in its head after `seconds`."""

        _waiting: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop()
            elif self._waiting is None:
                self._wait()

        def _wait(self) -> None:
            self._waiting = self.loop.call_later(seconds, self._give_up)

        def _stop(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _give_up(self) -> None:
            self._waiting = None
            if not self.transport.is_closing():
                self.transport.close()

    return Impatient


def serve_http(server: Server[Any], port: int) -> None:
    """Serve until interrupted. Port 0: any that is free. Says on stderr where it listens, and where the token is.

    Raises ConfigError where the port cannot be had, and what `token` raises.
    """
    import uvicorn

    secret, source = token()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as cause:
        listening.close()
        raise ConfigError(f"--port {port}: cannot be listened on: {cause.strerror}; name another") from None
    listening.listen(_CONNECTIONS)  # before announcing it: the kernel queues connections until we accept them
    port = listening.getsockname()[1]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_BODY_BYTES,
        max_sessions=_SESSIONS,
        session_idle_timeout=_SESSION_SECONDS,
    )
    config = uvicorn.Config(
        HttpGuard(app, secret, port),
        http=_impatient(_HEADER_SECONDS),
        log_level="warning",
        access_log=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=5,
        server_header=False,
    )
    sys.stderr.write(f"serving http://127.0.0.1:{port}{PATH} until interrupted; token: {source}\n")
    sys.stderr.flush()
    with listening:
        uvicorn.Server(config).run(sockets=[listening])
