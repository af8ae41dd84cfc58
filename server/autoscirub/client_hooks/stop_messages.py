"""Writes the message for an agent that is sent back: what is open, the next call, and that it may end now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from autoscirub.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import VerificationReport

_MOST_LINES = 12
_MOST_FILES = 5
_MOST_GAP = 240


def tell(
    report: dict[str, Any] | None,
    *,
    changed: Sequence[str],
    why: Literal["changed", "own round"],
    planned: bool,
    criteria: Sequence[str],
    started: bool = False,
) -> str | None:
    """What the agent reads; None where nothing is open and nothing has changed. `started`: by another agent.

    Raises StateError where the report is invalid.
    """
    lines = [_reason(changed, why)]
    if report is None:
        lines += [
            "None of the requirements was checked yet:",
            *_listed([f"? {_plain(name)}" for name in criteria]),
        ]
    else:
        from pydantic import ValidationError

        from autoscirub.models import VerificationReport

        try:
            found = VerificationReport.model_validate_json(json.dumps(report))
        except ValidationError as error:
            raise StateError(f"verification_report.json: is no report: {error.errors()[0]['msg']}") from error
        opened = _open(found)
        if why == "own round" and not opened:
            return None
        counts = f"{found.summary.passed} of {len(found.criteria)} requirements were satisfied in round {found.round}"
        lines += [f"{counts}{'; open:' if opened else '.'}", *_listed(opened)]
    nothing_open = report is not None and report.get("all_satisfied") is True
    leave = _LEAVE_UNCHECKED if nothing_open else _LEAVE
    lines += [_next(report, why, planned), leave, *([_REPORT] if started else [])]
    return "\n".join(lines)


def _reason(changed: Sequence[str], why: str) -> str:
    if why == "own round":
        return "autoscirub: the round that you opened is not finished."
    names = ", ".join(_plain(path) for path in changed[:_MOST_FILES])
    more = f" and {len(changed) - _MOST_FILES} more" if len(changed) > _MOST_FILES else ""
    return f"autoscirub: the requirements here are frozen, and files have changed since the last check: {names}{more}."


def _open(report: VerificationReport) -> list[str]:
    """A line for each criterion that is not satisfied, with the sign of its Decision."""
    from autoscirub.models import SIGNS, Answer

    signs = {decision.subject: SIGNS[decision.answer][0] for decision in report.decisions}
    other = {"not_satisfied": SIGNS[Answer.DOES_NOT_HOLD][0], "error": "!"}
    return [
        f"{other.get(result.status or '') or signs.get(result.criterion_id) or '?'} "
        f"{_plain(result.criterion_id)}: {_plain(result.evidence_gap) or 'not satisfied'}"
        for result in report.criteria
        if not result.satisfied
    ]


def _listed(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], *([f"… and {more} more: autoscirub status"] if more > 0 else [])]


def _next(report: dict[str, Any] | None, why: str, planned: bool) -> str:
    if why == "changed":
        return "Next: call check of the autoscirub MCP server, or run: autoscirub check"
    if planned:
        return (
            "Next: the plan is written; close the gaps, then call check of the autoscirub MCP server, or run: "
            "autoscirub check"
        )
    unmet = [
        each["criterion_id"]
        for each in (report or {}).get("criteria", [])
        if each.get("satisfied") is not True
    ]
    names = ", ".join(f'"{_plain(name)}"' for name in unmet[:_MOST_LINES])
    return f"Next: call plan_round of the autoscirub MCP server with targets for {names}, or run: autoscirub round"


_LEAVE = (
    "Or end now: say in your answer which of these are open and why, and do not call the work done. "
    "You are asked this only once."
)
_LEAVE_UNCHECKED = (
    "Or end now: say in your answer that files have changed since the last check, and do not call the work done. "
    "You are asked this once."
)
_REPORT = "Whoever started you sees only your next answer: put your whole report into it."


def _plain(text: str) -> str:
    """One line of bounded, printable text: anybody may have written the files that it comes from."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _MOST_GAP else f"{line[: _MOST_GAP - 1]}…"
