"""What `install`, `uninstall` and `doctor` find and change: plain values that setup makes and report renders."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from autoscirub.models.decision import Decision

ClientName = Literal["claude", "codex"]
CLIENTS: tuple[ClientName, ...] = ("claude", "codex")

Scope = Literal["user", "project"]


@dataclass(frozen=True)
class ClientChange:
    """One thing that is done: a folder that is made or removed, a command that is run, a file that it changes."""

    kind: Literal["make", "replace", "run", "change", "remove"]
    what: str
    why: str = ""


@dataclass
class ClientSetup:
    """What is to be done for a client, or was done."""

    client: ClientName
    program: str
    version: str
    folder: str
    """The plugin's clean copy, which the client loads."""
    scope: str = "user"
    server: tuple[str, ...] = ()
    """Program and arguments of the MCP server, absolute."""
    changes: list[ClientChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    done: bool = False
    decision: Decision | None = None

    @property
    def server_command(self) -> str:
        """The server's command as a shell would read it."""
        return shlex.join(self.server)

    def facts(self) -> dict[str, Any]:
        """All of it but the decision, as plain JSON data."""
        return {
            "client": self.client,
            "program": self.program,
            "version": self.version,
            "scope": self.scope,
            "folder": self.folder,
            "server": list(self.server),
            "changes": [{"kind": one.kind, "what": one.what, "why": one.why} for one in self.changes],
            "notes": self.notes,
            "done": self.done,
        }
