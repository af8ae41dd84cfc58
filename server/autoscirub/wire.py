"""Standard input and output as a protocol's wire: nothing else is on it, whatever a library or a child prints."""

from __future__ import annotations

import os
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from mcp.server import Server

__all__ = ["serve_wire", "take_wire"]


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
        await server.run(incoming, outgoing, server.create_initialization_options())
