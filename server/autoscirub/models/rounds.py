"""What a round leaves behind: the plan, the summary of what was changed, and the log of events.

The shapes are those of AutoSciRub's published format; what is ours besides may be left out, since older
files lack it. A round's `verification.json` is a `VerificationReport`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from autoscirub.models.base import FrozenModel, StateModel, UtcTime
from autoscirub.models.faults import nonfinite_faults, raise_faults
from autoscirub.models.report import RoundNumber

_Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
_RULES = ("no number is NaN or infinite, in unknown fields either",)


class RevisionTarget(FrozenModel):
    """One criterion to mend. Never a refuted prediction: that is a result, not a gap."""

    criterion_id: _Id
    gap: str = ""
    planned_actions: list[str] = Field(default_factory=list)
    expected_artifacts: list[str] = Field(default_factory=list)
    risk_or_dependency: str = ""


class RevisionPlan(StateModel):
    """What the next revision is to do about the criteria that are not satisfied."""

    file_name: ClassVar[str] = "revision_plan.json"
    rules: ClassVar[tuple[str, ...]] = _RULES

    round: RoundNumber
    targets: list[RevisionTarget]
    at: UtcTime | None = None

    @model_validator(mode="after")
    def _finite(self) -> Self:
        raise_faults("RevisionPlan", nonfinite_faults(self))
        return self


class Change(FrozenModel):
    """What was done about one criterion."""

    criterion_id: _Id
    actions_completed: list[str] = Field(default_factory=list)
    artifacts_changed: list[str] = Field(default_factory=list, description="relative to the project root")
    remaining_gap: str = Field(default="", description="none, or what is still missing")


class Infeasible(FrozenModel):
    """A criterion that the reviser says cannot be met; it stays unmet."""

    criterion_id: _Id
    reason: Annotated[str, Field(min_length=1, pattern=r"\S")]


class ChangeSummary(StateModel):
    """What a revision changed."""

    file_name: ClassVar[str] = "change_summary.json"
    rules: ClassVar[tuple[str, ...]] = _RULES

    round: RoundNumber
    changes: list[Change]
    infeasible: list[Infeasible] = Field(default_factory=list)
    at: UtcTime | None = None

    @model_validator(mode="after")
    def _finite(self) -> Self:
        raise_faults("ChangeSummary", nonfinite_faults(self))
        return self


class Event(FrozenModel):
    """One line of `revisions/events.jsonl`; a step may add fields of its own."""

    event: Annotated[str, Field(min_length=1, pattern=r"\S", description="what happened, such as start")]
    round: RoundNumber | None = None
    at: UtcTime | None = None
