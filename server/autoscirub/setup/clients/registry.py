"""Which coding agents there are, and opening the program of one on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.errors import ClientError
from autoscirub.programs import CLIENT_INSTALL, client_program
from autoscirub.setup.clients.claude import Claude
from autoscirub.setup.clients.codex import Codex

if TYPE_CHECKING:
    from autoscirub.models import ClientName
    from autoscirub.setup.clients.base import Client

CLASSES: dict[ClientName, type[Claude | Codex]] = {"claude": Claude, "codex": Codex}


def open_client(name: ClientName) -> Client:
    """The client on this machine. Raises ClientError, with how to get it, where its program is not on PATH."""
    program = client_program(name)
    if program is None:
        raise ClientError(
            f"{name}: no such program on PATH; to get it: {CLIENT_INSTALL[name]}; then run this again"
        )
    return CLASSES[name](program)
