"""A small plugin for both clients, to try what they do with one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BARE_SERVER = Path(__file__).with_name("bare_server.py")


def bare(**more: Any) -> dict[str, Any]:
    """The bare server's entry among MCP servers. `alwaysLoad` has claude wait for it, and show its tools; `required` codex."""
    return {"command": sys.executable, "args": [str(BARE_SERVER)], **more}


def write_plugin(folder: Path, **hooks: str) -> Path:
    """A marketplace `shop` with a plugin `small`: the bare server, a skill, and a shell command for each hook named."""
    entries = {
        event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()
    }
    plugin = {"name": "small", "version": "1.0.0", "description": "Adds numbers.", "license": "MIT"}
    listed = {"name": "small", "source": "./", "description": "Adds numbers."}
    shop = {"name": "shop", "description": "A shop.", "owner": {"name": "Nobody"}, "plugins": [listed]}
    files: dict[str, Any] = {
        ".claude-plugin/plugin.json": plugin,
        ".claude-plugin/marketplace.json": shop,
        ".mcp.json": {"mcpServers": {"bare": bare(alwaysLoad=True, required=True)}},
        "hooks/hooks.json": {"hooks": entries},
        "skills/adding/SKILL.md": "---\nname: adding\ndescription: Adds numbers.\n---\nCall `add`.\n",
        "README.md": "# small\n\n" + "Adds numbers, and says where its server runs. " * 8,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder
