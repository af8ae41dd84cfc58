"""The coding agents' own programs: found, asked as JSON, and told to add or remove the plugin.

Their own commands are used throughout. What they write in their configuration is theirs to know, and comments and
other keys survive it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autoscirub.errors import ClientError
from autoscirub.programs import on_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import ClientName

PLUGIN = "autoscirub"
MARKETPLACE = "autoscirub"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"

NOWHERE = Path("/")
"""Where a client is asked about the user's own plugins: no project's settings have a say there, nor another user's."""

_QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
"""Looking is to write nothing and to reach nobody; without this, Claude Code keeps and sends counts of its use."""
_SECONDS = 90.0
_SAID = 400


@dataclass(frozen=True)
class Plugin:
    """One entry of a client's own list of plugins that are installed."""

    id: str
    scope: str
    enabled: bool
    project: str | None = None
    """The project that it is installed for; None: for the user."""
    server: tuple[str, ...] | None = None
    """How the client starts the plugin's MCP server; None where the list does not say."""

    @property
    def name(self) -> str:
        """The plugin's name without its marketplace."""
        return self.id.partition("@")[0]


class Client(Protocol):
    """What both clients can be asked and told. Every method raises ClientError where the program fails."""

    name: ClientName
    program: str
    scopes: tuple[str, ...]

    def version(self) -> str:
        """The version as the program says it."""

    def plugins(self, cwd: Path | None = None) -> list[Plugin]:
        """What is installed, seen from the folder `cwd`; None: from no project."""

    def marketplaces(self) -> dict[str, str]:
        """The name of each marketplace that is added, and where it comes from."""

    def settings(self, project: Path | None) -> list[Path]:
        """The settings files of the user's own that adding the plugin changes."""

    def add_marketplace(self, folder: Path) -> list[str]:
        """The arguments that add the marketplace in `folder`."""

    def remove_marketplace(self) -> list[str]:
        """The arguments that remove our marketplace."""

    def install(self, scope: str) -> list[str]:
        """The arguments that install our plugin, enabled."""

    def uninstall(self, scope: str) -> list[str]:
        """The arguments that uninstall it."""

    def tell(self, arguments: Sequence[str], cwd: Path | None = None) -> None:
        """Run one of these."""

    def server(self, cwd: Path | None = None) -> tuple[str, ...] | None:
        """How the client would start the server named autoscirub; None where there is none."""

    def copy_of_plugin(self) -> Path | None:
        """The folder that the client loads the plugin from, where that is a copy of its own."""


GET = {
    "claude": "npm install -g @anthropic-ai/claude-code, or the installer of Claude Code's own pages",
    "codex": "npm install -g @openai/codex",
}


def find_client(name: ClientName) -> str | None:
    """The absolute path of the client's program on PATH; None where it is not there. Starts nothing.

    An entry of PATH that is relative would find what a project has laid there, and does not count.
    """
    return on_path(name)


def shown_command(client: Client, arguments: Sequence[str]) -> str:
    """A command of the client's as people may type it: without what is there for our reading alone."""
    return " ".join([client.name, *(word for word in arguments if word != "--json")])


def open_client(name: ClientName) -> Client:
    """The client on this machine. Raises ClientError, with how to get it, where its program is not on PATH."""
    program = find_client(name)
    if program is None:
        raise ClientError(f"{name}: no such program on PATH; to get it: {GET[name]}; then run this again")
    if name == "claude":
        from autoscirub.setup.clients.claude import Claude

        return Claude(program)
    from autoscirub.setup.clients.codex import Codex

    return Codex(program)


def home_of(variable: str, folder: str) -> Path:
    """A client's configuration folder: what `variable` names, else `folder` in the user's home."""
    named = os.environ.get(variable, "")
    return Path(named).expanduser() if named else Path(os.path.expanduser("~")) / folder  # noqa: PTH111 - no home must not raise


def ask(program: str, arguments: Sequence[str], cwd: Path | None = None) -> str:
    """What the program prints. Raises ClientError where it cannot be started, does not end, or ends in an error."""
    told = " ".join([Path(program).name, *arguments])
    try:
        process = subprocess.Popen(
            [program, *arguments],
            cwd=cwd or NOWHERE,
            env={**os.environ, **_QUIET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as cause:
        raise ClientError(f"{program}: cannot be started: {cause.strerror}; install it again") from cause
    try:
        out, err = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise ClientError(f"{told}: did not end within {_SECONDS:g} s; run it yourself to see why") from None
    finally:
        with contextlib.suppress(OSError):
            # Of its own group nothing is left, also where it was cut off.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode != 0:
        raise ClientError(f"{told}: ended with {process.returncode}: {_complaint(out, err)}")
    return out.decode("utf-8", "replace")


def ask_json(program: str, arguments: Sequence[str], cwd: Path | None = None) -> Any:
    """What it prints, as JSON."""
    said = ask(program, arguments, cwd)
    try:
        return json.loads(said)
    except ValueError:
        told = " ".join([Path(program).name, *arguments])
        raise ClientError(
            f"{told}: printed no JSON but {said.strip()[:_SAID]!r}; it may be too old: update it and run this again"
        ) from None


def command_of(server: Any) -> tuple[str, ...] | None:
    """Program and arguments of a server's entry, as both clients write it."""
    if not isinstance(server, dict) or not isinstance(server.get("command"), str):
        return None
    arguments = server.get("args") or []
    return (server["command"], *map(str, arguments)) if isinstance(arguments, list) else (server["command"],)


def _complaint(out: bytes, err: bytes) -> str:
    """Why it failed: the message of its JSON answer, else the end of what it said."""
    printed = out.decode("utf-8", "replace").strip()
    with contextlib.suppress(ValueError, IndexError):
        answer = json.loads(printed.splitlines()[-1])
        if isinstance(answer, dict) and isinstance(answer.get("message"), str):
            return str(answer["message"])[:_SAID]
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if not line.startswith("WARNING")]
    said = "\n".join(lines).strip() or printed
    return said[-_SAID:] or "it said nothing"
