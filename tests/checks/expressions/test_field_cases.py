"""The field's own cases: what each registered expression must come to."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.expressions import check_expr, compile_expr
from autoscirub.errors import CheckError

FIELD = Path(__file__).resolve().parents[4] / "shared" / "field"

needs_the_field = pytest.mark.skipif(
    not FIELD.is_dir(), reason="the field cases are not beside this repository"
)


def checks_of(folder: Path, name: str = "prereg.toml") -> dict[str, str]:
    checks = tomllib.loads((folder / name).read_text(encoding="utf-8"))["checks"]
    return {check["id"]: check["expr"] for check in checks if check["kind"] == "expr"}


def outcome(source: str, results: Any) -> str:
    try:
        passed, _, _ = check_expr(compile_expr(source), results)
    except CheckError:
        return "error"
    return {True: "pass", False: "fail", None: "error"}[passed]


@needs_the_field
def test_case_12_bombs_and_wrong_types_come_out_as_expected() -> None:
    case = FIELD / "cases" / "12-expression-bombs"
    results = json.loads((case / "results" / "results.json").read_text(encoding="utf-8"))
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    found = {name: outcome(source, results) for name, source in checks_of(case).items()}
    assert set(found) == set(expected)
    assert {
        name: answer for name, answer in found.items() if answer not in expected[name].split("-or-")
    } == {}


@needs_the_field
def test_case_09_only_the_slope_passes_and_nothing_else_can_be_evaluated() -> None:
    case = FIELD / "cases" / "09-nonfinite-results"
    results = json.loads((case / "results" / "results.json").read_text(encoding="utf-8"))
    found = {name: outcome(source, results) for name, source in checks_of(case).items()}
    assert found == {name: "pass" if name == "slope" else "error" for name in found}
    assert len(found) == 7


@needs_the_field
def test_case_07_checks_that_prove_nothing_are_flagged() -> None:
    checks = checks_of(FIELD / "cases" / "07-nothing-to-check", "prereg-always-true.toml")
    assert all(compile_expr(source).cannot_be_false for source in checks.values())
    assert len(checks) == 3


@needs_the_field
def test_the_grid_studys_checks_are_ordinary() -> None:
    checks = checks_of(FIELD / "gb-grid")
    for source in checks.values():
        expression = compile_expr(source)
        assert expression.cannot_be_false is None
        assert expression.warnings == []
        assert expression.reads_results
    assert checks
