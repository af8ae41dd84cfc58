"""The project's configuration: `autoscirub.toml`, `[tool.autoscirub]` or `.autoscirub/config.yaml`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autoscirub.models.base import Closed

__all__ = ["AuditConfig", "LimitsConfig", "ProjectConfig", "RunConfig"]

_Positive = Annotated[float, Field(gt=0)]


class RunConfig(Closed):
    """`[run]`: how the results come out of the code. Nothing here runs before `autoscirub trust`."""

    command: list[str] = Field(
        min_length=1, description='program and arguments, such as ["python", "run.py"]'
    )
    inputs: list[str] = Field(default_factory=list)
    outputs: list[str] = Field(default_factory=list)
    seconds: _Positive = Field(default=600, description="wall clock")


class AuditConfig(Closed):
    """`[audit]`: how much of what was judged the history keeps, in bytes."""

    keep_file: int = Field(default=1_000_000, ge=0)
    keep_round: int = Field(default=100_000_000, ge=0)


class LimitsConfig(Closed):
    """`[limits]`: sizes above which a file is refused rather than read."""

    results_bytes: int = Field(default=64 * 1024 * 1024, gt=0, description="results file, bytes")
    lock_seconds: _Positive = Field(default=60, description="how long to wait for another process")


class ProjectConfig(Closed):
    """All of it. Paths are relative to the project root."""

    state_dir: str | None = None
    report: str | None = None
    results: str | None = None
    run: RunConfig | None = None
    audit: AuditConfig = Field(default_factory=AuditConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
