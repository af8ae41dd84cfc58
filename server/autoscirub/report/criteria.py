"""Renders requirements as text: the report of a verification, how the loop ended, and what a judge decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from autoscirub.models import JUDGE_REASONS, JUDGE_REMARK, Answer, DecidedBy
from autoscirub.report.terminal import plain, shorten, sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import CriterionResult, Decision, Ended, Outcome, VerificationReport

_SATISFIED_LIMIT = 30
_DOUBTS = 5
_REASON = 200
_ENDINGS = {
    "satisfied": "satisfied: the work is done",
    "satisfied_in_reduced_scope": "satisfied in reduced scope: an agent changed what was asked for",
    "budget_spent": "the budget is spent",
    "stalled": "stalled",
    "infeasible": "infeasible",
    "error": "ended in an error",
}
_OUTCOMES = {
    "refuted": "refuted: the hypothesis did not hold, which is a result",
    "verified": "verified: the predictions held",
    "failed": "failed: whether the predictions hold is inconclusive",
}


def render_report(report: VerificationReport, stream: TextIO) -> str:
    """How many criteria are satisfied, then each with its gap; those that are satisfied in short."""
    total = len(report.criteria)
    answer = _whole(report)
    reused = sum(1 for result in report.criteria if result.reused_from_round)
    reused_words = f" · {reused} reused from earlier rounds" if reused else ""
    lines = [
        f"{sign(answer, stream)} requirements: {report.summary.passed} of {total} criteria satisfied · "
        f"round {report.round}{reused_words} · {report.decided_words}"
    ]
    decisions = {decision.subject: decision for decision in report.decisions}
    width = min(24, max(len(result.criterion_id) for result in report.criteria))
    satisfied = 0
    for result in report.criteria:
        satisfied += result.satisfied
        if not result.satisfied or satisfied <= _SATISFIED_LIMIT:
            lines += _lines(result, decisions.get(result.criterion_id), stream, width)
    if satisfied > _SATISFIED_LIMIT:
        lines.append(
            f"  and {satisfied - _SATISFIED_LIMIT} more that are satisfied; all are in verification_report.json"
        )
    return "\n".join(lines)


def _whole(report: VerificationReport) -> Answer:
    if report.all_satisfied:
        return Answer.HOLDS
    unmet = any(result.status == "not_satisfied" for result in report.criteria)
    return Answer.DOES_NOT_HOLD if unmet else Answer.INCONCLUSIVE


def _lines(result: CriterionResult, decision: Decision | None, stream: TextIO, width: int) -> list[str]:
    answer = decision.answer if decision else Answer.INCONCLUSIVE
    asked = plain(decision.question) if decision else ""
    lines = [f"  {sign(answer, stream)} {plain(result.criterion_id):<{width}}  {asked}"]
    if not result.satisfied:
        pad = " " * (width + 6)
        lines += [
            f"{pad}{plain(line)}" for line in result.evidence_gap.splitlines() or ["no reason was recorded"]
        ]
    return [*lines, *(f"{' ' * (width + 6)}{plain(line)}" for line in _judged_with(decision))]


def _judged_with(decision: Decision | None) -> list[str]:
    """What a judge gave as its reasons, what code remarked about them, and what qualifies a judge's yes."""
    parts = [part for part in (decision.parts if decision else []) if part.decided_by is DecidedBy.JUDGE]
    spoken = [
        f"{entry.key}: {shorten(entry.note or '', _REASON)}"
        for part in parts
        for entry in part.evidence
        if entry.key in (JUDGE_REASONS, JUDGE_REMARK)
    ]
    holds = decision is not None and decision.answer is Answer.HOLDS
    doubts = [line for part in parts for line in part.open] if holds else []
    more = [f"and {len(doubts) - _DOUBTS} more; all with --json"] if len(doubts) > _DOUBTS else []
    return [*spoken, *doubts[:_DOUBTS], *more]


def render_criterion(result: CriterionResult, decision: Decision, stream: TextIO) -> str:
    """One criterion: its answer, what was found, what is missing, what would close it."""
    lines = [
        f"{sign(decision.answer, stream)} {plain(result.criterion_id)}: {plain(decision.word)} · "
        f"{plain(decision.question)}"
    ]
    for title, entries in (
        ("found", result.evidence_found),
        ("missing", result.evidence_gap.splitlines() if result.evidence_gap else []),
        ("to do", result.required_actions),
    ):
        lines += [f"  {title:<8} {plain(entry)}" for entry in entries]
    lines += [f"  {'judge':<8} {plain(line)}" for line in _judged_with(decision)]
    return "\n".join(lines)


def render_ending(
    ended: Ended | None, outcome: Outcome | None, stream: TextIO, others: Sequence[Decision] = ()
) -> str:
    """How the loop ended, and what became of the predictions: *satisfied* and *refuted* can both be true.

    `others`: Decisions that are no requirement. While one of these does not hold, the work is not called done.
    """
    if ended is None:
        return ""
    done = ended.state == "satisfied"
    answer = Answer.HOLDS if done else Answer.DOES_NOT_HOLD
    why = "" if done else f" ({plain(ended.why)})"
    open_ = [decision for decision in others if decision.answer is not Answer.HOLDS]
    ending = "satisfied: every requirement is met" if done and open_ else _ENDINGS[ended.state]
    lines = [f"{sign(answer, stream)} {ending}{why}"]
    lines += [
        f"{sign(decision.answer, stream)} still open: {plain(decision.subject)} ({plain(decision.word)})"
        for decision in open_
    ]
    if outcome is not None:
        lines.append(f"  {_OUTCOMES[outcome.value]}")
    return "\n".join(lines)


def render_judging_estimate(calls: int, reused: int, price: float | None) -> str:
    """What asking a judge would take."""
    cost = "at an unknown price" if price is None else f"for about ${price:.2f}"
    return f"would ask {calls} time{'s' if calls != 1 else ''} {cost}; cached results reused: {reused}"


def render_judged(
    decisions: Sequence[Decision],
    stream: TextIO,
    *,
    dry_run: bool,
    calls: int,
    reused: int,
    price: float | None,
    spent: str,
) -> str:
    """A judge's verdict on each question, and what it cost; for a dry run, what asking would take."""
    if dry_run:
        return render_judging_estimate(calls, reused, price)
    lines: list[str] = []
    for decision in decisions:
        asked = f" · ask {decision.asks.ask} of {decision.asks.of}" if decision.asks else ""
        lines.append(
            f"{sign(decision.answer, stream)} {plain(decision.subject)}: {plain(decision.word)} · "
            f"{plain(decision.question)}{asked}"
        )
        lines += [f"  {plain(entry.note)}" for entry in decision.evidence if entry.note]
        lines += [f"  {plain(entry)}" for entry in decision.open]
    if spent:
        lines.append(f"{calls} call{'s' if calls != 1 else ''}: {spent}")
    return "\n".join(lines) or "nothing here must be read: code decides all of it"
