"""Outcomes that the caller accepts: shown like all others, but not counted in the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.models import Answer, Outcome, overall

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from autoscirub.models import Decision
    from autoscirub.workflow.rounds import RoundCheck

ACCEPTABLE = (Outcome.REFUTED.value,)
"""Refuted is a finding. Nothing else that is open or does not hold may be waved through."""

ACCEPTED = "refuted, accepted: a result like any other"


def accepted_of(checked: RoundCheck, outcomes: Collection[str]) -> list[Decision]:
    """The Decisions that do not count, because the predictions' outcome is one of `outcomes`."""
    verification = checked.verification
    if verification is None or verification.outcome.value not in {*outcomes} & {*ACCEPTABLE}:
        return []
    return list(verification.decisions)


def answer_of(checked: RoundCheck, accepted: Sequence[Decision] = ()) -> Answer:
    """The answer over all that counts: it holds where all Decisions are accepted, and is inconclusive without any."""
    ids = {id(decision) for decision in accepted}
    counted = [decision for decision in checked.decisions if id(decision) not in ids]
    return Answer.HOLDS if accepted and not counted else overall(counted)
