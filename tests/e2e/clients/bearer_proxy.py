"""A proxy for tools that cannot send a token: adds `Authorization: Bearer …`, and leaves Host and Origin as they came.

`python bearer_proxy.py PORT TOKEN` listens on loopback, prints its own port, and passes each connection's one request on
to PORT. Where Host or Origin name the proxy itself, they are made to name what is behind it, which may know no other name;
a stranger's stays. It asks for connections that close, so that no second request slips by without the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(ConnectionError, OSError):
        writer.write_eof()


async def serve(port: int, token: str) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
            ours = writer.get_extra_info("sockname")[1]
            passed_on = [
                re.sub(rb"(127\.0\.0\.1|localhost):%d$" % ours, rb"\g<1>:%d" % port, field)
                for field in fields
                if not field.lower().startswith((b"connection:", b"authorization:"))
            ]
            added = [b"Authorization: Bearer " + token.encode(), b"Connection: close"]
            answers, upstream = await asyncio.open_connection("127.0.0.1", port)
            upstream.write(b"\r\n".join([first, *passed_on, *added]) + b"\r\n\r\n")
            onward = asyncio.create_task(forward(reader, upstream))
            await forward(answers, writer)
            onward.cancel()
            upstream.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # whoever connected has gone, or nobody listens behind
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))
