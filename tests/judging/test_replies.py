"""Reading a judge's reply: what is a verdict, what is a fault, and that nothing odd becomes a pass."""

from __future__ import annotations

import json

import pytest
from tests.judging.reply_reading import FALSE, TRUE, entry, fault, flag, on_hypothesis, read

from autoscirub.errors import JudgeError
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT
from autoscirub.judging.verdicts.json_objects import MAX_REPLY
from autoscirub.models import JudgeReply

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
