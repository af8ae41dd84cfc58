"""Turns what a command concluded into its printed output and its exit status."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from autoscirub.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.models import Decision, VerificationReport
    from autoscirub.workflow.rounds import LoopResult, RoundCheck

CHECK_STATUS = {"does_not_hold": 1, "inconclusive": 2, "holds": 0}
"""Over all: 1 if anything does not hold, else 2 if anything is inconclusive, else 0."""


def worst_of(decisions: Iterable[Decision], *, nothing: int = CHECK_STATUS["inconclusive"]) -> int:
    """The exit status over `decisions`; without any it is `nothing`: nothing decided is inconclusive."""
    from autoscirub.models import overall

    counted = list(decisions)
    return CHECK_STATUS[overall(counted).value] if counted else nothing


def render_check(
    checked: RoundCheck, stream: TextIO, *, short: bool = False, accepted: Sequence[Decision] = ()
) -> str:
    """Predictions, then requirements, then the status of the loop; `short`: without the single checks and criteria.

    `accepted`: Decisions that do not count, which the text says.
    """
    from autoscirub.report import (
        plain,
        render_decision,
        render_ending,
        render_numbers,
        render_report,
        render_rerun,
        render_verification,
    )

    parts: list[str] = []
    rendered: set[int] = set()
    if checked.verification is not None:
        parts.append(render_verification(checked.verification, stream))
        rendered |= {id(decision) for decision in checked.verification.decisions}
    if accepted:
        from autoscirub.workflow import ACCEPTED

        parts.append(f"predictions {ACCEPTED}")
    if checked.report is not None:
        rendered |= {id(decision) for decision in checked.report.decisions}
    if checked.numbers is not None:
        rendered.add(id(checked.numbers.decision))
    if checked.rerun is not None:
        rendered.add(id(checked.rerun.decision))
    parts += [render_decision(entry, stream) for entry in checked.decisions if id(entry) not in rendered]
    if checked.numbers is not None:
        parts.append(render_numbers(checked.numbers.decision, stream, checked.numbers.set_aside_counts))
    if checked.rerun is not None:
        parts.append(
            render_rerun(checked.rerun.decision, stream, short=True, elsewhere=checked.rerun.elsewhere)
        )
        parts += [f"  {plain(line)}" for line in checked.rerun.output]
    if checked.report is not None:
        parts.append(render_report(checked.report, stream))
    outcome = checked.verification.outcome if checked.verification else None
    for change in checked.scope_changes:
        parts.append(plain(change.summary))
    if short:
        parts = [line for part in parts for line in part.splitlines() if not line.startswith(" ")]
    others = [checked.numbers.decision] if checked.numbers else []
    others += [checked.rerun.decision] if checked.rerun else []
    parts.append(render_ending(checked.ended, outcome, stream, others))
    if checked.waiting:
        parts.append(f"waiting: {plain(checked.waiting)}")
    elif checked.report is not None and checked.ended is None:
        parts.append(_not_done(checked.report))
    elif checked.report is None and checked.verification is None:
        parts.append(_not_set_up(checked.decisions))
    parts += [f"note: {plain(problem)}" for entry in checked.rounds for problem in entry.problems]
    return "\n".join(part for part in parts if part)


def _not_done(report: VerificationReport) -> str:
    statuses = [result.status for result in report.criteria]
    words = (
        (statuses.count("not_satisfied"), "not satisfied"),
        (statuses.count("cannot_assess"), "inconclusive"),
        (statuses.count("error"), "could not be judged"),
    )
    counted = ", ".join(f"{count} {word}" for count, word in words if count)
    return f"not done: {counted}; next: autoscirub round"


def _not_set_up(decisions: Iterable[Decision]) -> str:
    answers = [decision.answer.value for decision in decisions]
    words = (
        ("does_not_hold", "do not hold" if answers.count("does_not_hold") > 1 else "does not hold"),
        ("inconclusive", "inconclusive"),
    )
    counted = ", ".join(f"{answers.count(name)} {word}" for name, word in words if name in answers)
    return f"not done: {counted}; next: autoscirub status" if counted else ""


def print_loop(ran: LoopResult, *, as_json: bool, accept_scope: bool, only_end: bool = False) -> int:
    """Print a loop, or a step of it, and return its exit status."""
    checked = ran.checked
    decisions = checked.counted if checked and checked.report else ran.decisions
    status = worst_of(decisions)
    if ran.ended is not None and ran.ended.state == "satisfied_in_reduced_scope" and not accept_scope:
        status = 1
    if ran.ended is not None and ran.ended.state == "error":
        status = max(status, 1)
    if as_json:
        steps = [step.did for step in ran.steps]
        facts = checked.facts() if checked else {}
        ended = ran.ended.model_dump(mode="json") if ran.ended else None
        output.json_answer(
            decisions,
            ok=status == 0,
            **{**facts, "steps": steps, "ended": ended, "waiting": ran.waiting or None, "next": ran.next},
        )
        return status
    if not only_end:
        output.text("\n".join(step.did for step in ran.steps))
    if checked is not None:
        output.text(render_check(checked, sys.stdout))
    if ran.ended is not None and (checked is None or checked.ended != ran.ended):
        from autoscirub.report import render_ending

        output.text(render_ending(ran.ended, None, sys.stdout))
    output.notices(ran.notices)
    if ran.next:
        output.text(f"next: {ran.next}")
    return status
