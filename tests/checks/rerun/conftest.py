"""Small projects whose results come out of a script."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.rerun import Rerun, rerun
from autoscirub.store import open_project

WRITES = "import json; json.dump({values!r}, open('results.json', 'w'))\n"


@pytest.fixture
def scripted(tmp_path: Path) -> Callable[..., Path]:
    """A project: `script` is its run.py, `results` lie in results.json, more `[run]` keys are TOML lines."""

    def make(script: str, results: dict[str, Any], *lines: str, name: str = "project") -> Path:
        project = tmp_path / name
        project.mkdir()
        (project / "run.py").write_text(script, encoding="utf-8")
        (project / "results.json").write_text(json.dumps(results), encoding="utf-8")
        run = [
            f"command = {json.dumps([sys.executable, 'run.py'])}",
            'outputs = ["results.json"]',
            "seconds = 30",
        ]
        keys = {line.split("=")[0].strip() for line in lines}
        run = [line for line in run if line.split("=")[0].strip() not in keys] + list(lines)
        (project / "autoscirub.toml").write_text("[run]\n" + "\n".join(run) + "\n", encoding="utf-8")
        return project

    return make


@pytest.fixture
def run_again() -> Callable[..., Rerun]:
    """A rerun of a trusted project."""

    def again(project: Path, **options: Any) -> Rerun:
        return rerun(open_project(project), trusted=True, **options)

    return again
