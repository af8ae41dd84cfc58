"""Labelled cases as people write them: both forms, and every fault with file, finding and what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscirub.errors import CheckError
from autoscirub.workflow.calibration.cases import read_cases

SHORT = """\
label = "satisfied"
[criterion]
id = "C1"
requirement = "The report states the slope."
satisfaction_condition = "with its unit"
[[criterion.artifacts]]
path = "results/results.json"
must_show = "the slope"
"""
PUBLISHED = """\
label = "not_satisfied"
note = "the interval is missing"
[criterion]
criterion_id = "C2"
requirement = "The report states the interval."
required_analysis = ["bootstrap"]
[[criterion.expected_artifacts]]
type = "figure"
expected_path = "results/figure.png"
"""
TABLE = """\
[[cases]]
name = "with"
path = "work"
label = "satisfied"
[cases.criterion]
requirement = "The report states the slope."

[[cases]]
name = "without"
path = "work"
label = "not_satisfied"
criterion = { requirement = "The report states the interval." }
"""


def test_a_folder_for_each_case_in_either_form(tmp_path: Path) -> None:
    for name, text in (("a", SHORT), ("b", PUBLISHED)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "case.toml").write_text(text)
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("about these cases\n")
    first, second = read_cases(tmp_path)
    assert (first.name, first.label, first.note, first.folder) == ("a", "satisfied", "", tmp_path / "a")
    assert first.criterion.expected_artifacts[0].expected_path == "results/results.json"
    assert first.criterion.satisfaction_condition == "with its unit"
    assert (second.name, second.label, second.note) == ("b", "not_satisfied", "the interval is missing")
    assert second.criterion.criterion_id == "C2"


@pytest.mark.parametrize("named", ["cases.toml", "."])
def test_one_table_for_all_cases_of_which_two_may_share_a_folder(tmp_path: Path, named: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "cases.toml").write_text(TABLE)
    found = read_cases(tmp_path / named)
    assert [(case.name, case.label, case.folder) for case in found] == [
        ("with", "satisfied", tmp_path / "work"),
        ("without", "not_satisfied", tmp_path / "work"),
    ]
    # The judge sees the id: it is never the case's name.
    assert {case.criterion.criterion_id for case in found} == {"criterion"}


FAULTS = [
    # case.toml, and what its refusal says
    (None, "a/case.toml: is not there; each case says its criterion and its label in it"),
    ("label = ", "a/case.toml: is not TOML"),
    (b"label = '\xff'", "a/case.toml: is not UTF-8"),
    ("[criterion]\nrequirement = 'r'", 'label is missing; expected "satisfied" or "not_satisfied"'),
    ("label = 'passed'\n[criterion]\nrequirement = 'r'", "label is 'passed'; expected"),
    ("label = true\n[criterion]\nrequirement = 'r'", "label is 'True'; expected"),
    ("label = 'satisfied'", "criterion is missing; expected a table with at least its requirement"),
    ("label = 'satisfied'\ncriterion = 'C1'", "criterion is str; expected a table"),
    ("label = 'satisfied'\n[criterion]\nid = 'C1'", "a/case.toml: criterion.requirement: field required"),
    (
        "label = 'satisfied'\n[criterion]\nid = 1\nrequirement = 'r'",
        "criterion.criterion_id: input should be",
    ),
    (
        "label = 'satisfied'\n[criterion]\nid = 'a'\ncriterion_id = 'b'\nrequirement = 'r'",
        "write one of them",
    ),
    ("label = 'satisfied'\n[criterion]\nrequirement = 2026-01-01", "criterion.requirement: a date or time"),
    (
        "label = 'satisfied'\nlabels = 1\n[criterion]\nrequirement = 'r'",
        "unknown key labels; known here: criterion, label",
    ),
    ("label = 'satisfied'\nnote = 1\n[criterion]\nrequirement = 'r'", "note: is int, expected text"),
    (
        "label = 'satisfied'\n[criterion]\nrequirement = 'r'\nchecks = [{id = 'c', kind = 'expr', expr = 'results.n > 1'}]",
        "code alone decides it, so no judge would read it",
    ),
]


@pytest.mark.parametrize(("text", "why"), FAULTS)
def test_a_fault_names_file_finding_and_what_is_expected(
    tmp_path: Path, text: str | bytes | None, why: str
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    if text is not None:
        (folder / "case.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CheckError) as refused:
        read_cases(tmp_path)
    assert why in str(refused.value)
    assert str(refused.value).startswith("a/case.toml: ")


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "case.toml").write_text(SHORT)
    with pytest.raises(CheckError) as refused:
        read_cases(tmp_path)
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == ["a/case.toml", "c/case.toml"]


TABLE_FAULTS = [
    ("", "cases.toml: has no cases; each begins with a line [[cases]]"),
    ("cases = 3", "cases.toml: has no cases"),
    ("title = 'x'\n" + TABLE, "cases.toml: unknown key title"),
    (TABLE.replace('"without"', '"with"'), "cases[1].name: 'with' is the name of an earlier case"),
    (TABLE.replace('name = "with"\n', ""), "cases[0].name is missing; expected one line of text"),
    (TABLE.replace('path = "work"\n', "", 1), "cases[0].path is missing"),
    (TABLE.replace('"work"', '"elsewhere"', 1), "cases[0].path: 'elsewhere' is no folder"),
    (TABLE.replace('"work"', '"../up"', 1), "cases[0].path: ../up: leaves the project"),
    (TABLE.replace('"work"', '"/etc"', 1), "cases[0].path: /etc: an absolute path"),
    (TABLE.replace('"work"', '"."', 1), "cases[0].path: '.' is not below the folder of cases.toml"),
    (TABLE.replace('"work"', '"link"', 1), "cases[0].path: 'link' is not below the folder of cases.toml"),
    (TABLE.replace('"satisfied"', '"yes"', 1), "cases[0].label is 'yes'; expected"),
]


@pytest.mark.parametrize(("text", "why"), TABLE_FAULTS)
def test_a_fault_in_a_table_names_the_case(tmp_path: Path, text: str, why: str) -> None:
    place = tmp_path / "cases"
    (place / "work").mkdir(parents=True)
    (place / "link").symlink_to(tmp_path)
    (place / "cases.toml").write_text(text)
    with pytest.raises(CheckError) as refused:
        read_cases(place)
    assert why in str(refused.value)


def test_what_is_no_set_of_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="is not there; name a folder with a subfolder for each case"):
        read_cases(tmp_path / "nosuch")
    with pytest.raises(CheckError, match="is not a path"):
        read_cases("a\0b")
    with pytest.raises(CheckError, match="no cases: expected a subfolder for each"):
        read_cases(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "case.toml").write_text(SHORT)
    (tmp_path / "cases.toml").write_text(TABLE)
    with pytest.raises(CheckError, match="are both there; describe the cases in one of the two ways"):
        read_cases(tmp_path)


def test_a_case_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "case.toml").write_text(SHORT)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckError, match="leads out of"):
        read_cases(tmp_path / "cases")
