"""`rerun.json`: the newest rerun of a project's code, and the inputs that its answer depends on."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import FrozenModel, Sha256, StateModel, UtcTime, strict_json
from autoscirub.models.decision import Answer, Decision

TOO_LARGE = "f" * 64
"""Stands for an environment of too many files to distinguish from another: no answer may rest on it."""
PLAIN_PROCESS = "plain process: it could read the earlier results"
"""The caveat printed with every rerun that ran without bubblewrap."""
VALUES = "values"
"""The key of the evidence, of no file, that counts what a rerun compared. A result may be called so too."""


def counted_values(decision: Decision) -> str:
    """What a rerun compared, counted: `3 equal, 1 moved; rtol 1e-09, atol 1e-12`; empty where nothing was."""
    notes = (entry.note for entry in decision.evidence if entry.key == VALUES and entry.path is None)
    return next((note for note in notes if note), "")


def weakly_isolated(decision: Decision) -> bool:
    """Whether the rerun that a Decision is of ran as a plain process, as its own evidence says."""
    return any(
        entry.key == "isolation" and (entry.note or "").startswith("process") for entry in decision.evidence
    )


class RerunBasis(FrozenModel):
    """What a rerun's answer depends on: SHA-256 of each part, over canonical JSON. It goes stale with any of them."""

    code: Sha256 = Field(
        description="every file and folder of the copy that is no input, whether it can be executed, and the command"
    )
    inputs: Sha256
    environment: Sha256 | None = Field(
        default=None,
        description="interpreter, installed distributions, path, size and time of every file of the environment, "
        "platform, and the variables that [run] env names; null: nothing was started to ask; all f: too many "
        "files to distinguish, so that no answer stands",
    )
    results: Sha256 = Field(description="the results before, and how they are compared")

    @property
    def digest(self) -> str:
        """One digest over all of it."""
        return hashlib.sha256(strict_json(self, indent=None).encode()).hexdigest()

    def changed_since(self, earlier: RerunBasis) -> list[str]:
        """The parts in which this basis differs from `earlier`. A part that was not collected is not compared."""
        changed = [
            name
            for name in RerunBasis.model_fields
            if getattr(self, name) != getattr(earlier, name)
            and not (name == "environment" and self.environment is None)
        ]
        inconclusive = earlier.environment == TOO_LARGE and "environment" not in changed
        return [*changed, "environment"] if inconclusive else changed


class RerunRecord(StateModel):
    """The result of one rerun. The word is *reproduced*, never *computed*."""

    file_name: ClassVar[str] = "rerun.json"

    decision: Decision
    basis: RerunBasis
    command: list[str]
    isolation: str = Field(description="in one line, what was enforced")
    level: Literal["bubblewrap", "process"] = Field(
        default="process", description="what it ran in; where a record does not state it, the weaker"
    )
    refused: bool = Field(
        default=False, description="whether bubblewrap was there, was tried, and could not be used"
    )
    counts: dict[str, int] = Field(
        default_factory=dict, description="number of values by result: equal, moved, …"
    )
    results: dict[str, Sha256] = Field(
        default_factory=dict, description="what was compared: the project's files as they lay there"
    )
    at: UtcTime

    @property
    def conclusive(self) -> bool:
        """Whether it reached an answer. An inconclusive rerun is never reused."""
        return self.decision.answer is not Answer.INCONCLUSIVE
