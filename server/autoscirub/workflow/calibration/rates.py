"""The rates of a calibration with their intervals, and how far repeated answers agree. Pure: no I/O.

The unit is the case, since repeated answers on one case are not independent. The rate is the mean, over the cases of a
label, of the share of their answers that say *satisfied*: what one answer on a new case of that label would say. The
interval is Wilson's over the number of cases. Where all answers on each case agree, that is the usual interval of a
proportion; where they differ, the true one is narrower, never wider.
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

from autoscirub.models import CalibrationRates, Rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.models import CalibratedCase, Label

CONFIDENCE = 0.95


def wilson(successes: float, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a proportion. `successes` may be a fraction; `trials` is at least 1."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = successes / trials, z * z / trials
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low = 0.0 if successes <= 0 else max(0.0, middle - half)
    high = 1.0 if successes >= trials else min(1.0, middle + half)
    return low, high


def rates_of(cases: Iterable[CalibratedCase]) -> CalibrationRates:
    """The rates over all answers that are there. A case without any counts nowhere."""
    answers: dict[Label, list[list[bool | None]]] = {"satisfied": [], "not_satisfied": []}
    for case in cases:
        if case.answers:
            answers[case.label].append([entry.answer for entry in case.answers])
    repeated = [found for label in answers.values() for found in label if len(found) > 1]
    return CalibrationRates(
        true_positive=_rate(answers["satisfied"]),
        false_positive=_rate(answers["not_satisfied"]),
        repeated=len(repeated),
        identical=fmean(len(set(found)) == 1 for found in repeated) if repeated else None,
        pairwise=fmean(map(_pairwise, repeated)) if repeated else None,
    )


def _rate(cases: Sequence[Sequence[bool | None]]) -> Rate:
    everything = [answer for found in cases for answer in found]
    rate = low = high = None
    if cases:
        shares = [found.count(True) / len(found) for found in cases]
        rate = fmean(shares)
        low, high = wilson(rate * len(cases), len(cases))
    return Rate(
        cases=len(cases),
        answers=len(everything),
        satisfied=everything.count(True),
        inconclusive=everything.count(None),
        rate=rate,
        low=low,
        high=high,
    )


def _pairwise(answers: Sequence[bool | None]) -> float:
    return fmean(one is other for one, other in combinations(answers, 2))
