"""The short form becomes the published one, and its faults are told in its own words."""

from __future__ import annotations

import pytest
from tests.checks.rubrics import SHORT

from autoscirub.checks.rubric import read_rubric, read_short
from autoscirub.errors import CheckError


def test_the_short_form_becomes_the_published_one() -> None:
    rubric = read_short(SHORT.encode(), "rubric.toml")
    [criterion] = rubric.model.criteria
    assert (criterion.criterion_id, criterion.goal_ids, criterion.priority) == ("C1", ["G1"], "high")
    assert criterion.expected_artifacts[0].path == "figures/slope.png"
    assert [check.id for check in criterion.checks] == ["slope", "figure"]
    assert rubric.source_sha256 != rubric.sha256
    assert read_rubric(rubric.executable, "executable_rubric.json").model == rubric.model
    assert rubric.criterion("C1") is criterion
    assert rubric.criterion("c1") is None


SHORT_FAULTS = [
    # what is changed in the short form, what the refusal says
    (('id = "C1"', ""), "criteria[0].id: field required"),
    (('id = "C1"', 'id = "C1"\ncriterion_id = "C1"'), "has id and criterion_id, which are the same"),
    (
        ('path = "figures/slope.png", must', 'path = "a", expected_path = "a", must'),
        "(criterion 'C1'): artifacts[0]",
    ),
    (('priority = "high"', 'priority = "urgent"'), "criteria[0].priority (criterion 'C1')"),
    (('priority = "high"', "due = 2026-01-31"), "criteria[0].due (criterion 'C1'): a date or time"),
    (
        ('priority = "high"', "due = {at = [07:32:00]}"),
        "criteria[0].due.at[0] (criterion 'C1'): a date or time",
    ),
    (('priority = "high"', "weight = nan"), "criteria[0].weight (criterion 'C1')"),
    (('priority = "high"', "weight = -inf"), "criteria[0].weight (criterion 'C1')"),
    (('expr = "results', 'expression = "results'), "criteria[0].checks[0].expr.expr (criterion 'C1')"),
    (('goals = ["G1"]', 'goals = ["G2"]'), "criteria[0].goal_ids[0] (criterion 'C1'): no goal 'G2'"),
    ((SHORT, "criteria = 3"), "has no criteria; each begins with a line [[criteria]]"),
    ((SHORT, ""), "has no criteria"),
    ((SHORT, "criteria = []"), "nothing to verify"),
    ((SHORT, "criteria = ["), "is not TOML"),
]


@pytest.mark.parametrize(("change", "part"), SHORT_FAULTS, ids=[part for _, part in SHORT_FAULTS])
def test_a_fault_in_the_short_form_names_file_criterion_and_field(change: tuple[str, str], part: str) -> None:
    with pytest.raises(CheckError) as refusal:
        read_short(SHORT.replace(*change).encode(), "rubric.toml")
    assert str(refusal.value).startswith("rubric.toml: ")
    assert part in str(refusal.value)
