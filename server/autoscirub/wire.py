"""Reserving standard input and output for a protocol, so that no library or child process can print into it."""

from __future__ import annotations

import os
import re
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, BinaryIO

from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.server import Server

__all__ = ["serve_wire", "take_wire"]

_SEARCHED = 4096


def take_wire() -> tuple[BinaryIO, BinaryIO]:
    """The client's two ends. What anything reads from 0 or prints to 1 from now on meets the null device and stderr.

    To be called before anything else is imported: a library may print when it is.
    """
    wire_in, wire_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # no stderr
        os.dup2(null, 1)
    os.close(null)
    return wire_in, wire_out


async def serve_wire(server: Server[Any], wire_in: BinaryIO, wire_out: BinaryIO) -> None:
    """Serve MCP on the two ends until the client closes its own."""
    import anyio
    from mcp.server.stdio import stdio_server

    reader = anyio.wrap_file(TextIOWrapper(wire_in, encoding="utf-8", errors="replace"))
    writer = anyio.wrap_file(TextIOWrapper(wire_out, encoding="utf-8", errors="backslashreplace"))
    async with stdio_server(reader, writer) as (incoming, outgoing):
        answering: Any = _Answering(incoming, outgoing)
        await server.run(answering, outgoing, server.create_initialization_options())


class _Answering:
    """A client's messages. A line that is not a message gets the protocol's error, where the SDK would drop it and
    leave the sender waiting for ever."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._incoming, name)

    async def __aenter__(self) -> _Answering:
        await self._incoming.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._incoming.__aexit__(*error)

    def __aiter__(self) -> _Answering:
        return self

    async def __anext__(self) -> Any:
        from anyio import EndOfStream

        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> Any:
        """The next valid message."""
        while isinstance(item := await self._incoming.receive(), Exception):
            await self._refuse(item)
        return item

    async def _refuse(self, error: Exception) -> None:
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        line = _line_of(error)
        found = re.search(
            r'"id"\s*:\s*(?:"([^"\\]{1,200})"|(\d{1,15}))', line[:_SEARCHED] + line[-_SEARCHED:]
        )
        name = None if found is None else found[1] if found[1] is not None else int(found[2])
        fault = types.ErrorData(code=types.PARSE_ERROR, message="the line is not a readable JSON-RPC message")
        await self._outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=name, error=fault)))


def _line_of(error: Exception) -> str:
    faults = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    raw = faults[0].get("input") if faults else None
    return raw if isinstance(raw, str) else ""
