"""Verdicts in five languages, honest and false, and what each comes to with a judge that is asked back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.judging.judges import manifest_of, member_of, outcome, spelled

HERE = Path(__file__).parent
FILES = HERE / "verdict_files"
PLAIN = {
    "criterion_id": "C1", "reasoning": "", "evidence": [], "evidence_found": [], "evidence_gap": "",
    "required_actions": [], "artifact_references": [], "confidence": 0.9, "satisfied": True,
}  # fmt: skip


def cases(name: str) -> list[Any]:
    table = tomllib.loads((HERE / f"verdicts_{name}.toml").read_text("utf-8"))["case"]
    return [pytest.param(case, id=case["name"]) for case in table]


def reply_of(case: dict[str, Any]) -> str:
    return case.get("reply", "{verdict}").replace("{verdict}", spelled(PLAIN | case.get("verdict", {})))


def answer_of(case: dict[str, Any]) -> str:
    if (text := case.get("answer_reply")) is not None:
        return text.replace("{verdict}", spelled(PLAIN | case.get("verdict", {})))
    return spelled({"criterion_id": "C1", **case["answer"]})


def comes_to(case: dict[str, Any], answer: str | None = None) -> tuple[str, list[str], str | None]:
    kind = case.get("kind", "criterion")
    subject = "C1" if kind == "criterion" else "hypothesis"
    member = member_of(FILES, reply_of(case), answer, subject=subject, kind=kind, manifest=MANIFEST)
    return outcome(member), member.problems, member.error


MANIFEST = manifest_of(FILES)


@pytest.mark.parametrize("case", cases("honest"))
def test_an_honest_verdict_counts_at_once_or_after_one_question(case: dict[str, Any]) -> None:
    assert comes_to(case)[0] == case.get("alone", "satisfied"), comes_to(case)
    if "answer" in case or "answer_reply" in case:
        found = comes_to(case, answer_of(case))
        assert found[0] == case.get("answered", "satisfied"), found


@pytest.mark.parametrize("case", cases("false"))
def test_a_false_verdict_never_counts_as_satisfied(case: dict[str, Any]) -> None:
    found = comes_to(case)
    assert found[0] == case.get("alone", "inconclusive"), found
    if not case.get("confirmable"):
        subject = {"criterion_id": "C1"} if case.get("kind") != "hypothesis" else {}
        assert comes_to(case, spelled({**subject, "confirmed": True}))[0] != "satisfied"
