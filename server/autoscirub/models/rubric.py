"""`executable_rubric.json`: the requirements that the work must meet, criterion by criterion.

Field names are those of AutoSciRub's published format, so that a rubric written for it loads unchanged;
`checks`, `judge` and `scope_changes` are ours. A requirement must be met; a prediction (`prereg.toml`) may
fail, and that is a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from autoscirub.models.base import FrozenModel, StateModel
from autoscirub.models.faults import Fault, nonfinite_faults, raise_faults, repeated_ids
from autoscirub.models.manifest import ScopeChange
from autoscirub.models.prereg import ArtifactFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

Priority = Literal["high", "medium", "low"]

_Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Goal(FrozenModel):
    """What the instruction asks for; criteria say how it is met."""

    goal_id: _Id
    title: str = ""
    requirement: str = ""


class ExpectedArtifact(FrozenModel):
    """A thing that the work must leave behind."""

    type: str | None = Field(
        default=None, description="figure, table, number, file, code, text_analysis, or another word"
    )
    name: str | None = None
    expected_path: str | None = Field(
        default=None, description="relative to the project root; may be left out"
    )
    must_show: str | None = Field(default=None, description="what the artifact must demonstrate")

    @property
    def path(self) -> str | None:
        """The path to inspect; None when there is none, or only spaces."""
        return self.expected_path if self.expected_path and self.expected_path.strip() else None


class Provenance(FrozenModel):
    """Where a criterion came from."""

    instruction: list[str] = Field(default_factory=list)
    literature: list[str] = Field(default_factory=list)
    data_profile: list[str] = Field(default_factory=list)


class _RubricCheck(FrozenModel):
    id: _Id = Field(description="unique within its criterion")
    description: str = ""
    covers: list[str] = Field(
        default_factory=list,
        description="the texts of must_show, required_analysis and satisfaction_condition that this check "
        "settles, word for word",
    )


class RubricExpr(_RubricCheck):
    """An expression over the results that must be True."""

    kind: Literal["expr"]
    expr: _Text


class RubricArtifact(_RubricCheck):
    """A file that must exist, be non-empty, and really be what its suffix or `format` says."""

    kind: Literal["artifact"]
    path: _Text
    format: ArtifactFormat | None = None


class RubricNumbers(_RubricCheck):
    """Every number in the report must be found in the results. What is left out is as `[numbers]` says."""

    kind: Literal["numbers"]
    report: str | None = None
    sources: list[str] = Field(default_factory=list)
    strict: bool | None = None
    bindings: dict[str, str] = Field(default_factory=dict)
    set_aside: list[str] = Field(default_factory=list)


class RubricRerun(_RubricCheck):
    """The results must come out of the code again."""

    kind: Literal["rerun"]


class RubricJudge(_RubricCheck):
    """A judge must read it, whatever the other checks say."""

    kind: Literal["judge"]


class RubricScore(_RubricCheck):
    """A leaderboard row must meet what is asked of it."""

    kind: Literal["score"]


RubricCheck = Annotated[
    RubricExpr | RubricArtifact | RubricNumbers | RubricRerun | RubricJudge | RubricScore,
    Field(discriminator="kind"),
]
"""A criterion's check: a requirement, where a check of `prereg.toml` is a prediction."""


