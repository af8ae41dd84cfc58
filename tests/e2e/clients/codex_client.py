"""Codex, as a user runs it in a script: `codex exec`, offline, against a scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.clients.sandboxing import Box, Ended, program
from tests.e2e.clients.scripted_model import ScriptedModel

CONFIG = """\
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
web_search = "disabled"

[analytics]
enabled = false # else its end waits five seconds for a name that does not resolve

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


@dataclass
class Codex:
    """The client in a box. Its configuration is fresh, and stays from one call to the next.

    `config` is TOML for the rest of `config.toml`: `[mcp_servers.…]` and the like. The model is configured by the command
    line, so that `config.toml` is the user's, which `codex plugin add` may write to.
    """

    box: Box
    config: str = ""
    arguments: Sequence[str] = field(default=("--disable", "apps"))

    @property
    def home(self) -> Path:
        return self.box.home / ".codex"

    def environment(self, **more: str) -> dict[str, str]:
        return self.box.environment(CODEX_HOME=str(self.home), SCRIPTED_KEY="dummy", **more)

    def command(self, *arguments: str | Path, **env: str) -> Ended:
        """A command that needs no model, such as `plugin add`."""
        self._configure()
        return self.box.run([program("node"), program("codex"), *arguments], self.environment(**env))

    def ask(
        self,
        model: ScriptedModel,
        prompt: str,
        *,
        plugins: bool = False,
        arguments: Sequence[str | Path] = (),
        cwd: Path | None = None,
        **env: str,
    ) -> Ended:
        """One prompt, to its end."""
        self._configure()
        profile = self.home / "scripted.config.toml"
        profile.write_text(CONFIG.format(url=model.url), encoding="utf-8")
        without = [] if plugins else ["--disable", "plugins"]
        command: list[str | Path] = [
            program("codex"),
            "exec",
            "--profile",
            "scripted",
            "--skip-git-repo-check",
            "--json",
        ]
        asked = [*command, *self.arguments, *without, *arguments, prompt]
        return self.box.run(asked, self.environment(**env), cwd)

    def install(self, marketplace: Path, plugin: str) -> None:
        """Install a plugin, as `NAME@MARKETPLACE`, from a folder that holds a marketplace. Its hooks are not trusted by that."""
        for arguments in (["marketplace", "add", marketplace], ["add", plugin]):
            done = self.command("plugin", *arguments)
            assert done.status == 0, done

    def hooks(self) -> list[dict[str, Any]]:
        """The hooks that Codex knows, each with its `key`, `currentHash` and `trustStatus`."""
        [listed] = self._ask_server("hooks/list", {"cwds": [str(self.box.work)]})["data"]
        return list(listed["hooks"])

    def trust_hooks(self) -> None:
        """What a user does who looks at the hooks and trusts them."""
        trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in self.hooks()}
        edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
        self._ask_server("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})

    def _ask_server(self, method: str, params: dict[str, Any]) -> Any:
        """One request to `codex app-server`, which the terminal's own interface asks too."""
        self._configure()
        client = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": True}}
        requests = enumerate([("initialize", client), (method, params)])
        lines = [
            json.dumps({"id": at, "method": name, "params": payload}) for at, (name, payload) in requests
        ]
        return self.box.converse(
            [program("node"), program("codex"), "app-server"], self.environment(), lines, _result
        )

    def _configure(self) -> None:
        if not self.home.is_dir():
            self.home.mkdir()
            (self.home / "config.toml").write_text(self.config, encoding="utf-8")


def _result(line: str) -> Any:
    """What a line answers to the second request, if it does."""
    answer = json.loads(line)
    return answer["result"] if answer.get("id") == 1 else None
