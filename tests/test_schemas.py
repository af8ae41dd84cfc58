"""The schemas in `schemas/` are those of the models, are valid, and agree with the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoscirub.models.base import Closed, FrozenModel, StateModel
from autoscirub.models.schema import MODELS, main, schema_files, schemas

ROOT = Path(__file__).resolve().parents[1]


def objects_in(node: Any) -> list[dict[str, Any]]:
    found = [node] if isinstance(node, dict) else []
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        found += objects_in(part)
    return found


def test_the_files_are_what_the_models_say(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--check", str(ROOT / "schemas")])
    assert (status, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize("name", MODELS)
def test_a_schema_is_valid_and_stands_alone(name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:autoscirub:schema:{name}:1.0"
    assert schema["title"]
    assert schema["description"].endswith(".")
    references = [part["$ref"] for part in objects_in(schema) if "$ref" in part]
    assert [
        reference for reference in references if reference.removeprefix("#/$defs/") not in schema["$defs"]
    ] == []


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if issubclass(model, StateModel | FrozenModel)]
)
def test_a_state_file_may_hold_fields_of_another_tool_at_every_level(name: str) -> None:
    closed = [
        part.get("title")
        for part in objects_in(schemas()[name])
        if "properties" in part and part.get("additionalProperties") is not True
    ]
    assert closed == []


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if issubclass(model, Closed)])
def test_what_a_person_writes_may_not_hold_an_unknown_key(name: str) -> None:
    schema = schemas()[name]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if hasattr(model, "rules")])
def test_rules_that_a_schema_cannot_state_are_in_its_description(name: str) -> None:
    schema = schemas()[name]
    assert [rule for rule in MODELS[name].rules if rule not in schema["description"]] == []  # type: ignore[attr-defined]


RUBRICS = [
    # file, whether the schema alone refuses it (repeated ids and goals that are not there need the model)
    ("06-malformed-rubrics/all-zero-weights.json", True),
    ("06-malformed-rubrics/bare-list.json", True),
    ("06-malformed-rubrics/duplicate-by-case-or-space.json", False),
    ("06-malformed-rubrics/duplicate-ids.json", False),
    ("06-malformed-rubrics/priority-words.json", True),
    ("06-malformed-rubrics/strings-for-lists.json", True),
    ("06-malformed-rubrics/unknown-goal.json", False),
    ("06-malformed-rubrics/weights.json", True),
    ("07-nothing-to-check/empty-rubric.json", True),
    ("07-nothing-to-check/only-low.json", False),
    ("22-interrupted-round/.autoscirub/executable_rubric.json", False),
]


@pytest.mark.parametrize(("path", "refused"), RUBRICS)
def test_the_rubric_schema_refuses_what_a_schema_can(path: str, refused: bool) -> None:
    file = ROOT.parent / "shared" / "field" / "cases" / path
    if not file.is_file():
        pytest.skip("the field cases are not beside this checkout")
    validator = Draft202012Validator(schemas()["executable_rubric"])
    assert validator.is_valid(json.loads(file.read_text(encoding="utf-8"))) is not refused


def test_a_report_without_a_summary_fits_the_schema_as_it_fits_the_model() -> None:
    validator = Draft202012Validator(schemas()["verification_report"])
    assert validator.is_valid({"round": 1, "all_satisfied": False, "criteria": []})
    assert not validator.is_valid({"round": 1, "all_satisfied": False})


def test_the_command_writes_every_file_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new")]) == 0
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "new").iterdir()} == schema_files()
    capsys.readouterr()
    assert main([str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out == ""


def test_the_check_names_what_differs_is_missing_or_is_left_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(tmp_path)])
    (tmp_path / "event.schema.json").write_text("{}\n", encoding="utf-8")
    (tmp_path / "config.schema.json").unlink()
    (tmp_path / "old.schema.json").write_text("{}\n", encoding="utf-8")
    before = sorted(path.name for path in tmp_path.iterdir())
    capsys.readouterr()
    assert main(["--check", str(tmp_path)]) == 1
    output = capsys.readouterr().err
    assert "event.schema.json: differs from the models; run python -m autoscirub.models.schema" in output
    assert "config.schema.json: is missing; run" in output
    assert "old.schema.json: no model makes this schema; delete it" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == before
