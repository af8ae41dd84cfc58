"""Claude Code as a client, driven by its `claude plugin …` commands."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoscirub.models import ClientName


class Claude:
    """See `clients.Client`. It loads a plugin of a local marketplace in place; the copy that it makes is unused."""

    name: ClientName = "claude"
    scopes: tuple[str, ...] = ("user", "project")

    def __init__(self, program: str) -> None:
        self.program = program

    def version(self) -> str:
        """The version as the program says it."""
        return ask(self.program, ["--version"]).strip().partition(" ")[0]

    def plugins(self, cwd: Path | None = None) -> list[Plugin]:
        """What is installed. An entry of a project counts as enabled only when `cwd` is that project."""
        if not self._has_plugins():
            return []
        listed = ask_json(self.program, ["plugin", "list", "--json"], cwd)
        if not isinstance(listed, list):
            raise ClientError(f"claude plugin list --json: printed {type(listed).__name__}, expected a list")
        return [_plugin(entry) for entry in listed if isinstance(entry, dict) and "id" in entry]

    def marketplaces(self) -> dict[str, str]:
        """The name of each marketplace, and the folder, repository or address that it comes from."""
        if not self._has_plugins():
            return {}
        listed = ask_json(self.program, ["plugin", "marketplace", "list", "--json"])
        found = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        return {str(entry.get("name")): _source(entry) for entry in found}

    def _has_plugins(self) -> bool:
        # Where it has never run, a query would create its own files; a query must write nothing.
        folder = self._home() / "plugins"
        return any((folder / name).exists() for name in ("installed_plugins.json", "known_marketplaces.json"))

    def _home(self) -> Path:
        return home_of("CLAUDE_CONFIG_DIR", ".claude")

    def settings(self, project: Path | None) -> list[Path]:
        """The user's settings, which name the marketplace, and those of the project that it is installed for."""
        own = self._home() / "settings.json"
        return [own] if project is None else [own, project / ".claude" / "settings.json"]

    def add_marketplace(self, folder: Path) -> list[str]:
        """In the user's settings: a project's are shared, and the folder is on this machine alone."""
        return ["plugin", "marketplace", "add", str(folder), "--scope", "user", "--json"]

    def remove_marketplace(self) -> list[str]:
        """From the user's settings."""
        return ["plugin", "marketplace", "remove", MARKETPLACE, "--scope", "user", "--json"]

    def install(self, scope: str) -> list[str]:
        """Enables it too, where it was installed and disabled."""
        return ["plugin", "install", PLUGIN_ID, "--scope", scope, "--json"]

    def uninstall(self, scope: str) -> list[str]:
        """From that scope alone."""
        return ["plugin", "uninstall", PLUGIN_ID, "--scope", scope, "--json"]

    def tell(self, arguments: Sequence[str], cwd: Path | None = None) -> None:
        """Run one of these."""
        ask(self.program, arguments, cwd)

    def server(self, cwd: Path | None = None) -> tuple[str, ...] | None:
        """How it starts our plugin's server. It gives servers from elsewhere other names, so none can be in the way."""
        ours = [one for one in self.plugins(cwd) if one.id == PLUGIN_ID and one.enabled]
        return ours[0].server if ours else None

    def copy_of_plugin(self) -> Path | None:
        """None: it is loaded from the folder itself."""
        return None


def _plugin(entry: dict[str, Any]) -> Plugin:
    servers = entry.get("mcpServers")
    project = entry.get("projectPath")
    return Plugin(
        id=str(entry["id"]),
        scope=str(entry.get("scope", "user")),
        enabled=entry.get("enabled") is True,
        project=project if isinstance(project, str) else None,
        server=command_of(servers.get(PLUGIN)) if isinstance(servers, dict) else None,
    )


def _source(entry: dict[str, Any]) -> str:
    for key in ("path", "repo", "url", "installLocation"):
        if isinstance(entry.get(key), str):
            return str(entry[key])
    return "an unknown place"
