"""The reference's outcome table, row by row."""

from __future__ import annotations

import itertools

import pytest

from autoscirub.checks.predictions import decide_outcome
from autoscirub.models import CheckResult, JudgeVerdict, Outcome


def result(kind: str, passed: bool | None) -> CheckResult:
    return CheckResult(id=f"{kind}-{passed}", kind=kind, passed=passed, message="as given")


def verdict(supports: bool | None) -> JudgeVerdict:
    return JudgeVerdict(supports_hypothesis=supports, confidence=0.5, reasoning="as given")


GOOD = [("expr", True), ("artifact", True)]

TABLE = [
    # checks, judge ("none": not asked, "error": it failed, else its word), strict, outcome
    ([("expr", None), ("expr", True)], "none", False, "failed"),
    ([("expr", None), ("expr", False)], "none", False, "failed"),
    ([("artifact", None), ("expr", True)], "none", False, "failed"),
    ([("artifact", False), ("expr", True)], "none", False, "failed"),
    ([("artifact", False), ("expr", False)], "none", False, "failed"),
    ([("expr", False), ("expr", True)], "none", False, "refuted"),
    ([("expr", False), ("artifact", True)], "none", False, "refuted"),
    (GOOD, "none", False, "verified"),
    (GOOD, False, False, "verified"),
    (GOOD, None, False, "verified"),
    (GOOD, "error", False, "verified"),
    (GOOD, True, False, "verified"),
    (GOOD, True, True, "verified"),
    (GOOD, False, True, "refuted"),
    (GOOD, None, True, "failed"),
    (GOOD, "error", True, "failed"),
    ([("expr", False)], True, True, "refuted"),
    ([("expr", None)], True, True, "failed"),
    ([], "none", False, "failed"),
    ([], True, True, "failed"),
]


@pytest.mark.parametrize(("checks", "judge", "strict", "outcome"), TABLE)
def test_each_row_of_the_table_names_its_outcome(checks, judge, strict, outcome) -> None:
    results = [result(kind, passed) for kind, passed in checks]
    asked = judge != "none"
    judged = verdict(judge) if asked and judge != "error" else None
    assert decide_outcome(results, judged, strict=strict, judge_asked=asked)[0] == outcome


def test_nothing_but_every_check_passing_is_ever_verified() -> None:
    kinds, answers = ("expr", "artifact"), (True, False, None)
    singles = list(itertools.product(kinds, answers))
    for size in range(4):
        for chosen in itertools.product(singles, repeat=size):
            outcome = decide_outcome([result(*single) for single in chosen]).outcome
            all_passed = size > 0 and all(passed is True for _, passed in chosen)
            assert (outcome is Outcome.VERIFIED) == all_passed


def test_without_strict_a_judge_changes_nothing() -> None:
    for checks in ([("expr", True)], [("expr", False)], [("expr", None)], []):
        results = [result(*single) for single in checks]
        bare = decide_outcome(results)
        for supports in (True, False, None):
            assert decide_outcome(results, verdict(supports), judge_asked=True) == bare
