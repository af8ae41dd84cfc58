"""`calibration.json`: how often the configured judge is right on cases that a person has labelled."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import FrozenModel, Sha256, StateModel, UtcTime

Label = Literal["satisfied", "not_satisfied"]

_Share = Annotated[float, Field(ge=0, le=1)]


class Rate(FrozenModel):
    """How often the answer on cases of one label was *satisfied*, with its 95 % interval (Wilson) over the cases."""

    cases: int = Field(ge=0, description="cases of this label that have an answer")
    answers: int = Field(ge=0, description="answers on them")
    satisfied: int = Field(ge=0, description="of those, how many were satisfied")
    inconclusive: int = Field(
        ge=0, description="of those, how many were inconclusive; never counted as right"
    )
    rate: _Share | None = Field(
        default=None, description="the mean, over the cases, of the share of satisfied; null: no case"
    )
    low: _Share | None = None
    high: _Share | None = None

    @property
    def words(self) -> str:
        """`0.900 (95 % interval 0.699 to 0.972)`; `unknown` where there was no case."""
        if self.rate is None:
            return "unknown"
        return f"{self.rate:.3f} (95 % interval {self.low:.3f} to {self.high:.3f})"


class CalibrationRates(FrozenModel):
    """What was measured, over all cases."""

    true_positive: Rate = Field(description="on cases labelled satisfied")
    false_positive: Rate = Field(description="on cases labelled not_satisfied")
    repeated: int = Field(ge=0, description="cases with more than one answer")
    identical: _Share | None = Field(
        default=None, description="share of these cases on which all answers are the same; null: no such case"
    )
    pairwise: _Share | None = Field(
        default=None, description="mean, over these cases, of the share of pairs of answers that are the same"
    )


class CalibrationAnswer(FrozenModel):
    """One answer of the judge, or of its panel, on a case."""

    repeat: int = Field(ge=1)
    answer: bool | None = Field(description="as far as it counts; null: inconclusive")
    reasons: list[str] = Field(default_factory=list, description="of each member, the beginning")
    problems: list[str] = Field(default_factory=list, description="why a member's verdict did not count")
    models_served: list[str] = Field(default_factory=list)
    cost_usd: float | None = Field(default=None, description="null: unknown")
    at: UtcTime


class CalibratedCase(FrozenModel):
    """A labelled case, and what the judge answered."""

    case: str
    label: Label
    note: str = ""
    criterion_id: str
    key: Sha256 = Field(description="of what an answer is based on: files, prompt, judge, panel")
    workspace: Sha256 = Field(description="of the files that the judge was shown")
    answers: list[CalibrationAnswer] = Field(default_factory=list)


class Calibration(StateModel):
    """The newest calibration, bound to the judge that was asked. It says nothing about another one."""

    file_name: ClassVar[str] = "calibration.json"

    backend: str
    model: str | None = None
    settings: dict[str, Any] = Field(
        description="the judge: backend, model, panel, and the backend's own settings"
    )
    judge: Sha256 = Field(description="of settings")
    prompt_version: str
    repeats: int = Field(ge=1, description="how often each case was asked about")
    missing: int = Field(ge=0, description="answers that are not there: the judge failed, or was interrupted")
    rates: CalibrationRates
    cases: list[CalibratedCase]
    at: UtcTime

    @property
    def models_served(self) -> list[str]:
        """The models that answered, as far as they were reported."""
        served = {name for case in self.cases for answer in case.answers for name in answer.models_served}
        return sorted(served)
