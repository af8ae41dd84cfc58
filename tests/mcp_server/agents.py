"""An agent that calls the server's tools in this process, as a client would."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.from_thread
from mcp import Client, MCPError

from autoscirub.mcp_server.projects import ServedProjects
from autoscirub.mcp_server.server import make_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

__all__ = ["Agent", "MCPError", "RefusedError", "agent"]


class RefusedError(Exception):
    """What a tool said instead of an answer."""


@dataclass
class Agent:
    """Calls tools and reads resources; every answer is held against its output schema by the client."""

    portal: BlockingPortal
    client: Client

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer. Raises RefusedError with the tool's words."""
        result = self.portal.call(self.client.call_tool, tool, arguments)
        if result.is_error:
            raise RefusedError(result.content[0].text)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    def follow(self, answer: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Make the call that an answer names."""
        call = answer["next"]
        assert call["tool"], call["why"]
        return self.call(call["tool"], **{**call["arguments"], **more})

    def read(self, uri: str) -> str:
        """A resource's text."""
        result = self.portal.call(self.client.read_resource, uri)
        text = result.contents[0].text
        assert isinstance(text, str)
        return text

    def ask(self, method: str, *arguments: Any) -> Any:
        """Any other method of the client."""
        return self.portal.call(getattr(self.client, method), *arguments)


@contextlib.contextmanager
def agent(
    project: Path | None = None, *, here: Path | None = None, toolsets: Sequence[str] = (), **more: Any
) -> Iterator[Agent]:
    """An agent whose server was started for `project`, or in the folder `here`."""
    server = make_server(ServedProjects(project=project, here=here, **more), toolsets)
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):
        yield Agent(portal, client)
