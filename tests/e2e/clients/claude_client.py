"""Claude Code, as a user runs it in a script: `claude -p`, offline, against a scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.clients.sandboxing import Box, Ended, program
from tests.e2e.clients.scripted_model import ScriptedModel


@dataclass(frozen=True)
class Claude:
    """The client in a box. Its configuration is fresh, and stays from one call to the next."""

    box: Box

    def environment(self, model: ScriptedModel | None = None, **more: str) -> dict[str, str]:
        return self.box.environment(
            CLAUDE_CONFIG_DIR=str(self.box.home / ".claude"),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            CLAUDE_CODE_MAX_RETRIES="0",
            DISABLE_AUTOUPDATER="1",
            ANTHROPIC_API_KEY="dummy",
            ANTHROPIC_BASE_URL=model.url if model else "http://127.0.0.1:9",
            **more,
        )

    def command(self, *arguments: str | Path, **env: str) -> Ended:
        """A command that needs no model, such as `plugin install`."""
        return self.box.run([program("claude"), *arguments], self.environment(None, **env))

    def ask(
        self,
        model: ScriptedModel,
        prompt: str,
        *,
        servers: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        allow: Sequence[str] = (),
        arguments: Sequence[str | Path] = (),
        cwd: Path | None = None,
        **env: str,
    ) -> Ended:
        """One prompt, to its end. `servers` are MCP servers, which then are the only ones; without, those of plugins are there."""
        command: list[str | Path] = [program("claude"), "-p", prompt, "--output-format", "json"]
        if servers is not None:
            file = self.box.home / "servers.json"
            file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
            command += ["--mcp-config", file, "--strict-mcp-config"]
        if settings is not None:
            file = self.box.home / "settings.json"
            file.write_text(json.dumps(settings), encoding="utf-8")
            command += ["--settings", file]
        if allow:
            command += ["--allowedTools", ",".join(allow)]
        return self.box.run([*command, *arguments], self.environment(model, **env), cwd)

    def install(self, marketplace: Path, plugin: str) -> None:
        """Install a plugin, as `NAME@MARKETPLACE`, from a folder that holds a marketplace."""
        for arguments in (["marketplace", "add", marketplace], ["install", plugin]):
            done = self.command("plugin", *arguments)
            assert done.status == 0, done
