"""Getting out of the numbers check by way of the report itself, the history, or the moment between two looks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import StateError, TamperedError
from autoscirub.models import Answer
from autoscirub.workflow import check, checking
from autoscirub.workflow.locks import freeze

RUBRIC = """\
[[criteria]]
id = "N"
requirement = "Every number of the report is in the results."
judge = "never"
checks = [{ id = "n", kind = "numbers" }]
"""


@pytest.fixture
def wrong(slope_project: Path, write_results: Callable[..., Path]) -> Path:
    """A frozen project whose report holds a number that is in no result."""
    (slope_project / "rubric.toml").write_text(RUBRIC)
    (slope_project / "report.md").write_text("The slope is 0.51, and the drop is 99.9 TWh.\n")
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    return slope_project


@pytest.mark.parametrize("lines", ['report = "tiny.md"\n', 'report = "results/results.json"\n'])
def test_another_report_cannot_be_named_after_the_freeze_though_none_was_named_before(
    wrong: Path, lines: str
) -> None:
    assert check(wrong).report.criteria[0].status == "cannot_assess"
    (wrong / "tiny.md").write_text("The slope is 0.51.\n")
    (wrong / "autoscirub.toml").write_text(lines)
    with pytest.raises(TamperedError, match="report was None"):
        check(wrong)


def test_the_report_that_is_there_may_be_named_afterwards(wrong: Path) -> None:
    (wrong / "autoscirub.toml").write_text('report = "report.md"\n')
    assert check(wrong).report.criteria[0].status == "cannot_assess"


def test_a_report_that_is_gone_inconclusive_and_is_never_passed_over(wrong: Path) -> None:
    (wrong / "report.md").rename(wrong / "paper.md")
    for read_only in (True, False):
        [gone] = [entry for entry in check(wrong, read_only=read_only).decisions if entry.subject == "report"]
        assert gone.answer is Answer.INCONCLUSIVE
        assert "there is no report, and there was one at" in gone.open[0]


def test_a_history_begun_again_stands_in_every_later_check(wrong: Path, cli: Callable[..., Any]) -> None:
    check(wrong)
    shutil.rmtree(wrong / ".autoscirub")
    (wrong / ".prereg.lock").unlink()
    freeze(wrong)
    for read_only in (True, False):
        assert any("started afresh" in notice for notice in check(wrong, read_only=read_only).notices)
    assert "started afresh" in cli("check", "--read-only", "--project", wrong, "--json").out


@pytest.mark.parametrize("read_only", [True, False])
def test_numbers_and_criteria_that_were_decided_on_different_bytes_are_void(
    wrong: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    honest = checking._add_numbers

    def swapped(*arguments: Any) -> None:
        honest(*arguments)
        (wrong / "report.md").write_text("The slope is 0.51.\n")  # between the two looks at it

    monkeypatch.setattr(checking, "_add_numbers", swapped)
    with pytest.raises(StateError, match=r"report\.md: changed while it was being verified"):
        check(wrong, read_only=read_only)


@pytest.mark.parametrize(
    "name", [".prereg.lock", "results/results.json", ".autoscirub/history.bundle", "report.md"]
)
def test_the_file_for_junit_replaces_nothing_but_junit(
    wrong: Path, cli: Callable[..., Any], name: str
) -> None:
    check(wrong)
    before = (wrong / name).read_bytes()
    result = cli("check", "--read-only", "--junit-file", wrong / name, "--project", wrong)
    assert result.status == 3
    assert "is no JUnit XML" in result.err
    assert (wrong / name).read_bytes() == before
    target = wrong / "junit.xml"
    for _ in range(2):
        assert cli("check", "--read-only", "--junit-file", target, "--project", wrong).status == 2
    assert target.read_text().startswith("<?xml")


def test_while_numbers_are_open_beside_met_requirements_the_work_is_not_called_done(
    slope_project: Path, write_results: Callable[..., Path], cli: Callable[..., Any]
) -> None:
    rubric = RUBRIC.replace(
        '{ id = "n", kind = "numbers" }', '{ id = "n", kind = "expr", expr = "results.slope > 0" }'
    )
    (slope_project / "rubric.toml").write_text(rubric)
    (slope_project / "report.md").write_text("The slope is 0.51, and the drop is 99.9 TWh.\n")
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    result = cli("check", "--project", slope_project)
    assert result.status == 2
    assert "satisfied: every requirement is met" in result.out
    assert "still open: report.md (inconclusive)" in result.out
    assert "the work is done" not in result.out
