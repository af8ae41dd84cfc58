"""A box for the real clients, with its own network, home and working directory; and clients that have the plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.installed import Installed, install, noting_python
from tests.e2e.clients.sandboxing import Box, boxed


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with boxed(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def noting(own_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that finds the package by itself, and notes how it was started."""
    return noting_python(own_python, tmp_path_factory.mktemp("noting") / "venv")


@pytest.fixture(scope="session")
def in_claude(noting: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Claude Code, in which `autoscirub install` was run."""
    with boxed(tmp_path_factory.mktemp("claude")) as box:
        yield install("claude", box, noting)


@pytest.fixture(scope="session")
def in_codex(noting: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Codex, in which `autoscirub install` was run, and the hooks were looked at and trusted."""
    with boxed(tmp_path_factory.mktemp("codex")) as box:
        installed = install("codex", box, noting)
        Codex(box).trust_hooks()
        yield installed


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Installed:
    """Each client, in a project that is empty."""
    installed: Installed = request.getfixturevalue(f"in_{request.param}")
    (tmp_path / "project").mkdir()
    return installed.within(tmp_path / "project")
