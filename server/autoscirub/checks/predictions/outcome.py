"""How the outcome is decided: the reference's table, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from autoscirub.models import Answer, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import CheckResult, JudgeVerdict

OUTCOME_ANSWERS = {
    Outcome.VERIFIED: Answer.HOLDS,
    Outcome.REFUTED: Answer.DOES_NOT_HOLD,
    Outcome.FAILED: Answer.INCONCLUSIVE,
}


class Decided(NamedTuple):
    """The outcome, and the row of the table that named it."""

    outcome: Outcome
    why: str
    by_judge: bool = False
    """Whether that row is about the judge, and not about what code decided."""


def decide_outcome(
    checks: Sequence[CheckResult],
    judge: JudgeVerdict | None = None,
    *,
    strict: bool = False,
    judge_asked: bool = False,
) -> Decided:
    """The outcome by the first row of the table that applies.

    `judge_asked` with no verdict means that the judge failed. Without `strict` a judge changes nothing.
    """
    artifacts = [check for check in checks if check.kind == "artifact"]
    expressions = [check for check in checks if check.kind == "expr"]
    agrees = judge.supports_hypothesis if judge is not None else None
    rows = (
        (not checks, Decided(Outcome.FAILED, "there is nothing to verify")),
        (
            any(check.passed is None for check in checks),
            Decided(Outcome.FAILED, "a check could not be evaluated"),
        ),
        (
            any(check.passed is False for check in artifacts),
            Decided(Outcome.FAILED, "a promised artifact is not there"),
        ),
        (
            any(check.passed is False for check in expressions),
            Decided(Outcome.REFUTED, "a prediction did not hold"),
        ),
        (
            strict and judge_asked and judge is None,
            Decided(Outcome.FAILED, "the judge failed, so nothing was decided", by_judge=True),
        ),
        (
            strict and judge is not None and agrees is None,
            Decided(Outcome.FAILED, "the judge cannot tell", by_judge=True),
        ),
        (
            strict and agrees is False,
            Decided(Outcome.REFUTED, "the judge disagrees", by_judge=True),
        ),
    )
    return next((row for applies, row in rows if applies), Decided(Outcome.VERIFIED, "everything passed"))
