"""Codex as a client, driven by its `codex plugin …` commands."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ClientError
from autoscirub.setup.clients.base import (
    MARKETPLACE,
    PLUGIN,
    PLUGIN_ID,
    Plugin,
    ask,
    ask_json,
    command_of,
    home_of,
)
from autoscirub.setup.clients.server_probe import ask_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import ClientName

HOOKS_HOW = "start codex in the project, type /hooks, look at the hooks of autoscirub, and trust them"
"""It runs no hook that the user has not trusted, and says nothing about it."""

_TRUST = ".hook-trust"
_SECONDS = 15.0
_INTRODUCED = {
    "clientInfo": {"name": "autoscirub-doctor", "version": "1"},
    "capabilities": {"experimentalApi": True},
}


class Codex:
    """See `clients.Client`. It keeps plugins for the user alone, and loads a copy that it makes of the folder."""

    name: ClientName = "codex"
    scopes: tuple[str, ...] = ("user",)

    def __init__(self, program: str) -> None:
        self.program = program

    def version(self) -> str:
        """The version as the program says it."""
        return ask(self.program, ["--version"]).strip().rpartition(" ")[2]

    def plugins(self, cwd: Path | None = None) -> list[Plugin]:
        """What is installed."""
        listed = ask_json(self.program, ["plugin", "list", "--json"], cwd)
        installed = listed.get("installed") if isinstance(listed, dict) else None
        if not isinstance(installed, list):
            raise ClientError(
                'codex plugin list --json: has no list "installed"; update codex and run this again'
            )
        return [
            Plugin(str(entry["pluginId"]), "user", entry.get("enabled") is True)
            for entry in installed
            if isinstance(entry, dict) and "pluginId" in entry
        ]

    def marketplaces(self) -> dict[str, str]:
        """The name of each marketplace, and the folder or address that it comes from."""
        listed = ask_json(self.program, ["plugin", "marketplace", "list", "--json"])
        entries = listed.get("marketplaces") if isinstance(listed, dict) else None
        found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        return {str(entry.get("name")): _source(entry) for entry in found}

    def home(self) -> Path:
        """Its configuration folder."""
        return home_of("CODEX_HOME", ".codex")

    def settings(self, project: Path | None) -> list[Path]:  # noqa: ARG002 - as the other client has it
        """The user's configuration."""
        return [self.home() / "config.toml"]

    def add_marketplace(self, folder: Path) -> list[str]:
        """In the user's configuration."""
        return ["plugin", "marketplace", "add", str(folder), "--json"]

    def remove_marketplace(self) -> list[str]:
        """From the user's configuration."""
        return ["plugin", "marketplace", "remove", MARKETPLACE, "--json"]

    def install(self, scope: str) -> list[str]:  # noqa: ARG002
        """Enables it too, and renews its copy where it was installed before."""
        return ["plugin", "add", PLUGIN_ID, "--json"]

    def uninstall(self, scope: str) -> list[str]:  # noqa: ARG002
        """With its copy."""
        return ["plugin", "remove", PLUGIN_ID, "--json"]

    def tell(self, arguments: Sequence[str], cwd: Path | None = None) -> None:
        """Run one of these."""
        ask(self.program, arguments, cwd)

    def server(self, cwd: Path | None = None) -> tuple[str, ...] | None:
        """How it starts the server named autoscirub: a plugin's, or one in its configuration, which goes first."""
        listed = ask_json(self.program, ["mcp", "list", "--json"], cwd)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get("name") == PLUGIN and entry.get("enabled") is not False:
                return command_of(entry.get("transport")) or ("(not started as a program)",)
        return None

    def copy_of_plugin(self) -> Path:
        """Where its copy of this version belongs, whether it exists or not."""
        from autoscirub.version import __version__

        return self.home() / "plugins" / "cache" / MARKETPLACE / PLUGIN / __version__

    def hooks(self) -> list[str]:
        """The trust status of each hook of the plugin: `trusted`, `untrusted`, `modified`, …

        Asks it in a temporary copy of its configuration folder, since it would write in its own.
        Raises ClientError where it does not answer, OSError where the folder cannot be copied.
        """
        copy = self.copy_of_plugin()
        with tempfile.TemporaryDirectory(prefix="autoscirub-doctor-") as folder:
            home, project = Path(folder) / "home", Path(folder) / "project"
            home.mkdir(mode=0o700)
            project.mkdir()
            shutil.copyfile(self.home() / "config.toml", home / "config.toml")
            if (self.home() / _TRUST).is_dir():
                shutil.copytree(self.home() / _TRUST, home / _TRUST)
            if copy.is_dir():
                shutil.copytree(copy, home / copy.relative_to(self.home()))
            result = ask_lines(
                [self.program, "-c", "analytics.enabled=false", "app-server"],
                [
                    {"id": 1, "method": "initialize", "params": _INTRODUCED},
                    {"method": "initialized"},
                    {"id": 2, "method": "hooks/list", "params": {"cwds": [str(project)]}},
                ],
                cwd=project,
                environment={**os.environ, "CODEX_HOME": str(home)},
                seconds=_SECONDS,
            )
        try:
            listed = [hook for entry in result["data"] for hook in entry["hooks"]]
            return [str(hook["trustStatus"]) for hook in listed if hook.get("pluginId") == PLUGIN_ID]
        except (KeyError, TypeError, AttributeError):
            raise ClientError(
                f"codex app-server: hooks/list answered {str(result)[:200]}; update codex"
            ) from None


def _source(entry: dict[str, Any]) -> str:
    source = entry.get("marketplaceSource")
    named = source.get("source") if isinstance(source, dict) else None
    return str(named or entry.get("root") or "an unknown place")
