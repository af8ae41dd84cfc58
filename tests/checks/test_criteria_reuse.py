"""A criterion's result is cached while nothing that it rests on changed, and re-evaluated with the reason otherwise."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.checks.cached import AT, LATER, keep

from autoscirub.checks.criteria import CachedResult, CriteriaVerification, Inputs, gather, verify_criteria
from autoscirub.checks.criteria.basis import RULES
from autoscirub.checks.rubric import load_rubric
from autoscirub.errors import PathRefused
from autoscirub.models import (
    Answer,
    Decision,
    VerificationReport,
)
from autoscirub.store import open_project, sha256_bytes

RUBRIC: dict[str, Any] = {
    "criteria": [
        {
            "criterion_id": "N",
            "requirement": "enough seeds",
            "mine": 1,
            "yours": 2,
            "checks": [{"id": "n", "kind": "expr", "expr": "results.n >= 5"}],
        },
        {
            "criterion_id": "I",
            "requirement": "an interval",
            "checks": [
                {"id": "i", "kind": "expr", "expr": "results.fit.interval[1] > results.fit.interval[0]"}
            ],
        },
        {
            "criterion_id": "T",
            "requirement": "a table",
            "expected_artifacts": [{"expected_path": "tables/t.csv"}],
        },
        {
            "criterion_id": "R",
            "requirement": "a discussion",
            "required_analysis": ["discuss"],
            "checks": [{"id": "n", "kind": "expr", "expr": "results.n > 0"}],
        },
    ]
}
RESULTS: dict[str, Any] = {"n": 5, "fit": {"interval": [0.25, 0.75], "other": 1}, "unread": [1, 2]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".autoscirub").mkdir(parents=True)
    (project / "tables").mkdir()
    write(project, ".autoscirub/executable_rubric.json", json.dumps(RUBRIC))
    write(project, "results.json", json.dumps(RESULTS))
    write(project, "report.md", "# Report\n")
    write(project, "tables/t.csv", "a,b\n1,2\n")
    return project


def write(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text, encoding="utf-8")


def edit_results(**values: Any) -> Callable[[Path], None]:
    return lambda project: write(project, "results.json", json.dumps({**RESULTS, **values}, indent=3))


def edit_rubric(place: int, **values: Any) -> Callable[[Path], None]:
    criteria = [{**each, **values} if at == place else each for at, each in enumerate(RUBRIC["criteria"])]
    return lambda project: write(
        project, ".autoscirub/executable_rubric.json", json.dumps({"criteria": criteria})
    )


def edit(name: str, text: str) -> Callable[[Path], None]:
    return lambda project: write(project, name, text)


def verify(
    project: Path, cached: dict[str, CachedResult] | None = None, *, at: str = AT, fresh: bool = False
) -> CriteriaVerification:
    opened = open_project(project)
    rubric = load_rubric(opened)
    assert rubric is not None
    inputs = gather(opened, rubric.model, cached=cached)
    return verify_criteria(rubric.model, inputs, cached=cached or {}, at=at, fresh=fresh)


def touch(project: Path) -> None:
    for path in [*project.rglob("*.json"), *project.rglob("*.md"), *project.rglob("*.csv")]:
        os.utime(path, (1, 1))


def with_judge(project: Path) -> None:
    write(project, "autoscirub.toml", "[judge]\nrepeats = 3\nagree = 2\n")


def rename_results(project: Path) -> None:
    (project / "results").mkdir()
    (project / "results.json").rename(project / "results/results.json")


def reorder_rubric(project: Path) -> None:
    criteria = [dict(reversed(each.items())) for each in RUBRIC["criteria"]]
    write(project, ".autoscirub/executable_rubric.json", json.dumps({"criteria": criteria}))


def behind_a_link(project: Path) -> None:
    (project / "tables/t.csv").rename(project / "t.csv")
    (project / "tables/t.csv").symlink_to("../t.csv")


def rename_report(project: Path) -> None:
    (project / "report.md").rename(project / "REPORT.md")


CHANGES: list[tuple[str, Callable[[Path], None], dict[str, list[str]]]] = [
    # what is done to the project -> what is re-evaluated, and because of what
    ("nothing", lambda _: None, {}),
    ("every file is touched", touch, {}),
    ("results are written in another layout", edit_results(), {}),
    ("a key that nobody reads", edit_results(unread=[]), {}),
    ("a key beside one that is read", edit_results(fit={**RESULTS["fit"], "other": 2}), {}),
    ("a new key", edit_results(new=1), {}),
    ("a key that two read", edit_results(n=6), {"N": ["results.n"], "R": ["results.n"]}),
    ("a whole number turns into a float", edit_results(n=5.0), {"N": ["results.n"], "R": ["results.n"]}),
    (
        "one end of the interval",
        edit_results(fit={"interval": [0.25, 0.5]}),
        {"I": ["results.fit.interval[1]"]},
    ),
    (
        "a key is gone",
        edit_results(fit={}),
        {"I": ["results.fit.interval[1]", "results.fit.interval[0]"]},
    ),
    (
        "results that cannot be read",
        edit("results.json", "{"),
        {
            "N": ["results file", "results.n"],
            "I": ["results file", "results.fit.interval[1]", "results.fit.interval[0]"],
            "R": ["results file", "results.n"],
        },
    ),
    (
        "results move",
        rename_results,
        {"N": ["results file"], "I": ["results file"], "R": ["results file"]},
    ),
    ("the table", edit("tables/t.csv", "a,b\n1,3\n"), {"T": ["tables/t.csv"]}),
    ("a file beside the table", edit("tables/other.csv", "a,b\n"), {}),
    ("the table is gone", lambda project: (project / "tables/t.csv").unlink(), {"T": ["tables/t.csv"]}),
    ("the report", edit("report.md", "# Another\n"), {"R": ["report"]}),
    (
        "the report is gone",
        lambda project: (project / "report.md").unlink(),
        {"R": ["report", "report path"]},
    ),
    (
        "the report is renamed",
        rename_report,
        {"R": ["report path"]},
    ),
    ("the judge", with_judge, {"R": ["judge"]}),
    ("a criterion", edit_rubric(0, priority="high"), {"N": ["criterion"]}),
    ("a criterion's fields in another order", reorder_rubric, {}),
    ("a criterion is laid out again", edit_rubric(0, priority="medium"), {}),
    ("an unknown field", edit_rubric(2, mine={"a": 1}), {"T": ["criterion"]}),
]


@pytest.mark.parametrize(("change", "because"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_is_re_evaluated_says_which_part_of_its_basis_changed(
    folder: Path, change: Callable[[Path], None], because: dict[str, list[str]]
) -> None:
    first = verify(folder)
    change(folder)
    second = verify(folder, keep(first), at=LATER)
    assert second.because == because
    assert second.evaluated == [name for name in ("N", "I", "T", "R") if name in because]
    assert second.reused == [name for name in ("N", "I", "T", "R") if name not in because]
    assert [result.asked_again_because for result in second.results] == [
        because.get(result.criterion_id, []) for result in second.results
    ]
    for old, new in zip(first.results, second.results, strict=True):
        if new.criterion_id in second.reused:
            assert new == old.model_copy(update={"reused_from_round": 1})
        else:
            assert new.reused_from_round is None
    moments = {decision.subject: decision.at for decision in second.decisions}
    assert moments == {name: LATER if name in because else AT for name in ("N", "I", "T", "R")}


def test_a_kept_answer_goes_on_naming_the_round_that_it_was_reached_in(folder: Path) -> None:
    first = keep(verify(folder), 1)
    edit_results(n=6)(folder)
    second = keep(verify(folder, first), 2)
    third = verify(folder, second)
    assert [result.reused_from_round for result in third.results] == [2, 1, 1, 2]
    assert [result.asked_again_because for result in third.results] == [[]] * 4
    assert third.evaluated == []


def test_fresh_re_evaluates_everything_and_says_what_had_changed(folder: Path) -> None:
    first = keep(verify(folder))
    edit("report.md", "# Another\n")(folder)
    again = verify(folder, first, at=LATER, fresh=True)
    assert (again.evaluated, again.reused) == (["N", "I", "T", "R"], [])
    assert again.because == {"R": ["report"]}
    assert {decision.at for decision in again.decisions} == {LATER}


def test_an_error_is_never_reused(folder: Path) -> None:
    cached = keep(verify(folder))
    result = cached["N"].result.model_copy(update={"status": "error", "satisfied": False})
    again = verify(folder, {**cached, "N": CachedResult(result, cached["N"].decision, 1)})
    assert again.evaluated == ["N"]
    assert again.because == {"N": ["the earlier answer was an error"]}
    assert again.results[0].satisfied


@pytest.mark.parametrize("lost", ["rests_on", "status", "decision"])
def test_an_answer_that_does_not_say_what_it_rested_on_is_never_reused(folder: Path, lost: str) -> None:
    cached = keep(verify(folder))["N"]
    result, decision = cached.result, cached.decision
    if lost == "rests_on":
        result = result.model_copy(update={"rests_on": {}})
    elif lost == "status":
        result = result.model_copy(update={"status": None})
    else:
        decision = None
    again = verify(folder, {"N": CachedResult(result, decision, 1)})
    assert again.reused == []
    assert "N" in again.because


def test_answers_on_criteria_that_the_rubric_does_not_have_are_ignored(folder: Path) -> None:
    cached = keep(verify(folder))
    again = verify(folder, {"n": cached["N"], "gone": cached["T"]})
    assert [result.criterion_id for result in again.results] == ["N", "I", "T", "R"]
    assert (again.reused, again.because) == ([], {})


def test_an_answer_reached_by_other_rules_is_not_reused(folder: Path) -> None:
    cached = keep(verify(folder))["N"]
    assert cached.result.rests_on["rules"] == sha256_bytes(RULES.encode())
    older = cached.result.model_copy(
        update={"rests_on": {**cached.result.rests_on, "rules": sha256_bytes(b"0")}}
    )
    assert verify(folder, {"N": CachedResult(older, cached.decision, 1)}).because == {"N": ["rules"]}


def stale(project: Path) -> tuple[CriteriaVerification, dict[str, CachedResult]]:
    first = verify(project)
    return first, keep(first)


STALE: list[tuple[str, Callable[[Path], None], list[str]]] = [
    ("the report changed", edit("report.md", "# Report\n\nThe slope is 0.51.\n"), ["report"]),
    (
        "the rubric changed",
        lambda project: write(
            project,
            ".autoscirub/executable_rubric.json",
            (project / ".autoscirub/executable_rubric.json")
            .read_text(encoding="utf-8")
            .replace("Slope with an interval.", "Slope."),
        ),
        ["criterion"],
    ),
    ("the judge changed", with_judge, ["judge"]),
    ("the files were touched", touch, []),
]


@pytest.mark.parametrize(("change", "because"), [row[1:] for row in STALE], ids=[row[0] for row in STALE])
def test_a_stale_verdict_of_the_field_case_is_not_reused(
    field_case: Callable[[str], Path], change: Callable[[Path], None], because: list[str]
) -> None:
    project = field_case("23")
    _, cached = stale(project)
    change(project)
    again = verify(project, cached)
    assert again.because == ({"C1": because} if because else {})
    assert again.reused == ([] if because else ["C1"])


def test_the_verdict_that_another_tool_wrote_in_the_field_case_is_never_reused(
    field_case: Callable[[str], Path],
) -> None:
    project = field_case("23")
    stored = (project / ".autoscirub/verification_report.json").read_text(encoding="utf-8")
    report = VerificationReport.model_validate_json(stored)
    assert report.all_satisfied
    decision = verify(project).decisions[0]
    for cached in (None, decision):
        again = verify(project, {"C1": CachedResult(report.criteria[0], cached, report.round)})
        assert (again.evaluated, again.reused) == (["C1"], [])
        assert again.because == {"C1": ["what the earlier answer rested on is not recorded"]}
        assert again.results[0].status == "not_satisfied"


def opened_files(
    project: Path, cached: dict[str, CachedResult], ignored: set[str] | None = None
) -> tuple[int, Inputs]:
    """How many files were really opened, and what was found."""
    opened = open_project(project)
    rubric = load_rubric(opened)
    assert rubric is not None
    progress_calls: list[int] = []
    inputs = gather(
        opened,
        rubric.model,
        cached=cached,
        ignored=None if ignored is None else lambda paths: set(paths) & ignored,
        progress=lambda _, total: progress_calls.append(total),
    )
    return len(progress_calls), inputs


def test_an_artifact_whose_bytes_are_as_they_were_is_not_opened_again(folder: Path) -> None:
    cached = keep(verify(folder))
    assert opened_files(folder, {})[0] == 2  # the table and the report
    count, inputs = opened_files(folder, cached)
    assert count == 1
    found = inputs.artifacts["tables/t.csv", None]
    assert isinstance(found, Decision)
    assert (found.subject, found.answer) == ("tables/t.csv", Answer.HOLDS)


OPENED_AGAIN: list[tuple[str, Callable[[Path], None]]] = [
    ("other bytes", edit("tables/t.csv", "a,b\n1,3\n")),
    ("no table any more", edit("tables/t.csv", '"a\n1,2\n')),
    ("empty", edit("tables/t.csv", "")),
    ("gone", lambda project: (project / "tables/t.csv").unlink()),
    (
        "the same bytes through a link",
        behind_a_link,
    ),
    (
        "the criterion asks for another format",
        edit_rubric(
            2,
            expected_artifacts=[],
            checks=[{"id": "t", "kind": "artifact", "path": "tables/t.csv", "format": "json"}],
        ),
    ),
]


@pytest.mark.parametrize("change", [row[1] for row in OPENED_AGAIN], ids=[row[0] for row in OPENED_AGAIN])
def test_an_artifact_that_is_not_as_it_was_is_opened_again_and_told_as_if_nothing_were_known(
    folder: Path, change: Callable[[Path], None]
) -> None:
    cached = keep(verify(folder))
    change(folder)
    count, inputs = opened_files(folder, cached)
    assert count == 2
    fresh = opened_files(folder, {})[1]
    assert [strip(found) for found in inputs.artifacts.values()] == [
        strip(found) for found in fresh.artifacts.values()
    ]


def strip(found: Decision | PathRefused) -> Any:
    return found.model_copy(update={"at": AT}) if isinstance(found, Decision) else str(found)


def test_an_artifact_that_git_ignores_by_now_is_told_to_be(folder: Path) -> None:
    cached = keep(verify(folder))
    _, inputs = opened_files(folder, cached, {"tables/t.csv"})
    found = inputs.artifacts["tables/t.csv", None]
    assert isinstance(found, Decision)
    assert found.evidence[0].note == "git ignores this file: a clone will lack it"
    rubric = load_rubric(open_project(folder))
    assert rubric is not None
    again = verify_criteria(rubric.model, inputs, cached=cached, at=LATER)
    assert again.because == {"T": ["tables/t.csv: state"]}
    assert again.results[2].satisfied


def test_an_artifact_that_git_no_longer_ignores_is_no_longer_told_to_be(folder: Path) -> None:
    rubric = load_rubric(open_project(folder))
    assert rubric is not None
    ignored = opened_files(folder, {}, {"tables/t.csv"})[1]
    cached = keep(verify_criteria(rubric.model, ignored, cached={}, at=AT))
    again = verify_criteria(rubric.model, opened_files(folder, cached, set())[1], cached=cached, at=LATER)
    assert again.because == {"T": ["tables/t.csv: state"]}
    assert "git ignores" not in again.results[2].evidence_found[0]


def test_a_file_of_nearly_the_name_that_is_missing_is_told(folder: Path) -> None:
    (folder / "tables/t.csv").unlink()
    first = verify(folder)
    assert first.results[2].evidence_gap == "tables/t.csv: is not there"
    write(folder, "tables/T.csv", "a,b\n")
    second = verify(folder, keep(first))
    if second.results[2].satisfied:
        pytest.skip("this file system ignores the case of letters")
    assert second.because == {"T": ["tables/t.csv"]}
    assert "tables/T.csv is there: only the case of letters differs" in second.results[2].evidence_gap


def test_a_failing_artifact_is_always_opened(folder: Path) -> None:
    write(folder, "tables/t.csv", '"a\n1,2\n')
    cached = keep(verify(folder))
    assert opened_files(folder, cached)[0] == 2
    assert verify(folder, cached).reused == ["N", "I", "T", "R"]
