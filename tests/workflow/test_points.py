"""Points: one for each thing that was decided, at its file and line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autoscirub.errors import TamperedError
from autoscirub.models import Answer, Evidence
from autoscirub.store import grant_trust, open_project, trust_view
from autoscirub.workflow import annotations_of, answer_of, check
from autoscirub.workflow.locks import freeze, scope
from autoscirub.workflow.source_locations import PLACES_LIMIT

PREREG = """\
hypothesis = "The slope is near one half."

[[checks]]
id = "slope"
kind = "expr"
expr = "abs(results.slope - 0.5) < 0.1"
description = "Half a unit."

[[checks]]
id = "table"
kind = "artifact"
path = "out/table.csv"
"""


def found(project: Path, **options):
    checked = check(project, read_only=True)
    return annotations_of(checked, project, **options)


def places(annotations, answer: Answer | None = None) -> dict[str, tuple[str | None, int | None]]:
    chosen = [point for point in annotations.annotations if answer in {None, point.decision.answer}]
    return {point.decision.subject: (point.path, point.line) for point in chosen}


def line_of(path: Path, text: str) -> int:
    [line] = [number for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line]
    return line


def test_a_prediction_stands_at_its_id_and_a_criterion_at_its_own(ruled) -> None:
    annotations = found(ruled)
    assert annotations.answer is Answer.DOES_NOT_HOLD
    assert places(annotations)["slope"] == ("prereg.toml", line_of(ruled / "prereg.toml", 'id = "slope"'))
    rubric = ruled / "rubric.toml"
    assert {name: places(annotations)[name] for name in ("C1", "C2", "C3")} == {
        name: ("rubric.toml", line_of(rubric, f'id = "{name}"')) for name in ("C1", "C2", "C3")
    }


def test_a_rubric_in_the_published_form_has_lines_too(ruled, tmp_path) -> None:
    check(ruled)
    published = (ruled / ".autoscirub" / "executable_rubric.json").read_bytes()
    project = tmp_path / "published"
    (project / ".autoscirub").mkdir(parents=True)
    executable = project / ".autoscirub" / "executable_rubric.json"
    executable.write_bytes(published)
    freeze(project)
    annotations = found(project)
    line = line_of(executable, '"criterion_id": "C3"')
    assert places(annotations)["C3"] == (".autoscirub/executable_rubric.json", line)


def test_there_is_a_point_for_every_decision_and_every_answer_among_them(ruled, write_results) -> None:
    write_results(ruled, slope="none")
    checked = check(ruled, read_only=True)
    annotations = annotations_of(checked, ruled)
    assert answer_of(checked) is annotations.answer
    for decision in checked.decisions:
        parts = {part.subject for part in decision.parts}
        assert any(
            point.decision.subject in {decision.subject, *parts} and point.decision.answer is decision.answer
            for point in annotations.annotations
        )


def test_a_promised_file_that_is_not_there_fails_its_check_and_the_whole_inconclusive(
    slope_project, write_results
) -> None:
    (slope_project / "prereg.toml").write_text(PREREG, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.5)
    annotations = found(slope_project)
    assert annotations.answer is Answer.INCONCLUSIVE
    assert places(annotations, Answer.DOES_NOT_HOLD) == {"table": ("prereg.toml", 10)}
    assert places(annotations, Answer.INCONCLUSIVE) == {"predictions": ("prereg.toml", None)}


def test_what_is_not_frozen_stands_at_the_file_that_a_freeze_locks(slope_project, write_results) -> None:
    write_results(slope_project, slope=0.5)
    (slope_project / "rubric.toml").write_text(
        (Path(__file__).parents[1] / "attacks" / "rubric.toml").read_text("utf-8")
    )
    annotations = found(slope_project)
    assert places(annotations) == {
        "predictions": ("prereg.toml", None),
        "requirements": ("rubric.toml", None),
    }


# The numbers of the report


def test_a_number_stands_on_its_line_and_only_those_that_matter_are_points(
    slope_project, write_results
) -> None:
    write_results(slope_project, slope=0.512, wind=4.1927, low=7.25, high=7.25)
    report = "# Report\n\nSlope 0.512.\n\nWind 3.45 <!-- =results.wind -->, and 812.5 of it.\n\nAlso 7.25.\n"
    (slope_project / "report.md").write_text(report, "utf-8")
    annotations = found(slope_project)
    numbers = [point for point in annotations.annotations if point.part == "numbers"]
    assert [(point.path, point.line, point.decision.answer.value) for point in numbers] == [
        ("report.md", 5, "does_not_hold"),
        ("report.md", 5, "inconclusive"),
    ]
    assert '"3.45"; results.wind = 4.1927' in numbers[0].message
    assert "812.5" in numbers[1].message


def test_under_strict_an_ambiguous_number_is_a_point_and_one_without_source_an_error(
    slope_project, write_results
) -> None:
    write_results(slope_project, slope=0.512, low=7.251, high=7.249)
    (slope_project / "autoscirub.toml").write_text("[numbers]\nstrict = true\n")
    (slope_project / "report.md").write_text("Slope 0.512.\nIt is 7.25.\nAnd 812.5.\n", "utf-8")
    annotations = found(slope_project)
    numbers = [
        (point.line, point.decision.answer) for point in annotations.annotations if point.part == "numbers"
    ]
    assert numbers == [(3, Answer.DOES_NOT_HOLD), (2, Answer.INCONCLUSIVE)]


def test_a_number_of_a_notebook_has_its_place_in_words_and_no_wrong_line(
    slope_project, write_results
) -> None:
    write_results(slope_project, slope=0.512)
    (slope_project / "autoscirub.toml").write_text('report = "report.ipynb"\n')
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["Slope 0.512.\n", "Wind 812.5."]}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (slope_project / "report.ipynb").write_text(json.dumps(notebook), "utf-8")
    [point] = [point for point in found(slope_project).annotations if point.part == "numbers"]
    assert (point.path, point.line) == ("report.ipynb", None)
    assert point.message.startswith("cell 1")


def test_a_report_without_readable_results_is_one_point_at_the_report(slope_project) -> None:
    (slope_project / "results.json").write_text("{", "utf-8")
    (slope_project / "report.md").write_text("Slope 0.512.\n", "utf-8")
    annotations = [point for point in found(slope_project).annotations if point.part == "numbers"]
    assert any("results.json" in point.message and point.path == "report.md" for point in annotations)


# The rerun


@pytest.fixture
def runnable(slope_project, write_results):
    freeze(slope_project)
    command = json.dumps([sys.executable, "run.py"])
    (slope_project / "autoscirub.toml").write_text(
        f'results = "results/results.json"\n\n[run]\ncommand = {command}\noutputs = ["results/"]\n'
    )
    (slope_project / "run.py").write_text(
        "import json, pathlib\npathlib.Path('results').mkdir(exist_ok=True)\n"
        "pathlib.Path('results/results.json').write_text(json.dumps({'slope': 0.5, 'deep': [{'x': 1.5}]}))\n"
    )
    return slope_project


def test_a_rerun_that_is_not_trusted_stands_at_the_command(runnable, write_results) -> None:
    write_results(runnable, slope=0.5)
    [point] = [point for point in found(runnable).annotations if point.part == "rerun"]
    assert (point.path, point.line) == ("autoscirub.toml", 4)
    assert point.decision.answer is Answer.INCONCLUSIVE
    assert "not rerun here: not trusted" in point.message


def test_a_value_that_moved_stands_at_its_key_in_the_results(runnable, write_results) -> None:
    values = {"slope": 0.51, "deep": [{"x": 1.5}], "gone": 1}
    write_results(runnable).write_text(json.dumps(values, indent=2), "utf-8")
    opened = open_project(runnable)
    view = trust_view(opened.config)
    grant_trust(view, view.digest or "", by="ci", project=str(opened.root))
    annotations = [point for point in found(runnable).annotations if point.part == "rerun"]
    results = runnable / "results" / "results.json"
    assert [(point.path, point.line) for point in annotations] == [
        ("results/results.json", line_of(results, '"slope"')),
        ("results/results.json", line_of(results, '"gone"')),
    ]
    assert "0.51 before, 0.5 after" in annotations[0].message
    assert {point.decision.answer for point in annotations} == {Answer.DOES_NOT_HOLD}
    assert annotations[0].decision.evidence == [
        Evidence(
            path="results/results.json",
            key="slope",
            value=0.51,
            note="moved: 0.51 before, 0.5 after",
            status="moved",
        )
    ]


# Paths


def test_paths_are_from_the_top_of_the_repository(ruled) -> None:
    subprocess.run(["git", "init", "-q", str(ruled.parent)], check=True)
    assert places(found(ruled))["C1"][0] == "slope/rubric.toml"


def test_paths_are_from_the_workspace_of_ci_where_the_project_lies_in_it(ruled, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(ruled.parent))
    assert places(found(ruled))["C1"][0] == "slope/rubric.toml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(ruled / "elsewhere"))
    assert places(found(ruled))["C1"][0] == "rubric.toml"


def test_a_project_outside_of_a_repository_has_paths_from_its_own_folder(ruled, monkeypatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert places(found(ruled))["C1"][0] == "rubric.toml"


def test_a_file_that_is_too_large_to_look_through_has_no_line_and_is_still_named(
    slope_project, write_results
) -> None:
    text = (slope_project / "prereg.toml").read_text("utf-8")
    (slope_project / "prereg.toml").write_text(text + "#" * PLACES_LIMIT, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.9)
    assert places(found(slope_project), Answer.DOES_NOT_HOLD) == {"slope": ("prereg.toml", None)}


def test_a_change_of_scope_is_said_with_the_points(ruled) -> None:
    rubric = ruled / "rubric.toml"
    rubric.write_text(
        rubric.read_text("utf-8").replace("There is a table.", "There is a table of two columns.")
    )
    with pytest.raises(TamperedError) as refused:
        check(ruled)
    scope(ruled, reason="clearer", by="agent")
    assert "C3" in str(refused.value)
    lines = found(ruled).headlines["requirements"]
    assert lines[0] == "1 of 3 criteria satisfied, decided by code, no judge"
    assert lines[1].startswith("scope changed at ")
    assert lines[1].endswith("by agent: clearer (C3)")


# What is accepted


def test_a_refuted_outcome_that_is_accepted_does_not_count_and_says_so(slope_project, write_results) -> None:
    freeze(slope_project)
    write_results(slope_project, slope=0.9)
    annotations = found(slope_project, accept=("refuted",))
    assert annotations.answer is Answer.HOLDS
    assert annotations.open(Answer.DOES_NOT_HOLD) == []
    [point] = annotations.accepted
    assert point.message.startswith("refuted, accepted: a result like any other: ")
    assert annotations.headlines["predictions"][-1] == "refuted, accepted: a result like any other"


def test_nothing_else_is_accepted(ruled, write_results) -> None:
    (ruled / "report.md").write_text("It is 812.5.\n", "utf-8")
    write_results(ruled, slope=0.9)
    annotations = found(ruled, accept=("refuted", "failed", "not frozen"))
    assert annotations.answer is Answer.DOES_NOT_HOLD
    assert {point.part for point in annotations.open(Answer.DOES_NOT_HOLD)} == {"requirements"}
    assert {point.part for point in annotations.open(Answer.INCONCLUSIVE)} == {"numbers"}
    write_results(ruled, slope="none")
    assert found(ruled, accept=("refuted", "failed")).accepted == []
