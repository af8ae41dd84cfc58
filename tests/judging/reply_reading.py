"""A judge's reply on one criterion, read: its entry, its flag or its fault."""

from __future__ import annotations

import json
from typing import Any

from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT, read_reply
from autoscirub.models import JudgeReply

TRUE = {
    "criterion_id": "C1",
    "reasoning": "The table has it.",
    "evidence_found": ["report.md:3"],
    "evidence_gap": "",
    "required_actions": [],
    "artifact_references": ["report.md"],
    "confidence": 0.9,
    "satisfied": True,
}
FALSE = TRUE | {"satisfied": False, "evidence_found": [], "evidence_gap": "no interval"}


def read(reply: Any, *asked: str):
    return read_reply(
        reply if isinstance(reply, str | JudgeReply) else json.dumps(reply), asked or ("C1",), "criterion"
    )


def entry(reply: Any, *asked: str):
    return read(reply, *asked).entries["C1"]


def flag(reply: Any) -> Any:
    return entry(reply).verdict.satisfied


def fault(reply: Any) -> str:
    parsed = read(reply)
    assert parsed.entries == {}
    return parsed.faults["C1"]


def on_hypothesis(reply: Any):
    return read_reply(
        reply if isinstance(reply, str) else json.dumps(reply), [HYPOTHESIS_SUBJECT], "hypothesis"
    )
