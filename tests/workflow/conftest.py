"""A project with a frozen rubric, and revisers that are real programs."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.workflow import judged

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
    from autoscirub.workflow.locks import freeze

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


@pytest.fixture
def oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed package with a judge that says what a test tells it to."""
    folder = tmp_path / "packages"
    info = folder / "wired_oracle-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wired-oracle\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[autoscirub.judges]\noracle = wired_oracle:open_oracle\n")
    (folder / "wired_oracle.py").write_text(judged.ORACLE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "wired_oracle", raising=False)
    return importlib.import_module("wired_oracle")


@pytest.fixture
def study(slope_project: Path, write_results: Callable[..., Path]) -> Callable[..., Path]:
    """A frozen project with an oracle as its judge, its results, table and report there."""

    def make(
        settings: str = "", *, rubric: str = judged.RUBRIC, width: float = 0.1, table: bool = True
    ) -> Path:
        from autoscirub.workflow.locks import freeze

        (slope_project / "prereg.toml").write_text(judged.PREREG.format(width=width))
        (slope_project / "rubric.toml").write_text(rubric)
        (slope_project / "autoscirub.toml").write_text(f'[judge]\nbackend = "oracle"\n{settings}')
        freeze(slope_project)
        write_results(slope_project, slope=0.51)
        (slope_project / "report.md").write_text("# Slope\n\nThe slope is 0.51, which is near one half.\n")
        if table:
            (slope_project / "out").mkdir()
            (slope_project / "out" / "table.csv").write_text("x,y\n1,2\n")
        return slope_project

    return make
