"""`verification.json`: the outcome of the predictions and every check behind it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import FrozenModel, Sha256, StateModel, UtcTime
from autoscirub.models.decision import Decision, Evidence


class Outcome(StrEnum):
    """The reference's three outcomes."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    FAILED = "failed"


class CheckResult(FrozenModel):
    """The result of one registered check."""

    id: str
    kind: Literal["expr", "artifact"]
    passed: bool | None = Field(
        description="null: could not be evaluated, which is neither a pass nor a refutation"
    )
    value: Any = Field(default=None, description="the expression's value, or the artifact's sha256")
    message: str
    description: str = ""
    evidence: list[Evidence] = Field(default_factory=list)


class JudgeVerdict(FrozenModel):
    """A judge's word on the hypothesis; null is its own word that it cannot tell."""

    supports_hypothesis: bool | None
    confidence: float | None = Field(default=None, ge=0, le=1, description="null: it gave none")
    reasoning: str
    concerns: list[str] = Field(default_factory=list)


class Digests(FrozenModel):
    """Digests of the files that an outcome is based on."""

    prereg: Sha256
    results: Sha256 | None = Field(default=None, description="null when there was no readable results file")
    artifacts: dict[str, Sha256] = Field(default_factory=dict)


class Verification(StateModel):
    """The outcome of the two layers over the predictions."""

    file_name: ClassVar[str] = "verification.json"

    outcome: Outcome
    headline: str = Field(description="the outcome with its qualifications; the bare word never stands alone")
    notes: list[str] = Field(
        default_factory=list, description="printed before the outcome, such as a late freeze"
    )
    checks: list[CheckResult]
    judge: JudgeVerdict | None = Field(default=None, description="null: not judged, or the judge failed")
    strict: bool = Field(default=False, description="whether the judge's word could change the outcome")
    judge_failed: bool = Field(default=False, description="whether it was asked and gave no verdict")
    decisions: list[Decision]
    digests: Digests
    frozen_at: UtcTime
    at: UtcTime
