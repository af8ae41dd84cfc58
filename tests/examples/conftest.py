"""The example projects in temporary copies: run once, and the Nile revised once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.models import RevisionPlan

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROJECTS = ("nile", "sunspots")
LEFT_BEHIND = ("results", "__pycache__", ".autoscirub", ".prereg.lock")


def _run(project: Path) -> None:
    """Run it isolated, so that an installed package would be missed."""
    command = [sys.executable, "-I", "-S", "run.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="session")
def run_project() -> Callable[[Path], None]:
    """Run a copy of an example where it is."""
    return _run


@pytest.fixture(scope="session")
def copy_and_run() -> Callable[[str, Path], Path]:
    """Copy an example under a folder and run it there; gives the copy."""

    def copy_and_run(name: str, parent: Path) -> Path:
        project = parent / name
        shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        _run(project)
        return project

    return copy_and_run


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory, copy_and_run) -> dict[str, Path]:
    """Both examples after their first run. Not to be written to."""
    parent = tmp_path_factory.mktemp("ran")
    return {name: copy_and_run(name, parent) for name in PROJECTS}


@pytest.fixture(scope="session")
def files_of() -> Callable[[Path], dict[str, bytes]]:
    """Every file under a folder with its bytes."""

    def files_of(root: Path) -> dict[str, bytes]:
        found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if "__pycache__" not in name}

    return files_of


class Reviser:
    """`revise.py` as `autoscirub run --revise` starts it: two files named by the environment, the project's folder."""

    def __init__(self, folder: Path, *targets: str) -> None:
        self.changes_path = folder / "changes.json"
        self.command = [sys.executable, "-I", "-S", "revise.py"]
        plan = RevisionPlan.model_validate(
            {"round": 1, "targets": [{"criterion_id": name, "gap": "it is not there"} for name in targets]}
        )
        plan_path = folder / "plan.json"
        plan_path.write_text(plan.model_dump_json(), encoding="utf-8")
        paths = {"AUTOSCIRUB_PLAN": str(plan_path), "AUTOSCIRUB_CHANGES": str(self.changes_path)}
        self.environment = {**os.environ, **paths}

    def run(self, project: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command,
            cwd=project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def changes(self) -> dict[str, Any]:
        return json.loads(self.changes_path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def reviser_for() -> type[Reviser]:
    """`reviser_for(folder, *criteria)`: the bundled reviser, with a plan for these criteria."""
    return Reviser


@pytest.fixture(scope="session")
def gaps() -> tuple[str, str]:
    """The two criteria of the Nile's rubric that its first run does not meet."""
    return ("interval-of-the-drop", "figure-of-the-step")


@pytest.fixture(scope="session")
def revised(tmp_path_factory: pytest.TempPathFactory, ran, gaps) -> Path:
    """The Nile after its first run and one revision. Not to be written to."""
    folder = tmp_path_factory.mktemp("revised")
    project = shutil.copytree(ran["nile"], folder / "nile")
    done = Reviser(folder, *gaps).run(project)
    assert (done.returncode, done.stderr) == (0, "")
    return project
