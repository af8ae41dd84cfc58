"""What the verification of a record looked at and found, group by group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from autoscirub.models import Answer, Decision, Evidence, now
from autoscirub.models.audit import Finding

__all__ = ["GROUPS", "Findings"]

GROUPS: dict[str, tuple[str, str]] = {
    "line": ("Is every step readable, ours, and built on the one before?", "steps in one line"),
    "files": ("Are the files as the newest step has them?", "files as recorded"),
    "rounds": ("Is every round as its own steps wrote it?", "rounds as recorded"),
    "reports": ("Do the reports add up, over the criteria that were locked?", "reports add up"),
    "answers": ("Do the kept files give the recorded answers again?", "answers came out again"),
    "predictions": ("Do the kept files give the recorded outcomes again?", "outcomes came out again"),
    "locks": ("Did nothing that was locked change without a step that says so?", "steps keep the locks"),
    "anchors": ("Does the record hold what was anchored?", "anchors in the line"),
}
"""Group -> the question, and the word for what held."""


@dataclass
class Findings:
    """Findings as they come, and how much held in each group."""

    found: list[Finding] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)

    def fault(self, group: str, where: str, said: str) -> None:
        """Something that does not hold."""
        self._add(Finding(group, Answer.DOES_NOT_HOLD, where, said))

    def unknown(self, group: str, where: str, said: str) -> None:
        """Something that cannot be checked here: neither a fault nor a pass."""
        self._add(Finding(group, Answer.COULD_NOT_BE_TOLD, where, said))

    def holds(self, group: str, count: int = 1) -> None:
        """Something that was looked at and held."""
        self.held[group] += count

    def _add(self, finding: Finding) -> None:
        if finding not in self.found:
            self.found.append(finding)

    def decisions(self) -> list[Decision]:
        """One Decision for each group in which anything was looked at."""
        return [self._decision(group) for group in GROUPS if self.held[group] or self._of(group)]

    def _of(self, group: str) -> list[Finding]:
        return [finding for finding in self.found if finding.group == group]

    def _decision(self, group: str) -> Decision:
        question, word = GROUPS[group]
        found = self._of(group)
        faults = [finding for finding in found if finding.answer is Answer.DOES_NOT_HOLD]
        unknown = [finding for finding in found if finding.answer is Answer.COULD_NOT_BE_TOLD]
        words = [f"{self.held[group]} {word}"]
        words += [f"{len(faults)} do not"] if faults else []
        words += [f"{len(unknown)} cannot be told here"] if unknown else []
        answer = Answer.DOES_NOT_HOLD if faults else Answer.COULD_NOT_BE_TOLD if unknown else Answer.HOLDS
        return Decision(
            subject=group,
            question=question,
            answer=answer,
            word=", ".join(words),
            evidence=[Evidence(note=_line(finding)) for finding in faults],
            open=[_line(finding) for finding in unknown],
            at=now(),
        )


def _line(finding: Finding) -> str:
    return f"{finding.where}: {finding.said}" if finding.where else finding.said
