"""What somebody else on this machine, or a page in its browser, could send to the HTTP port. Real requests, by hand."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import autoscirub
from autoscirub.mcp_server.http import token

SERVER = Path(autoscirub.__file__).resolve().parents[1]
SECRET = "0123456789abcdef" * 4
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "outsider", "version": "1"},
    },
}


@dataclass(frozen=True)
class Port:
    """A server that listens."""

    number: int
    log: list[str]

    @property
    def headers(self) -> dict[str, str]:
        """What a client with the token sends."""
        return {
            "Host": f"127.0.0.1:{self.number}",
            "Authorization": f"Bearer {SECRET}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def send(
        self,
        headers: dict[str, str | None],
        body: bytes | None = None,
        method: str = "POST",
        path: str = "/mcp",
    ) -> tuple[int, dict[str, str], bytes]:
        """Exactly these headers over those of a client with the token; None takes one off."""
        connection = http.client.HTTPConnection("127.0.0.1", self.number, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            data = json.dumps(INITIALIZE).encode() if body is None else body
            for name, value in {**self.headers, "Content-Length": str(len(data)), **headers}.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused on the headers alone
                connection.send(data)
            answer = connection.getresponse()
            return (
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(65536),
            )
        finally:
            connection.close()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    project = tmp_path_factory.mktemp("project")
    (project / "autoscirub.toml").write_text("", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "autoscirub", "serve", "--http", "--port", "0", "--project", str(project)],
        env={"PYTHONPATH": str(SERVER), "AUTOSCIRUB_TOKEN": SECRET, "HOME": str(project)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stdout is not None
    log = [process.stderr.readline()]
    listening = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", log[0])
    assert listening, log
    reader = threading.Thread(target=lambda: log.extend(process.stderr or ()))
    reader.start()
    try:
        yield Port(int(listening[1]), log)
    finally:
        process.terminate()
        process.wait()
        reader.join()
        assert process.stdout.read() == ""
        process.stdout.close()
        process.stderr.close()
        assert SECRET not in "".join(log)


def test_a_client_with_the_token_works(port: Port) -> None:
    async def talk() -> str:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {SECRET}"}, timeout=60) as carrier:
            transport = streamable_http_client(f"http://127.0.0.1:{port.number}/mcp", http_client=carrier)
            async with Client(transport) as client:
                arguments = {"expr": "results.a + 1", "results": {"a": 1}}
                answer = await client.call_tool("evaluate_expr", arguments)
                return str(answer.structured_content["value"])

    assert anyio.run(talk) == "2"


OUTSIDERS = [
    # what is another, its value, status
    ("Host", "evil.example", 421),
    ("Host", "evil.example:{port}", 421),
    ("Host", "127.0.0.1", 421),
    ("Host", "127.0.0.1:1", 421),
    ("Host", "127.0.0.1:{port}.evil.example", 421),
    ("Host", "localhost.evil.example:{port}", 421),
    ("Host", "", 421),
    ("Host", None, 400),
    ("Origin", "http://evil.example", 403),
    ("Origin", "null", 403),
    ("Origin", "https://127.0.0.1:{port}", 403),
    ("Origin", "http://127.0.0.1:1", 403),
    ("Origin", "http://127.0.0.1:{port}.evil.example", 403),
    ("Origin", "", 403),
    ("Authorization", None, 401),
    ("Authorization", "", 401),
    ("Authorization", "Bearer", 401),
    ("Authorization", "Bearer ", 401),
    ("Authorization", "Bearer 0123456789abcdef", 401),
    ("Authorization", f"Bearer {SECRET}x", 401),
    ("Authorization", f"Basic {SECRET}", 401),
    ("Authorization", SECRET, 401),
    ("Authorization", f"Bearer {SECRET.upper()}", 401),
]


@pytest.mark.parametrize(("name", "value", "status"), OUTSIDERS)
def test_another_host_another_origin_and_no_token_are_refused(
    name: str, value: str | None, status: int, port: Port
) -> None:
    header = value.format(port=port.number) if value is not None else None
    found, headers, body = port.send({name: header})
    assert found == status
    assert "mcp-session-id" not in headers
    assert SECRET.encode() not in body
    assert not headers.get("access-control-allow-origin")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD"])
@pytest.mark.parametrize("path", ["/", "/mcp", "/mcp/", "//mcp", "/mcp/../mcp", "/.well-known/x", "/%6dcp"])
def test_without_the_token_no_method_and_no_path_tells_anything(method: str, path: str, port: Port) -> None:
    status, headers, body = port.send({"Authorization": None}, method=method, path=path)
    assert status == 401
    assert "mcp-session-id" not in headers
    assert b"autoscirub serve --http" in body or method == "HEAD"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "http://localhost:{port}", None])
def test_our_own_origin_and_none_pass(origin: str | None, port: Port) -> None:
    status, headers, _ = port.send({"Origin": origin.format(port=port.number) if origin else None})
    assert status == 200
    assert port.send({"Mcp-Session-Id": headers["mcp-session-id"]}, method="DELETE")[0] == 200


def test_a_body_of_ten_megabytes_is_refused_and_without_the_token_not_read(port: Port) -> None:
    body = b"[" + b" " * (10 * 1024 * 1024) + b"]"
    assert port.send({}, body)[0] == 413
    assert port.send({"Content-Length": None, "Transfer-Encoding": "chunked"}, chunked(body))[0] == 413
    assert port.send({"Authorization": None}, body)[0] == 401
    assert port.send({"Authorization": None, "Content-Length": str(10**15)}, b"[")[0] == 401


def chunked(body: bytes) -> bytes:
    size = 1024 * 1024
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_a_thousand_sessions_are_not_opened_and_those_that_are_go_on(port: Port) -> None:
    opened: list[str] = []
    refused = 0
    for _ in range(1000):
        status, headers, _ = port.send({})
        if status == 200:
            opened.append(headers["mcp-session-id"])
        else:
            assert status == 503
            refused += 1
    assert 1 <= len(opened) <= 32
    assert refused == 1000 - len(opened)
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()
    assert port.send({"Mcp-Session-Id": opened[0]}, ping)[0] == 200
    for name in opened:
        assert port.send({"Mcp-Session-Id": name}, method="DELETE")[0] == 200
    assert port.send({})[0] == 200


@pytest.mark.slow
def test_connections_that_never_say_what_they_want_shut_nobody_out_for_long(port: Port) -> None:
    waiting = [socket.create_connection(("127.0.0.1", port.number), timeout=60) for _ in range(140)]
    try:
        for connection in waiting:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHo")
        for connection in waiting:
            assert connection.recv(1) in (b"", b"H")  # closed, or told that there are too many
        status, headers, _ = port.send({})
        assert status == 200
        assert port.send({"Mcp-Session-Id": headers["mcp-session-id"]}, method="DELETE")[0] == 200
    finally:
        for connection in waiting:
            connection.close()


def test_a_token_is_made_once_in_a_file_that_only_its_owner_reads(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "data"))
    secret, source = token()
    assert (len(secret), token()) == (64, (secret, source))
    assert stat.S_IMODE(Path(source).stat().st_mode) == 0o600


@pytest.mark.parametrize("weak", ["short", "x" * 31, "pass word " * 8, "tökentökentökentökentökentökentöken"])
def test_a_token_that_is_no_secret_is_refused_without_being_shown(weak: str, monkeypatch) -> None:
    monkeypatch.setenv("AUTOSCIRUB_TOKEN", weak)
    with pytest.raises(Exception, match="is not a usable secret") as refused:
        token()
    assert weak not in str(refused.value)
