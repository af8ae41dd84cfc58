"""Which coding agents there are: finding the program of one on this machine, and opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.errors import ClientError
from autoscirub.programs import on_path
from autoscirub.setup.clients.claude import Claude
from autoscirub.setup.clients.codex import Codex

if TYPE_CHECKING:
    from autoscirub.models import ClientName
    from autoscirub.setup.clients.base import Client

CLASSES: dict[ClientName, type[Claude | Codex]] = {"claude": Claude, "codex": Codex}

GET = {
    "claude": "npm install -g @anthropic-ai/claude-code, or the installer of Claude Code's own pages",
    "codex": "npm install -g @openai/codex",
}


def find_client(name: ClientName) -> str | None:
    """The absolute path of the client's program on PATH; None where it is not there. Starts nothing.

    An entry of PATH that is relative would find what a project has laid there, and does not count.
    """
    return on_path(name)


def open_client(name: ClientName) -> Client:
    """The client on this machine. Raises ClientError, with how to get it, where its program is not on PATH."""
    program = find_client(name)
    if program is None:
        raise ClientError(f"{name}: no such program on PATH; to get it: {GET[name]}; then run this again")
    return CLASSES[name](program)
