"""What a numbers check and a rerun say in a criterion's gap, and what would close it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from autoscirub.checks.criteria import decide_criterion, gather
from autoscirub.checks.rerun.copying import Copied
from autoscirub.checks.rerun.decision import Tally, decide
from autoscirub.checks.rerun.pairs import ValueComparison, ValueStatus
from autoscirub.models import Criterion, CriterionResult, Decision, ExecutableRubric, RunConfig
from autoscirub.report.terminal import render_rerun
from autoscirub.sandbox import Isolated
from autoscirub.store import open_project

AT = "2026-01-31T09:00:00Z"


def reran(*found: ValueComparison) -> Decision:
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
        ValueComparison("r.json", "a", 1.0, 1.1, ValueStatus.WITHIN_TOLERANCE),
        ValueComparison("r.json", "b", 1.0, 1.0, ValueStatus.EQUAL),
        ValueComparison("r.json", "c", None, 5, ValueStatus.NEW),
        ValueComparison("r.json", "values", 1, 2, ValueStatus.MOVED),
        ValueComparison("t.csv", None, "9 bytes", None, ValueStatus.MISSING),
        ValueComparison("f.png", None, "8 × 8 pixels", "9 × 9 pixels", ValueStatus.MOVED),
        ValueComparison("r.json", "d", "x", "so it is: equal", ValueStatus.MOVED),
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
    moved = ValueComparison("r.json", "values", 1, 2, ValueStatus.MOVED)
    text = render_rerun(reran(moved), io.StringIO())
    assert "(moved) · 1 moved; rtol" in text
    assert "r.json values: moved: 1 before, 2 after" in text


MAKE = "make each of these numbers in report.md one of the results"
MEND = "mend what keeps the numbers of report.md from being decided: "


@pytest.mark.parametrize(
    ("report", "more", "actions"),
    [
        ("It is 9.99 <!-- =results.a --> and 7.5.", "", [MAKE]),  # wrong
        ("It is 9.99 and 7.5.", "", [MAKE]),  # without source
        ("Nothing.", "", [f"{MEND}report.md: no number found that has one source"]),
        ("It is 4.19.", 'sources = ["results", "t.csv"]', [f"{MEND}t.csv: is not there"]),
        ("It is 9.99.", 'sources = ["results", "t.csv"]', [MAKE, f"{MEND}t.csv: is not there"]),
        ("It is 4.19 \\input{x}", "", []),
        (None, "", ["mend what keeps the numbers of report from being decided: there is no report"]),
    ],
)
def test_numbers_are_to_be_mended_where_one_is_wrong_and_else_what_keeps_them_open(
    folder: Path, report: str | None, more: str, actions: list[str]
) -> None:
    if report is not None:
        (folder / "report.md").write_text(report)
    (folder / "autoscirub.toml").write_text(f"[numbers]\n{more}\n")
    result = decided(folder, "numbers")
    assert (result.status == "satisfied") == (not actions)
    assert len(result.required_actions) == len(actions), result.required_actions
    for action, wanted in zip(result.required_actions, actions, strict=True):
        assert action.startswith(wanted)
