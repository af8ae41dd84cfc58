"""Verdicts from the field, honest and false, and what each comes to with a judge that is asked back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.judging.judges import laid_out, manifest_of, member_of, outcome, spelled
from tests.judging.test_verdict_tables import PLAIN

FIELD = Path(__file__).resolve().parents[1] / "field"
VERDICTS = tomllib.loads((FIELD / "verdicts.toml").read_text("utf-8"))
HONEST = tomllib.loads((FIELD / "honest_verdicts.toml").read_text("utf-8"))
CUT_OFF = FIELD / "cut_off_while_thinking"
COMES_TO = {
    "t": "inconclusive",
    "q": "inconclusive",
    "v": "inconclusive",
    "ok": "satisfied",
    "f": "not_satisfied",
}


@pytest.mark.parametrize("name", VERDICTS["replies"])
def test_a_verdict_of_the_field_that_the_judge_repeats(tmp_path: Path, name: str) -> None:
    member = member_of(laid_out(tmp_path, VERDICTS["files"]), VERDICTS["replies"][name])
    expected = "error" if name == "t-unclosed-thinking" else COMES_TO[name.split("-")[0]]
    assert outcome(member) == expected, member.problems
    if name.startswith("f"):
        assert any("names nothing that is missing" in remark for remark in member.remarks)


@pytest.mark.parametrize("case", HONEST["case"], ids=[case["name"] for case in HONEST["case"]])
def test_an_honest_pass_of_the_field_counts_at_once_or_after_one_question(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    root = laid_out(tmp_path, HONEST["files"])
    fields = {key: value for key, value in case.items() if key not in ("name", "answer")}
    alone = member_of(root, spelled(PLAIN | fields))
    if "answer" not in case:
        assert outcome(alone) == "satisfied", alone.problems
        return
    assert outcome(alone) == "inconclusive"
    answered = member_of(root, spelled(PLAIN | fields), spelled({"criterion_id": "C1", **case["answer"]}))
    assert outcome(answered) == "satisfied", answered.problems


def test_all_of_the_field_is_here() -> None:
    assert len(HONEST["case"]) == 25
    assert len(VERDICTS["replies"]) == 16


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a-think", "error"),
        ("b-draft", "error"),
        ("c-channel", "error"),
        ("d-thinking-tag", "error"),
        ("e-reasoning-tag", "error"),
        ("f-prose", "inconclusive"),
        ("g-closed", "not_satisfied"),
    ],
)
def test_a_draft_is_no_verdict(name: str, expected: str) -> None:
    reply = (CUT_OFF / f"{name}.txt").read_bytes().decode()
    member = member_of(
        CUT_OFF, reply, subject="interval", manifest=manifest_of(CUT_OFF, ["report.md", "results.json"])
    )
    assert outcome(member) == expected, member.problems
    assert (CUT_OFF / f"{name}.txt").read_text("utf-8").strip() in member.raw
