"""Rates, intervals and agreement, held against scipy and against counting by hand."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscirub.models import CalibratedCase, CalibrationAnswer, Label
from autoscirub.workflow.calibration.rates import rates_of, wilson

Answers = list[bool | None]


def case(label: Label, answers: Answers, name: str = "a") -> CalibratedCase:
    entries = [
        CalibrationAnswer(repeat=number, answer=answer, at="2026-12-01T00:00:00Z")
        for number, answer in enumerate(answers, 1)
    ]
    return CalibratedCase(
        case=name, label=label, criterion_id="C1", key="0" * 64, workspace="0" * 64, answers=entries
    )


def by_scipy(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    from scipy.stats import binomtest

    found = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return found.low, found.high


@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 1), (1, 1), (0, 20), (20, 20), (1, 20), (18, 20), (19, 20), (7, 40), (500, 1000)],
)
def test_the_interval_is_wilson_s(successes: int, trials: int) -> None:
    assert wilson(successes, trials) == pytest.approx(by_scipy(successes, trials), abs=1e-12)


@given(
    st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999)
)
def test_the_interval_is_wilson_s_for_any_count_and_confidence(
    counts: tuple[int, int], confidence: float
) -> None:
    assert wilson(*counts, confidence) == pytest.approx(by_scipy(*counts, confidence), abs=1e-9)


@given(st.integers(1, 500), st.floats(0, 1))
def test_between_two_counts_the_interval_lies_between_theirs(trials: int, share: float) -> None:
    low, high = wilson(share * trials, trials)
    below, above = int(share * trials), min(trials, int(share * trials) + 1)
    assert by_scipy(below, trials)[0] - 1e-9 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= by_scipy(above, trials)[1] + 1e-9


ROWS = [
    # answers of cases labelled satisfied, of cases labelled not_satisfied, and what is expected:
    # true positive rate, false positive rate, inconclusive answers, all agree, pairs that agree
    ([[True]], [[False]], 1.0, 0.0, 0, None, None),
    ([[True, True]], [[True, True]], 1.0, 1.0, 0, 1.0, 1.0),
    ([[None, None]], [[None, None]], 0.0, 0.0, 4, 1.0, 1.0),
    ([[True, False, None]], [], 1 / 3, None, 1, 0.0, 0.0),
    ([], [[False, False, True]], None, 1 / 3, 0, 0.0, 1 / 3),
    (
        [[True, True, True], [True, False, True]],
        [[False] * 3, [False, None, False]],
        5 / 6,
        0.0,
        1,
        0.5,
        2 / 3,
    ),
    # A case with fewer answers counts as much as any other, and one without counts nowhere.
    ([[True, True, True], [False]], [[]], 0.5, None, 0, 1.0, 1.0),
]


@pytest.mark.parametrize(("good", "bad", "true", "false", "inconclusive", "identical", "pairwise"), ROWS)
def test_rates_are_counted_over_cases(good, bad, true, false, inconclusive, identical, pairwise) -> None:
    cases = [
        *(case("satisfied", answers) for answers in good),
        *(case("not_satisfied", answers) for answers in bad),
    ]
    found = rates_of(cases)
    assert (found.true_positive.rate, found.false_positive.rate) == pytest.approx((true, false))
    assert found.true_positive.inconclusive + found.false_positive.inconclusive == inconclusive
    assert (found.identical, found.pairwise) == pytest.approx((identical, pairwise))


answers = st.lists(st.sampled_from([True, False, None]), max_size=5)
labels: st.SearchStrategy[Label] = st.sampled_from(["satisfied", "not_satisfied"])


@given(st.lists(st.tuples(labels, answers), max_size=30))
def test_rates_are_those_of_a_plain_count(drawn: list[tuple[Label, Answers]]) -> None:
    found = rates_of([case(label, given) for label, given in drawn])
    for label, rate in (("satisfied", found.true_positive), ("not_satisfied", found.false_positive)):
        mine = [given for own, given in drawn if own == label and given]
        assert rate.cases == len(mine)
        assert rate.answers == sum(map(len, mine))
        assert rate.satisfied == sum(answer is True for given in mine for answer in given)
        assert rate.inconclusive == sum(answer is None for given in mine for answer in given)
        if not mine:
            assert (rate.rate, rate.low, rate.high) == (None, None, None)
            continue
        shares = [sum(answer is True for answer in given) / len(given) for given in mine]
        assert rate.rate == pytest.approx(sum(shares) / len(shares))
        assert rate.low <= rate.rate + 1e-12
        assert rate.rate <= rate.high + 1e-12
        if all(share in (0, 1) for share in shares):  # every case is one answer, and so is a trial
            assert (rate.low, rate.high) == pytest.approx(by_scipy(round(sum(shares)), len(shares)), abs=1e-9)
    repeated = [given for _, given in drawn if len(given) > 1]
    if repeated:
        pairs = [[one is other for one, other in combinations(given, 2)] for given in repeated]
        assert found.identical == pytest.approx(sum(all(own) for own in pairs) / len(pairs))
        assert found.pairwise == pytest.approx(sum(sum(own) / len(own) for own in pairs) / len(pairs))
    else:
        assert (found.identical, found.pairwise) == (None, None)
