"""What became of a locked rubric is told by id."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.checks.rubrics import expr

from autoscirub.checks.rubric import rubric_changes
from autoscirub.models import ExecutableRubric

LOCKED: dict[str, Any] = {
    "goals": [{"goal_id": "G1"}],
    "criteria": [
        {
            "criterion_id": "C1",
            "requirement": "one",
            "checks": [expr("results.a > 0"), {"id": "r", "kind": "rerun"}],
        },
        {"criterion_id": "C2", "requirement": "two", "required_analysis": ["fit"]},
        {"criterion_id": "C3", "requirement": "three"},
    ],
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(LOCKED)
    target: Any = data
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    return data


MORE = {"id": "more", "kind": "expr", "expr": "results.b > 0"}
C1_CHECKS = LOCKED["criteria"][0]["checks"]
CHANGES: list[tuple[str, dict[str, Any], dict[str, list[str]]]] = [
    ("nothing", LOCKED, {}),
    (
        "the record of scope changes",
        {
            **LOCKED,
            "scope_changes": [
                {"at": "2026-01-31T09:00:00Z", "by": "terminal", "reason": "r", "criteria": ["C9"]}
            ],
        },
        {},
    ),
    ("defaults written out", changed(["criteria", 2, "priority"], "medium"), {}),
    ("a check is added", changed(["criteria", 0, "checks"], [*C1_CHECKS, MORE]), {"strengthened": ["C1"]}),
    (
        "a check is added before",
        changed(["criteria", 0, "checks"], [MORE, *C1_CHECKS]),
        {"strengthened": ["C1"]},
    ),
    ("a check on what is read", changed(["criteria", 1, "checks"], [MORE]), {"strengthened": ["C2"]}),
    (
        "a check that covers",
        changed(["criteria", 1, "checks"], [{**MORE, "covers": ["fit"]}]),
        {"changed": ["C2"]},
    ),
    ("a first check, so that nobody reads", changed(["criteria", 2, "checks"], [MORE]), {"changed": ["C3"]}),
    ("a check is lost", changed(["criteria", 0, "checks"], C1_CHECKS[:1]), {"changed": ["C1"]}),
    ("a check is exchanged", changed(["criteria", 0, "checks"], [C1_CHECKS[0], MORE]), {"changed": ["C1"]}),
    (
        "a check is weakened",
        changed(["criteria", 0, "checks", 0], expr("results.a > -9")),
        {"changed": ["C1"]},
    ),
    (
        "a check is described again",
        changed(["criteria", 0, "checks", 0, "description"], "d"),
        {"changed": ["C1"]},
    ),
    ("judge", changed(["criteria", 0, "judge"], "never"), {"changed": ["C1"]}),
    ("a requirement", changed(["criteria", 1, "requirement"], "2"), {"changed": ["C2"]}),
    ("an unknown field", changed(["criteria", 1, "mine"], 1), {"changed": ["C2"]}),
    ("renamed", changed(["criteria", 1, "criterion_id"], "C2b"), {"lost": ["C2"], "added": ["C2b"]}),
    ("renamed by case", changed(["criteria", 1, "criterion_id"], "c2"), {"lost": ["C2"], "added": ["c2"]}),
    ("lost", changed(["criteria"], LOCKED["criteria"][1:]), {"lost": ["C1"]}),
    ("order", changed(["criteria"], LOCKED["criteria"][::-1]), {"other": ["order"]}),
    ("goals", changed(["goals", 0, "title"], "t"), {"other": ["goals"]}),
    ("claims", {**LOCKED, "claims_to_avoid": ["x"]}, {"other": ["claims_to_avoid"]}),
    ("an unknown field of the file", {**LOCKED, "mine": 1}, {"other": ["mine"]}),
]


@pytest.mark.parametrize(("now", "expected"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_became_of_a_locked_rubric_is_told_by_id(
    now: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    found = rubric_changes(ExecutableRubric.model_validate(LOCKED), ExecutableRubric.model_validate(now))
    names = ("lost", "changed", "added", "strengthened", "other")
    assert {name: getattr(found, name) for name in names if getattr(found, name)} == expected
    assert found.any_change == bool(expected)
    assert found.needs_scope == bool(set(expected) - {"strengthened"})
    assert bool(found.described()) == bool(expected)


def test_a_description_of_many_changes_names_five() -> None:
    before = [{"criterion_id": f"C{number}", "requirement": "r"} for number in range(9)]
    found = rubric_changes(
        ExecutableRubric.model_validate({"criteria": before}),
        ExecutableRubric.model_validate({"criteria": before[:1]}),
    )
    assert found.described() == "criteria lost: C1, C2, C3, C4, C5 and 3 more"
