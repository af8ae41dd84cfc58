from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from autoscirub.models.faults import Fault, id_key, nonfinite_faults, owner, raise_faults, repeated_ids


def test_no_fault_raises_nothing() -> None:
    raise_faults("Thing", [])


def test_each_fault_keeps_its_own_path_and_its_braces() -> None:
    with pytest.raises(ValidationError) as refusal:
        raise_faults("Thing", [Fault(("a", 0), "the set {x} is wrong", 1), Fault(("b",), "100 % wrong", 2)])
    assert [(fault["loc"], fault["msg"]) for fault in refusal.value.errors()] == [
        (("a", 0), "the set {x} is wrong"),
        (("b",), "100 % wrong"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [("C1", "c1"), ("C1 ", " C1"), ("STRASSE", "straße"), ("C1\n", "c1"), ("\u00a0C1", "C1")],
)
def test_ids_are_one_id_when_case_or_outer_spaces_alone_differ(one: str, other: str) -> None:
    assert id_key(one) == id_key(other)
    assert len(list(repeated_ids([one, other], ("criteria", "criterion_id")))) == 1


@pytest.mark.parametrize("ids", [[], ["C1"], ["C1", "C2"], ["C1", "C 1"], ["C1", "C1.1"]])
def test_other_ids_are_different_ids(ids: list[str]) -> None:
    assert list(repeated_ids(ids, ("criteria", "criterion_id"))) == []


def test_a_third_repetition_is_a_fault_of_its_own() -> None:
    faults = list(repeated_ids(["C1", "c1", "C1"], ("criteria", "criterion_id")))
    assert [fault.path for fault in faults] == [
        ("criteria", 1, "criterion_id"),
        ("criteria", 2, "criterion_id"),
    ]


class Inner(BaseModel, extra="allow"):
    number: float = 0


class Outer(BaseModel, extra="allow"):
    inner: Inner
    several: list[Inner] = []


def test_a_nonfinite_number_is_found_wherever_it_is() -> None:
    value = Outer.model_validate(
        {
            "inner": {"number": float("nan"), "mine": {"list": [1, (float("inf"),)]}},
            "several": [{}, {"mine": float("-inf")}],
            "text": "NaN",
            "whole": 10**400,
        }
    )
    assert [fault.path for fault in nonfinite_faults(value)] == [
        ("inner", "number"),
        ("inner", "mine", "list", 1, 0),
        ("several", 1, "mine"),
    ]


OWNERS: list[tuple[Any, tuple[str | int, ...], str | None]] = [
    ({"criteria": [{"criterion_id": "C1"}]}, ("criteria", 0, "weight"), "criterion 'C1'"),
    (
        {"criteria": [{"criterion_id": "C1", "checks": [{"id": "a"}]}]},
        ("criteria", 0, "checks", 0),
        "criterion 'C1'",
    ),
    ({"goals": [{"goal_id": "G1"}]}, ("goals", 0, "title"), "goal 'G1'"),
    ({"checks": [{"id": "a"}]}, ("checks", 0, "expr"), "check 'a'"),
    ({"criteria": [{}]}, ("criteria", 0, "criterion_id"), None),
    ({"criteria": [{"criterion_id": 3}]}, ("criteria", 0, "criterion_id"), None),
    ({"criteria": []}, ("criteria", 4), None),
    ([1], (), None),
    (None, ("criteria",), None),
]


@pytest.mark.parametrize(("data", "path", "expected"), OWNERS)
def test_a_field_is_named_by_the_criterion_it_belongs_to(
    data: Any, path: tuple[str | int, ...], expected: str | None
) -> None:
    assert owner(data, path) == expected
