"""The rubrics of the example projects: what code decides of them, in the first run and whatever comes out."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path

import pytest

from autoscirub.checks.artifacts import check_artifact
from autoscirub.checks.expressions import check_expr, compile_expr
from autoscirub.checks.numbers import check_numbers
from autoscirub.checks.predictions import lint_predictions
from autoscirub.checks.rerun import rerun
from autoscirub.checks.rubric.lint import lint_rubric
from autoscirub.checks.rubric.read import Rubric, read_short
from autoscirub.models import Answer, Criterion
from autoscirub.store import open_project

PROJECTS = ("nile", "sunspots")
CRITERIA = {
    "nile": [
        "whole-record",
        "step-and-size",
        "chance-tested",
        "sensitivity",
        "table-of-candidates",
        "interval-of-the-drop",
        "figure-of-the-step",
        "write-up",
        "numbers-traced",
        "comes-out-again",
    ],
    "sunspots": ["whole-record", "every-cycle-listed", "spread", "without-smoothing", "write-up"],
}
ANSWERS = {Answer.HOLDS: True, Answer.DOES_NOT_HOLD: False, Answer.INCONCLUSIVE: None}


def _rubric(project: Path) -> Rubric:
    return read_short((project / "rubric.toml").read_bytes(), "rubric.toml")


def _decide(criterion: Criterion, project: Path) -> list[bool | None]:
    """The answer of every check and of every expected artifact."""
    results = json.loads((project / "results" / "results.json").read_text(encoding="utf-8"))
    answers = []
    for check in criterion.checks:
        if check.kind == "expr":
            answers.append(check_expr(compile_expr(check.expr), results)[0])
        elif check.kind == "numbers":
            answers.append(ANSWERS[check_numbers(project, strict=check.strict).decision.answer])
        elif check.kind == "rerun":
            done = rerun(open_project(project), trusted=True, isolation="process")
            answers.append(ANSWERS[done.decision.answer])
        else:
            answers.append(ANSWERS[check_artifact(project, check.path, check.format).answer])
    paths = [artifact.path for artifact in criterion.expected_artifacts if artifact.path]
    return [*answers, *(ANSWERS[check_artifact(project, path).answer] for path in paths)]


def _unmet(project: Path) -> dict[str, list[bool | None]]:
    """The criteria that are not met, with what their checks and artifacts gave."""
    decided = {
        criterion.criterion_id: _decide(criterion, project) for criterion in _rubric(project).model.criteria
    }
    return {name: answers for name, answers in decided.items() if set(answers) != {True}}


@pytest.mark.parametrize("name", PROJECTS)
def test_the_rubric_loads_and_nothing_is_found_wrong_with_it(name: str, ran: dict[str, Path]) -> None:
    rubric = _rubric(ran[name])
    predictions = lint_predictions((ran[name] / "prereg.toml").read_bytes())
    assert (predictions.faults, predictions.warnings) == ([], [])
    lint = lint_rubric(rubric, predictions.predictions)
    assert (lint.faults, lint.warnings) == ([], [])
    assert [criterion.criterion_id for criterion in rubric.model.criteria] == CRITERIA[name]


@pytest.mark.parametrize("name", PROJECTS)
def test_code_alone_decides_every_criterion(name: str, ran: dict[str, Path]) -> None:
    for criterion in _rubric(ran[name]).model.criteria:
        assert criterion.judge == "never"
        assert criterion.uncovered() == []
        assert {check.kind for check in criterion.checks} <= {"expr", "artifact", "numbers", "rerun"}
        assert _decide(criterion, ran[name]), "a criterion with nothing to decide"


def test_the_first_run_of_the_nile_lacks_the_interval_and_the_figure_and_nothing_else(
    ran: dict[str, Path], gaps: tuple[str, str]
) -> None:
    # False and not None: a loop must see two things that are not there, not two that it cannot tell.
    assert _unmet(ran["nile"]) == {name: [False] for name in gaps}


def test_the_first_run_of_the_sunspots_meets_every_criterion(ran: dict[str, Path]) -> None:
    assert _unmet(ran["sunspots"]) == {}


def test_the_revised_nile_meets_every_criterion(revised: Path) -> None:
    assert _unmet(revised) == {}


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("whole-record", "n_years"),
        ("step-and-size", "drop"),
        ("chance-tested", "p_value"),
        ("sensitivity", "drop_without_last_decade"),
        ("sensitivity", "residual_autocorrelation"),
        ("interval-of-the-drop", "drop_interval"),
    ],
)
def test_without_the_key_that_it_is_about_a_criterion_is_not_met(
    name: str, reads: str, revised: Path, tmp_path: Path
) -> None:
    project = shutil.copytree(revised, tmp_path / "nile")
    path = project / "results" / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    del results[reads]
    path.write_text(json.dumps(results), encoding="utf-8")
    assert name in _unmet(project)


@pytest.mark.parametrize(
    "interval",
    [
        {"low": 300.0, "high": 200.0, "percent": 95, "n_resamples": 4999},
        {"low": 250.0, "high": 300.0, "percent": 95, "n_resamples": 4999},
        {"low": 200.0, "high": 300.0, "percent": 50, "n_resamples": 4999},
        {"low": 200.0, "high": 300.0, "percent": 95, "n_resamples": 10},
        {"low": 200.0, "high": 300.0, "percent": 95},
        [200.0, 300.0],
    ],
    ids=["turned around", "without the drop", "another share", "few resamples", "no count", "a bare list"],
)
def test_an_interval_that_is_none_does_not_meet_the_requirement(
    interval: object, revised: Path, tmp_path: Path
) -> None:
    project = shutil.copytree(revised, tmp_path / "nile")
    path = project / "results" / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**results, "drop_interval": interval}), encoding="utf-8")
    # Results that were typed in do not come out of the code, and the report may lack a source by then.
    unmet = set(_unmet(project))
    assert (
        {"interval-of-the-drop", "comes-out-again"}
        <= unmet
        <= {"interval-of-the-drop", "comes-out-again", "numbers-traced"}
    )


@pytest.mark.parametrize("order", ["backwards", "shuffled"])
@pytest.mark.parametrize("name", PROJECTS)
def test_the_requirements_are_met_whatever_comes_out(
    name: str, order: str, copy_and_run, run_project, tmp_path: Path
) -> None:
    """Other data refute the predictions. What the work must contain is there all the same."""
    project = copy_and_run(name, tmp_path)
    path = project / "data" / f"{name}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    values = [value for _, value in rows][::-1]
    if order == "shuffled":
        random.Random(7).shuffle(values)  # noqa: S311 - shuffles data, guards no secret
    lines = [head, *([year, value] for (year, _), value in zip(rows, values, strict=True))]
    path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
    settings = project / "analyses.toml"
    if settings.exists():
        settings.write_text(settings.read_text(encoding="utf-8").replace("false", "true"), encoding="utf-8")
    run_project(project)
    # The report is of the data as they are, and would have to be rewritten.
    assert _unmet(project).keys() <= {"numbers-traced"}

    results = json.loads((project / "results" / "results.json").read_text(encoding="utf-8"))
    predictions = lint_predictions((project / "prereg.toml").read_bytes()).predictions
    assert predictions
    predicted = [check_expr(expression, results)[0] for expression in predictions.expressions.values()]
    assert False in predicted
    assert None not in predicted
