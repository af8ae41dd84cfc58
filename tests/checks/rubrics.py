"""A rubric in its short form, rubrics of a few criteria, and a project with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autoscirub.checks.rubric import Rubric, read_rubric
from autoscirub.store import open_project

SHORT = """\
[[goals]]
goal_id = "G1"

[[criteria]]
id = "C1"
goals = ["G1"]
requirement = "The slope is estimated, with an interval."
artifacts = [{path = "figures/slope.png", must_show = "the fit"}]
priority = "high"

[[criteria.checks]]
id = "slope"
kind = "expr"
expr = "results.slope_interval_width > 0"

[[criteria.checks]]
id = "figure"
kind = "artifact"
path = "figures/slope.png"
covers = ["the fit"]
"""


def rubric_of(*criteria: dict[str, Any], **rest: Any) -> Rubric:
    criteria_ = [{"requirement": "r", **criterion} for criterion in criteria]
    return read_rubric(json.dumps({"criteria": criteria_, **rest}).encode(), "executable_rubric.json")


def expr(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "x", "kind": "expr", "expr": text, **more}


def project(folder: Path, files: dict[str, str]) -> Any:
    (folder / ".autoscirub").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return open_project(folder)
