"""`verification_report.json`, and `verification.json` of a round: every criterion and what was found for it.

The shape is that of AutoSciRub's published format. We add `status` and `reused_from_round` to each
criterion's `satisfied`, and the `decisions` that the report rests on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from autoscirub.models.base import FrozenModel, StateModel
from autoscirub.models.decision import Answer, DecidedBy, Decision
from autoscirub.models.faults import Fault, nonfinite_faults, raise_faults, repeated_ids
from autoscirub.models.judging import CitedEvidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CriterionStatus = Literal["satisfied", "not_satisfied", "cannot_assess", "error"]

RoundNumber = Annotated[int, Field(ge=1, description="rounds count from 1")]


class CriterionResult(FrozenModel):
    """The result for one criterion, with the evidence found and what is still missing."""

    criterion_id: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    satisfied: bool = Field(description="true when, and only when, status is satisfied")
    status: CriterionStatus | None = Field(
        default=None, description="null in a report that another tool wrote, which knows satisfied alone"
    )
    evidence_found: list[str] = Field(default_factory=list)
    evidence: list[CitedEvidence] = Field(
        default_factory=list, description="what a judge cited and code looked up"
    )
    evidence_gap: str = Field(default="", description="what is missing, and the file it should be in")
    required_actions: list[str] = Field(default_factory=list, description="what would close the gap")
    artifact_references: list[str] = Field(default_factory=list)
    reused_from_round: RoundNumber | None = Field(
        default=None, description="the round whose verdict this is, since nothing it rests on changed"
    )
    rests_on: dict[str, str] = Field(
        default_factory=dict, description="each thing that the answer is based on, with its digest"
    )
    asked_again_because: list[str] = Field(
        default_factory=list,
        description="which of those changed since the round before, so that it was asked again",
    )

    @model_validator(mode="after")
    def _flag_and_status_agree(self) -> Self:
        if self.status is not None and self.satisfied != (self.status == "satisfied"):
            message = f"{self.status!r}, but satisfied is {str(self.satisfied).lower()}: the two must agree"
            raise_faults("CriterionResult", [Fault(("status",), message, self.status)])
        return self


class ReportSummary(FrozenModel):
    """The counts, and what to mend first."""

    passed: int = Field(ge=0, description="criteria that are satisfied")
    failed: int = Field(ge=0, description="all others, those that nobody could assess included")
    highest_priority_gaps: list[str] = Field(default_factory=list)


def _summary_may_be_left_out(schema: dict[str, Any]) -> None:
    schema["required"].remove("summary")


class VerificationReport(StateModel):
    """One verification of the work against every criterion of the rubric."""

    model_config = ConfigDict(json_schema_extra=_summary_may_be_left_out)
    file_name: ClassVar[str] = "verification_report.json"
    rules: ClassVar[tuple[str, ...]] = (
        "criterion ids are unique after trimming spaces and folding case",
        "satisfied is true when, and only when, a status that is there says satisfied",
        "all_satisfied is true only when there are criteria and every one is satisfied",
        "summary.passed and summary.failed are the counts of the criteria; a summary left out is counted",
        "no number is NaN or infinite, in unknown fields either",
    )

    round: RoundNumber
    all_satisfied: bool
    criteria: list[CriterionResult]
    summary: ReportSummary
    decisions: list[Decision] = Field(default_factory=list)

    @property
    def decided_words(self) -> str:
        """Who decided, in a few words: `decided by code, no judge`, or how many criteria a judge decided."""
        judged = [decision for decision in self.decisions if decision.decided_by is DecidedBy.JUDGE]
        decided = sum(decision.answer is not Answer.INCONCLUSIVE for decision in judged)
        if decided:
            return f"{decided} read by a judge"
        return "decided by code, and no judge reached an answer" if judged else "decided by code, no judge"

    @classmethod
    def counted(
        cls,
        *,
        round: int,  # noqa: A002 - the published name of the field
        criteria: Sequence[CriterionResult],
        decisions: Sequence[Decision] = (),
        highest_priority_gaps: Sequence[str] = (),
    ) -> VerificationReport:
        """A report whose flag and counts come from `criteria` alone: they are counted, never supplied."""
        passed = sum(result.satisfied for result in criteria)
        return cls(
            round=round,
            all_satisfied=bool(criteria) and passed == len(criteria),
            criteria=list(criteria),
            summary=ReportSummary(
                passed=passed,
                failed=len(criteria) - passed,
                highest_priority_gaps=list(highest_priority_gaps),
            ),
            decisions=list(decisions),
        )

    @model_validator(mode="before")
    @classmethod
    def _count_a_missing_summary(cls, data: Any) -> Any:
        # The published schema does not require the summary, so a file without one is not a broken file.
        if not isinstance(data, dict) or "summary" in data or not isinstance(data.get("criteria"), list):
            return data
        flags = [result.get("satisfied") is True for result in data["criteria"] if isinstance(result, dict)]
        return {**data, "summary": {"passed": sum(flags), "failed": len(flags) - sum(flags)}}

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        raise_faults(
            "VerificationReport",
            [
                *repeated_ids(
                    (result.criterion_id for result in self.criteria), ("criteria", "criterion_id")
                ),
                *self._flag_faults(),
                *self._count_faults(),
                *nonfinite_faults(self),
            ],
        )
        return self

    def _flag_faults(self) -> Iterator[Fault]:
        if not self.all_satisfied:
            return
        if not self.criteria:
            yield Fault(
                ("all_satisfied",), "true, but there is nothing to verify: the report has no criteria", True
            )
        unmet = [result.criterion_id for result in self.criteria if not result.satisfied]
        if unmet:
            yield Fault(("all_satisfied",), f"true, but not satisfied: {', '.join(unmet)}", True)

    def _count_faults(self) -> Iterator[Fault]:
        passed = sum(result.satisfied for result in self.criteria)
        counts = {"passed": passed, "failed": len(self.criteria) - passed}
        for name, count in counts.items():
            stated = getattr(self.summary, name)
            if stated != count:
                yield Fault(("summary", name), f"{stated}, but the criteria count to {count}", stated)
