"""Says which criteria no revision can close: a judge failed, or a person must act first, and who must do what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from autoscirub.checks.criteria import NOT_ASKED, WAITING
from autoscirub.models import Answer

if TYPE_CHECKING:
    from autoscirub.models import VerificationReport

WaitsFor = Literal["person", "trust", "judge"]
"""A person's verdict; that this machine's user trusts the judge; that somebody sets one up."""
_WORDS: dict[str, WaitsFor] = {WAITING: "person", NOT_ASKED: "trust"}
_NAMED = 8


class Wait(NamedTuple):
    """What a person has to do so that the loop goes on."""

    command: str
    """The command to begin with."""
    note: str


_NOTES: dict[WaitsFor, Wait] = {
    "person": Wait("autoscirub judge", "for a person's verdict: run `autoscirub judge` at a terminal"),
    "trust": Wait(
        "autoscirub trust", "for trust in the judge: `autoscirub trust` shows what it would do, and asks"
    ),
    "judge": Wait(
        "autoscirub scope",
        'for a judge: set one up in [judge] ("person" asks you at a terminal), and put that on the record with '
        "`autoscirub scope`",
    ),
}


def waiting_for(report: VerificationReport) -> dict[str, WaitsFor]:
    """The criteria that only a person can bring on, by id: all that code decides holds, and nobody read them."""
    decisions = {decision.subject: decision for decision in report.decisions}
    found: dict[str, WaitsFor] = {}
    for result in report.criteria:
        decision = decisions.get(result.criterion_id)
        if decision is None or result.status != "cannot_assess":
            continue
        who = next((_WORDS[part.word] for part in decision.parts if part.word in _WORDS), None)
        if who is None and all(part.answer is Answer.HOLDS for part in decision.parts):
            who = "judge"  # nothing of it is inconclusive but that it must be read
        if who is not None:
            found[result.criterion_id] = who
    return found


def unjudged(report: VerificationReport) -> dict[str, str]:
    """The criteria for which a judge failed or could not be asked, each with why: no revision resolves that."""
    waiting = waiting_for(report)
    return {
        result.criterion_id: result.evidence_gap
        for result in report.criteria
        if result.status == "error" or result.criterion_id in waiting
    }


def failed(report: VerificationReport) -> dict[str, str]:
    """Of the criteria that are unjudged, those for which a judge failed: it is asked again."""
    return {
        result.criterion_id: result.evidence_gap for result in report.criteria if result.status == "error"
    }


def wait_of(report: VerificationReport | None) -> Wait | None:
    """Who must do what, where nothing else is open than what only a person can bring on; else None."""
    waiting = waiting_for(report) if report is not None else {}
    if report is None or not waiting:
        return None
    if any(not result.satisfied and result.criterion_id not in waiting for result in report.criteria):
        return None
    who = sorted(set(waiting.values()), key=list(_NOTES).index)
    parts = []
    for kind in who:
        named = [name for name, each in waiting.items() if each == kind]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        parts.append(
            f"{', '.join(named[:_NAMED])}{more} {'wait' if len(named) > 1 else 'waits'} {_NOTES[kind].note}"
        )
    return Wait(_NOTES[who[0]].command, "; ".join(parts))
