"""Floor 5: the MCP server, for agents. It parses, calls one function below, and answers with what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["serve"]


def serve(
    project: Path | None = None,
    state_dir: Path | None = None,
    *,
    toolsets: Sequence[str] = (),
    http: bool = False,
    port: int = 0,
) -> None:
    """Serve until the client is gone, or with `http` until interrupted.

    Raises CheckError for a toolset that is not there, and what `serve_http` raises.
    """
    from autoscirub.wire import serve_wire, take_wire

    wire = None if http else take_wire()  # first: what comes next may print
    from autoscirub.mcp_server.projects import ServedProjects
    from autoscirub.mcp_server.server import make_server

    places = ServedProjects.of_environment(project, state_dir)
    server = make_server(places, toolsets)
    if wire is None:
        from autoscirub.mcp_server.http import serve_http

        serve_http(server, port)
        return
    import anyio

    anyio.run(serve_wire, server, *wire)
