"""What a numbers check and a rerun say in a criterion's gap, and what would close it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from autoscirub.checks import decide_criterion, gather
from autoscirub.checks.rerun.comparing import Comparison, Status
from autoscirub.checks.rerun.copying import Copied
from autoscirub.checks.rerun.deciding import Tally, decide
from autoscirub.models import Criterion, CriterionResult, Decision, ExecutableRubric, RunConfig
from autoscirub.report.terminal import render_rerun
from autoscirub.sandbox import Isolated
from autoscirub.store import open_project

AT = "2026-01-31T09:00:00Z"


def reran(*found: Comparison) -> Decision:
    """The Decision over what a rerun compared."""
    tally = Tally()
    for one in found:
        tally.add(one)
    ran = Isolated(0, "", None, timed_out=False, seconds=1, isolation="bubblewrap")
    return decide(tally, RunConfig(command=["a"]), "0" * 64, ran, Copied(), [], [])


def decided(project: Path, kind: str, rerun: Decision | None = None) -> CriterionResult:
    """A criterion with one check of this kind."""
    criterion = Criterion.model_validate(
        {"criterion_id": "C1", "requirement": "r", "checks": [{"id": "k", "kind": kind}]}
    )
    inputs = gather(open_project(project), ExecutableRubric(criteria=[criterion]), rerun=rerun)
    return decide_criterion(criterion, inputs, at=AT)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".autoscirub").mkdir()
    (tmp_path / "results.json").write_text('{"a": 4.19, "b": 7.5}')
    return tmp_path


def test_the_gap_of_a_rerun_names_what_moved_or_is_missing_and_nothing_else(folder: Path) -> None:
    rerun = reran(
        Comparison("r.json", "a", 1.0, 1.1, Status.WITHIN_TOLERANCE),
        Comparison("r.json", "b", 1.0, 1.0, Status.EQUAL),
        Comparison("r.json", "c", None, 5, Status.NEW),
        Comparison("r.json", "values", 1, 2, Status.MOVED),
        Comparison("t.csv", None, "9 bytes", None, Status.MISSING),
        Comparison("f.png", None, "8 × 8 pixels", "9 × 9 pixels", Status.MOVED),
        Comparison("r.json", "d", "x", "so it is: equal", Status.MOVED),
    )
    result = decided(folder, "rerun", rerun)
    assert result.status == "not_satisfied"
    assert result.evidence_gap.split("; ") == [
        "rerun: 1 equal, 1 within tolerance, 3 moved, 1 missing, 1 new",
        "rtol 1e-09, atol 1e-12",
        "r.json: values: moved: 1 before, 2 after",
        "t.csv: missing: did not come out again",
        "f.png: moved: 8 × 8 pixels before, 9 × 9 pixels after",
        "r.json: d: moved: x before, so it is: equal after",
    ]


def test_a_result_called_values_is_shown_and_is_not_the_count() -> None:
    moved = Comparison("r.json", "values", 1, 2, Status.MOVED)
    text = render_rerun(reran(moved), io.StringIO())
    assert "(moved) · 1 moved; rtol" in text
    assert "r.json values: moved: 1 before, 2 after" in text
