"""What code decides of each criterion, and the report over all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.checks.criteria import (
    AT,
    C,
    N,
    S,
    artifact,
    criterion_of,
    decided,
    expected,
    expr,
    png,
)

from autoscirub.checks.criteria import CRITERION_WORDS, basis, criterion_status, decide_criterion, gather
from autoscirub.errors import ConfigError
from autoscirub.models import (
    Answer,
    CriterionStatus,
    DecidedBy,
    ExecutableRubric,
    strict_json,
)
from autoscirub.store import open_project

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
    "one is inconclusive": [
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
    ("one is inconclusive", "none", C, C, C),
    ("one is inconclusive", "covered", C, C, C),
    ("one is inconclusive", "uncovered", C, C, C),
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
    assert bool(decision.open) == (decision.answer is Answer.INCONCLUSIVE) or status == N
    assert all(part.at == AT for part in decision.parts)


def test_a_judges_check_must_be_read_whatever_else_holds(folder: Path) -> None:
    result, decision = decided(folder, criterion_of([expr("results.n > 4"), {"kind": "judge"}]))
    assert result.status == C
    assert "judge: not decided by this version" in decision.open


def test_nothing_at_all_is_never_satisfied() -> None:
    assert criterion_status([], reading=False) == C


def test_every_status_has_its_answer_and_its_word() -> None:
    assert list(CRITERION_WORDS) == list(get_args(CriterionStatus))


STATEMENTS: list[tuple[list[dict[str, Any]], dict[str, Any], dict[str, list[str]]]] = [
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
            "actions": ["produce figures/cut.png again, since it fails: not a whole PNG"],
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
                "mend what keeps the numbers of report.md from being decided: report.md: no number found"
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


@pytest.mark.parametrize(
    ("checks", "more", "statements"), STATEMENTS, ids=[str(row[2])[:70] for row in STATEMENTS]
)
def test_a_result_names_files_values_and_what_would_close_the_gap(
    folder: Path, checks: list[dict[str, Any]], more: dict[str, Any], statements: dict[str, list[str]]
) -> None:
    result, _ = decided(folder, criterion_of(checks, **more))
    lists = {
        "found": result.evidence_found,
        "gap": [result.evidence_gap] if result.evidence_gap else [],
        "actions": result.required_actions,
        "references": result.artifact_references,
    }
    for name, wanted in statements.items():
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
    assert [part.answer for part in decision.parts] == [Answer.INCONCLUSIVE, Answer.HOLDS]
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
