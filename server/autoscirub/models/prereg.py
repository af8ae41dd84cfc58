"""Predictions: the models of `prereg.toml` and its lock. Field names are those of the reference implementation."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import Closed, Sha256, StateModel, UtcTime

ArtifactFormat = Literal["png", "jpeg", "svg", "pdf", "csv", "json", "parquet"]

_Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class _Check(Closed):
    id: _Id
    description: str = ""


class ExprCheck(_Check):
    """A registered prediction: an expression over results.json that must come out True."""

    kind: Literal["expr"]
    expr: str


class ArtifactCheck(_Check):
    """A file that the work promised: it must exist, be non-empty, and really be what its suffix says."""

    kind: Literal["artifact"]
    path: str
    format: ArtifactFormat | None = Field(default=None, description="opened as this; default: by the suffix")


Check = ExprCheck | ArtifactCheck
"""A registered check."""


class Prereg(Closed):
    """`prereg.toml`, once it is known to have no faults."""

    hypothesis: str
    predictions: list[str] = Field(default_factory=list)
    analysis_plan: str = ""
    results_contract: dict[str, str] | None = Field(
        default=None, description="top-level results key -> its meaning"
    )
    checks: list[Annotated[Check, Field(discriminator="kind")]] = Field(default_factory=list)


class PreregLock(StateModel):
    """`.prereg.lock`: a hash, a time and the check ids, and nothing that would unblind a reader."""

    file_name: ClassVar[str] = ".prereg.lock"

    sha256: Sha256 = Field(description="of the exact bytes of prereg.toml")
    frozen_at: UtcTime
    checks: list[str] = Field(description="check ids, in the file's order")
