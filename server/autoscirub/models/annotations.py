"""Points: each thing that was decided, with the place in a file that it belongs to. What shows them adds nothing."""

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
    """Refuted, and said to be acceptable: it counts for nothing."""


@dataclass(frozen=True)
class Annotations:
    """Every point of a check, what must be said beside them, and the answer over all."""

    answer: Answer
    annotations: list[Annotation]
    said: dict[str, list[str]] = field(default_factory=dict)
    """Part -> its headline and what must be said with it."""

    def open(self, answer: Answer) -> list[Annotation]:
        """The points of one answer that count."""
        return [point for point in self.annotations if point.decision.answer is answer and not point.accepted]

    @property
    def accepted(self) -> list[Annotation]:
        """The points that count for nothing, since what they say was said to be acceptable."""
        return [point for point in self.annotations if point.accepted]
