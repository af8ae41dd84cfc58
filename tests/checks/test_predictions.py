"""Everything that is wrong with a predictions file is found at freeze, all at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscirub.checks.predictions import lint_predictions, read_predictions
from autoscirub.errors import PredictionsError

HEAD = 'hypothesis = "H"\npredictions = ["p"]\nanalysis_plan = "a"\n'
CONTRACT = '[results_contract]\nslope = "s"\nseeds = "s"\n'
GOOD = '[[checks]]\nid = "ok"\nkind = "expr"\nexpr = "results.slope > 0"\n'


def expr(text: str, identity: str = "c") -> str:
    return f"[[checks]]\nid = '{identity}'\nkind = 'expr'\nexpr = '''{text}'''\n"


FAULTS = [
    # what the file holds, a part of the fault
    (HEAD + "extra = 1\n" + CONTRACT + GOOD, "unknown key extra"),
    (HEAD.replace("hypothesis", "hypotesis") + CONTRACT + GOOD, "did you mean hypothesis?"),
    (CONTRACT + GOOD, "has no hypothesis"),
    (HEAD.replace('"H"', '" "') + CONTRACT + GOOD, "hypothesis is empty"),
    (HEAD.replace('["p"]', '"p"') + CONTRACT + GOOD, "predictions = 'p'"),
    (HEAD + CONTRACT + GOOD + GOOD, 'check "ok": the id is there twice'),
    (HEAD + CONTRACT + GOOD + GOOD.replace('"ok"', '" OK"'), 'the id is there twice (as "ok")'),
    (
        HEAD + CONTRACT + GOOD.replace("kind", "knd"),
        'has no kind; expected kind = "expr" or kind = "artifact"',
    ),
    (HEAD + CONTRACT + GOOD.replace('"expr"\nexpr', '"figure"\nexpr'), "kind = 'figure'"),
    (HEAD + CONTRACT + GOOD + '[[checks]]\nid = "x"\nkind = "expr"\n', 'check "x": has no expr'),
    (HEAD + CONTRACT + GOOD + '[[checks]]\nid = "x"\nkind = "artifact"\n', 'check "x": has no path'),
    (HEAD + CONTRACT + GOOD + '[[checks]]\nkind = "artifact"\npath = "a.png"\n', "check number 2: has no id"),
    (
        HEAD + CONTRACT + GOOD + '[[checks]]\nid = "x"\nkind = "artifact"\npath = "a.x"\nformat = "gif"\n',
        "format = 'gif'",
    ),
    (HEAD + CONTRACT + GOOD + expr("results.slope >"), 'check "c": '),
    (HEAD + CONTRACT + GOOD + expr("results.slope is 1"), 'check "c": '),
    (
        HEAD + CONTRACT + GOOD + expr("results.slop > 1"),
        "which [results_contract] does not name; did you mean slope?",
    ),
    (HEAD + CONTRACT + GOOD + '[[checks]]\nid = "x"\nkind = "artifact"\npath = "../a.png"\n', 'check "x": '),
    (HEAD + CONTRACT, "nothing to verify: there is no expression check that counts"),
    (HEAD + "checks = []\n" + CONTRACT, "nothing to verify"),
    (HEAD + "checks = 3\n" + CONTRACT, "checks must be tables"),
    (HEAD + "checks = [1]\n" + CONTRACT, "checks must be tables"),
    (HEAD + CONTRACT + expr("True"), "nothing to verify"),
    (HEAD + CONTRACT + '[[checks]]\nid = "x"\nkind = "artifact"\npath = "a.png"\n', "nothing to verify"),
    ("hypothesis = ", "is not TOML"),
    ('hypothesis = "a"\nhypothesis = "b"\n', "is not TOML"),
]


@pytest.mark.parametrize(("text", "part"), FAULTS, ids=[part for _, part in FAULTS])
def test_each_fault_is_named(text, part) -> None:
    lint = lint_predictions(text.encode())
    assert any(part in fault for fault in lint.faults), lint.faults
    assert lint.predictions is None
    with pytest.raises(PredictionsError):
        lint.refuse("not frozen")


WARNINGS = [
    (HEAD + GOOD, "there is no [results_contract]"),
    (HEAD + CONTRACT + GOOD + expr("results.slope == 0.5"), 'check "c": '),
    (HEAD + CONTRACT + GOOD + expr("len(results.seeds) >= 0"), 'check "c": does not count'),
    (HEAD + CONTRACT + GOOD + expr("1 < 2"), 'check "c": does not count'),
    (HEAD + CONTRACT + GOOD + "[[checks]]\nid = 'x'\nkind = 'artifact'\npath = 'a\\b.png'\n", 'check "x": '),
    (HEAD.replace('["p"]', "[]") + CONTRACT + GOOD, "predictions is empty"),
    (HEAD.replace('"a"', '""') + CONTRACT + GOOD, "analysis_plan is empty"),
]


@pytest.mark.parametrize(("text", "part"), WARNINGS, ids=[part for _, part in WARNINGS])
def test_each_warning_is_named_and_does_not_refuse(text, part) -> None:
    lint = lint_predictions(text.encode())
    assert lint.faults == []
    assert any(part in warning for warning in lint.warnings), lint.warnings
    assert read_predictions(text.encode()).prereg.hypothesis == "H"


def test_all_faults_and_warnings_come_in_one_list() -> None:
    text = (
        HEAD
        + "extra = 1\n"
        + CONTRACT
        + GOOD
        + expr("results.slop > 1", "a")
        + expr("1 <", "b")
        + expr("1 < 2", "d")
    )
    with pytest.raises(PredictionsError) as caught:
        lint_predictions(text.encode()).refuse("not frozen")
    assert len(caught.value.faults) == 3
    assert any('"d": does not count' in warning for warning in caught.value.warnings)
    assert str(caught.value).count("\n  fault ") == 3
    assert "3 faults" in str(caught.value).splitlines()[0]


def test_a_byte_order_mark_and_crlf_read_like_their_plain_twin() -> None:
    plain = (HEAD + CONTRACT + GOOD).encode()
    for other in (b"\xef\xbb\xbf" + plain, plain.replace(b"\n", b"\r\n")):
        assert read_predictions(other).prereg == read_predictions(plain).prereg


def test_bytes_that_are_not_utf_8_are_named_with_their_line() -> None:
    [fault] = lint_predictions(HEAD.encode() + b'x = "\xe9"\n').faults
    assert fault == "is not UTF-8: byte 0xe9 (line 4)"


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_no_content_makes_reading_fail_in_any_other_way(data) -> None:
    lint = lint_predictions(data)
    assert (lint.predictions is None) == bool(lint.faults)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_in_a_check_makes_reading_fail_in_any_other_way(expression, path) -> None:
    import json

    checks = f"[[checks]]\nid = 'e'\nkind = 'expr'\nexpr = {json.dumps(expression)}\n"
    checks += f"[[checks]]\nid = 'a'\nkind = 'artifact'\npath = {json.dumps(path)}\n"
    lint = lint_predictions((HEAD + CONTRACT + checks).encode())
    assert (lint.predictions is None) == bool(lint.faults)


def test_field_case_07_always_true_is_refused_with_every_fault_and_warning(field) -> None:
    folder = field / "cases" / "07-nothing-to-check"
    lint = lint_predictions((folder / "prereg-always-true.toml").read_bytes())
    assert any("results.items" in fault and "does not name" in fault for fault in lint.faults)
    assert any("nothing to verify" in fault for fault in lint.faults)
    for identity in "tus":
        assert any(f'"{identity}": does not count' in warning for warning in lint.warnings), lint.warnings


@pytest.mark.parametrize("name", ["prereg-artifact-only.toml", "prereg-no-checks.toml"])
def test_field_case_07_without_an_expression_check_is_refused(field, name) -> None:
    lint = lint_predictions((field / "cases" / "07-nothing-to-check" / name).read_bytes())
    assert any("nothing to verify" in fault for fault in lint.faults)


def test_field_case_12_is_refused_naming_every_expression_outside_the_grammar(field) -> None:
    lint = lint_predictions((field / "cases" / "12-expression-bombs" / "prereg.toml").read_bytes())
    for identity in ("e04", "e17", "e18", "e19", "e21"):
        assert any(f'"{identity}"' in fault for fault in lint.faults), (identity, lint.faults)


def test_field_case_16_is_refused_because_nothing_reads_a_result(field) -> None:
    lint = lint_predictions((field / "cases" / "16-blank-figures" / "prereg.toml").read_bytes())
    assert any("nothing to verify" in fault for fault in lint.faults)


def test_field_case_17_is_refused_for_each_path_that_leaves_the_project(field) -> None:
    import json

    folder = field / "cases" / "17-path-escapes"
    lint = lint_predictions((folder / "work" / "prereg.toml").read_bytes())
    expected = json.loads((folder / "expected.json").read_text())
    refused = {
        identity for identity in expected if any(f'check "{identity}":' in fault for fault in lint.faults)
    }
    assert refused == {identity for identity, outcome in expected.items() if outcome == "refused"}
    assert any('check "a03"' in warning for warning in lint.warnings)


def test_reading_frozen_predictions_still_refuses_what_could_not_be_evaluated() -> None:
    for text in (
        HEAD + CONTRACT + GOOD + expr("results.slop > 1"),
        HEAD + CONTRACT + GOOD + expr("1 <"),
        HEAD + "x = 1",
    ):
        with pytest.raises(PredictionsError, match="cannot be used"):
            read_predictions(text.encode())
