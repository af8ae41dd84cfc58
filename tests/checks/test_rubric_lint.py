"""What a freeze refuses in a rubric, what it warns of, and what is left to a judge's reading."""

from __future__ import annotations

from typing import Any

import pytest
from tests.checks.rubrics import SHORT, expr, rubric_of

from autoscirub.checks.predictions import read_predictions
from autoscirub.checks.rubric import lint_rubric, needs_reading, read_short
from autoscirub.errors import CheckError
from autoscirub.models import Criterion

PREDICTIONS = read_predictions(
    b'hypothesis = "h"\n[results_contract]\nslope = "s"\n[[checks]]\nid = "p1"\nkind = "expr"\n'
    b'expr = "abs(results.slope - 0.5) < 0.1"\n'
)

LINT_FAULTS = [
    # criterion, what the fault says
    ({"checks": [expr("True")]}, 'check "x", expr: decides nothing: it reads no result'),
    ({"checks": [expr("len(results.a) >= 0")]}, "decides nothing"),
    ({"checks": [expr("results.a == results.a")]}, "decides nothing"),
    ({"checks": [expr("results.a is 1")]}, 'check "x", expr: '),
    ({"checks": [expr("results.a >")]}, 'check "x", expr: '),
    ({"checks": [expr("abs(results.slope - 0.5) < 0.1")]}, 'is the prediction "p1" again'),
    ({"checks": [expr('(abs((results["slope"])-0.50)<.1)')]}, 'is the prediction "p1" again'),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "../a.png"}]}, 'check "x", path: ../a.png: leaves'),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "/a.png"}]}, "an absolute path"),
    ({"expected_artifacts": [{"expected_path": "~/a.png"}]}, "expected_path: ~/a.png: starts with ~"),
    (
        {"expected_artifacts": [{"name": "plot", "expected_path": "../a"}]},
        "expected_path of 'plot': ../a: leaves",
    ),
]


@pytest.mark.parametrize(("criterion", "part"), LINT_FAULTS, ids=[part for _, part in LINT_FAULTS])
def test_a_freeze_refuses_naming_criterion_and_field(criterion: dict[str, Any], part: str) -> None:
    lint = lint_rubric(rubric_of({"criterion_id": "C1", **criterion}), PREDICTIONS)
    [fault] = lint.faults
    assert fault.startswith('criterion "C1", ')
    assert part in fault
    with pytest.raises(CheckError) as refusal:
        lint.refuse("not frozen")
    assert str(refusal.value).startswith("executable_rubric.json: not frozen: 1 fault\n")
    assert fault in str(refusal.value)


def test_a_requirement_that_is_no_prediction_of_this_project_is_not_refused() -> None:
    criterion = {"criterion_id": "C1", "checks": [expr("abs(results.slope - 0.5) < 0.1")]}
    assert lint_rubric(rubric_of(criterion)).faults == []
    assert (
        lint_rubric(rubric_of({**criterion, "checks": [expr("results.slope_n > 3")]}), PREDICTIONS).faults
        == []
    )


WARNINGS = [
    # criterion, whether a judge is set up, what the warning says
    (
        {"checks": [expr("results.slop > 0")]},
        True,
        "reads results.slop, which [results_contract] does not name; did",
    ),
    ({"checks": [expr("results.slope == 0.5")]}, True, 'check "x", expr: '),
    (
        {"checks": [expr("results.slope > 0"), {"id": "n", "kind": "score"}]},
        True,
        "score is not decided by",
    ),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "a\\b.png"}]}, True, "a backslash"),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "figures/*.png"}]}, True, "name one file"),
    ({"expected_artifacts": [{"expected_path": "figures/"}]}, True, "ends in a slash"),
    (
        {"judge": "never", "required_analysis": ["fit"], "checks": [expr("results.slope > 0")]},
        True,
        'judge: is never, and no check covers "fit"',
    ),
    ({"required_analysis": ["fit"]}, False, 'no check settles "fit", and no judge is set up'),
    ({}, False, "no check settles it, and no judge is set up"),
    (
        {"satisfaction_conditon": "x"},
        True,
        "unknown field, and not read; did you mean satisfaction_condition?",
    ),
    ({"check": []}, True, 'criterion "C1", check: unknown field, and not read; did you mean checks?'),
    ({"checks": [expr("results.slope > 0", cover=["x"])]}, True, 'check "x", cover: unknown field'),
]


@pytest.mark.parametrize(("criterion", "judged", "part"), WARNINGS, ids=[part for _, _, part in WARNINGS])
def test_a_freeze_warns_naming_criterion_and_field(
    criterion: dict[str, Any], judged: bool, part: str
) -> None:
    lint = lint_rubric(rubric_of({"criterion_id": "C1", **criterion}), PREDICTIONS, judged=judged)
    assert lint.faults == []
    [warning] = lint.warnings
    assert warning.startswith('criterion "C1", ')
    assert part in warning
    lint.refuse("not frozen")


def test_unknown_fields_of_the_published_format_are_let_be_and_those_of_the_short_form_named() -> None:
    assert lint_rubric(rubric_of({"criterion_id": "C1", "owner": "ada"})).warnings == []
    lint = lint_rubric(
        read_short(SHORT.replace('priority = "high"', 'owner = "ada"').encode(), "rubric.toml")
    )
    assert lint.warnings == ['criterion "C1", owner: unknown field, and not read']


def test_goals_that_no_computed_or_judged_criterion_covers_are_listed() -> None:
    goals = [{"goal_id": f"G{number}"} for number in (1, 2, 3, 4)]
    rubric = rubric_of(
        {"criterion_id": "C1", "goal_ids": ["G1"], "checks": [expr("results.a > 0")]},
        {"criterion_id": "C2", "goal_ids": ["G2"]},
        {
            "criterion_id": "C3",
            "goal_ids": ["G3"],
            "judge": "never",
            "checks": [{"id": "r", "kind": "score"}],
        },
        goals=goals,
    )

    def listed(judged: bool) -> list[str]:
        return [text[:9] for text in lint_rubric(rubric, judged=judged).warnings if text.startswith("goal ")]

    assert listed(True) == ['goal "G3"', 'goal "G4"']
    assert listed(False) == ['goal "G2"', 'goal "G3"', 'goal "G4"']


READING = [
    # criterion, whether a judge must read
    ({}, True),
    ({"judge": "always", "checks": [expr("results.a > 0")]}, True),
    ({"judge": "never", "required_analysis": ["fit"], "checks": [expr("results.a > 0")]}, False),
    ({"checks": [expr("results.a > 0")]}, False),
    ({"required_analysis": ["fit"], "checks": [expr("results.a > 0")]}, True),
    ({"required_analysis": ["fit"], "checks": [expr("results.a > 0", covers=["fit"])]}, False),
    ({"expected_artifacts": [{"expected_path": "a.png"}]}, False),
    ({"expected_artifacts": [{"expected_path": " "}]}, True),
    ({"expected_artifacts": [{"expected_path": "a.png", "must_show": "it"}]}, True),
    ({"checks": [{"id": "j", "kind": "judge"}]}, True),
]


@pytest.mark.parametrize(("criterion", "needed"), READING)
def test_a_judge_must_read_what_no_check_settles(criterion: dict[str, Any], needed: bool) -> None:
    found = Criterion.model_validate({"criterion_id": "C1", "requirement": "r", **criterion})
    assert needs_reading(found) is needed
