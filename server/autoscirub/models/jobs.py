"""A job: a call that may outlast its caller, handled by a process of its own.

Not part of the record: what a job found is recorded by the step it took, as if it had been run by hand. These files
only let the caller come back for the answer.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import StateModel, UtcTime

JobId = Annotated[str, Field(pattern=r"^[a-z_]{1,40}-[0-9a-f]{12}$", description="tool-TWELVEHEXDIGITS")]


class JobRequest(StateModel):
    """What was asked for."""

    file_name: ClassVar[str] = "request.json"

    id: JobId
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    at: UtcTime


class JobProgress(StateModel):
    """How far a job is: `done` of `total` steps."""

    file_name: ClassVar[str] = "progress.json"

    done: int
    total: int


class JobAnswer(StateModel):
    """How a job ended. `answer` is the tool's whole answer, `error` the reason where there is none."""

    file_name: ClassVar[str] = "answer.json"

    state: Literal["done", "failed", "cancelled"]
    answer: dict[str, Any] | None = None
    error: str | None = None
    at: UtcTime
