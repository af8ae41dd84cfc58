"""What an agent writes on the way to a rubric: goals, publications, what they say, and what data there is.

The shapes are those of AutoSciRub's published format, which is loose about them on purpose: they feed the criteria,
and decide nothing. Unknown fields are preserved.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from autoscirub.models.base import FrozenModel, StateModel
from autoscirub.models.faults import nonfinite_faults, raise_faults, repeated_ids

_Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
_RULES = ("no number is NaN or infinite, in unknown fields either",)


class _Draft(StateModel):
    rules: ClassVar[tuple[str, ...]] = _RULES

    @model_validator(mode="after")
    def _finite(self) -> Self:
        raise_faults(type(self).__name__, nonfinite_faults(self))
        return self


class SkeletonGoal(FrozenModel):
    """One goal of the instruction, with the words of the instruction that state it."""

    goal_id: _Id
    title: _Text
    requirement: _Text
    instruction_evidence: list[str] = Field(description="quotations from the instruction")


class RubricSkeleton(_Draft):
    """The goals that the instruction states, before any search for literature or data."""

    file_name: ClassVar[str] = "rubric_skeleton.json"
    rules: ClassVar[tuple[str, ...]] = ("goal ids are unique after trimming spaces and folding case", *_RULES)

    task_id: str | None = None
    source: Literal["instruction"]
    goals: list[SkeletonGoal]

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        raise_faults(
            "RubricSkeleton", repeated_ids((goal.goal_id for goal in self.goals), ("goals", "goal_id"))
        )
        return self


class LiteratureSources(_Draft):
    """The publications that were found, with where they were found."""

    file_name: ClassVar[str] = "literature_sources.json"

    sources: list[Any]


class LiteratureGrounding(_Draft):
    """What the publications say that the criteria should ask for, goal by goal."""

    file_name: ClassVar[str] = "literature_grounding.json"

    sources: list[Any]
    goals: list[Any]


class TaskDataProfile(_Draft):
    """What data there is, and which analyses it can support."""

    file_name: ClassVar[str] = "task_data_profile.json"

    files: list[Any]
    datasets: list[Any]
    relationships: list[Any]
    constraints: list[Any]
    goal_support: list[Any]
    dependency_notes: list[Any] = Field(default_factory=list)
