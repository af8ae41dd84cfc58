"""`rerun.json`: the newest rerun of a project's code, and what its answer is bound to."""

from __future__ import annotations

import hashlib
from typing import ClassVar

from pydantic import Field

from autoscirub.models.base import Frozen, Sha256, StateModel, UtcTime, strict_json
from autoscirub.models.decision import Answer, Decision

__all__ = ["RerunBasis", "RerunRecord"]


class RerunBasis(Frozen):
    """What a rerun's answer is bound to: SHA-256 of each part, over canonical JSON. It goes stale with any of them."""

    code: Sha256 = Field(description="every file of the copy that is no input, and the command")
    inputs: Sha256
    environment: Sha256 | None = Field(
        default=None,
        description="interpreter, installed distributions, platform, and the variables that [run] env names; "
        "null: nothing was started to ask",
    )
    results: Sha256 = Field(description="the results before, and how they are compared")

    @property
    def digest(self) -> str:
        """One digest over all of it."""
        return hashlib.sha256(strict_json(self, indent=None).encode()).hexdigest()

    def changed_since(self, earlier: RerunBasis) -> list[str]:
        """The parts in which this is another basis than `earlier`. One that nobody asked for is not compared."""
        return [
            name
            for name in RerunBasis.model_fields
            if getattr(self, name) != getattr(earlier, name)
            and not (name == "environment" and self.environment is None)
        ]


class RerunRecord(StateModel):
    """One rerun as it came out. The word is *reproduced*, never *computed*."""

    file_name: ClassVar[str] = "rerun.json"

    decision: Decision
    basis: RerunBasis
    command: list[str]
    isolation: str = Field(description="in one line, what was enforced")
    counts: dict[str, int] = Field(
        default_factory=dict, description="values by what became of them: equal, moved, …"
    )
    results: dict[str, Sha256] = Field(
        default_factory=dict, description="what was compared: the project's files as they lay there"
    )
    at: UtcTime

    @property
    def told(self) -> bool:
        """Whether it came to an answer. One that did not is never used again."""
        return self.decision.answer is not Answer.COULD_NOT_BE_TOLD
