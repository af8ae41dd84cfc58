"""What a Markdown report embeds must be there; a table that it only mentions is noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscirub import check_artifact
from autoscirub.models import Answer


def report(root: Path, text: str, *files: str) -> Path:
    (root / "report.md").write_text(text, encoding="utf-8")
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    return root


TABLE = "| a | b |\n|---|:-:|\n| 1 | 2 |\n"


@pytest.mark.parametrize(
    "text",
    [
        "![the map](figs/map.png)\n",
        "![the map](<figs/map.png> 'a title')\n",
        'text <img alt="a" src="figs/map.png"> more\n',
        "![the map](./figs/map.png#left)\n",
    ],
)
def test_an_embedded_file_that_is_not_there_fails_the_report_and_is_named(tmp_path: Path, text: str) -> None:
    found = check_artifact(report(tmp_path, text), "report.md")
    assert found.answer is Answer.DOES_NOT_HOLD
    assert "figs/map.png" in (found.evidence[0].note or "")
    report(tmp_path, text, "figs/map.png")
    assert check_artifact(tmp_path, "report.md").answer is Answer.HOLDS


@pytest.mark.parametrize(
    "text",
    [
        "![a](https://example.org/a.png) ![b](data:image/png;base64,AAAA) ![c](#part)\n",
        "```\n![an example](none.png)\n```\nand `![inline](none.png)`\n",
        "<!-- ![left out](none.png) -->\n",
        "[a link](none.html), which shows nothing here\n",
    ],
)
def test_what_a_reader_is_not_shown_from_the_project_is_left_alone(tmp_path: Path, text: str) -> None:
    found = check_artifact(report(tmp_path, text), "report.md")
    assert (found.answer, found.evidence[0].note) == (Answer.HOLDS, None)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (f"See Table 3.\n\n{TABLE}", "it refers to Table 3, and there is no such table"),
        (f"See Table 1.\n\n{TABLE}", None),
        (f"See Table 3.\n\n**Table 3:** the seeds\n\n{TABLE}", None),
        ("As Figure 2 shows.\n", "it refers to Figure 2, and there is no such figure"),
    ],
)
def test_a_table_or_figure_that_is_only_mentioned_is_noted_and_does_not_fail(
    tmp_path: Path, text: str, note: str | None
) -> None:
    found = check_artifact(report(tmp_path, text), "report.md")
    assert (found.answer, found.evidence[0].note) == (Answer.HOLDS, note)


def test_the_path_is_taken_from_the_report_s_own_folder(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/report.md").write_text("![a](fig.png)\n")
    assert check_artifact(tmp_path, "docs/report.md").answer is Answer.DOES_NOT_HOLD
    (tmp_path / "docs/fig.png").write_bytes(b"x")
    assert check_artifact(tmp_path, "docs/report.md").answer is Answer.HOLDS
