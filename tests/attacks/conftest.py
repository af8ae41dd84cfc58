"""What several of the hostile inputs need: an end to waiting, workspaces, a study to be blinded."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from tests.attacks.blinding import lay_down
from tests.attacks.paths import CANARY

from autoscirub.judging import ToolBounds, WorkspaceTools


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Fail, rather than hang, where something waits."""

    def give_up(*_: object) -> NoReturn:
        raise AssertionError("it waited")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "private-host-folder"
    folder.mkdir()
    (folder / "canary.txt").write_text(f"{CANARY}\n")
    (folder / "canary.csv").write_text(f"{CANARY},1\n")
    return folder


@pytest.fixture
def root(outside: Path) -> Path:
    root = outside / "workspace"
    (root / "data").mkdir(parents=True)
    (root / "report.md").write_text("inside\n")
    (root / "data" / "t.csv").write_text("inside,1\n")
    return root


@pytest.fixture
def tools(root: Path) -> WorkspaceTools:
    return WorkspaceTools(root, ToolBounds(seconds=3))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A study with everything in it that is withheld."""
    return lay_down(tmp_path)
