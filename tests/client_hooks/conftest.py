"""Projects as the hooks find them, and the hooks as a client calls them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.client_hooks import main
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze

PREREG = """\
hypothesis = "The slope is near one half."
predictions = ["slope between 0.4 and 0.6"]
analysis_plan = "Least squares."

[results_contract]
slope = "least-squares slope"

[[checks]]
id = "slope"
kind = "expr"
expr = "abs(results.slope - 0.5) < 0.1"
"""

RUBRIC = """\
[[criteria]]
id = "written"
requirement = "There is a write-up."
judge = "never"
artifacts = [{ type = "text_analysis", name = "report", expected_path = "report.md" }]

[[criteria]]
id = "enough"
requirement = "There are enough samples."
judge = "never"
checks = [{ id = "n", kind = "expr", expr = "results.n >= 30" }]
"""


def lay_down(folder: Path, *, n: int = 3) -> Path:
    """A project with predictions, a rubric, and work that meets one requirement of two."""
    folder.mkdir(parents=True)
    (folder / "prereg.toml").write_text(PREREG)
    (folder / "rubric.toml").write_text(RUBRIC)
    (folder / "report.md").write_text("The slope is what it is.\n")
    (folder / "run.py").write_text("print('run')\n")
    (folder / "results").mkdir()
    return folder


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    """A project with everything frozen, and never checked."""
    project = lay_down(tmp_path / "project")
    freeze(project)
    return project


@pytest.fixture
def checked(frozen: Path) -> Path:
    """A project that was checked: one requirement of two is met, and round 1 is open."""
    (frozen / "results" / "results.json").write_text(json.dumps({"slope": 0.5, "n": 3}))
    check(frozen)
    return frozen


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Call a hook as a client does. Returns its answer, None where it has none; keeps what stderr got in `hook.stderr`."""

    def call(event: str, payload: Any) -> Any:
        text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(event) == 0
        out, call.stderr = capsys.readouterr()  # type: ignore[attr-defined]
        return json.loads(out) if out else None

    return call
