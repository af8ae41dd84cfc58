"""`run_manifest.json`: what is locked, what was unlocked, and which history belongs to the project."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import Frozen, Sha256, StateModel, UtcTime

__all__ = ["FileDigest", "Instruction", "Locks", "PredictionsLock", "RunManifest", "Unfreeze"]

Actor = Literal["terminal", "ci", "agent", "command"]


class FileDigest(Frozen):
    """One file as it was."""

    path: str = Field(description="relative to the project root")
    sha256: Sha256
    size: int = Field(description="bytes")


class Instruction(Frozen):
    """What the work was asked to do."""

    path: str | None = None
    sha256: Sha256 | None = None
    text: str | None = None


class PredictionsLock(Frozen):
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


class Locks(Frozen):
    """What decides and is locked, each once."""

    predictions: PredictionsLock | None = None


class Unfreeze(Frozen):
    """A lock taken off again, for good on the record."""

    what: Literal["predictions"]
    sha256: Sha256
    frozen_at: UtcTime
    at: UtcTime
    by: Actor
    reason: Annotated[str, Field(min_length=1)]
    results_existed: list[FileDigest] = Field(default_factory=list)
    archived: str = Field(description="folder in the state directory that keeps the old files")


class RunManifest(StateModel):
    """The state of one project's run."""

    file_name: ClassVar[str] = "run_manifest.json"

    history_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = Field(
        default=None, description="names the working repository in the user's data directory"
    )
    instruction: Instruction | None = None
    locks: Locks = Field(default_factory=Locks)
    unfreezes: list[Unfreeze] = Field(default_factory=list)
    created_at: UtcTime | None = None
