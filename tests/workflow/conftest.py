"""A project with a frozen rubric, and revisers that are real programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUBRIC = (Path(__file__).parents[1] / "attacks" / "rubric.toml").read_text("utf-8")

REVISER = """\
import json, os, pathlib
plan = json.loads(pathlib.Path(os.environ["AUTOSCIRUB_PLAN"]).read_text())
targets = [t["criterion_id"] for t in plan["targets"]]
results = pathlib.Path("results/results.json")
values = json.loads(results.read_text())
done = []
if "C2" in targets:
    values |= {"low": values["slope"] - 0.1, "high": values["slope"] + 0.1}
    results.write_text(json.dumps(values))
    done.append({"criterion_id": "C2", "actions_completed": ["computed the interval"]})
if "C3" in targets:
    pathlib.Path("out").mkdir(exist_ok=True)
    pathlib.Path("out/table.csv").write_text("x,y\\n1,2\\n")
    done.append({"criterion_id": "C3", "actions_completed": ["wrote the table"]})
pathlib.Path(os.environ["AUTOSCIRUB_CHANGES"]).write_text(json.dumps({"changes": done}))
print("revised", targets)
"""


@pytest.fixture
def ruled(slope_project: Path, write_results: Callable[..., Path]) -> Path:
    """A project with predictions that hold and a rubric of three criteria, of which the work meets one. Frozen."""
    from autoscirub.workflow import freeze

    (slope_project / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    return slope_project


@pytest.fixture
def reviser(tmp_path: Path) -> Callable[[str], list[str]]:
    """A program, outside of the project, from its source text."""

    def make(source: str = REVISER) -> list[str]:
        path = tmp_path / f"reviser-{len(list(tmp_path.glob('reviser-*')))}.py"
        path.write_text(source, encoding="utf-8")
        return [sys.executable, str(path)]

    return make


@pytest.fixture
def state() -> Callable[[Path, str], Any]:
    """A state file as JSON."""

    def read(project: Path, name: str) -> Any:
        return json.loads((project / ".autoscirub" / name).read_text("utf-8"))

    return read
