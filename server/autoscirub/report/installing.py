"""Renders what an installation changes, what doctor found, and the faults of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from autoscirub.models import Answer
from autoscirub.report.terminal import plain, sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import ClientSetup, Decision


def render_plan(view: ClientSetup) -> str:
    """The client, and one line for each change."""
    lines = [f"{view.client} {plain(view.version)}  ({plain(view.program)})"]
    for change in view.changes:
        why = f"   ({plain(change.why)})" if change.why else ""
        lines.append(f"  {change.kind:<8} {plain(change.what)}{why}")
    if view.server and view.changes:
        lines.append(
            f"  {'starts':<8} {plain(view.server_command)}   (the server, when {view.client} starts)"
        )
    lines += [f"note  {plain(note)}" for note in view.notes]
    return "\n".join(lines)


def render_done(view: ClientSetup, stream: TextIO, *, changed: bool) -> str:
    """The result of an installation, as the client itself reports it."""
    if view.decision is None:
        return f"nothing of autoscirub is installed for {view.client}"
    decision = view.decision
    word = plain(decision.word)
    result = word if changed else f"{word}; it was before, and nothing was changed"
    after = f"; restart {view.client}" if changed and word == "installed" else ""
    return f"{sign(decision.answer, stream)} {plain(decision.subject)}: {result}{after}"


def render_doctor(found: Sequence[Decision], stream: TextIO) -> str:
    """One line for each thing, how to get it below, and a summary."""
    width = max(len(one.subject) for one in found)
    lines: list[str] = []
    for one in found:
        note = f"  ({plain(one.evidence[0].note or '')})" if one.evidence else ""
        lines.append(f"{sign(one.answer, stream)} {plain(one.subject):<{width}}  {plain(one.word)}{note}")
        lines += [f"  {'':<{width}}  {plain(line)}" for line in one.open]
    missing = sum(one.answer is Answer.DOES_NOT_HOLD for one in found)
    without = sum(one.answer is Answer.INCONCLUSIVE for one in found)
    needs = "everything that is needed is there" if not missing else f"{missing} needed and missing"
    lines.append(needs + (f" · {without} not needed yet or inconclusive" if without else ""))
    return "\n".join(lines)


def render_skills(found: Sequence[Decision], stream: TextIO) -> str:
    """Each skill, with its faults below."""
    lines: list[str] = []
    for one in found:
        lines.append(f"{sign(one.answer, stream)} {plain(one.subject)}")
        lines += [f"    {plain(fault)}" for fault in one.open]
    return "\n".join(lines)
