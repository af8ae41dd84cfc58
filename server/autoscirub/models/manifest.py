"""`run_manifest.json`: what is locked, what was unlocked, and which history belongs to the project."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from autoscirub.models.base import FrozenModel, Sha256, StateModel, UtcTime
from autoscirub.models.faults import Fault, raise_faults

Actor = Literal["terminal", "ci", "agent", "command"]

LoopEnding = Literal[
    "satisfied", "satisfied_in_reduced_scope", "budget_spent", "stalled", "infeasible", "error"
]


class FileDigest(FrozenModel):
    """One file as it was."""

    path: str = Field(description="relative to the project root")
    sha256: Sha256
    size: int = Field(description="bytes")


class Instruction(FrozenModel):
    """What the work was asked to do."""

    path: str | None = None
    sha256: Sha256 | None = None
    text: str | None = None


class PredictionsLock(FrozenModel):
    """The freeze of the predictions, as recorded; `.prereg.lock` must agree with it."""

    path: str
    sha256: Sha256 = Field(description="of the exact bytes of the predictions file")
    frozen_at: UtcTime
    checks: list[str]
    results_at_freeze: list[FileDigest] = Field(
        default_factory=list, description="every results file and declared artifact that existed by then"
    )
    results_not_listed: int = Field(default=0, description="how many more there were than are listed")
    by: Actor = "command"


class ScopeChange(FrozenModel):
    """A criterion, or a setting that decides, changed after the freeze, on the record."""

    at: UtcTime
    by: Literal["terminal", "ci", "agent"]
    reason: Annotated[str, Field(min_length=1, pattern=r"\S")]
    criteria: list[str] = Field(default_factory=list, description="ids of the criteria that changed")
    settings: list[str] = Field(default_factory=list, description="the settings that changed")

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if not self.criteria and not self.settings:
            raise_faults("ScopeChange", [Fault(("criteria",), "names nothing that changed", [])])
        return self

    @property
    def summary(self) -> str:
        """The change in one sentence; it accompanies every outcome."""
        what = ", ".join([*self.criteria, *self.settings])
        return f"scope changed at {self.at} by {self.by}: {self.reason} ({what})"


class RubricLock(FrozenModel):
    """The freeze of the rubric, as recorded; every scope change renews it."""

    source: str = Field(description="the file that people write")
    source_sha256: Sha256
    sha256: Sha256 = Field(description="of executable_rubric.json")
    frozen_at: UtcTime
    criteria: list[str] = Field(description="criterion ids, in the rubric's order")
    by: Actor = "command"


class SettingsLock(FrozenModel):
    """The settings that decide, as they were at the freeze."""

    sha256: Sha256 = Field(description="of the values as strict JSON")
    values: dict[str, Any] = Field(description="by their place in the configuration")
    frozen_at: UtcTime


class Locks(FrozenModel):
    """What decides and is locked, each once."""

    predictions: PredictionsLock | None = None
    rubric: RubricLock | None = None
    settings: SettingsLock | None = None


class Ended(FrozenModel):
    """How and when the loop came to an end."""

    state: LoopEnding
    round: Annotated[int, Field(ge=1)] | None = None
    why: str
    at: UtcTime


class Loop(FrozenModel):
    """The state of the loop of verifying and revising."""

    first_round: Annotated[int, Field(ge=1)] = Field(
        description="rounds before it do not count for the budget"
    )
    started_at: UtcTime
    ended: Ended | None = None
    spent_seconds: Annotated[float, Field(ge=0)] = Field(
        default=0, description="wall clock of revising so far"
    )
    continued: list[Ended] = Field(default_factory=list, description="endings that the loop went on after")


class Unfreeze(FrozenModel):
    """A lock taken off again, for good on the record."""

    what: Literal["predictions"]
    sha256: Sha256
    frozen_at: UtcTime
    at: UtcTime
    by: Actor
    reason: Annotated[str, Field(min_length=1)]
    results_existed: list[FileDigest] = Field(default_factory=list)
    archived: str = Field(description="folder in the state directory with the old files")


class RunManifest(StateModel):
    """The state of one project's run."""

    file_name: ClassVar[str] = "run_manifest.json"

    history_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = Field(
        default=None, description="names the working repository in the user's data directory"
    )
    instruction: Instruction | None = None
    locks: Locks = Field(default_factory=Locks)
    unfreezes: list[Unfreeze] = Field(default_factory=list)
    scope_changes: list[ScopeChange] = Field(
        default_factory=list,
        description="every change of what was frozen of rubric and settings, on the record",
    )
    loop: Loop | None = None
    created_at: UtcTime | None = None

    def scope_changes_of_rubric(self) -> list[ScopeChange]:
        """Those that changed criteria: the rubric lists them too, as its published field."""
        return [change for change in self.scope_changes if change.criteria]
