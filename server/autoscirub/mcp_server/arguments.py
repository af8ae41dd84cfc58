"""The arguments that each MCP tool takes; any other is refused.

None chooses a judge, a profile file, a program, or a limit above the configuration's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from autoscirub.models import Change, Infeasible, RevisionTarget

WAIT_SECONDS = 45.0
"""Clients give up on a call after 60 s."""
MOST_WAIT_SECONDS = 600.0

_Id = Annotated[str, Field(min_length=1, max_length=200)]
_Path = Annotated[str, Field(min_length=1, max_length=4096)]


class Arguments(BaseModel):
    """What every tool takes."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    project: _Path | None = Field(
        default=None, description="The project's folder. Default: the one that the server was started in."
    )
    state_dir: _Path | None = Field(
        default=None,
        description="The state directory, in the project. Default: the configured one, else .autoscirub.",
    )


class SlowArguments(Arguments):
    """What a tool takes that may outlast its caller."""

    wait_seconds: float = Field(
        default=WAIT_SECONDS,
        ge=0,
        le=MOST_WAIT_SECONDS,
        description="How long to wait for the answer. Then the answer is a job's id, for the tool job.",
    )


class NextArguments(Arguments):
    """No arguments of its own."""


class WriteArguments(Arguments):
    """A file to write."""

    file: str = Field(
        max_length=200,
        description="rubric_skeleton.json, literature_sources.json, literature_grounding.json, task_data_profile.json, "
        "or executable_rubric.json before its freeze.",
    )
    content: dict[str, Any] = Field(description="The whole file, as a JSON object.")
    expected_sha256: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="The digest of what it replaces; needed where the file is there already.",
    )


class FreezeArguments(Arguments):
    """Whether only to say what it would refuse."""

    dry_run: bool = Field(default=False, description="Say every fault and warning; lock nothing.")


class _ChangeArgument(Change):
    model_config = ConfigDict(extra="forbid")


class _InfeasibleArgument(Infeasible):
    model_config = ConfigDict(extra="forbid")


class _TargetArgument(RevisionTarget):
    model_config = ConfigDict(extra="forbid")


class CheckArguments(SlowArguments):
    """What was done since the plan."""

    changes: list[_ChangeArgument] = Field(
        default_factory=list,
        max_length=1000,
        description="After a plan: what you did, criterion by criterion.",
    )
    infeasible: list[_InfeasibleArgument] = Field(
        default_factory=list,
        max_length=1000,
        description="Criteria that cannot be met, and why. They stay unmet; it is said, and ends the loop.",
    )
    fresh: bool = Field(default=False, description="Re-evaluate everything; ignore cached results.")


class PlanArguments(Arguments):
    """What is to be mended."""

    targets: list[_TargetArgument] = Field(
        min_length=1,
        max_length=1000,
        description="Criteria that are not satisfied, and what you will do about each.",
    )


class EvaluateArguments(Arguments):
    """An expression, and what to evaluate it on."""

    expr: str = Field(min_length=1, max_length=10_000, description="Such as 0.5 < results.slope < 1.5")
    results: dict[str, Any] | None = Field(
        default=None, description="Results passed here, instead of a file."
    )
    results_file: _Path | None = Field(
        default=None, description="A JSON file in the project. Default: the project's results."
    )


class ArtifactArguments(Arguments):
    """A file to check."""

    path: _Path = Field(description="Relative to the project.")
    format: str | None = Field(default=None, max_length=40, description="Default: what the suffix says.")


class CriterionArguments(SlowArguments):
    """A criterion."""

    criterion_id: _Id


class BlindArguments(SlowArguments):
    """What a judge is shown."""

    profile: str = Field(
        min_length=1,
        max_length=200,
        description="hypothesis, criterion, or one that the configuration defines.",
    )


class JudgeArguments(SlowArguments):
    """What to ask about."""

    criterion_id: _Id | None = Field(
        default=None, description="A criterion, or hypothesis. Default: all that must be read."
    )


class JobArguments(SlowArguments):
    """A job, and what to do with it."""

    id: str = Field(pattern=r"^[a-z_]{1,40}-[0-9a-f]{12}$", description="As a slow tool or next named it.")
    action: Literal["wait", "cancel"] = "wait"


class RerunArguments(SlowArguments):
    """No arguments of its own."""


class StatusArguments(Arguments):
    """No arguments of its own."""


class ValidateArguments(Arguments):
    """The files to hold against their schemas."""

    files: list[_Path] = Field(
        default_factory=list,
        max_length=200,
        description="In the project. Default: every state file there is.",
    )


class VerifyArguments(SlowArguments):
    """How the judge's word counts."""

    strict: bool = Field(default=False, description="The judge's word can change the outcome.")


class AuditArguments(Arguments):
    """No arguments of its own."""