class Criterion(FrozenModel):
    """One requirement, and what would show that it is met."""

    criterion_id: _Id
    requirement: _Text
    goal_ids: list[str] = Field(default_factory=list)
    data_sources: list[str] = Field(default_factory=list)
    required_analysis: list[str] = Field(default_factory=list)
    metrics: list[str] = Field(default_factory=list)
    comparisons: list[str] = Field(default_factory=list)
    expected_artifacts: list[ExpectedArtifact] = Field(default_factory=list)
    satisfaction_condition: str | None = None
    priority: Priority = Field(default="medium", description="medium when left out")
    provenance: Provenance | None = None
    weight: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="only displayed: it waives nothing and passes nothing"
    )
    checks: list[RubricCheck] = Field(default_factory=list)
    judge: Literal["auto", "always", "never"] = Field(
        default="auto",
        description="auto: asked unless checks cover every must_show, required_analysis and satisfaction_condition",
    )

    def texts(self) -> list[str]:
        """What must be settled, each once: every must_show, required_analysis and satisfaction_condition."""
        all_texts = [
            *(artifact.must_show for artifact in self.expected_artifacts),
            *self.required_analysis,
            self.satisfaction_condition,
        ]
        return list(dict.fromkeys(text for text in all_texts if text and text.strip()))

    def named_paths(self) -> list[str]:
        """The paths that it names, from the project's root: without a leading `./` or a trailing slash."""
        named = [
            *self.data_sources,
            *(artifact.path for artifact in self.expected_artifacts if artifact.path),
            *(check.path for check in self.checks if check.kind == "artifact"),
        ]
        return [path.strip().removeprefix("./").strip("/") for path in named]

    def uncovered(self) -> list[str]:
        """The texts that no check claims to settle, in the order of `texts`."""
        covered = {text for check in self.checks for text in check.covers}
        return [text for text in self.texts() if text not in covered]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = [*repeated_ids((check.id for check in self.checks), ("checks", "id")), *self._cover_faults()]
        if self.judge == "never":
            faults += self._never_faults()
        raise_faults("Criterion", faults)
        return self

    def _cover_faults(self) -> Iterator[Fault]:
        texts = self.texts()
        for index, check in enumerate(self.checks):
            for place, text in enumerate(check.covers):
                if text not in texts:
                    message = (
                        f"{text!r} is not a text of this criterion: covers must repeat a must_show, required_analysis "
                        "or satisfaction_condition word for word"
                    )
                    yield Fault(("checks", index, "covers", place), message, text)

    def _never_faults(self) -> Iterator[Fault]:
        judged = [index for index, check in enumerate(self.checks) if check.kind == "judge"]
        for index in judged:
            yield Fault(
                ("checks", index, "kind"),
                "this check asks a judge, and the criterion says judge: never; change one of the two",
                "judge",
            )
        if len(judged) == len(self.checks) and not any(artifact.path for artifact in self.expected_artifacts):
            yield Fault(
                ("judge",),
                "never, and nothing else decides this criterion; give it a check or an expected_artifacts entry "
                "with an expected_path, or let a judge read it",
                "never",
            )


class ExecutableRubric(StateModel):
    """The requirements, frozen before the work is judged."""

    file_name: ClassVar[str] = "executable_rubric.json"
    rules: ClassVar[tuple[str, ...]] = (
        "criterion ids are unique, and goal ids are, after trimming spaces and folding case",
        "every goal that a criterion names exists",
        "check ids are unique within their criterion",
        "judge: never needs a check that is not a judge's, or an expected artifact with a path",
        "covers repeats a must_show, required_analysis or satisfaction_condition of its criterion word for word",
        "no number is NaN or infinite, in unknown fields either",
    )

    goals: list[Goal] = Field(default_factory=list)
    criteria: Annotated[list[Criterion], Field(json_schema_extra={"minItems": 1})]
    claims_to_avoid: list[str] = Field(default_factory=list)
    scope_changes: list[ScopeChange] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _is_an_object(cls, data: Any) -> Any:
        if isinstance(data, list):
            message = (
                "the rubric is a bare list; expected an object with schema_version, goals and criteria: "
                'put the list under "criteria"'
            )
            raise_faults(cls.__name__, [Fault((), message, data)])
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.criteria:
            message = "nothing to verify: the rubric has no criteria"
            raise_faults("ExecutableRubric", [Fault(("criteria",), message, [])])
        raise_faults(
            "ExecutableRubric",
            [
                *repeated_ids((goal.goal_id for goal in self.goals), ("goals", "goal_id")),
                *repeated_ids(
                    (criterion.criterion_id for criterion in self.criteria), ("criteria", "criterion_id")
                ),
                *self._goal_faults(),
                *nonfinite_faults(self),
            ],
        )
        return self

    def _goal_faults(self) -> Iterator[Fault]:
        known = [goal.goal_id for goal in self.goals]
        there = f"the goals are: {', '.join(known)}" if known else "the rubric has no goals"
        for index, criterion in enumerate(self.criteria):
            for place, goal_id in enumerate(criterion.goal_ids):
                if goal_id not in known:
                    yield Fault(
                        ("criteria", index, "goal_ids", place), f"no goal {goal_id!r}; {there}", goal_id
                    )
