"""The smallest MCP server: one tool, over stdio, or with `--http TOKEN` over HTTP, where it prints its port."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("bare", instructions="Add numbers with `add`.")
SAFE = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


@server.tool(annotations=SAFE)
def add(a: int, b: int) -> dict[str, Any]:
    """The sum of two numbers, and where the server runs."""
    return {"sum": a + b, "cwd": str(Path.cwd()), "environment": sorted(os.environ)}


@server.resource("bare://facts", description="What there is to know.")
def facts() -> str:
    return "Nothing."


@server.prompt(description="Asks for a sum.")
def ask() -> str:
    return "Add 1 and 2."


def guarded(app: Any, token: bytes) -> Any:
    """The application, for those who bring the token."""

    async def checked(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or dict(scope["headers"]).get(b"authorization") == b"Bearer " + token:
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    return checked


if sys.argv[1:2] != ["--http"]:
    server.run()
else:
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        served = guarded(server.streamable_http_app(), sys.argv[2].encode())
        uvicorn.Server(uvicorn.Config(served, log_level="error")).run(sockets=[listening])
