"""Stands in for `claude` and `codex` on PATH: their plugin commands, as far as they were seen to behave, in a JSON file.

It is called by the name it has. FAKE_FAIL names a command that fails, FAKE_LIE one that says that it worked and did nothing.
"""

# ruff: noqa: T201 - it is a program, and prints
from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

NAME = Path(sys.argv[0]).name
HOME = Path(os.environ["CLAUDE_CONFIG_DIR" if NAME == "claude" else "CODEX_HOME"])
STATE = HOME / "plugins" / "known_marketplaces.json"
SETTINGS = HOME / ("settings.json" if NAME == "claude" else "config.toml")


def state() -> dict:
    return json.loads(STATE.read_text()) if STATE.exists() else {"markets": {}, "plugins": []}


def keep(value: dict) -> None:
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps(value))


def settings(path: Path, key: str, name: str, value: object) -> None:
    """Rewritten whole, as Claude Code does it, and left with an empty key when the last entry goes."""
    if NAME == "codex":
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    table = json.loads(path.read_text()) if path.exists() else {}
    entries = table.setdefault(key, {})
    entries.pop(name, None)
    if value is not None:
        entries[name] = value
    path.write_text(json.dumps(table, indent=2))


def settings_of(scope: str) -> Path:
    return SETTINGS if scope == "user" else Path.cwd() / ".claude" / "settings.json"


def option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def servers() -> dict:
    found = {}
    for plugin in state()["plugins"]:
        if plugin["enabled"]:
            folder = Path(plugin["folder"])
            found |= json.loads((folder / ".mcp.json").read_text())["mcpServers"] if folder.exists() else {}
    return found


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    if "--version" in sys.argv:
        print("9.9.9 (Claude Code)" if NAME == "claude" else "codex-cli 9.9.9")
        return 0
    command = " ".join(words[:3] if words[1] == "marketplace" else words[:2])
    if command == os.environ.get("FAKE_FAIL"):
        print("WARNING: of no matter\nit cannot be done today", file=sys.stderr)
        return 1
    lies = command == os.environ.get("FAKE_LIE")
    now, scope, plugin_id = state(), option("--scope", "user"), words[-1]
    if command == "plugin marketplace list":
        markets = now["markets"].items()
        if NAME == "claude":
            print(json.dumps([{"name": name, "source": "directory", "path": path} for name, path in markets]))
        else:
            print(json.dumps({"marketplaces": [{"name": name, "root": path} for name, path in markets]}))
    elif command == "plugin marketplace add":
        folder = words[3]
        name = json.loads((Path(folder) / ".claude-plugin" / "marketplace.json").read_text())["name"]
        now["markets"][name] = folder
        settings(SETTINGS, "extraKnownMarketplaces", name, {"source": {"path": folder}})
        keep(now)
    elif command == "plugin marketplace remove":
        if words[3] not in now["markets"]:
            return 1
        del now["markets"][words[3]]
        settings(SETTINGS, "extraKnownMarketplaces", words[3], None)
        keep(now)
    elif command == "plugin list":
        print(json.dumps(listed(now)))
    elif command in ("plugin install", "plugin add") and not lies:
        plugin_id = next(word for word in words if "@" in word)
        folder = now["markets"][plugin_id.partition("@")[2]]
        if NAME == "codex":
            version = json.loads((Path(folder) / ".codex-plugin" / "plugin.json").read_text())["version"]
            copy = HOME / "plugins" / "cache" / "autoscirub" / "autoscirub" / version
            shutil.rmtree(copy, ignore_errors=True)
            folder = str(shutil.copytree(folder, copy))
        project = str(Path.cwd()) if scope == "project" else None
        now["plugins"] = [
            one for one in now["plugins"] if (one["id"], one["project"]) != (plugin_id, project)
        ]
        now["plugins"].append(
            {"id": plugin_id, "project": project, "scope": scope, "enabled": True, "folder": folder}
        )
        settings(settings_of(scope), "enabledPlugins", plugin_id, True)
        keep(now)
    elif command in ("plugin uninstall", "plugin remove") and not lies:
        plugin_id = next(word for word in words if "@" in word)
        project = str(Path.cwd()) if scope == "project" else None
        now["plugins"] = [
            one for one in now["plugins"] if (one["id"], one["project"]) != (plugin_id, project)
        ]
        settings(settings_of(scope), "enabledPlugins", plugin_id, None)
        if NAME == "codex":
            shutil.rmtree(HOME / "plugins" / "cache", ignore_errors=True)
        keep(now)
    elif command == "mcp list":
        own = json.loads(os.environ.get("FAKE_SERVERS", "{}"))
        found = [{"name": name, "transport": server} for name, server in (servers() | own).items()]
        print(json.dumps(found))
    return 0


def listed(now: dict) -> object:
    entries = now["plugins"]
    if NAME == "codex":
        return {"installed": [{"pluginId": one["id"], "enabled": one["enabled"]} for one in entries]}
    found = []
    for one in entries:
        here = one["project"] in (None, str(Path.cwd()))
        entry = {"id": one["id"], "scope": one["scope"], "enabled": one["enabled"] and here}
        entry |= {"projectPath": one["project"]} if one["project"] else {}
        mcp = Path(one["folder"]) / ".mcp.json"
        entry |= {"mcpServers": json.loads(mcp.read_text())["mcpServers"]} if mcp.exists() else {}
        found.append(entry)
    return found


sys.exit(main())
