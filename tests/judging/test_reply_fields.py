"""The fields of a judge's reply, structured output, the repair and the answer to the question back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judging.reply_reading import FALSE, TRUE, entry, fault, flag, on_hypothesis, read

from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT, read_reply, repair_request
from autoscirub.judging.verdicts.entries import with_published
from autoscirub.judging.verdicts.replies import read_answer
from autoscirub.models import JudgeReply

# Fields

ODD = [
    ({"confidence": 1.5}, "confidence", None),
    ({"confidence": -0.1}, "confidence", None),
    ({"confidence": True}, "confidence", None),
    ({"confidence": "0.9"}, "confidence", None),
    ({"confidence": 1}, "confidence", 1.0),
    ({"confidence": None}, "confidence", None),
    ({"required_actions": "add it"}, "required_actions", ["add it"]),
    ({"required_actions": None}, "required_actions", []),
    ({"evidence_gap": ["a", "b"]}, "evidence_gap", "a\nb"),
    ({"evidence_gap": {"missing": "x"}}, "evidence_gap", '{"missing": "x"}'),
    ({"evidence_gap": 0}, "evidence_gap", "0"),
    ({"evidence_gap": None}, "evidence_gap", ""),
    ({"evidence_found": ["a", " ", ""]}, "evidence_found", ["a"]),
    ({"reasoning": None}, "reasoning", ""),
]


@pytest.mark.parametrize(("change", "key", "means"), ODD)
def test_an_odd_field_is_forgiven_where_it_cannot_become_a_pass(change, key, means) -> None:
    assert getattr(entry(TRUE | change).verdict, key) == means


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_confidence_that_is_not_finite_is_left_out(token) -> None:
    assert entry(json.dumps(TRUE).replace("0.9", token)).verdict.confidence is None


UNREAD = [
    "report.md",
    ["report.md: 0.51"],
    [1],
    [None],
    [{"file": "report.md"}],
    [{"path": "report.md", "value": "words"}],
    [{"path": "report.md", "at": "line 3", "value": "words"}],
    [{"path": "report.md", "at": {"kind": "paragraph"}, "value": "words"}],
    [{"path": "report.md", "at": {"kind": "quote"}, "value": {"a": 1}}],
    {"a": 1},
    5,
    False,
    [["x"]],
]


@pytest.mark.parametrize("value", UNREAD, ids=str)
def test_evidence_of_another_shape_is_a_fault_of_a_pass_and_of_no_other(value) -> None:
    [fault] = entry(TRUE | {"evidence": value}).faults
    assert fault.startswith("evidence[0] is ")
    assert entry(FALSE | {"evidence": value}).faults == []
    assert on_hypothesis({"reasoning": "r", "evidence": value, "supports_hypothesis": False}).entries[
        HYPOTHESIS_SUBJECT
    ].faults == [fault]


def test_a_list_for_a_value_is_read_as_one() -> None:
    cited = {"path": "r.json", "at": {"kind": "key", "where": "seeds"}, "value": [1, 2]}
    [found] = entry(TRUE | {"evidence": [cited]}).verdict.evidence
    assert found.value == "[1, 2]"


def test_more_evidence_than_anyone_looks_up_is_a_fault() -> None:
    cited = {"path": "r.json", "at": {"kind": "key", "where": "n"}, "value": 1}
    [fault] = entry(TRUE | {"evidence": [cited] * 201}).faults
    assert "has 201 entries" in fault


PUBLISHED = [
    ('report.md: "a few words"', ("quote", "", "a few words")),
    ("`report.md`: “a few words”.", ("quote", "", "a few words")),
    ("./report.md «a few words»", ("quote", "", "a few words")),
    ("report.md : « a few words »", ("quote", "", " a few words ")),
    ("report.md：「三个词」", ("quote", "", "三个词")),
    ("report.md: `x = 1`", ("quote", "", "x = 1")),
    ('report.md:4 "a few words"', ("line", "4", "a few words")),
    ('report.md, lines 4-5: "a few words"', ("line", "4-5", "a few words")),
    ("report.md, Zeile 4: „ein paar Worte“", ("line", "4", "ein paar Worte")),
    ("r.json: slope = 0.51", ("key", "slope", "0.51")),
    ("r.json slope=0.51", ("key", "slope", "0.51")),
    ("r.json: interval.low ≈ 0.47.", ("key", "interval.low", "0.47")),
    ("r.json: 'mean error' = 0.1", ("key", "mean error", "0.1")),
    ("t.csv, row b, column rmse: 0.29", ("cell", "row b, column rmse", "0.29")),
]


@pytest.mark.parametrize(("text", "place"), PUBLISHED)
def test_a_string_that_is_a_path_with_a_place_is_evidence(text, place) -> None:
    verdict = entry(TRUE | {"evidence_found": [text]}).verdict
    found = with_published(verdict, ["report.md", "r.json", "t.csv"])
    assert found.evidence_found == []
    [cited] = found.evidence
    assert (cited.at.kind, cited.at.where, cited.value) == place


REMARKS = [
    "report.md",
    "report.md:4",
    "report.md says so",
    "report.md says: more",
    'report.md: "a few words" and more',
    'In report.md it says "a few words"',
    "r.json (slope 0.51)",
    "the slope in r.json is 0.51",
    "other.md: 'words'",
    "report.md#section",
    "t.csv, row b: rmse 0.99",
    "",
]


@pytest.mark.parametrize("text", REMARKS)
def test_any_other_string_is_a_remark(text) -> None:
    verdict = entry(TRUE | {"evidence_found": [text]}).verdict
    found = with_published(verdict, ["report.md", "r.json", "t.csv"])
    assert found.evidence == []
    assert found.evidence_found == [text][: bool(text)]


def test_the_longest_path_is_the_one_that_is_meant() -> None:
    verdict = entry(TRUE | {"evidence_found": ['report.md.bak: "a few words"']}).verdict
    [cited] = with_published(verdict, ["report.md", "report.md.bak"]).evidence
    assert cited.path == "report.md.bak"


def test_a_bare_false_is_false() -> None:
    assert flag({"criterion_id": "C1", "satisfied": "false"}) is False


def test_concerns_of_a_hypothesis_may_be_null_or_one_text() -> None:
    for value, means in [(None, []), ("few seeds", ["few seeds"]), (["a", 1], ["a", "1"])]:
        reply = {"reasoning": "r", "concerns": value, "confidence": 0.5, "supports_hypothesis": False}
        assert on_hypothesis(reply).entries[HYPOTHESIS_SUBJECT].verdict.concerns == means


def test_a_hypothesis_without_a_flag_is_asked_about() -> None:
    on_it = on_hypothesis({"reasoning": "r", "concerns": [], "confidence": 0.5}).entries[HYPOTHESIS_SUBJECT]
    assert on_it.verdict.supports_hypothesis is None
    assert on_it.faults == ["supports_hypothesis is absent; expected true, false or null"]


def test_two_verdicts_on_the_hypothesis_are_a_fault() -> None:
    one = {"reasoning": "r", "supports_hypothesis": True}
    reading = on_hypothesis(json.dumps(one) + json.dumps(one | {"supports_hypothesis": None}))
    assert "2 verdicts that differ (supports_hypothesis null and true)" in reading.faults[HYPOTHESIS_SUBJECT]


# Structured output


def test_structured_output_comes_first() -> None:
    assert flag(JudgeReply(text=json.dumps(TRUE), structured=FALSE)) is False
    assert read(JudgeReply(text="Words around it.", structured=FALSE)).prose == ""


def test_structured_output_that_says_nothing_of_a_verdict_leaves_the_text() -> None:
    assert flag(JudgeReply(text=json.dumps(FALSE), structured={"ok": True})) is False
    assert flag(JudgeReply(text="", structured=json.dumps(FALSE))) is False


@pytest.mark.parametrize(
    "value", [{"criterion_id": "C1", "satisfied": {1, 2}}, {"a": "x" * 2_000_000}, object()]
)
def test_structured_output_that_is_no_plain_json_is_a_fault(value) -> None:
    assert fault(JudgeReply.model_construct(text=json.dumps(TRUE), structured=value))


def test_structured_output_too_deep_is_a_fault() -> None:
    deep: Any = TRUE
    for _ in range(100_000):
        deep = {"criteria": [deep]}
    reply = JudgeReply.model_construct(text="", structured=deep)
    assert "structured output" in fault(reply)
    while isinstance(deep.get("criteria"), list):  # taken apart by hand: its own end would be too deep
        deep = deep.pop("criteria").pop()


# Repair


def test_a_repair_names_each_fault_and_asks_for_form_and_not_for_another_verdict() -> None:
    message = repair_request(read(json.dumps(TRUE)[:-1], "C1", "C2").faults)
    assert '- "C1": the JSON object at line 1 of the reply is cut off' in message
    assert '- "C2": ' in message
    assert "do not change what you found" in message


# The answer to the question back


def answer(reply: str, kind: Any = "criterion"):
    return read_answer(JudgeReply(text=reply), "C1" if kind == "criterion" else HYPOTHESIS_SUBJECT, kind)


def test_an_answer_may_leave_out_what_it_does_not_correct() -> None:
    assert answer('{"confirmed": true}') == ({"confirmed": True}, "", "")
    assert answer('```json\n{"criterion_id": "C1", "evidence_gap": ""}\n```')[0] == {
        "criterion_id": "C1",
        "evidence_gap": "",
    }
    assert answer('{"criteria": [{"criterion_id": "C1", "confirmed": false}], "all_satisfied": false}')[
        0
    ] == {
        "criterion_id": "C1",
        "confirmed": False,
        "all_satisfied": False,
    }
    assert answer('I confirm. {"confirmed": true}')[:2] == ({"confirmed": True}, "I confirm.")


NO_ANSWER = [
    ("", "holds 0 JSON objects"),
    ("Yes, it stands.", "holds 0 JSON objects"),
    ('{"confirmed": true}{"confirmed": true}', "holds 2 JSON objects"),
    ('{"criterion_id": "C2", "confirmed": true}', 'the answer is on "C2"; expected "C1"'),
    ('{"criterion_id": null, "confirmed": true}', "the answer is on null"),
    ('{"criteria": [{"criterion_id": "C2", "confirmed": true}]}', 'the answer is on "C2"'),
    ('{"confirmed": true, "revised": {"satisfied": false}}', "holds another one inside"),
    ('{"criteria": [{"confirmed": true}, {"confirmed": false}]}', "holds another one inside"),
    ('{"confirmed": true, "confirmed": false}', "holds 0 JSON objects"),
    ('<think>{"confirmed": true}', "ends inside its thinking"),
    ('{"criterion_id": "C1", "confirmed": true', "is cut off"),
]


@pytest.mark.parametrize(("reply", "says"), NO_ANSWER)
def test_what_is_no_answer_says_why(reply, says) -> None:
    fields, _, fault = answer(reply)
    assert fields == {}
    assert says in fault


# Whatever comes

ids = st.sampled_from(["C1", "c1", "C1 ", "C2", "", "С1"])
flags = st.sampled_from([True, False, None, "true", "false", 1, 0, [True]])
some_entry = st.fixed_dictionaries({}, optional={"criterion_id": ids, "satisfied": flags, "evidence_found": st.just(["x"]), "reasoning": st.text(max_size=10)})  # fmt: skip
piece = st.one_of(
    some_entry.map(json.dumps),
    st.lists(some_entry, max_size=3).map(lambda entries: json.dumps({"criteria": entries})),
    st.lists(some_entry, max_size=2).map(json.dumps),
    some_entry.map(lambda value: json.dumps(json.dumps(value))),
    st.sampled_from(
        [
            "{",
            "}",
            "[",
            "]",
            '"',
            "\\",
            "```json\n",
            "```",
            "<!--",
            "-->",
            "\ufeff",
            "\ud800",
            '{"',
            "{a",
            ",",
        ]
    ),
    st.text(max_size=20),
)


def says_true(text: str) -> bool:
    """Whether some JSON object in the text has exactly this id and JSON true, found the slow way."""
    decoder = json.JSONDecoder()
    for at, character in enumerate(text):
        if character == "{":
            try:
                value, _ = decoder.raw_decode(text, at)
            except ValueError:
                continue
            if (
                isinstance(value, dict)
                and value.get("criterion_id") == "C1"
                and value.get("satisfied") is True
            ):
                return True
    return False


@settings(max_examples=1000, deadline=None)
@given(st.lists(piece, max_size=5).map("".join))
def test_no_text_raises_or_gives_true_unless_an_object_for_that_id_says_json_true(text) -> None:
    reading = read_reply(text, ["C1", "C2"], "criterion")
    assert set(reading.entries) | set(reading.faults) == {"C1", "C2"}
    assert not set(reading.entries) & set(reading.faults)
    if "C1" in reading.entries and reading.entries["C1"].flag is True:
        assert says_true(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(some_entry, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_any_entries_changes_nothing(entries, random) -> None:
    shuffled = random.sample(entries, len(entries))
    one = read({"criteria": entries}, "C1", "C2")
    other = read({"criteria": shuffled}, "C1", "C2")
    assert one.entries == other.entries
    assert one.faults.keys() == other.faults.keys()


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["criteria", "criterion_id", "satisfied", "status", "x"]) , inner, max_size=4), max_leaves=12))  # fmt: skip
def test_no_structured_output_raises(value) -> None:
    read_reply(JudgeReply.model_construct(text="", structured=value), ["C1"], "criterion")
