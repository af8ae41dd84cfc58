"""Renders the verification of a record, and its head for somebody else to hold, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from autoscirub.models import Answer
from autoscirub.report.audit.bounded_text import TEXT, counted, short
from autoscirub.report.terminal import sign

if TYPE_CHECKING:
    from autoscirub.models import AuditFinding, RecordVerified

_FAULTS = 60
_UNKNOWN = 12


def render_record_verified(found: RecordVerified, stream: TextIO) -> str:
    """What held of the record, what did not, what could not be checked here, and what no check can show."""
    lines = [f"record of {counted(found.steps, 'step')}, the newest {found.head}"]
    for decision in found.decisions:
        lines.append(f"{sign(decision.answer, stream)} {short(decision.subject)}: {short(decision.word)}")
        group = [finding for finding in found.findings if finding.group == decision.subject]
        faults = [finding for finding in group if finding.answer is Answer.DOES_NOT_HOLD]
        unknown = [finding for finding in group if finding.answer is Answer.INCONCLUSIVE]
        lines += [_finding(finding, stream) for finding in faults[:_FAULTS]]
        if len(faults) > _FAULTS:
            lines.append(f"  and {len(faults) - _FAULTS} faults more; --json has all")
        lines += [_finding(finding, stream) for finding in unknown[:_UNKNOWN]]
        if len(unknown) > _UNKNOWN:
            lines.append(f"  and {len(unknown) - _UNKNOWN} more that are inconclusive; --json has all")
    return "\n".join([*lines, "what this cannot show", *(f"  {line}" for line in found.cannot_show)])


def _finding(finding: AuditFinding, stream: TextIO) -> str:
    where = f"{short(finding.where)}: " if finding.where else ""
    return f"  {sign(finding.answer, stream)} {where}{short(finding.message, 2 * TEXT)}"


def render_anchor(head: str, recorded: str | None) -> str:
    """The head of a record, and how somebody else gets to hold it."""
    lines = [head]
    if recorded is not None:
        return "\n".join([*lines, f"recorded as held: {short(recorded)}"])
    name = f"autoscirub-{head[:12]}"
    return "\n".join(
        [
            *lines,
            "Give it to somebody who is not you, and who keeps the time. One of:",
            f"  git tag -a {name} -m {head} && git push origin {name}",
            f"  git notes --ref=autoscirub add -f -m {head} && git push origin refs/notes/autoscirub",
            "  in CI: print it, or keep .autoscirub/history.bundle as an artefact of the run",
            f"Then say so in the record: autoscirub anchor --record 'the tag {name} on origin' --head {head}",
            f"Later, anyone compares: autoscirub audit verify --expect {head}",
        ]
    )
