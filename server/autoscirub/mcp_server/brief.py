"""Makes answers small: Decisions in brief, and lists cut until an answer fits what a client accepts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from autoscirub.mcp_server.answers import Brief, Gap, Next, ToolAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoscirub.models import CriterionResult, Decision, Evidence
    from autoscirub.workflow import NextCall

ANSWER_BYTES = 24_000
"""Clients cut an answer at about 10,000 tokens; this is 8,000 at three bytes each."""
_TEXT = 600
_EVIDENCE = 6
_OPEN = 8

Answer = TypeVar("Answer", bound=ToolAnswer)


def cut(text: str, limit: int = _TEXT) -> str:
    """`text`, or as much of it as `limit` characters hold, saying that it goes on."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def briefs(decisions: Iterable[Decision]) -> list[Brief]:
    """Decisions without their parts."""
    return [_brief(decision) for decision in decisions]


def _brief(decision: Decision) -> Brief:
    evidence = [cut(_evidence(entry), 300) for entry in decision.evidence]
    if len(evidence) > _EVIDENCE:
        evidence = [*evidence[:_EVIDENCE], f"and {len(evidence) - _EVIDENCE} more"]
    still = [cut(line) for line in decision.open]
    if len(still) > _OPEN:
        still = [*still[:_OPEN], f"and {len(still) - _OPEN} more"]
    return Brief(
        subject=cut(decision.subject, 200),
        question=cut(decision.question, 300),
        answer=decision.answer.value,
        word=cut(decision.word, 100),
        decided_by=decision.decided_by.value,
        evidence=evidence,
        open=still,
    )


def _evidence(entry: Evidence) -> str:
    value = "" if entry.value is None else f" = {json.dumps(entry.value, ensure_ascii=False, default=str)}"
    place = " ".join(part for part in (entry.path, entry.key) if part)
    digest = f" ({entry.sha256[:12]})" if entry.sha256 and not entry.note else ""
    note = f": {entry.note}" if entry.note else ""
    return f"{place}{value}{digest}{note}"


def gap_of(result: CriterionResult) -> Gap:
    """A criterion's result in brief."""
    return Gap(
        criterion_id=result.criterion_id,
        status=result.status or ("satisfied" if result.satisfied else "not_satisfied"),
        gap=cut(result.evidence_gap),
        required_actions=[cut(action, 300) for action in result.required_actions[:_OPEN]],
        evidence_found=[cut(line, 200) for line in result.evidence_found[:_EVIDENCE]],
        reused_from_round=result.reused_from_round,
    )


def next_of(call: NextCall) -> Next:
    """The next call as an answer carries it."""
    return Next(tool=call.tool, arguments=call.arguments, why=call.why)


def fitted(answer: Answer, limit: int = ANSWER_BYTES) -> Answer:
    """`answer`, its longest lists cut until its JSON fits `limit` bytes; `left_out` says how much was.

    The conclusions are in single fields, which are never cut.
    """
    lists = {name: value for name, value in answer if isinstance(value, list) and value}
    left_out = dict(answer.left_out)
    while _size(answer) > limit:
        longest = max(
            (name for name in lists if len(lists[name]) > 1),
            key=lambda name: _size_of(lists[name]),
            default="",
        )
        if not longest:
            break
        shortened = lists[longest][: len(lists[longest]) // 2]
        left_out[longest] = left_out.get(longest, 0) + len(lists[longest]) - len(shortened)
        lists[longest] = shortened
        answer = answer.model_copy(update={longest: shortened, "left_out": left_out})
    return answer


def _size(answer: ToolAnswer) -> int:
    return len(answer.model_dump_json().encode("utf-8"))


def _size_of(values: list[Any]) -> int:
    return sum(
        len(value.model_dump_json()) if hasattr(value, "model_dump_json") else len(str(value))
        for value in values
    )
