"""The MCP server against a bare one of one tool, of the same SDK, in the same run: the start, and calls a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from table import Row

STARTS = 9
CALLS = 400
ROUNDS = 5
START_GOAL = 1.5
CALLS_GOAL = 0.8

BARE = '''
from typing import Any
from mcp.server import MCPServer
server = MCPServer("bare")

@server.tool()
def evaluate_expr(expr: str, results: dict[str, Any]) -> dict[str, Any]:
    """Answer with a constant."""
    return {"value": True}

server.run()
'''
ARGUMENTS = {"expr": "0.4 < results.slope < 0.6", "results": {"slope": 0.5}}


def main() -> list[Row]:
    """The measured rows."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        project = Path(folder) / "project"
        project.mkdir()
        (project / "autoscirub.toml").write_text("", encoding="utf-8")
        ours = [sys.executable, "-m", "autoscirub", "serve", "--project", str(project)]
        peer = [sys.executable, str(bare)]
        return [_starts(ours, peer), _calls(ours, peer)]


class _Client:
    """Only as much of a client as writes and reads lines."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ
        )
        self._id = 0
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        self.ask("initialize", about)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        out: IO[bytes] = self.process.stdout  # type: ignore[assignment]
        while True:
            message: dict[str, Any] = json.loads(out.readline())
            if message.get("id") == self._id:
                return message

    def call(self) -> None:
        result = self.ask("tools/call", {"name": "evaluate_expr", "arguments": ARGUMENTS})["result"]
        if result["structuredContent"]["value"] is not True:
            raise AssertionError(result)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()  # type: ignore[union-attr]

    def _send(self, message: dict[str, Any]) -> None:
        pipe: IO[bytes] = self.process.stdin  # type: ignore[assignment]
        pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        pipe.flush()


def _starts(ours: list[str], peer: list[str]) -> Row:
    # Alternating, and the best of each: what else the machine does then falls on both alike.
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(STARTS):
        for side, command in (("ours", ours), ("peer", peer)):
            started = time.perf_counter()
            client = _Client(command)
            client.ask("tools/list", {})
            client.call()
            times[side].append(time.perf_counter() - started)
            client.close()
    mine, theirs = min(times["ours"]), min(times["peer"])
    detail = f"{mine:.2f} s against {theirs:.2f} s, tools listed and one called"
    return Row("process start to the first answer / bare server", mine / theirs, START_GOAL, detail)


def _calls(ours: list[str], peer: list[str]) -> Row:
    rates: dict[str, list[float]] = {"ours": [], "peer": []}
    clients = {"ours": _Client(ours), "peer": _Client(peer)}
    for _ in range(ROUNDS):
        for side, client in clients.items():
            client.call()
            started = time.perf_counter()
            for _ in range(CALLS):
                client.call()
            rates[side].append(CALLS / (time.perf_counter() - started))
    for client in clients.values():
        client.close()
    mine, theirs = max(rates["ours"]), max(rates["peer"])
    detail = f"{mine:.0f} a second against {theirs:.0f}"
    return Row("evaluate_expr calls a second / bare server", mine / theirs, CALLS_GOAL, detail, at_least=True)
