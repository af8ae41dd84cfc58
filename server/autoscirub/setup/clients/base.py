"""What can be asked of a coding agent's own program, and the helpers that run it and read its answers.

The plugin is added and removed by the program's own commands alone: it knows its configuration, and keeps comments
and other keys in it.
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import ClientName

PLUGIN = "autoscirub"
MARKETPLACE = "autoscirub"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"

NOWHERE = Path("/")
"""Where a client is asked about the user's own plugins: no settings of a project or of another user apply there."""

_QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
"""A query must write nothing and contact nobody; without this, Claude Code records and sends usage counts."""
_SECONDS = 90.0
_EXCERPT = 400


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
    """What both clients can do. Every method raises ClientError where the program fails."""

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


def render_command(client: Client, arguments: Sequence[str]) -> str:
    """A command of the client's as people may type it: without --json, which only we need."""
    return " ".join([client.name, *(word for word in arguments if word != "--json")])


def home_of(variable: str, folder: str) -> Path:
    """A client's configuration folder: what `variable` names, else `folder` in the user's home."""
    named = os.environ.get(variable, "")
    return Path(named).expanduser() if named else Path(os.path.expanduser("~")) / folder  # noqa: PTH111 - no home must not raise


def ask(program: str, arguments: Sequence[str], cwd: Path | None = None) -> str:
    """What the program prints. Raises ClientError where it cannot be started, does not end, or ends in an error."""
    command = " ".join([Path(program).name, *arguments])
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
        raise ClientError(
            f"{command}: did not end within {_SECONDS:g} s; run it yourself to see why"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            # Nothing of its process group is left, even where it was cut off.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode != 0:
        raise ClientError(f"{command}: ended with {process.returncode}: {_complaint(out, err)}")
    return out.decode("utf-8", "replace")


def ask_json(program: str, arguments: Sequence[str], cwd: Path | None = None) -> Any:
    """What the program prints, parsed as JSON. Raises ClientError as `ask` does, and where it is no JSON."""
    output = ask(program, arguments, cwd)
    try:
        return json.loads(output)
    except ValueError:
        command = " ".join([Path(program).name, *arguments])
        raise ClientError(
            f"{command}: printed no JSON but {output.strip()[:_EXCERPT]!r}; "
            "it may be too old: update it and run this again"
        ) from None


def command_of(server: Any) -> tuple[str, ...] | None:
    """Program and arguments of a server's entry, as both clients write it."""
    if not isinstance(server, dict) or not isinstance(server.get("command"), str):
        return None
    arguments = server.get("args") or []
    return (server["command"], *map(str, arguments)) if isinstance(arguments, list) else (server["command"],)


def _complaint(out: bytes, err: bytes) -> str:
    """Why it failed: the message of its JSON answer, else the end of its output."""
    printed = out.decode("utf-8", "replace").strip()
    with contextlib.suppress(ValueError, IndexError):
        answer = json.loads(printed.splitlines()[-1])
        if isinstance(answer, dict) and isinstance(answer.get("message"), str):
            return str(answer["message"])[:_EXCERPT]
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if not line.startswith("WARNING")]
    message = "\n".join(lines).strip() or printed
    return message[-_EXCERPT:] or "it printed nothing"
