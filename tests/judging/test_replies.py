"""Reading a judge's reply: what is a verdict, what is a fault, and that nothing odd becomes a pass."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscirub.errors import JudgeError
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT, read_reply, repair_request
from autoscirub.judging.verdicts.entries import with_published
from autoscirub.judging.verdicts.json_objects import MAX_REPLY
from autoscirub.judging.verdicts.replies import read_answer
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


# The flag

FLAGS = [
    (True, True),
    (False, False),
    ("false", False),
    (" FALSE\n", False),
    ("False", False),
    ("true", None),
    ("TRUE", None),
    ("yes", None),
    ("no", None),
    ("satisfied", None),
    ("not_satisfied", None),
    ("partially", None),
    ("", None),
    (1, None),
    (0, None),
    (1.0, None),
    (None, None),
    ([True], None),
    ({"value": True}, None),
    ("falsе", None),  # the last letter is Cyrillic
]


@pytest.mark.parametrize(("value", "means"), FLAGS)
def test_only_json_true_is_true_and_false_or_the_word_is_false_and_the_rest_is_null(value, means) -> None:
    assert flag(TRUE | {"satisfied": value}) is means
    on_it = on_hypothesis({"reasoning": "r", "supports_hypothesis": value}).entries[HYPOTHESIS_SUBJECT]
    assert on_it.verdict.supports_hypothesis is means


@pytest.mark.parametrize(("value", "means"), FLAGS)
def test_a_null_that_is_not_the_judge_s_own_word_is_a_fault(value, means) -> None:
    faults = entry(TRUE | {"satisfied": value}).faults
    if means is None and value is not None:
        assert faults == [
            f"satisfied is {json.dumps(value, ensure_ascii=False)}; expected true, false or null, and no other value"
        ]
    else:
        assert faults == []


def test_no_flag_is_a_fault_and_not_the_judge_s_null() -> None:
    on_it = entry({key: value for key, value in TRUE.items() if key != "satisfied"})
    assert on_it.verdict.satisfied is None
    assert on_it.faults == ["satisfied is absent; expected true, false or null"]


OTHERWISE = [
    {"status": "not_satisfied"},
    {"status": "cannot_assess"},
    {"status": "error"},
    {"status": False},
    {"status": "fail"},
    {"score": 0},
    {"score": 0.2},
    {"score": "1/5"},
    {"grade": "F"},
    {"finalVerdict": "FAIL"},
    {"all_satisfied": False},
    {"is_satisfied": "no"},
    {"failed": True},
    {"erfüllt": False},
    {"C1": "not satisfied"},
    {"supports_hypothesis": False},
    {"assessment": {"status": "fail"}},
    {"notes": [{"criterion_met": False}]},
]


@pytest.mark.parametrize("others", OTHERWISE, ids=str)
def test_another_field_that_says_otherwise_is_asked_about(others) -> None:
    [question] = entry(TRUE | others).questions
    assert question.startswith("satisfied is true, and ")


AGREE = [
    {"status": "satisfied"},
    {"status": None},
    {"score": 1.0},
    {"score": "5/5"},
    {"score": 0.9},
    {"verdict": "PASS"},
    {"failed": False},
    {"answer": "The report states the slope with its interval."},
    {"outliers": "no"},
    {"blinded": False},
    {"result": "0.51"},
]


@pytest.mark.parametrize("others", AGREE, ids=str)
def test_another_field_that_agrees_or_says_nothing_of_it_changes_nothing(others) -> None:
    assert entry(TRUE | others).questions == []
    assert flag(TRUE | others) is True


def test_a_no_is_asked_about_where_another_field_says_yes() -> None:
    assert entry(FALSE | {"status": "pass"}).questions == ['satisfied is false, and status says "pass"']
    assert entry(FALSE | {"status": "cannot_assess"}).questions == []


# Around the verdict

AROUND = [
    "{}",
    "Verdict below.\n{}\nThat is all.",
    "```json\n{}\n```",
    "```\n{}\n```\nAsk me; {{not json}} follows.",
    "\ufeff{}",
    'The set {{a, b}} and f\'{{x:.2f}}\' and {{"a", "b"}} first.\n{}',
    'He said "it\'s {{fine}}".\n\n> {}',
    "<!-- a comment -->\n<answer>{}</answer>",
    "It uses { without an end, and then\n{}".replace("{ ", "{{ "),
    "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "<think>Perhaps not.</think>\n{}",
    "Perhaps not.</think>\n{}",
    "{}\r\n",
]


@pytest.mark.parametrize("around", AROUND)
def test_prose_and_fences_around_a_verdict_are_survived(around) -> None:
    assert flag(around.format(json.dumps(FALSE))) is False
    assert flag(around.format(json.dumps({"criteria": [TRUE]}))) is True


BARE = [0, 2, 4, 9, 10, 11, 12]


@pytest.mark.parametrize("number", range(len(AROUND)))
def test_fences_tags_and_closed_thinking_are_no_prose_and_all_else_is(number) -> None:
    parsed = read(AROUND[number].format(json.dumps(TRUE)))
    assert (parsed.prose == "") is (number in BARE), parsed.prose


def test_fences_braces_and_quotes_inside_a_text_stay_as_they_are() -> None:
    gap = 'no interval; ```python\nprint({"a": 1})\n``` and } and { and \\" and "criterion_id": "C9"'
    assert entry(f"```json\n{json.dumps(FALSE | {'evidence_gap': gap})}\n```").verdict.evidence_gap == gap


def test_json_inside_a_text_is_a_text() -> None:
    assert flag(FALSE | {"reasoning": json.dumps(TRUE)}) is False


# One verdict for each id

TWICE = "the reply holds 2 verdicts"


def test_an_echoed_example_before_the_verdict_is_ambiguous() -> None:
    message = fault('Shape: {"criteria":[{"criterion_id":"C1","satisfied":true}]}\n' + json.dumps(FALSE))
    assert message == f"{TWICE} that differ (satisfied false and true); expected one, so none is used"


@pytest.mark.parametrize(
    "reply",
    [
        {"criteria": [TRUE, TRUE]},
        json.dumps(TRUE) + "\n" + json.dumps(TRUE),
        TRUE | {"criteria": [FALSE]},
        {"criteria": [TRUE], "criterion_id": "C1", "satisfied": False},
    ],
)
def test_an_id_that_comes_twice_is_a_fault_even_where_both_say_the_same(reply) -> None:
    assert fault(reply).startswith(TWICE)


def test_a_verdict_wrapped_in_another_object_is_no_verdict_and_contradicts_the_one_beside_it() -> None:
    assert "stands inside another object" in fault({"verdict": TRUE})
    assert fault(json.dumps({"verdict": FALSE}) + json.dumps(TRUE)).startswith(TWICE)
    assert fault(TRUE | {"revised": FALSE}).startswith(TWICE)


def test_entries_are_matched_by_exact_id_and_others_are_not_used() -> None:
    entries = [TRUE | {"criterion_id": name} for name in ("c1", "C1 ", "С1", "C01", "C10", "C2")]
    reading = read({"criteria": [*entries, {"note": "all"}, "C1", TRUE | {"criterion_id": "1"}]}, "C1", "C2")
    assert list(reading.entries) == ["C2"]
    assert list(reading.faults) == ["C1"]
    assert '"c1"' in reading.faults["C1"]


NAMELESS = [
    json.dumps(TRUE) + '{"satisfied": false}',
    '{"satisfied": false, "reasoning": "no"}' + json.dumps(TRUE),
    json.dumps(TRUE) + '{"verdict": {"satisfied": false}}',
    json.dumps({"criteria": [TRUE], "satisfied": False}),
    json.dumps({"criteria": [TRUE, {"satisfied": False}]}),
    json.dumps({"criteria": [TRUE], "summary": [{"satisfied": False}]}),
    json.dumps(TRUE | {"revised": {"satisfied": False}}),
    json.dumps({"criteria": [TRUE, FALSE | {"criterion_id": None}]}),
    json.dumps({"criteria": [TRUE, FALSE | {"criterion_id": 1}]}),
    '{"satisfied": true}',
]


@pytest.mark.parametrize("reply", NAMELESS)
def test_a_verdict_that_names_no_criterion_may_contradict_any_of_them(reply) -> None:
    assert fault(reply).startswith("the reply holds a verdict without a criterion_id")
    two = read(reply + json.dumps(FALSE | {"criterion_id": "C2"}), "C1", "C2")
    assert two.entries == {}
    assert set(two.faults) == {"C1", "C2"}


def test_structured_output_that_holds_a_verdict_somewhere_is_not_passed_over_for_the_text() -> None:
    for structured in ({"verdict": FALSE}, {"verdict": {"satisfied": False}}, {"satisfied": False}):
        assert fault(JudgeReply(text=json.dumps(TRUE), structured=structured))


def test_the_order_of_entries_changes_nothing() -> None:
    entries = [TRUE, FALSE | {"criterion_id": "C2"}, TRUE | {"criterion_id": "C3"}]
    first = read({"criteria": entries}, "C1", "C2", "C3").entries
    assert read({"criteria": entries[::-1]}, "C1", "C2", "C3").entries == first


def test_prose_around_a_pass_is_not_passed_over() -> None:
    reply = (
        f"The report holds a ready verdict: {json.dumps(TRUE)}. I find that the criterion is not satisfied."
    )
    assert "I find that the criterion is not satisfied." in read(reply).prose


# Thinking

UNCLOSED = [
    "<think>{}",
    "<think>a</think><think>{}",
    "<thinking>Perhaps {} but",
    "<seed:think>Perhaps {} but",
    "◁think▷{}",
    "[THINK]{} but",
    "<|channel|>analysis<|message|>{} but",
    "<|START_THINKING|>{} but",
    "The set { and <think>{}".replace("{ ", "{{ "),
]


@pytest.mark.parametrize("reply", UNCLOSED)
def test_a_reply_that_ends_inside_its_thinking_holds_no_verdict(reply) -> None:
    assert "ends inside its thinking" in fault(reply.format(json.dumps(TRUE)))


CLOSED = ["<think>{}</think>", "{}</think>", "◁think▷{}◁/think▷", "[THINK]{}[/THINK]", "{}[/THINK]"]


@pytest.mark.parametrize("reply", CLOSED)
def test_what_stands_in_closed_thinking_is_no_verdict_and_what_follows_is(reply) -> None:
    draft = reply.format(json.dumps(TRUE))
    assert "holds no JSON object" in fault(draft)
    assert flag(draft + json.dumps(FALSE)) is False


@pytest.mark.parametrize("mark", ["<think>", "</think>", "[THINK]", "<|channel|>analysis"])
def test_a_mark_in_the_judge_s_own_words_begins_and_ends_no_thinking(mark) -> None:
    assert flag(TRUE | {"reasoning": f"The log has {mark} in it."}) is True


# What cannot be read

UNREADABLE = [
    (json.dumps(TRUE)[:-1], "is cut off: the reply ends before it does"),
    (json.dumps({"criteria": [TRUE, TRUE]})[:-30], "is cut off"),
    ('{"criteria": [' + json.dumps(TRUE) + ", ", "is cut off"),
    ('{"criterion_id": "C1", "satisfied": false, "satisfied": true}', "the key 'satisfied' appears twice"),
    ('{"criterion_id": "C2", "criterion_id": "C1", "satisfied": true}', "appears twice"),
    ('{"criterion_id": "C1", "satisfied": true,}', "cannot be read"),
    ("{'criterion_id': 'C1', 'satisfied': True}", "cannot be read"),
    ('{"criterion_id": "C1", "satisfied": true, "confidence": ' + "9" * 5000 + "}", "4,300 digits"),
    ('{"criterion_id": "C1", "satisfied": true, "x": ' + "[" * 300 + "]" * 300 + "}", "deeper than 200"),
    ('{"criterion_id": "C1", "reasoning": "\\ud800", "satisfied": true}', "half of a surrogate pair"),
    ('{"criterion_id": "C1", "reasoning": "\ud800", "satisfied": true}', "half of a surrogate pair"),
    (json.dumps(json.dumps(TRUE)), "holds no JSON object"),
    ('{"note": oops, "criteria": [' + json.dumps(TRUE) + "]}", "cannot be read"),
    ("{criteria: [" + json.dumps(TRUE) + "]}", "cannot be read"),
    ("Criterion one is not incorrect, so it would PASS.", "holds no JSON object"),
    ("", "holds no JSON object"),
    ("null", "holds no JSON object"),
    ("true", "holds no JSON object"),
    ("{}", "holds no verdict with its exact criterion_id"),
    ('{"criteria": {"C1": true}}', "holds no verdict"),
    ("x" * (MAX_REPLY + 1), "more than the 1,000,000 that are read"),
]


@pytest.mark.parametrize(("reply", "says"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read_is_a_fault_that_says_why_and_never_a_verdict(reply, says) -> None:
    assert says in fault(reply)


def test_a_fault_is_an_error_with_the_raw_reply() -> None:
    cut = json.dumps(TRUE)[:40]
    with pytest.raises(JudgeError, match="is cut off") as error:
        read(cut).entry("C1")
    assert error.value.raw == cut


def test_an_id_that_was_not_asked_has_no_verdict_to_give() -> None:
    with pytest.raises(JudgeError, match="'C9' was not asked"):
        read(TRUE).entry("C9")


def test_one_broken_verdict_spoils_the_whole_reply_because_it_may_contradict_the_others() -> None:
    reading = read(json.dumps(TRUE) + '\n{"criterion_id": "C1", "satisfied": fal', "C1", "C2")
    assert reading.entries == {}
    assert set(reading.faults) == {"C1", "C2"}


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
