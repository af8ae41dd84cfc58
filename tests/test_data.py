"""Shipped data is found in a checkout and in an installed package, and the templates are what they claim."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoscirub.data import config_text, data_dir, load_layout, template
from autoscirub.models.config import ProjectConfig
from autoscirub.models.prereg import Prereg

if TYPE_CHECKING:
    from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("kind", ["schemas", "state", "examples"])
def test_in_a_checkout_the_data_lies_beside_pyproject(kind: Any) -> None:
    assert data_dir(kind) == ROOT / kind


def run_copy(folder: Path, code: str, *kinds: str) -> subprocess.CompletedProcess[str]:
    """Run `code` on a copy of the package as a wheel lays it out, with `kinds` of data inside it."""
    package = folder / "autoscirub"
    shutil.copytree(ROOT / "server" / "autoscirub", package, ignore=shutil.ignore_patterns("__pycache__"))
    for kind in kinds:
        shutil.copytree(ROOT / kind, package / "_data" / kind)
    return run_python(code, folder)


def run_python(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=path, env=environment
    )


def test_in_an_installed_package_the_data_lies_inside_it(tmp_path: Path) -> None:
    code = "from autoscirub.data import *; print(data_dir('state'), len(load_layout().file))"
    ran = run_copy(tmp_path / "lib", code, "state")
    inside = tmp_path / "lib" / "autoscirub" / "_data" / "state"
    assert (ran.stdout, ran.stderr) == (f"{inside} {len(load_layout().file)}\n", "")


def test_an_installation_without_its_data_says_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    code = (
        "from autoscirub.data import data_dir\n"
        "from autoscirub.errors import StateError\n"
        "try:\n    data_dir('state')\n"
        "except StateError as error:\n    print(error)"
    )
    output = run_copy(tmp_path / "lib", code).stdout
    assert "not installed completely" in output
    assert str(tmp_path / "lib" / "autoscirub" / "_data" / "state") in output
    assert "install the package again" in output


def test_a_folder_that_nothing_fills_yet_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    code = "from autoscirub.data import data_dir\ndata_dir('hooks')"
    assert "its hooks folder is neither in" in run_copy(tmp_path / "lib", code).stderr


def test_importing_the_module_loads_nothing_heavy() -> None:
    code = "import sys, autoscirub.data; print(sorted({'pydantic', 'git', 'tomllib'} & set(sys.modules)))"
    ran = run_python(code, ROOT / "server")
    assert ran.stdout == "[]\n"


def uncommented(text: str) -> str:
    return re.sub(r"(?m)^# (?=\[\w+\]$|\w+ = )", "", text)


def keys_of(model: type[BaseModel], table: dict[str, Any]) -> set[str]:
    missing = set(model.model_fields) - set(table)
    for name, value in table.items():
        if isinstance(value, dict) and name not in {
            "bindings",
            "profiles",
        }:  # their keys are the people's own
            from autoscirub.models import config

            inner = getattr(config, f"{name.capitalize()}Config")
            missing |= {f"{name}.{key}" for key in keys_of(inner, value)}
    return missing


def test_the_configuration_template_explains_every_key_with_its_default() -> None:
    table = tomllib.loads(uncommented(config_text()))
    assert keys_of(ProjectConfig, table) == set()
    loaded, default = ProjectConfig.model_validate(table), ProjectConfig()
    assert (loaded.audit, loaded.limits) == (default.audit, default.limits)
    unset = ("command", "replay", "model", "money", "asks_per_round", "money_round", "money_day",
             "base_url", "key_env", "input_usd", "output_usd")  # fmt: skip
    assert loaded.judge.model_copy(update=dict.fromkeys(unset)) == default.judge
    assert loaded.rounds.model_copy(update={"seconds": None, "revise": None}) == default.rounds
    assert loaded.rubric == "rubric.toml"
    assert loaded.run is not None
    assert loaded.run.seconds == 600
    assert loaded.state_dir == ".autoscirub"


def test_a_configuration_where_nothing_was_found_changes_nothing() -> None:
    text = config_text()
    assert ProjectConfig.model_validate(tomllib.loads(text)) == ProjectConfig()
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == []


@pytest.mark.parametrize(
    "value",
    ["report.md", 'a "quoted" name.md', "back\\slash.md", "naïve 😀.md", "a\x7fb\tc\n.md", "{results}"],
)
def test_what_was_found_reads_back_as_it_was(value: str) -> None:
    text = config_text(report=value, results=value, command=["python", value])
    loaded = ProjectConfig.model_validate(tomllib.loads(text))
    assert (loaded.report, loaded.results) == (value, value)
    assert loaded.run is not None
    assert loaded.run.command == ["python", value]


def test_the_predictions_template_is_refused_untouched_saying_what_to_write() -> None:
    from autoscirub.checks.predictions.read import lint_predictions

    lint = lint_predictions(template("prereg").encode("utf-8"))
    assert lint.predictions is None
    assert any("hypothesis is empty: write" in fault for fault in lint.faults)
    assert any("nothing to verify" in fault for fault in lint.faults)


def test_the_examples_in_the_predictions_template_are_good_predictions() -> None:
    from autoscirub.checks.predictions.read import lint_predictions

    text = uncommented(template("prereg"))
    for empty in ('hypothesis = ""\n', "predictions = []\n", 'analysis_plan = ""\n'):
        assert empty in text
        text = text.replace(empty, "")
    text = text.replace("# [[checks]]", "[[checks]]")
    lint = lint_predictions(text.encode("utf-8"))
    assert (lint.faults, lint.warnings) == ([], [])
    assert {check.kind for check in Prereg.model_validate(tomllib.loads(text)).checks} == {"expr", "artifact"}
