"""The command `serve`: the MCP server that agents call."""

from __future__ import annotations

from typing import Annotated

import typer

from autoscirub.cli.options import Json, Project, StateDir, app, example


@app.command(
    epilog=example("autoscirub serve", "autoscirub serve --toolsets audit,evidence --http --port 8033")
)
def serve(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,  # noqa: ARG001 - every command takes it; the wire is JSON anyway
    toolsets: Annotated[
        str, typer.Option("--toolsets", help="Besides core, by commas: evidence, audit.")
    ] = "",
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP on loopback, with a token, instead of stdio.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="With --http. 0: any.")] = 8033,
) -> int:
    """The MCP server that agents call: over standard input and output, or HTTP.

    A client starts it; `autoscirub install` registers it with one.
    """
    from autoscirub.mcp_server import serve as run

    named = [name.strip() for name in toolsets.split(",") if name.strip()]
    run(project, state_dir, toolsets=named, http=http, port=port)
    return 0
