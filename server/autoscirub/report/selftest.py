"""Renders the self-test: one line for each attack, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from autoscirub.models import Answer
from autoscirub.report.terminal import plain, sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import Decision


def render_selftest(decisions: Sequence[Decision], stream: TextIO) -> str:
    """Each group with its attacks; below an attack what got through or why it is inconclusive, and what helps."""
    lines: list[str] = []
    for group in decisions:
        advised: set[str] = set()
        lines.append(f"{sign(group.answer, stream)} {plain(group.subject)}: {plain(group.word)}")
        for part in group.parts:
            tried = part.evidence[0].note if part.evidence else ""
            word = "" if part.answer is Answer.HOLDS else f"{plain(part.word)}"
            result = "; ".join(filter(None, [word, plain(tried or "")]))
            lines.append(f"  {sign(part.answer, stream)} {plain(part.subject)}: {result}")
            lines += [f"      {plain(entry.note)}" for entry in part.evidence[1:] if entry.note]
            lines += [f"      {plain(entry)}" for entry in part.open if entry not in advised]
            advised |= {*part.open}  # the same advice helps several
    parts = [part for group in decisions for part in group.parts]
    counted = {each: sum(part.answer is each for part in parts) for each in Answer}
    held, not_held, inconclusive = (
        counted[each] for each in (Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE)
    )
    lines.append(
        f"{held} held, {not_held} did not hold, {inconclusive} inconclusive or not enforceable on this machine"
    )
    return "\n".join(lines)
