"""What code decides of each criterion, and the report over all of them."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from autoscirub.checks import (
    CRITERION_WORDS,
    CriteriaVerification,
    basis,
    criterion_status,
    decide_criterion,
    gather,
    load_rubric,
    report_of,
    verify_criteria,
)
from autoscirub.errors import ConfigError, ResultsError
from autoscirub.models import (
    Answer,
    Criterion,
    CriterionResult,
    CriterionStatus,
    DecidedBy,
    Decision,
    ExecutableRubric,
    VerificationReport,
    strict_json,
)
from autoscirub.store import open_project

AT = "2026-01-31T09:00:00Z"
REPOSITORY = Path(__file__).resolve().parents[2]

RESULTS = {
    "n": 5,
    "zero": 0,
    "gap": float("nan"),
    "name": "x",
    "deep": {"list": [1.25, 2]},
    "many": list(range(99)),
}


def png(side: int = 8) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((5 * row + column) % 256 for column in range(side)) for row in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with results, a report, a good figure, a cut-off one, and a link that leads out."""
    project = tmp_path / "project"
    (project / ".autoscirub").mkdir(parents=True)
    (project / "figures").mkdir()
    (project / "results.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    (project / "report.md").write_text("# Report\n", encoding="utf-8")
    (project / "figures/good.png").write_bytes(png())
    (project / "figures/cut.png").write_bytes(png()[:40])
    (tmp_path / "outside.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (project / "out.csv").symlink_to(tmp_path / "outside.csv")
    return project


def criterion_of(checks: list[dict[str, Any]] | None = None, **more: Any) -> Criterion:
    """A criterion with these checks, whose ids are their places."""
    numbered = [{"id": f"k{place}", **check} for place, check in enumerate(checks or ())]
    return Criterion.model_validate({"criterion_id": "C1", "requirement": "r", "checks": numbered, **more})


def decided(project: Path, criterion: Criterion) -> tuple[CriterionResult, Decision]:
    rubric = ExecutableRubric(criteria=[criterion])
    return decide_criterion(criterion, gather(open_project(project), rubric), at=AT)


def expr(text: str) -> dict[str, Any]:
    return {"kind": "expr", "expr": text}


def artifact(path: str) -> dict[str, Any]:
    return {"kind": "artifact", "path": path}


def expected(path: str) -> dict[str, Any]:
    return {"expected_artifacts": [{"expected_path": path}]}


WAYS: dict[str, list[tuple[list[dict[str, Any]], dict[str, Any]]]] = {
    # the worst answer of the parts -> checks and expected artifacts that come to it
    "no part": [([], {}), ([], expected(" "))],
    "all hold": [
        ([expr("results.n > 4")], {}),
        ([artifact("figures/good.png")], {}),
        ([], expected("figures/good.png")),
        ([expr("results.n > 4"), artifact("figures/good.png")], expected("report.md")),
    ],
    "one does not": [
        ([expr("results.n > 5")], {}),
        ([artifact("figures/cut.png")], {}),
        ([artifact("figures/none.png")], {}),
        ([], expected("figures/none.png")),
        ([], expected("figures")),
        ([expr("results.n > 4"), expr("results.n > 5")], {}),
        ([expr("results.n > 4")], expected("figures/cut.png")),
        ([expr("results.n > 5"), expr("results.none > 1"), {"kind": "rerun"}], {}),
        ([expr("results.n > 5"), artifact("out.csv")], {}),
    ],
    "one cannot be told": [
        ([expr("results.none > 1")], {}),
        ([expr("results.gap > 1")], {}),
        ([expr("results.n / results.zero > 1")], {}),
        ([expr("results.n")], {}),
        ([expr("results.n is 5")], {}),
        ([artifact("out.csv")], {}),
        ([], expected("out.csv")),
        ([{"kind": "numbers"}], {}),
        ([{"kind": "rerun"}], {}),
        ([{"kind": "score"}], {}),
        ([expr("results.n > 4"), expr("results.none > 1")], expected("figures/good.png")),
        ([expr("results.n > 4"), {"kind": "rerun"}], {}),
    ],
}

S, N, C = "satisfied", "not_satisfied", "cannot_assess"
REFUSED = "refused at load"
STATUS: list[tuple[str, str, str, str, str]] = [
    # the parts, the texts, and the status with judge: auto, always, never
    ("no part", "none", C, C, REFUSED),
    ("no part", "uncovered", C, C, REFUSED),
    ("all hold", "none", S, C, S),
    ("all hold", "covered", S, C, S),
    ("all hold", "uncovered", C, C, S),
    ("one does not", "none", N, N, N),
    ("one does not", "covered", N, N, N),
    ("one does not", "uncovered", N, N, N),
    ("one cannot be told", "none", C, C, C),
    ("one cannot be told", "covered", C, C, C),
    ("one cannot be told", "uncovered", C, C, C),
]
ROWS = [
    pytest.param(way, texts, judge, status, id=f"{worst}, texts {texts}, judge {judge}, {place}")
    for worst, texts, *statuses in STATUS
    for judge, status in zip(("auto", "always", "never"), statuses, strict=True)
    for place, way in enumerate(WAYS[worst])
    if texts != "covered" or way[0]  # only a check can cover
]


@pytest.mark.parametrize(("way", "texts", "judge", "status"), ROWS)
def test_the_status_comes_from_the_parts_the_texts_and_the_judge(
    folder: Path, way: tuple[list[dict[str, Any]], dict[str, Any]], texts: str, judge: str, status: str
) -> None:
    checks, more = way
    if texts == "covered":
        checks = [{**checks[0], "covers": ["fit"]}, *checks[1:]]
    analysis = [] if texts == "none" else ["fit"]
    if status == REFUSED:
        with pytest.raises(ValueError, match="nothing else decides"):
            criterion_of(checks, judge=judge, required_analysis=analysis, **more)
        return
    criterion = criterion_of(checks, judge=judge, required_analysis=analysis, **more)
    result, decision = decided(folder, criterion)
    assert (result.status, result.satisfied) == (status, status == S)
    assert (decision.answer, decision.word) == CRITERION_WORDS[result.status or "error"]
    assert (decision.subject, decision.question, decision.at) == ("C1", "r", AT)
    assert decision.decided_by is DecidedBy.CODE
    assert bool(result.evidence_gap) == bool(result.required_actions) == (status != S)
    assert bool(decision.open) == (decision.answer is Answer.COULD_NOT_BE_TOLD) or status == N
    assert all(part.at == AT for part in decision.parts)


def test_a_judges_check_must_be_read_whatever_else_holds(folder: Path) -> None:
    result, decision = decided(folder, criterion_of([expr("results.n > 4"), {"kind": "judge"}]))
    assert result.status == C
    assert "judge: not decided by this version" in decision.open


def test_nothing_at_all_is_never_satisfied() -> None:
    assert criterion_status([], reading=False) == C


def test_every_status_has_its_answer_and_its_word() -> None:
    assert list(CRITERION_WORDS) == list(get_args(CriterionStatus))


SAID: list[tuple[list[dict[str, Any]], dict[str, Any], dict[str, list[str]]]] = [
    # checks, the rest of the criterion, and what the result says: found, gap, actions, references
    (
        [expr("results.n >= 5"), expr("results.deep.list[0] < 2 and results.name == 'x'")],
        {},
        {
            "found": [
                "results.json: results.n = 5",
                "results.json: results.deep.list[0] = 1.25",
                "results.json: results.name = 'x'",
            ],
            "references": ["results.json"],
        },
    ),
    (
        [expr("results.n >= 7")],
        {},
        {
            "gap": ["results.json: results.n >= 7 is False: 5 >= 7; results.n = 5"],
            "actions": ["make results.n >= 7 true in results.json by computing more; it is 5"],
        },
    ),
    (
        [expr("results.n > results.zero + 9")],
        {},
        {
            "actions": [
                "make results.n > results.zero + 9 true in results.json by computing more; results.n is 5, "
            ]
        },
    ),
    (
        [expr("results.interval[1] > results.interval[0]")],
        {},
        {
            "gap": ["results.json: no results.interval[1] and results.interval[0], so "],
            "actions": ["write results.interval[1] and results.interval[0] into results.json"],
        },
    ),
    (
        [expr("results.interval > 0")],
        {},
        {
            "gap": ["results.json: no results.interval, so results.interval > 0 could not be evaluated"],
            "actions": ["write the key 'interval' into results.json"],
        },
    ),
    (
        [expr("results.name > 1 or results.optional > 1")],
        {},
        {
            "gap": ["results.json: could not be evaluated: results.name > 1: "],
            "actions": ["make results.json such"],
        },
    ),
    ([expr("results.gap > 1")], {}, {"gap": ["results.gap: is nan, not a finite number"]}),
    ([artifact("figures/good.png")], {}, {"found": [f"figures/good.png ({len(png())} bytes, sha256 "]}),
    (
        [artifact("figures/none.png")],
        {},
        {"gap": ["figures/none.png: is not there"], "actions": ["produce figures/none.png"]},
    ),
    (
        [],
        expected("figures/cut.png"),
        {
            "gap": ["figures/cut.png: not a whole PNG"],
            "actions": ["produce figures/cut.png anew, since it fails: not a whole PNG"],
            "references": ["figures/cut.png"],
        },
    ),
    (
        [artifact("out.csv")],
        {},
        {
            "gap": ["out.csv: a link on the way leads out"],
            "actions": ["produce out.csv as a file of the project"],
        },
    ),
    (
        [{"kind": "score"}],
        {},
        {
            "gap": ['score: not decided by this version (check "k0")'],
            "actions": ['check "k0" needs a version that decides score'],
        },
    ),
    (
        [{"kind": "numbers"}],
        {},
        {
            "gap": ["report.md: no numbers; report.md: no number found that has one source"],
            "actions": [
                "mend what keeps the numbers of report.md from being told: report.md: no number found"
            ],
            "references": ["report.md"],
        },
    ),
    (
        [{"kind": "rerun"}],
        {},
        {
            "gap": ['not rerun: nothing says how; name the command in [run] of autoscirub.toml (check "k0")'],
            "actions": ["say in [run] of autoscirub.toml how the results come out of the code"],
        },
    ),
    (
        [],
        {"required_analysis": ["fit a line"]},
        {
            "gap": [
                'needs reading; no judge is set up; to be settled from report.md and the files it names: "fit'
            ],
            "actions": ['see that report.md and the files it names show "fit a line"; a judge must read it'],
        },
    ),
    ([], {}, {"gap": ['"r"'], "actions": ['show "r"']}),
]


@pytest.mark.parametrize(("checks", "more", "said"), SAID, ids=[str(row[2])[:70] for row in SAID])
def test_a_result_names_files_values_and_what_would_close_the_gap(
    folder: Path, checks: list[dict[str, Any]], more: dict[str, Any], said: dict[str, list[str]]
) -> None:
    result, _ = decided(folder, criterion_of(checks, **more))
    lists = {
        "found": result.evidence_found,
        "gap": [result.evidence_gap] if result.evidence_gap else [],
        "actions": result.required_actions,
        "references": result.artifact_references,
    }
    for name, wanted in said.items():
        assert len(lists[name]) == len(wanted), lists[name]
        assert [part for part, text in zip(wanted, lists[name], strict=True) if part not in text] == []
    if result.satisfied:
        assert lists["gap"] == lists["actions"] == []


def test_what_must_be_read_is_open_and_never_evidence(folder: Path) -> None:
    criterion = criterion_of([expr("results.n > 4")], required_analysis=["fit a line"])
    _, decision = decided(folder, criterion)
    assert decision.open == ["needs reading; no judge is set up", "fit a line"]
    assert [entry.key for entry in decision.evidence] == ["results.n"]


def test_a_judge_is_asked_only_when_all_that_code_decides_holds(folder: Path) -> None:
    criterion = criterion_of([expr("results.n > 9")], required_analysis=["fit a line"])
    result, decision = decided(folder, criterion)
    assert decision.open == [
        "needs reading, but a judge is asked only when all that code decides holds",
        "fit a line",
    ]
    assert "needs reading" not in result.evidence_gap


def test_judge_always_reads_for_covered_texts_too(folder: Path) -> None:
    checks = [{**expr("results.n > 4"), "covers": ["fit"]}]
    _, decision = decided(folder, criterion_of(checks, required_analysis=["fit", "plot"], judge="always"))
    assert decision.open[1:] == ["fit", "plot"]


def test_a_missing_report_is_part_of_the_gap_of_what_must_be_read(folder: Path) -> None:
    (folder / "report.md").unlink()
    result, _ = decided(folder, criterion_of())
    assert result.evidence_gap.endswith("there is no report.md or REPORT.md to read")
    assert result.required_actions[0] == "write report.md"


def test_a_configured_report_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "autoscirub.toml").write_text('report = "paper/main.tex"\n', encoding="utf-8")
    result, _ = decided(folder, criterion_of())
    assert "the report cannot be read: paper/main.tex: is not there" in result.evidence_gap
    assert result.required_actions[0] == "write paper/main.tex where it can be read"


def test_a_report_outside_the_project_is_not_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("r", encoding="utf-8")
    (folder / "autoscirub.toml").write_text('report = "../report.md"\n', encoding="utf-8")
    inputs = gather(open_project(folder), ExecutableRubric(criteria=[criterion_of()]))
    assert inputs.report is not None
    assert (inputs.report.path, inputs.report.sha256) == (None, None)
    assert "leaves the project" in (inputs.report.note or "")


def test_two_reports_are_an_error_before_anything_is_decided(folder: Path) -> None:
    (folder / "REPORT.md").write_text("another", encoding="utf-8")
    if (folder / "report.md").samefile(folder / "REPORT.md"):
        pytest.skip("this file system ignores the case of letters")
    with pytest.raises(ConfigError, match=r"report\.md and REPORT\.md"):
        gather(open_project(folder), ExecutableRubric(criteria=[criterion_of()]))


@pytest.mark.parametrize("text", [None, "{", "[1]", '{"n": 1, "n": 2}', "link"])
def test_results_that_cannot_be_read_leave_expressions_open_and_artifacts_decided(
    folder: Path, text: str | None
) -> None:
    path = folder / "results.json"
    path.unlink()
    if text == "link":
        path.symlink_to("report.md")
    elif text is not None:
        path.write_text(text, encoding="utf-8")
    result, decision = decided(folder, criterion_of([expr("results.n > 4"), artifact("figures/good.png")]))
    assert result.status == C
    assert [part.answer for part in decision.parts] == [Answer.COULD_NOT_BE_TOLD, Answer.HOLDS]
    assert "results.json" in result.evidence_gap
    assert "write results.n into the results file" in result.required_actions[0]
    assert str(folder) not in strict_json(result) + strict_json(decision)


def test_one_path_that_a_check_and_an_artifact_ask_for_is_one_part(folder: Path) -> None:
    both = criterion_of([artifact("figures/good.png")], **expected("figures/good.png"))
    assert [part.subject for part in decided(folder, both)[1].parts] == ["k0"]
    as_png = criterion_of([{**artifact("figures/good.png"), "format": "png"}], **expected("figures/good.png"))
    assert [part.subject for part in decided(folder, as_png)[1].parts] == ["k0"]


def test_one_path_in_two_formats_is_two_parts(folder: Path) -> None:
    criterion = criterion_of(
        [{**artifact("figures/good.png"), "format": "pdf"}], **expected("figures/good.png")
    )
    result, decision = decided(folder, criterion)
    assert [(part.subject, part.answer) for part in decision.parts] == [
        ("k0", Answer.DOES_NOT_HOLD),
        ("figures/good.png", Answer.HOLDS),
    ]
    assert {"figures/good.png", "figures/good.png as pdf: state"} <= set(result.rests_on)


def test_a_file_that_git_ignores_passes_and_says_so(folder: Path) -> None:
    rubric = ExecutableRubric(criteria=[criterion_of([artifact("figures/good.png")])])
    asked: list[list[str]] = []

    def ignored(paths: list[str]) -> set[str]:
        asked.append(paths)
        return {"figures/good.png"}

    inputs = gather(open_project(folder), rubric, ignored=ignored)
    result, _ = decide_criterion(rubric.criteria[0], inputs, at=AT)
    assert asked == [["figures/good.png", "report.md"]]
    assert result.satisfied
    assert result.evidence_found[0].endswith("; git ignores this file: a clone will lack it")


def test_long_values_are_shortened_and_long_lists_told_by_their_shape(folder: Path) -> None:
    (folder / "results.json").write_text(
        json.dumps({"text": "x" * 100_000, "many": [1] * 99}), encoding="utf-8"
    )
    result, decision = decided(folder, criterion_of([expr("len(results.text) > len(results.many)")]))
    assert result.satisfied
    assert [len(str(entry.value)) < 1000 for entry in decision.evidence] == [True, True]
    assert len("".join(result.evidence_found)) < 1000


def test_the_criterions_inputs_digest_is_over_its_whole_basis(folder: Path) -> None:
    criterion = criterion_of([expr("results.n > 4")])
    result, decision = decided(folder, criterion)
    other, other_decision = decided(folder, criterion_of([expr("results.n > 3")]))
    assert result.rests_on != other.rests_on
    assert decision.inputs_digest != other_decision.inputs_digest
    assert decided(folder, criterion)[1].inputs_digest == decision.inputs_digest


def test_an_artifact_may_be_called_like_anything_else_in_the_basis(folder: Path) -> None:
    names = [
        "report",
        "rules",
        "criterion",
        "judge",
        "results file",
        "report path",
        "results.n",
        "./results.n",
    ]
    for name in names:
        (folder / name).write_text(f"{name} itself", encoding="utf-8")
    criterion = criterion_of([expr("results.n > 4"), *(artifact(name) for name in names)], judge="always")
    rubric = ExecutableRubric(criteria=[criterion])
    before = basis(criterion, gather(open_project(folder), rubric))
    assert len(before) == 6 + len(names)
    for name in names:
        (folder / name).write_text("other bytes", encoding="utf-8")
    after = basis(criterion, gather(open_project(folder), rubric))
    changed = {name for name in before if before[name] != after[name]}
    assert changed.isdisjoint({"report", "rules", "criterion", "judge", "results file", "report path"})
    assert len(changed) == len(names) - 1  # `./results.n` and `results.n` are one file


def verified(project: Path) -> tuple[ExecutableRubric, CriteriaVerification]:
    opened = open_project(project)
    rubric = load_rubric(opened)
    assert rubric is not None
    return rubric.model, verify_criteria(rubric.model, gather(opened, rubric.model), kept={}, at=AT)


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
        report = report_of(rubric, verify_criteria(rubric, gather(opened, rubric), kept={}, at=AT), 1)
        assert report.all_satisfied == (failing is None)


def test_progress_is_told_criterion_by_criterion(folder: Path) -> None:
    twelve(folder)
    opened = open_project(folder)
    rubric = load_rubric(opened)
    assert rubric is not None
    told: list[tuple[int, int]] = []
    verify_criteria(
        rubric.model,
        gather(opened, rubric.model),
        kept={},
        at=AT,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(number, TWELVE) for number in range(1, TWELVE + 1)]


def test_a_results_error_keeps_no_place_of_this_machine(folder: Path) -> None:
    (folder / "autoscirub.toml").write_text("[limits]\nresults_bytes = 3\n", encoding="utf-8")
    inputs = gather(open_project(folder), ExecutableRubric(criteria=[criterion_of()]))
    assert isinstance(inputs.results, ResultsError)
    assert str(inputs.results).startswith("results.json: ")
