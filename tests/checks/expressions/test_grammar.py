"""What is parsed and what is refused, by name and column."""

from __future__ import annotations

import ast
import warnings

import pytest

from autoscirub.checks.expressions import compile_expr
from autoscirub.checks.expressions.compile import BUILDERS
from autoscirub.checks.expressions.grammar import GRAMMAR
from autoscirub.errors import ExpressionRefused

ALLOWED = [
    "abs(results.slope + 0.5) < 0.05",
    "10.2 < results.endpoint_se_ratio < 12.4",
    "len(results.seeds) >= 5",
    "results['mean squared error'] < 0.2",
    "results.a.b[0] > 1 and results.a.b[-1] < 2",
    "results.name in ('a', 'b') or not results.flag",
    "results.settings == {'lr': 0.1, 'steps': [1, 2]}",
    "sum(results.n, 1) // 2 % 3 ** 2 != -1",
    "round(+results.x, 2) <= max(results.a, results.b)",
    "all([results.a, results.b]) and any((results.c,))",
    "'slope' in results and len(results) > 3",
    "(results.a >\n  1)",
    "results.a > 1  # why",
    "results['naïve résumé'] == 'ﬁt'",
    "results.note == '\\d'",
    "True",
]

REFUSED = [
    ("(lambda: 1)()", "a lambda", "column 2"),
    ("[x for x in results.a]", "a list comprehension", "column 1"),
    ("{x for x in results.a}", "a set comprehension", "column 1"),
    ("{x: 1 for x in results.a}", "a dict comprehension", "column 1"),
    ("sum(x for x in results.a)", "a generator expression", "column 4"),
    ("{1, 2}", "a set", "column 1"),
    ("1 if results.a else 2", "a conditional expression", "column 1"),
    ("(y := 1)", "an assignment", "column 2"),
    ("f'{results}'", "an f-string", "column 1"),
    ("results.a is None", "'is'", "column 1"),
    ("results.a is not None", "'is not'", "column 1"),
    ("results.a[0:2]", "a slice", "column 11"),
    ("results.a[::2]", "a slice", "column 11"),
    ("results.a[1, 2]", "a key of several parts", "column 11"),
    ("1 << 10", "the bit operator <<", "column 1"),
    ("1 >> 10", "the bit operator >>", "column 1"),
    ("1 & 2", "the bit operator &", "column 1"),
    ("1 | 2", "the bit operator |", "column 1"),
    ("1 ^ 2", "the bit operator ^", "column 1"),
    ("~results.a", "the bit operator ~", "column 1"),
    ("results.a @ results.b", "the operator @", "column 1"),
    ("max(*results.a)", "a starred item", "column 5"),
    ("[*results.a]", "a starred item", "column 2"),
    ("{**results.a}", "dict unpacking", "column 4"),
    ("round(results.a, ndigits=1)", "a keyword argument to round", "column 18"),
    ("max(results.a, **results.b)", "a keyword argument to max", "column 16"),
    ("await results.a", "await", "column 1"),
    ("b'a' == results.a", "a bytes constant", "column 1"),
    ("1j", "a complex constant", "column 1"),
    ("...", "an Ellipsis", "column 1"),
    ("1e999", "too large for a float", "column 1"),
    ("results.a > -1e999", "too large for a float", "column 14"),
    ("__import__('os')", "the name '__import__'", "column 1"),
    ("open('x')", "the name 'open'", "column 1"),
    ("slope > 1", "the name 'slope'", "column 1"),
    ("results.slope > math.pi", "the name 'math'", "column 17"),
    ("abs", "the helper abs is only allowed as a call", "column 1"),
    ("max(abs)", "the helper abs is only allowed as a call", "column 5"),
    ("abs.__self__", "the helper abs is only allowed as a call", "column 1"),
    ("results()", "results cannot be called", "column 1"),
    ("results.keys()", "results.keys cannot be called", "column 1"),
    ("abs(1)(2)", "abs(1) cannot be called", "column 1"),
    ("'a'.format(results)", "an attribute of anything but results", "column 1"),
    ("[1, 2][0]", "an item of anything but results", "column 1"),
    ("(results.a + results.b).c", "an attribute of anything but results", "column 1"),
    ("results[results.a]", "must be written out", "column 9"),
    ("results[1 + 1]", "must be written out", "column 9"),
    ("results[True]", "True is no key or index", "column 9"),
    ("results[1.0]", "1.0 is no key or index", "column 9"),
    ("results[None]", "None is no key or index", "column 9"),
    ("results[-True]", "True is no key or index", "column 10"),
    ("results[-'a']", "'a' is no key or index", "column 10"),
    ("results[b'a']", "b'a' is no key or index", "column 9"),
    ("results[+1]", "must be written out", "column 9"),
    ("abs()", "abs takes 1 argument(s), not 0", "column 1"),
    ("abs(1, 2)", "abs takes 1 argument(s), not 2", "column 1"),
    ("max()", "max takes 1 or more argument(s), not 0", "column 1"),
    ("round(1, 2, 3)", "round takes 1 or 2 argument(s), not 3", "column 1"),
    ("results.x = 1", "not a Python expression", "column 11"),
    ("import os", "not a Python expression", "column 1"),
    ("results.", "not a Python expression", "column 9"),
    ("'open", "not a Python expression", "column 1"),
    ("  results.a > abs", "the helper abs", "column 15"),
    ("(results.a\n and foo)", "the name 'foo'", "line 2, column 6"),
    ("\n\n results.a and foo", "the name 'foo'", "line 3, column 16"),
    ("results['é'] > foo", "the name 'foo'", "column 16"),
    ("ａbs(results.a)", "'ａ' is not ASCII", "column 1"),
    ("results.ﬁt > 1", "'ﬁ' is not ASCII", "column 9"),
    ("results['é'] > results.é", "'é' is not ASCII", "column 24"),
    ("(results['é'] >\n results.é)", "'é' is not ASCII", "line 2, column 10"),
    ("results.a > 1 # é", "'é' is not ASCII", "column 17"),
]


