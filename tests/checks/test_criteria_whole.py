"""Whole rubrics: a field one, and one as criterion synthesis writes it, in the shape of the published report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from tests.checks.criteria import AT, REPOSITORY, C, N, S, criterion_of, expr, png

from autoscirub.checks.criteria import CriteriaVerification, gather, report_of, verify_criteria
from autoscirub.checks.rubric import load_rubric
from autoscirub.errors import ResultsError
from autoscirub.models import (
    ExecutableRubric,
    VerificationReport,
    strict_json,
)
from autoscirub.store import open_project


def verified(project: Path) -> tuple[ExecutableRubric, CriteriaVerification]:
    opened = open_project(project)
    rubric = load_rubric(opened)
    assert rubric is not None
    return rubric.model, verify_criteria(rubric.model, gather(opened, rubric.model), cached={}, at=AT)


def test_a_field_rubric_of_low_priority_alone_cannot_be_assessed(
    field_case: Callable[[str], Path],
) -> None:
    project = field_case("07")
    (project / ".autoscirub").mkdir()
    (project / "only-low.json").rename(project / ".autoscirub/executable_rubric.json")
    figure = project / "results/figures/slope.png"
    figure.parent.mkdir()
    figure.write_bytes(png())
    rubric, verification = verified(project)
    report = report_of(rubric, verification, 1)
    assert [result.status for result in report.criteria] == [C]
    assert not report.all_satisfied
    assert (report.summary.passed, report.summary.failed) == (0, 1)


TWELVE = 12
PUBLISHED_REPORT: dict[str, Any] = {
    # the shape on the page criterion-level-verification
    "type": "object",
    "required": ["schema_version", "round", "all_satisfied", "criteria", "summary"],
    "properties": {
        "schema_version": {"const": "1.0"},
        "round": {"type": "integer"},
        "all_satisfied": {"type": "boolean"},
        "criteria": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "criterion_id",
                    "satisfied",
                    "evidence_found",
                    "evidence_gap",
                    "required_actions",
                    "artifact_references",
                ],
                "properties": {
                    "criterion_id": {"type": "string"},
                    "satisfied": {"type": "boolean"},
                    "evidence_found": {"type": "array", "items": {"type": "string"}},
                    "evidence_gap": {"type": "string"},
                    "required_actions": {"type": "array", "items": {"type": "string"}},
                    "artifact_references": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
        "summary": {
            "type": "object",
            "required": ["passed", "failed", "highest_priority_gaps"],
            "properties": {
                "passed": {"type": "integer"},
                "failed": {"type": "integer"},
                "highest_priority_gaps": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
}


def twelve(folder: Path) -> None:
    """A rubric as criterion synthesis writes it: every published field, twelve criteria; every third has checks."""
    criteria = []
    for number in range(1, TWELVE + 1):
        criterion: dict[str, Any] = {
            "criterion_id": f"C{number}",
            "goal_ids": ["G1" if number < 7 else "G2"],
            "requirement": f"Report diagnostic {number} of the fitted model.",
            "data_sources": ["data/readings.csv"],
            "required_analysis": [f"compute diagnostic {number}"],
            "metrics": ["root mean squared error"],
            "comparisons": ["constant baseline"],
            "expected_artifacts": [
                {
                    "type": "figure",
                    "name": f"diagnostic {number}",
                    "expected_path": "figures/good.png" if number % 2 else f"figures/{number}.png",
                    "must_show": "observed against fitted",
                }
            ],
            "satisfaction_condition": "the figure and the number are both in the report",
            "priority": ("low", "medium", "high")[number % 3],
            "provenance": {"instruction": ["fit a model"], "literature": ["S1"], "data_profile": ["40 rows"]},
        }
        if number % 3 == 0:
            texts = [
                *criterion["required_analysis"],
                "observed against fitted",
                criterion["satisfaction_condition"],
            ]
            criterion["checks"] = [{"id": "n", "kind": "expr", "expr": "results.n > 4", "covers": texts}]
        criteria.append(criterion)
    rubric = {
        "schema_version": "1.0",
        "goals": [
            {"goal_id": f"G{n}", "title": "Fit", "requirement": "Fit and check a model."} for n in (1, 2)
        ],
        "criteria": criteria,
        "claims_to_avoid": ["the model is causal"],
    }
    (folder / ".autoscirub/executable_rubric.json").write_text(json.dumps(rubric), encoding="utf-8")


def test_a_published_rubric_of_twelve_criteria_is_verified_into_the_published_report(folder: Path) -> None:
    twelve(folder)
    rubric, verification = verified(folder)
    report = report_of(rubric, verification, 3)
    data = json.loads(strict_json(report))
    ours = json.loads((REPOSITORY / "schemas/verification_report.schema.json").read_text(encoding="utf-8"))
    for schema in (PUBLISHED_REPORT, ours):
        assert [error.message for error in Draft202012Validator(schema).iter_errors(data)] == []
    assert VerificationReport.model_validate_json(strict_json(report)) == report
    assert [result.criterion_id for result in report.criteria] == [f"C{n}" for n in range(1, TWELVE + 1)]
    assert [decision.subject for decision in report.decisions] == [f"C{n}" for n in range(1, TWELVE + 1)]
    statuses = {result.criterion_id: result.status for result in report.criteria}
    assert {name for name, status in statuses.items() if status == S} == {"C3", "C9"}
    assert {name for name, status in statuses.items() if status == N} == {
        "C2",
        "C4",
        "C6",
        "C8",
        "C10",
        "C12",
    }
    assert (report.round, report.summary.passed, report.summary.failed) == (3, 2, 10)
    assert not report.all_satisfied


def test_the_five_gaps_to_mend_first_go_by_priority_then_by_the_rubrics_order(folder: Path) -> None:
    twelve(folder)
    report = report_of(*verified(folder), 1)
    gaps = report.summary.highest_priority_gaps
    assert [gap.split(":")[0] for gap in gaps] == ["C2", "C5", "C8", "C11", "C1"]
    assert gaps[0] == "C2: figures/2.png: is not there"


def test_a_report_is_all_satisfied_when_every_criterion_is(folder: Path) -> None:
    names = ["C1", "C2"]
    met = [criterion_of([expr("results.n > 4")]).model_copy(update={"criterion_id": name}) for name in names]
    opened = open_project(folder)
    for failing in (None, *names):
        criteria = [
            criterion.model_copy(update={"checks": criterion_of([expr("results.n > 5")]).checks})
            if criterion.criterion_id == failing
            else criterion
            for criterion in met
        ]
        rubric = ExecutableRubric(criteria=criteria)
        report = report_of(rubric, verify_criteria(rubric, gather(opened, rubric), cached={}, at=AT), 1)
        assert report.all_satisfied == (failing is None)


def test_progress_is_told_criterion_by_criterion(folder: Path) -> None:
    twelve(folder)
    opened = open_project(folder)
    rubric = load_rubric(opened)
    assert rubric is not None
    progress_calls: list[tuple[int, int]] = []
    verify_criteria(
        rubric.model,
        gather(opened, rubric.model),
        cached={},
        at=AT,
        progress=lambda done, total: progress_calls.append((done, total)),
    )
    assert progress_calls == [(number, TWELVE) for number in range(1, TWELVE + 1)]


def test_a_results_error_keeps_no_place_of_this_machine(folder: Path) -> None:
    (folder / "autoscirub.toml").write_text("[limits]\nresults_bytes = 3\n", encoding="utf-8")
    inputs = gather(open_project(folder), ExecutableRubric(criteria=[criterion_of()]))
    assert isinstance(inputs.results, ResultsError)
    assert str(inputs.results).startswith("results.json: ")
