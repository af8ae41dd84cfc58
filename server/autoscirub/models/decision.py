"""The Decision: one conclusion with its evidence, the only object that conclusions are rendered from."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field

from autoscirub.models.base import FrozenModel, Sha256, UtcTime

if TYPE_CHECKING:
    from collections.abc import Iterable


class Answer(StrEnum):
    """The three answers. What is inconclusive is never a pass and never a refutation."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does_not_hold"
    INCONCLUSIVE = "inconclusive"


SIGNS: dict[Answer, tuple[str, str]] = {
    Answer.HOLDS: ("✓", "holds"),
    Answer.DOES_NOT_HOLD: ("✗", "does not hold"),
    Answer.INCONCLUSIVE: ("?", "inconclusive"),
}
"""Answer -> (sign, phrase), the same on every surface."""


class DecidedBy(StrEnum):
    """What an answer came from."""

    JUDGE = "judge"
    TRIAL = "trial"
    RERUN = "rerun"
    HOLDOUT = "holdout"
    CODE = "code"


_WEAKEST_FIRST = (DecidedBy.JUDGE, DecidedBy.TRIAL, DecidedBy.RERUN, DecidedBy.HOLDOUT, DecidedBy.CODE)


def weakest(sources: list[DecidedBy]) -> DecidedBy:
    """The weakest of `sources`, in the order judge, trial, rerun, holdout, code; code when there are none."""
    return next((source for source in _WEAKEST_FIRST if source in sources), DecidedBy.CODE)


class Evidence(FrozenModel):
    """One thing that an answer rests on."""

    path: str | None = Field(default=None, description="file, relative to the project root")
    sha256: Sha256 | None = None
    size: int | None = Field(default=None, description="bytes")
    key: str | None = Field(default=None, description="the key that was read, such as results.slope")
    value: Any = Field(default=None, description="the value that was read, in full precision")
    note: str | None = Field(default=None, description="what the value shows, in words")
    status: str | None = Field(
        default=None,
        description="what became of it, for programs: moved, missing …; `note` says it to people",
    )


class Asks(FrozenModel):
    """Which ask of how many this answer came from."""

    ask: int
    of: int


class Cost(FrozenModel):
    """What an answer cost; an unknown price is null, never 0."""

    usd: float | None = None
    calls: int = 0


class Decision(FrozenModel):
    """One conclusion: a question about a subject, its answer, and what the answer rests on."""

    subject: str = Field(description="what was decided about, such as a check id")
    question: str
    answer: Answer
    word: str = Field(description="the source's own word, such as refuted; recorded with the answer")
    decided_by: DecidedBy = DecidedBy.CODE
    evidence: list[Evidence] = Field(default_factory=list)
    open: list[str] = Field(
        default_factory=list, description="what was not settled; never merged with evidence"
    )
    parts: list[Decision] = Field(default_factory=list, description="the Decisions that this one is over")
    inputs_digest: Sha256 | None = Field(
        default=None, description="digest of everything the answer was reached on"
    )
    asks: Asks | None = None
    cost: Cost | None = None
    at: UtcTime


def overall(decisions: Iterable[Decision]) -> Answer:
    """Over all: *does not hold* if anything does not, else *inconclusive* if anything is, else *holds*.

    Where nothing was decided, the answer is *inconclusive*.
    """
    answers = {decision.answer for decision in decisions} or {Answer.INCONCLUSIVE}
    worst_first = (Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE, Answer.HOLDS)
    return next(answer for answer in worst_first if answer in answers)
