"""Codex: `codex plugin …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoscirub.errors import ClientError
from autoscirub.setup.clients import MARKETPLACE, PLUGIN, PLUGIN_ID, Plugin, ask, ask_json, command_of, home_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoscirub.models.clients import ClientName

__all__ = ["HOOKS_HOW", "Codex"]

HOOKS_HOW = "start codex in the project, type /hooks, look at the hooks of autoscirub, and trust them"
"""It runs no hook that the user has not trusted, and says nothing about it."""


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
            raise ClientError('codex plugin list --json: has no list "installed"; update codex and run this again')
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
        """Enables it too, and makes its copy anew where it was installed before."""
        return ["plugin", "add", PLUGIN_ID, "--json"]

    def uninstall(self, scope: str) -> list[str]:  # noqa: ARG002
        """With its copy."""
        return ["plugin", "remove", PLUGIN_ID, "--json"]

    def tell(self, arguments: Sequence[str], cwd: Path | None = None) -> None:
        """Run one of these."""
        ask(self.program, arguments, cwd)

    def server(self, cwd: Path | None = None) -> tuple[str, ...] | None:
        """How it starts the server named autoscirub: a plugin's, or one in its configuration, which stands over it."""
        listed = ask_json(self.program, ["mcp", "list", "--json"], cwd)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get("name") == PLUGIN and entry.get("enabled") is not False:
                return command_of(entry.get("transport")) or ("(not started as a program)",)
        return None

    def copy_of_plugin(self) -> Path | None:
        """Its copy of this version, whether it is there or not."""
        from autoscirub import __version__

        return self.home() / "plugins" / "cache" / MARKETPLACE / PLUGIN / __version__


def _source(entry: dict[str, Any]) -> str:
    source = entry.get("marketplaceSource")
    named = source.get("source") if isinstance(source, dict) else None
    return str(named or entry.get("root") or "an unknown place")
