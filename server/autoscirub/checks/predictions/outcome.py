"""How the outcome is decided: the reference's table, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.models import Answer, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import CheckResult, JudgeVerdict

OUTCOME_ANSWERS = {
    Outcome.VERIFIED: Answer.HOLDS,
    Outcome.REFUTED: Answer.DOES_NOT_HOLD,
    Outcome.FAILED: Answer.INCONCLUSIVE,
}


def decide_outcome(
    checks: Sequence[CheckResult],
    judge: JudgeVerdict | None = None,
    *,
    strict: bool = False,
    judge_asked: bool = False,
) -> tuple[Outcome, str]:
    """The outcome and the row of the table that named it; the first row that applies wins.

    `judge_asked` with no verdict means that the judge failed. Without `strict` a judge changes nothing.
    """
    artifacts = [check for check in checks if check.kind == "artifact"]
    expressions = [check for check in checks if check.kind == "expr"]
    rows = (
        (not checks, Outcome.FAILED, "there is nothing to verify"),
        (any(check.passed is None for check in checks), Outcome.FAILED, "a check could not be evaluated"),
        (
            any(check.passed is False for check in artifacts),
            Outcome.FAILED,
            "a promised artifact is not there",
        ),
        (any(check.passed is False for check in expressions), Outcome.REFUTED, "a prediction did not hold"),
        (strict and judge_asked and judge is None, Outcome.FAILED, "the judge failed, so nothing was told"),
        (
            strict and judge is not None and judge.supports_hypothesis is None,
            Outcome.FAILED,
            "the judge cannot tell",
        ),
        (
            strict and judge is not None and judge.supports_hypothesis is False,
            Outcome.REFUTED,
            "the judge disagrees",
        ),
    )
    return next(
        ((outcome, why) for applies, outcome, why in rows if applies), (Outcome.VERIFIED, "everything passed")
    )
