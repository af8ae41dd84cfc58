"""A project on which an agent can go the whole way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUBRIC: dict[str, Any] = {
    "schema_version": "1.0",
    "goals": [],
    "criteria": [
        {
            "criterion_id": "slope",
            "requirement": "The slope is computed.",
            "judge": "never",
            "checks": [{"id": "there", "kind": "expr", "expr": "0 < results.slope < 1"}],
        },
        {
            "criterion_id": "table",
            "requirement": "The readings are in a table.",
            "judge": "never",
            "expected_artifacts": [{"type": "table", "expected_path": "out/table.csv"}],
        },
    ],
}


@pytest.fixture
def rubric() -> dict[str, Any]:
    """A rubric of two criteria, which code decides."""
    copy: dict[str, Any] = json.loads(json.dumps(RUBRIC))
    return copy


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A project of which nothing is there yet but its folder and its configuration."""
    project = tmp_path / "bare"
    project.mkdir()
    (project / "autoscirub.toml").write_text('results = "results/results.json"\n', encoding="utf-8")
    return project


@pytest.fixture
def frozen(bare: Path, rubric: dict[str, Any], write_results: Callable[..., Path]) -> Path:
    """That project with the rubric frozen, and results that meet the first criterion."""
    from autoscirub.workflow.drafting import write_state
    from autoscirub.workflow.locks import freeze

    write_state("executable_rubric.json", rubric, project=bare)
    freeze(bare)
    write_results(bare, slope=0.5)
    return bare
