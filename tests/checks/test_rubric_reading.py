"""A rubric in the published form is read, and every fault names the file, the criterion and the field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.rubric import read_rubric, read_short
from autoscirub.errors import CheckError, NewerVersionError


def test_each_malformed_field_rubric_is_refused_naming_file_criterion_and_field(
    malformed_rubric: Any,
) -> None:
    name = malformed_rubric.file.name
    with pytest.raises(CheckError) as refusal:
        read_rubric(malformed_rubric.file.read_bytes(), name)
    lines = str(refusal.value).splitlines()
    assert [line for line in lines if not line.startswith(f"{name}: ")] == []
    assert [part for part in malformed_rubric.faults if not any(part in line for line in lines)] == []


def test_every_file_of_field_case_06_is_in_the_table(
    field_case: Callable[[str], Path], malformed_rubrics: dict[str, list[str]]
) -> None:
    names = {path.stem for path in field_case("06").glob("*.json")} - {"case"}
    assert names == set(malformed_rubrics)


def test_an_empty_rubric_is_nothing_to_verify(field_case: Callable[[str], Path]) -> None:
    with pytest.raises(CheckError, match=r"empty-rubric\.json: criteria: nothing to verify"):
        read_rubric((field_case("07") / "empty-rubric.json").read_bytes(), "empty-rubric.json")


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(field_case: Callable[[str], Path]) -> None:
    folder = field_case("14")
    with_mark, with_crlf = ((folder / f"rubric-{name}.json").read_bytes() for name in ("bom", "crlf"))
    assert read_rubric(with_mark, "a").model == read_rubric(with_crlf, "b").model


UNREADABLE = [
    # bytes of executable_rubric.json, what the refusal says
    (b"", "rubric.json: is empty"),
    (b"{", "rubric.json: is cut off"),
    (b'{"criteria": [], "criteria": []}', "the key 'criteria' appears twice"),
    (b"\xff\xfe", "UTF-16"),
    (b'"text"', "rubric.json: the file: "),
    (b'{"schema_version": "x", "criteria": [{"criterion_id": "C1", "requirement": "r"}]}', "schema_version"),
    (
        b'{"criteria": [{"criterion_id": "C1", "requirement": "r", "mine": [NaN]}]}',
        "criteria[0].mine[0] (criterion 'C1')",
    ),
    (
        b'{"criteria": [{"criterion_id": "C1", "requirement": "r", "mine": 1e999}]}',
        "criteria[0].mine (criterion 'C1')",
    ),
]


@pytest.mark.parametrize(("data", "part"), UNREADABLE, ids=[part for _, part in UNREADABLE])
def test_a_rubric_that_cannot_be_read_is_refused_saying_why(data: bytes, part: str) -> None:
    with pytest.raises(CheckError) as refusal:
        read_rubric(data, "rubric.json")
    assert part in str(refusal.value)
    assert str(refusal.value).startswith("rubric.json: ")


def test_a_rubric_that_a_newer_version_wrote_is_not_read() -> None:
    with pytest.raises(NewerVersionError, match=r"schema_version 2\.0"):
        read_rubric(b'{"schema_version": "2.0", "criteria": [{"new": 1}]}', "executable_rubric.json")


def test_a_file_of_nothing_but_faults_is_told_in_a_bounded_message() -> None:
    data = json.dumps({"criteria": [{"criterion_id": f"C{n}"} for n in range(300)]}).encode()
    with pytest.raises(CheckError) as refusal:
        read_rubric(data, "r.json")
    assert len(str(refusal.value).splitlines()) == 51
    assert str(refusal.value).endswith("r.json: and 250 faults more")


MANY = 100_001


@pytest.mark.parametrize(
    "data",
    [
        b'{"criteria": [' + b"1," * MANY + b"1]}",
        b'{"criteria": [{"criterion_id": "C1", "requirement": "r", "metrics": [' + b"1," * MANY + b"1]}]}",
        b'{"criteria": [' + b"[],{}," * MANY + b"1]}",
    ],
)
def test_a_rubric_of_too_many_values_is_refused_before_it_is_validated(data: bytes) -> None:
    with pytest.raises(CheckError, match=r"^r\.json: holds more than 100,000 values"):
        read_rubric(data, "r.json")
    with pytest.raises(CheckError, match=r"^rubric\.toml: holds more than 100,000 values"):
        read_short(b"criteria = [" + b"1," * MANY + b"1]", "rubric.toml")


def test_a_rubric_of_too_many_goals_is_refused() -> None:
    data = json.dumps({"goals": [{"goal_id": f"G{n}"} for n in range(1_001)], "criteria": []}).encode()
    with pytest.raises(CheckError, match=r"^r\.json: goals: 1,001 are more than 1,000"):
        read_rubric(data, "r.json")


def test_a_rubric_of_an_older_version_is_read_and_its_faults_are_told_by_criterion() -> None:
    old = {"schema_version": "0.9", "criteria": [{"criterion_id": "C1", "requirement": "r"}]}
    assert read_rubric(json.dumps(old).encode(), "r.json").model.schema_version == "0.9"
    old["criteria"] = [{"criterion_id": "C1"}]
    with pytest.raises(CheckError, match=r"r\.json: criteria\[0\]\.requirement \(criterion 'C1'\)"):
        read_rubric(json.dumps(old).encode(), "r.json")


def test_commas_in_texts_are_no_values() -> None:
    data = json.dumps({"criteria": [{"criterion_id": "C1", "requirement": "a, " * MANY}]}).encode()
    assert read_rubric(data, "r.json").model.criteria[0].criterion_id == "C1"
