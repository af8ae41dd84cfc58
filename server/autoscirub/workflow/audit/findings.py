"""The findings of a record's verification, group by group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from autoscirub.models import Answer, AuditFinding, Decision, Evidence, now

GROUPS: dict[str, tuple[str, str]] = {
    "line": ("Is every step readable, ours, and built on the one before?", "step/s in one line"),
    "files": ("Are the files as the newest step has them?", "file/s as recorded"),
    "rounds": ("Is every round as its own steps wrote it?", "round/s as recorded"),
    "reports": ("Do the reports add up, over the criteria that were locked?", "report/s without a fault"),
    "answers": ("Do the kept files give the recorded answers again?", "answer/s came out again"),
    "predictions": ("Do the kept files give the recorded outcomes again?", "outcome/s came out again"),
    "locks": ("Did nothing that was locked change without a step that says so?", "step/s kept the locks"),
    "anchors": ("Does the record hold what was anchored?", "anchor/s in the line"),
}
"""Group -> the question, and what is said of what held (`/s` where there are several)."""


@dataclass
class Findings:
    """Findings in the order they are made, and how much held in each group."""

    held: Counter[str] = field(default_factory=Counter)
    _found: dict[AuditFinding, None] = field(default_factory=dict)

    @property
    def found(self) -> list[AuditFinding]:
        """Each finding once, in the order in which they came."""
        return list(self._found)

    def fault(self, group: str, where: str, message: str) -> None:
        """Something that does not hold."""
        self._add(AuditFinding(group, Answer.DOES_NOT_HOLD, where, message))

    def unknown(self, group: str, where: str, message: str) -> None:
        """Something that cannot be checked here: neither a fault nor a pass."""
        self._add(AuditFinding(group, Answer.INCONCLUSIVE, where, message))

    def holds(self, group: str, count: int = 1) -> None:
        """Something that was checked and held."""
        self.held[group] += count

    def _add(self, finding: AuditFinding) -> None:
        self._found[finding] = None

    def decisions(self) -> list[Decision]:
        """One Decision for each group in which anything was checked."""
        return [self._decision(group) for group in GROUPS if self.held[group] or self._of(group)]

    def _of(self, group: str) -> list[AuditFinding]:
        return [finding for finding in self._found if finding.group == group]

    def _decision(self, group: str) -> Decision:
        question, word = GROUPS[group]
        found = self._of(group)
        faults = [finding for finding in found if finding.answer is Answer.DOES_NOT_HOLD]
        unknown = [finding for finding in found if finding.answer is Answer.INCONCLUSIVE]
        words = [f"{self.held[group]} {word.replace('/s', '' if self.held[group] == 1 else 's')}"]
        words += [f"{len(faults)} fault{'' if len(faults) == 1 else 's'}"] if faults else []
        words += [f"{len(unknown)} inconclusive"] if unknown else []
        answer = Answer.DOES_NOT_HOLD if faults else Answer.INCONCLUSIVE if unknown else Answer.HOLDS
        return Decision(
            subject=group,
            question=question,
            answer=answer,
            word=", ".join(words),
            evidence=[Evidence(note=_line(finding)) for finding in faults],
            open=[_line(finding) for finding in unknown],
            at=now(),
        )


def _line(finding: AuditFinding) -> str:
    return f"{finding.where}: {finding.message}" if finding.where else finding.message