@pytest.mark.parametrize("source", ALLOWED)
def test_the_grammar_has_what_the_reference_and_the_design_list(source: str) -> None:
    assert compile_expr(source).source == source


@pytest.mark.parametrize(("source", "what", "where"), REFUSED)
def test_everything_else_is_refused_by_name_and_column(source: str, what: str, where: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        compile_expr(source)
    assert what in str(refused.value)
    assert where in str(refused.value)


@pytest.mark.parametrize("source", ["", " ", "\n\t", "\x0c"])
def test_an_empty_expression_says_that_it_is_empty(source: str) -> None:
    with pytest.raises(ExpressionRefused, match="is empty"):
        compile_expr(source)


@pytest.mark.parametrize("source", ["1\x00", "results.a == '\ud800'", "\ufeff1"])
def test_text_that_is_no_source_is_refused_and_the_message_can_be_written(source: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        compile_expr(source)
    assert str(refused.value).encode()
    assert "\x00" not in str(refused.value)


@pytest.mark.parametrize("source", [None, 1, b"True", ["True"]])
def test_an_expression_that_is_no_string_is_refused(source: object) -> None:
    with pytest.raises(ExpressionRefused, match="an expression is a string"):
        compile_expr(source)  # type: ignore[arg-type]


def test_no_warning_of_the_parser_leaks() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_expr("results.a == '\\d' or 1in results.b")
    assert caught == []


def test_a_node_type_without_a_rule_is_refused_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {node: rule for node, rule in GRAMMAR.items() if node is not ast.BoolOp}
    monkeypatch.setattr("autoscirub.checks.expressions.grammar.GRAMMAR", known)
    with pytest.raises(ExpressionRefused, match=r"BoolOp is not allowed \(column 1"):
        compile_expr("results.a and results.b")


def test_the_grammar_and_the_compiler_have_the_same_closed_table() -> None:
    assert list(GRAMMAR) == list(BUILDERS)


def test_the_keys_and_references_that_are_read_are_told() -> None:
    expression = compile_expr('results.a.b[0] > results["c d"] and "e" in results and results.a . b[0] < 2')
    assert expression.keys == {"a", "c d"}
    assert expression.reads == ("results.a.b[0]", 'results["c d"]', "results")
    assert expression.reads_results


def test_an_expression_that_reads_nothing_says_so() -> None:
    expression = compile_expr("all([]) and 1 < 2")
    assert (expression.keys, expression.reads, expression.reads_results) == (frozenset(), (), False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("abs(results.a-0.5)<0.05", " abs( (results.a - 0.5) )  < 0.05 # same"),
        ("results['a'] == \"b\"", "results.a == 'b'"),
        ("results.a == u'b'", "results.a == 'b'"),
        ("results.a > 1.50", "results.a > 1.5"),
        ("results.a > 0x10", "results.a > 16"),
        ("(results.a or results.b) or results.c", "results.a or (results.b or results.c)"),
        ("(results.a) in (1, 2)", "results.a in (1,2,)"),
    ],
)
def test_two_spellings_of_one_expression_have_one_normal_form(one: str, other: str) -> None:
    assert compile_expr(one).canonical == compile_expr(other).canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("results.a < 1", "results.a <= 1"),
        ("results.a == 1", "results.a == 1.0"),
        ("results.a == 1", "results.a == True"),
        ("results.a == '1'", "results.a == 1"),
        ("results.a in (1, 2)", "results.a in [1, 2]"),
        ("results.a - (results.b - results.c) > 0", "results.a - results.b - results.c > 0"),
        ("(results.a < results.b) < 2", "results.a < results.b < 2"),
        ("results['0'] > 1", "results[0] > 1"),
        ("-1 ** 2", "(-1) ** 2"),
    ],
)
def test_different_expressions_have_different_normal_forms(one: str, other: str) -> None:
    assert compile_expr(one).canonical != compile_expr(other).canonical


def test_a_normal_form_is_its_own_normal_form() -> None:
    for source in ALLOWED:
        form = compile_expr(source).canonical
        assert compile_expr(form).canonical == form
