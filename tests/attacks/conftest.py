"""What several of the hostile inputs need: an end to waiting, workspaces, a study, a record and its forger."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from tests.attacks.blinding import lay_down
from tests.attacks.forging import RUBRIC, Forger
from tests.attacks.paths import CANARY

from autoscirub.judging.tools import ToolBounds, WorkspaceTools
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.rounds import plan_round


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


@pytest.fixture
def work(slope_project, write_results) -> Path:
    """Two rounds; of three criteria the last one is not satisfied."""
    (slope_project / "rubric.toml").write_text(RUBRIC, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    check(slope_project)
    plan_round(project=slope_project)
    write_results(slope_project, slope=0.51, low=0.4, high=0.6)
    check(slope_project)
    return slope_project


@pytest.fixture
def forger(tmp_path) -> Callable[[Path], Forger]:
    def begin(project: Path) -> Forger:
        return Forger(project, tmp_path / "forged").open()

    return begin
