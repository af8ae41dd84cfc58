"""Coding agents that are small programs on PATH, each with a home of its own."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).with_name("fake_client.py")


@dataclass(frozen=True)
class Agents:
    """Where the two fakes keep what is theirs, and what belongs to the user."""

    claude: Path
    codex: Path
    data: Path

    def folder(self, client: str) -> Path:
        """Where autoscirub keeps what is for the client."""
        return self.data / "clients" / client

    def know(self, client: str, **state: Any) -> None:
        """Have the client know something beforehand."""
        path = getattr(self, client) / "plugins" / "known_marketplaces.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"markets": {}, "plugins": [], **state}), "utf-8")

    def knows(self, client: str) -> dict[str, Any]:
        """What the client knows now."""
        path = getattr(self, client) / "plugins" / "known_marketplaces.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else {"markets": {}, "plugins": []}


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_python: Path) -> Agents:
    """Both clients on PATH, and an interpreter that finds the package by itself."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("claude", "codex"):
        script = programs / name
        script.write_text(f"#!{sys.executable} -S\n{FAKE.read_text('utf-8')}", "utf-8")
        script.chmod(0o755)
    git = Path(shutil.which("git") or "/usr/bin/git").parent
    monkeypatch.setenv("PATH", f"{programs}:{git}:/usr/bin:/bin")
    found = Agents(tmp_path / "claude-home", tmp_path / "codex-home", tmp_path / "data")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(found.claude))
    monkeypatch.setenv("CODEX_HOME", str(found.codex))
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(found.data))
    monkeypatch.setattr(sys, "executable", str(own_python))
    for home in (found.claude, found.codex):
        home.mkdir()
    return found
