"""The history: a state directory with this machine's memory, one command that records, and a stranger's bundle."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscirub.store.history.steps import History


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine's memory, for one test."""
    folder = tmp_path / "data"
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def state(tmp_path: Path, data: Path) -> Path:
    """The state directory of a project."""
    folder = tmp_path / "project" / ".autoscirub"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def record(data: Path) -> Callable[..., tuple[str, list[str]]]:
    """One command: opens, commits each event, exports. Gives the history's id and what was noticed."""

    def one_command(
        state: Path, *events: str, history_id: str | None = None, **files: bytes
    ) -> tuple[str, list[str]]:
        with History.open_for_writing(state, history_id, state.parent) as history:
            for event in events:
                contents = {f"state/{name}.json": content for name, content in files.items()}
                contents["state/event.txt"] = event.encode()
                history.commit(event, contents, facts={"n": 1}, at="2026-01-31T09:00:00Z")
            history.export()
            assert history.id is not None
            return history.id, list(history.notices)

    return one_command


@pytest.fixture
def events() -> Callable[[Path], list[str | None]]:
    """The events that a state directory's history holds, newest first."""

    def read(state: Path) -> list[str | None]:
        with History.open_for_reading(state) as history:  # type: ignore[union-attr]
            return [commit.event for commit in history.commits()]

    return read


@pytest.fixture
def git() -> Callable[..., bytes]:
    """Somebody's git, with no configuration of this machine; gives what it printed."""

    def run(where: Path, *arguments: str) -> bytes:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        identity = {
            f"GIT_{who}_{what}": "stranger@localhost"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        return subprocess.run(
            ["git", *arguments],
            cwd=where,
            env={**clean, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            stdin=subprocess.DEVNULL,
            check=True,
            stdout=subprocess.PIPE,
        ).stdout

    return run


@pytest.fixture
def strangers_bundle(git: Callable[..., bytes]) -> Callable[..., Path]:
    """A bundle that somebody else's git made."""

    def make(folder: Path, files: dict[str, bytes]) -> Path:
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "theirs")
        git(folder, "bundle", "create", "-q", "out.bundle", "main")
        return folder / "out.bundle"

    return make
