"""The skills that ship are in order, and `skills lint` finds each thing that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscirub.data import data_dir
from autoscirub.models import Answer
from autoscirub.models.toolsets import BUILT, CORE, TOOLSETS
from autoscirub.setup import lint_skills
from autoscirub.setup.skills import TOOL_WRITERS, skills_in

ROOT = Path(__file__).resolve().parents[1]

GOOD = """\
---
name: looking
description: Looks. Use when something is to be looked at.
metadata:
  autoscirub-tools: next check
  autoscirub-reads: results.json
  autoscirub-writes: verification.json
---

Call `next`, then `check`. See [more](more.md).
"""


def lay(folder: Path, text: str = GOOD, name: str = "looking") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text, "utf-8")
    (folder / name / "more.md").write_text("more\n", "utf-8")
    return folder


def test_the_skills_that_ship_have_no_faults() -> None:
    found = {one.subject: one.open for one in lint_skills()}
    assert found == {
        name: []
        for name in ("autoscirub", "criterion-level-verification", "preregistration", "targeted-revision")
    }


@pytest.mark.parametrize("skill", skills_in(), ids=lambda path: path.name)
def test_a_skill_is_short_and_says_when_to_stop(skill: Path) -> None:
    text = (skill / "SKILL.md").read_text("utf-8")
    assert text.count("\n") < 150
    assert "\n## When to stop\n" in text


def test_together_they_name_every_tool_of_the_core() -> None:
    text = "\n".join((skill / "SKILL.md").read_text("utf-8") for skill in skills_in())
    assert [tool for tool in TOOLSETS[CORE] if f"`{tool}`" not in text] == []


def test_each_tool_that_stands_for_a_writer_is_a_tool() -> None:
    assert TOOL_WRITERS.keys() <= BUILT


def test_a_skill_in_order_has_no_faults(tmp_path) -> None:
    [found] = lint_skills(lay(tmp_path))
    assert (found.answer, found.open) == (Answer.HOLDS, [])


FAULTS = [
    # what is written instead of what, and the fault
    ("name: looking", "name: other", "name: 'other', expected the folder's, 'looking'"),
    ("description: Looks. Use when something is to be looked at.", "license: MIT", "description: is missing"),
    ("description: Looks.", "description: " + "x" * 1025, "expected at most 1024"),
    ("description: Looks.", "colour: red\ndescription: Looks.", "'colour' is no key of the format"),
    ("tools: next check", "tools: next check levitate", "'levitate' is no tool"),
    ("tools: next check", "tools: next check leaderboard", "this version has no tool 'leaderboard' yet"),
    ("tools: next check", "tools: next check judge", "the text never says when to call `judge`"),
    ("Call `next`", "Call `next`, `freeze(dry_run)`", "names the tool `freeze`, which"),
    ("Call `next`", "Call `next`, `ponder(it)`", "`ponder(…)` is no tool"),
    (
        "reads: results.json",
        "reads: results.json nosuch.json",
        "'nosuch.json' is no file of state/layout.toml",
    ),
    (
        "writes: verification.json",
        "writes: .prereg.lock",
        "is written by freeze, and by no tool of this skill",
    ),
    ("[more](more.md)", "[more](less.md)", "the link to less.md leads to nothing"),
    ("[more](more.md)", "[more](../other/SKILL.md)", "leaves the skill's folder"),
    ("autoscirub-reads: results.json", "autoscirub-reads: [1]", "is list, expected text"),
    ("metadata:", "metadata: []\nallowed-tools:", "metadata: is missing"),
    ("---\nname", "name", "begins with no frontmatter"),
    ("name: looking", "name: [looking", "is no YAML"),
]


@pytest.mark.parametrize(("old", "new", "fault"), FAULTS, ids=[fault for _, _, fault in FAULTS])
def test_a_fault_is_found_and_says_where(tmp_path, old, new, fault) -> None:
    assert old in GOOD
    [found] = lint_skills(lay(tmp_path, GOOD.replace(old, new, 1)))
    assert found.answer is Answer.DOES_NOT_HOLD
    assert any(fault in line for line in found.open), found.open


def test_a_folder_without_a_skill_file_and_one_that_is_no_text_are_faults(tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    (lay(tmp_path) / "looking" / "SKILL.md").write_bytes(b"\xff\xfe")
    empty, looking = lint_skills(tmp_path)
    assert empty.open == ["SKILL.md: is not there"]
    assert "cannot be read" in looking.open[0]


def test_the_command_says_which_skill_is_at_fault(cli, tmp_path) -> None:
    assert cli("skills", "lint", "--json").json["ok"] is True
    ran = cli("skills", "lint", lay(tmp_path, GOOD.replace("next check", "next check levitate")))
    assert ran.status == 1
    assert "✗ looking" in ran.out
    assert cli("skills", "lint", tmp_path / "nosuch").status == 3


def test_the_command_alone_lists_them_with_what_each_is_for(cli) -> None:
    listed = cli("skills", "--json").json["skills"]
    assert list(listed) == [skill.name for skill in skills_in()]
    assert all("Use " in what for what in listed.values())
    assert "preregistration\n    Write down" in cli("skills").out


def test_they_lie_where_an_installed_package_has_them() -> None:
    assert data_dir("skills") == ROOT / "skills"
