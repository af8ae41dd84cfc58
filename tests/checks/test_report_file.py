"""The report is the configured file, else the one of two names that is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autoscirub.checks import find_report
from autoscirub.errors import ConfigError


@pytest.mark.parametrize("name", ["report.md", "REPORT.md"])
def test_the_one_that_is_there_is_the_report(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("r", encoding="utf-8")
    assert find_report(tmp_path, None) == name


def test_without_a_report_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "Report.txt").write_text("r", encoding="utf-8")
    assert find_report(tmp_path, None) is None
    assert find_report(tmp_path, "") is None


def test_the_configured_report_counts_whatever_else_is_there_and_before_it_is(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("r", encoding="utf-8")
    assert find_report(tmp_path, "paper/main.tex") == "paper/main.tex"


def _both(folder: Path) -> None:
    (folder / "report.md").write_text("one", encoding="utf-8")
    (folder / "REPORT.md").write_text("other", encoding="utf-8")
    if len(list(folder.iterdir())) < 2:
        pytest.skip("this file system ignores the case of letters")


def test_two_different_reports_are_an_error_that_names_both(tmp_path: Path) -> None:
    _both(tmp_path)
    with pytest.raises(
        ConfigError, match=r'report\.md and REPORT\.md both exist; say which: report = "report'
    ):
        find_report(tmp_path, None)
    assert find_report(tmp_path, "REPORT.md") == "REPORT.md"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_one_file_under_both_names_is_one_report(tmp_path: Path, link: object) -> None:
    _both(tmp_path)
    (tmp_path / "report.md").unlink()
    assert callable(link)
    link(tmp_path / "REPORT.md", tmp_path / "report.md")
    assert find_report(tmp_path, None) == "report.md"


def test_a_link_that_leads_nowhere_is_no_second_report(tmp_path: Path) -> None:
    (tmp_path / "REPORT.md").write_text("r", encoding="utf-8")
    (tmp_path / "report.md").unlink(missing_ok=True)
    if list(tmp_path.iterdir()) != [tmp_path / "REPORT.md"]:
        pytest.skip("this file system ignores the case of letters")
    (tmp_path / "report.md").symlink_to("nowhere.md")
    assert find_report(tmp_path, None) == "REPORT.md"
