"""Annotations: what a check decided, each with the file and line it concerns, for CI logs and reports to render."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoscirub.models.decision import Answer, Decision


@dataclass(frozen=True)
class Annotation:
    """One Decision and where it belongs. `path` is relative to the root of the repository."""

    decision: Decision
    part: str
    """What it is a part of: predictions, numbers, rerun or requirements."""
    message: str
    path: str | None = None
    line: int | None = None
    """None where no line is known, or where it would be a wrong one."""
    accepted: bool = False
    """Refuted, and accepted by the caller: it does not count."""


@dataclass(frozen=True)
class Annotations:
    """Every annotation of a check, the headlines that go with them, and the overall answer."""

    answer: Answer
    annotations: list[Annotation]
    headlines: dict[str, list[str]] = field(default_factory=dict)
    """Part -> its headline, and the notes that must accompany it."""

    def open(self, answer: Answer) -> list[Annotation]:
        """The annotations with this answer that count."""
        return [one for one in self.annotations if one.decision.answer is answer and not one.accepted]

    @property
    def accepted(self) -> list[Annotation]:
        """The annotations that do not count, because the caller accepted what they report."""
        return [one for one in self.annotations if one.accepted]
