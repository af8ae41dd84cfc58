"""Which file is a project's rubric, where there is one form, both or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.checks.rubrics import SHORT, project

from autoscirub.checks.rubric import load_rubric, read_short
from autoscirub.errors import CheckError, StateError
from autoscirub.store import open_project


def test_a_malformed_rubric_is_refused_at_load_and_left_where_it_is(
    malformed_rubric: Any, tmp_path: Path
) -> None:
    text = malformed_rubric.file.read_text(encoding="utf-8")
    opened = project(tmp_path / "p", {".autoscirub/executable_rubric.json": text})
    with pytest.raises(CheckError, match=r"executable_rubric\.json: "):
        load_rubric(opened)
    assert (opened.root / ".autoscirub/executable_rubric.json").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("case", ["22", "23"])
def test_rubrics_of_the_published_format_load(field_case: Callable[[str], Path], case: str) -> None:
    rubric = load_rubric(open_project(field_case(case)))
    assert rubric is not None
    assert rubric.source == "executable_rubric.json"
    assert rubric.sha256 == rubric.source_sha256
    assert rubric.model.criteria[0].criterion_id == "C1"


def test_a_project_without_a_rubric_has_none(tmp_path: Path) -> None:
    assert load_rubric(project(tmp_path / "p", {})) is None


def test_the_short_form_alone_is_the_rubric(tmp_path: Path) -> None:
    rubric = load_rubric(project(tmp_path / "p", {"rubric.toml": SHORT}))
    assert rubric is not None
    assert (rubric.source, rubric.model) == ("rubric.toml", read_short(SHORT.encode(), "x").model)


def test_both_forms_that_agree_are_one_rubric_and_the_written_bytes_count(tmp_path: Path) -> None:
    made = json.loads(read_short(SHORT.encode(), "rubric.toml").executable)
    made["scope_changes"] = [
        {"at": "2026-01-31T09:00:00Z", "by": "terminal", "reason": "why", "criteria": ["C1"]}
    ]
    text = json.dumps(made)
    opened = project(tmp_path / "p", {"rubric.toml": SHORT, ".autoscirub/executable_rubric.json": text})
    rubric = load_rubric(opened)
    assert rubric is not None
    assert (rubric.source, rubric.executable) == ("rubric.toml", text.encode())
    assert len(rubric.model.scope_changes) == 1


DIFFERING = [
    # what is changed in rubric.toml after the other form was made of it, what the error names
    (("priority", "# priority"), "criteria changed: C1"),
    (('id = "C1"', 'id = "C2"'), "criteria lost: C1; criteria added: C2"),
    (('goal_id = "G1"', 'goal_id = "G1"\ntitle = "Slope"'), "in its goals"),
    (("covers =", "description ="), "criteria changed: C1"),
]


@pytest.mark.parametrize(("change", "named"), DIFFERING, ids=[named for _, named in DIFFERING])
def test_both_forms_that_differ_are_an_error_that_names_what_differs(
    tmp_path: Path, change: tuple[str, str], named: str
) -> None:
    made = read_short(SHORT.encode(), "rubric.toml").executable.decode()
    short = SHORT.replace(*change).replace('description = ["the fit"]', 'description = "the fit"')
    opened = project(tmp_path / "p", {"rubric.toml": short, ".autoscirub/executable_rubric.json": made})
    with pytest.raises(CheckError) as refusal:
        load_rubric(opened)
    assert f"rubric.toml and executable_rubric.json are both there and differ ({named})" in str(refusal.value)


def test_the_configuration_names_the_rubric_in_either_form(tmp_path: Path) -> None:
    published = read_short(SHORT.encode(), "x").executable.decode()
    for name, text in (("mine.toml", SHORT), ("mine.json", published)):
        opened = project(tmp_path / name, {"autoscirub.toml": f'rubric = "{name}"\n', name: text})
        rubric = load_rubric(opened)
        assert rubric is not None
        assert rubric.source == name


def test_a_rubric_that_the_configuration_names_must_be_there(tmp_path: Path) -> None:
    opened = project(tmp_path / "p", {"autoscirub.toml": 'rubric = "mine.toml"\n', "rubric.toml": SHORT})
    with pytest.raises(CheckError, match=r"mine\.toml: is not there, though the configuration names it"):
        load_rubric(opened)


def test_a_rubric_that_is_a_link_is_refused(tmp_path: Path) -> None:
    opened = project(tmp_path / "p", {"other.toml": SHORT})
    (opened.root / "rubric.toml").symlink_to("other.toml")
    with pytest.raises(StateError, match="a symbolic link"):
        load_rubric(opened)
