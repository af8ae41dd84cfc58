"""For every expression of the grammar: CPython's own value, or none. For everything else: a `CheckError`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from autoscirub.checks.expressions import check_expr, compile_expr, evaluate_expr
from autoscirub.errors import CheckError, ExpressionRefused, NotEvaluable

examples = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Namespace(dict[str, Any]):
    """Results as CPython can look them up: an attribute is a key, whatever methods a dict has."""

    def __getattribute__(self, name: str) -> Any:
        return dict.__getitem__(self, name)


def as_namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return Namespace({key: as_namespace(item) for key, item in value.items()})
    return [as_namespace(item) for item in value] if isinstance(value, list) else value


HELPERS = {"abs": abs, "all": all, "any": any, "len": len, "max": max, "min": min, "round": round, "sum": sum}


def cpython(source: str, results: dict[str, Any]) -> Any:
    return eval(source, {"__builtins__": {}, **HELPERS, "results": as_namespace(results)})  # noqa: S307


# Results: the keys that the expressions below read, with any JSON value, finite.

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
TEXTS = st.sampled_from(["", "a", "b", "ab", "é", "'\"\\"])
SCALARS = st.one_of(NUMBERS, TEXTS, st.none())
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["a", "b", "keys"]), inner, max_size=3)
    ),
    max_leaves=8,
)
RESULTS = st.fixed_dictionaries(
    {
        "n": NUMBERS,
        "x": NUMBERS,
        "s": TEXTS,
        "f": st.booleans(),
        "v": st.lists(NUMBERS, max_size=5),
        "w": st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5),
        "t": st.lists(TEXTS, max_size=3),
        "b": st.lists(st.booleans(), max_size=3),
        "d": st.fixed_dictionaries({"a": JSON, "k k": NUMBERS}),
        "j": JSON,
        "z": st.none(),
    }
)

# Expressions, as text. The first group has the types right more often than not, the second has any type.

CONSTANTS = st.one_of(
    st.integers(0, 12).map(str),
    st.integers(0, 10**25).map(str),
    st.floats(0, allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["True", "False", "None", "0x1f", "1_000", "'a'", '"b"', "'ab'", "''", "'é'"]),
)
REFERENCES = st.sampled_from(
    [f"results.{key}" for key in ("n", "x", "s", "f", "v", "w", "t", "b", "d", "j", "z")]
    + ["results", "results.v[0]", "results.w[-1]", "results['d']['k k']", "results.d.a", "results.d.a[1]"]
    + ["results.j.a", "results.j[0]", "results.j.keys", "results.missing", "results['n']"]
)
ARITHMETIC = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
RELATIONS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])


def compound(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    listed = st.lists(part, max_size=4)
    return st.one_of(
        st.builds("({} {} {})".format, part, ARITHMETIC, part),
        st.builds("({} {} {})".format, part, RELATIONS, part),
        st.builds("({} {} {} {} {})".format, part, RELATIONS, part, RELATIONS, part),
        st.builds("({} {} {})".format, part, st.sampled_from(["and", "or"]), part),
        st.builds("({} and {} and {})".format, part, part, part),
        st.builds("({}{})".format, st.sampled_from(["-", "+", "not "]), part),
        st.builds("{}({})".format, st.sampled_from(sorted(HELPERS)), part),
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min", "round", "sum"]), part, part),
        listed.map(lambda items: f"[{', '.join(items)}]"),
        listed.map(lambda items: f"({', '.join(items)}{',' if len(items) == 1 else ''})"),
        st.lists(st.tuples(part, part), max_size=2).map(
            lambda p: "{" + ", ".join(f"{k}: {v}" for k, v in p) + "}"
        ),
    )


ANY = st.recursive(st.one_of(CONSTANTS, REFERENCES), compound, max_leaves=12)

SMALL = st.sampled_from(["results.n", "results.x", "results.d['k k']", "sum(results.w)", "max(results.v)"])
NUMERIC = st.recursive(
    st.one_of(SMALL, st.integers(-9, 9).map(str), st.floats(-9, 9).map(repr)),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from(["+", "-", "*"]), part),
        st.builds("{}({})".format, st.sampled_from(["abs", "-", "+"]), part),
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min"]), part, part),
        st.builds("sum([{}, {}])".format, part, part),
        st.builds("round({}, {})".format, part, st.integers(-2, 5)),
    ),
    max_leaves=6,
)
BOOLEAN = st.recursive(
    st.one_of(
        st.builds("{} {} {}".format, NUMERIC, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), NUMERIC),
        st.builds("{} < {} <= {}".format, NUMERIC, NUMERIC, NUMERIC),
        st.builds("{} {} [{}, {}]".format, NUMERIC, st.sampled_from(["in", "not in"]), NUMERIC, NUMERIC),
        st.sampled_from(
            ["results.f", "all(results.b)", "any(results.b)", "results.s == 'a'", "True", "False"]
        ),
        st.sampled_from(
            ["len(results.v) >= 0", "abs(results.n) < 0", "0 <= len(results.t)", "results.s <= 'b'"]
        ),
    ),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from(["and", "or"]), part),
        st.builds("not ({})".format, part),
        part.map(lambda text: f"({text} or not ({text}))"),
        st.builds("any([{}, {}])".format, part, part),
    ),
    max_leaves=5,
)
TAME = st.fixed_dictionaries(
    {
        "n": st.integers(-9, 9),
        "x": st.floats(-9, 9),
        "s": TEXTS,
        "f": st.booleans(),
        "v": st.lists(st.one_of(st.integers(-9, 9), st.floats(-9, 9), st.booleans()), min_size=1, max_size=4),
        "w": st.lists(st.floats(-9, 9), min_size=1, max_size=4),
        "t": st.lists(TEXTS, max_size=3),
        "b": st.lists(st.booleans(), max_size=3),
        "d": st.fixed_dictionaries({"k k": st.floats(-9, 9)}),
    }
)


@given(ANY, RESULTS)
@examples
def test_an_expression_of_the_grammar_gives_cpythons_value_or_none(
    source: str, results: dict[str, Any]
) -> None:
    try:
        value = evaluate_expr(source, results)
    except CheckError:
        return
    assert repr(value) == repr(cpython(source, results))


@given(st.one_of(NUMERIC, BOOLEAN), TAME)
@examples
def test_an_expression_of_tame_numbers_always_has_its_value(source: str, results: dict[str, Any]) -> None:
    value = evaluate_expr(source, results)
    assert repr(value) == repr(cpython(source, results))


@given(st.one_of(ANY, BOOLEAN), st.one_of(RESULTS, TAME))
@examples
def test_what_cannot_be_false_is_never_false(source: str, results: dict[str, Any]) -> None:
    expression = compile_expr(source)
    passed, value, message = check_expr(expression, results)
    if expression.cannot_be_false and expression.reads_results:
        assert passed is not False
    if any(warning.startswith("it can never be true") for warning in expression.warnings):
        assert passed is not True
    assert message
    assert passed is None or passed is value


@given(ANY, RESULTS)
@examples
def test_a_normal_form_has_the_value_of_what_it_was_made_from(source: str, results: dict[str, Any]) -> None:
    form = compile_expr(source).canonical
    assert compile_expr(form).canonical == form
    answers = []
    for text in (source, form):
        try:
            answers.append(repr(evaluate_expr(text, results)))
        except NotEvaluable:
            answers.append("none")
    assert answers[0] == answers[1]


@given(BOOLEAN, TAME, st.sampled_from([float("nan"), float("inf"), float("-inf")]))
@examples
def test_with_every_number_missing_a_check_of_numbers_is_never_decided_by_one(
    source: str, results: dict[str, Any], missing: float
) -> None:
    """With the same holes everywhere, an answer can only come from a part that reads no number."""
    holes = results | {"n": missing, "x": missing, "v": [missing], "w": [missing], "d": {"k k": missing}}
    assume("results.n" in source or "results.x" in source)
    try:
        value = evaluate_expr(source, holes)
    except NotEvaluable:
        return
    others = results | {"n": 1, "x": 1e300, "v": [1], "w": [0.5], "d": {"k k": -7.0}}
    try:
        assert evaluate_expr(source, others) is value
    except NotEvaluable:
        pytest.skip("the other numbers overflow")


# Everything else: any text, any tokens, any expression that Python has.

WORDS = r"""
results results.n . a b [ ] ( ) { } , : := = == != < > <= >= + - * ** / // % @ & | ^ ~ << >> and or not in is if else
lambda for async await yield from import f'{ 'x' b'x' f'{results}' 1 0 9 1.5 1e999 1j ... None True abs max sum len \
# ; -> é ａ 999999999999
"""
TOKENS = st.builds(
    str.join,
    st.sampled_from([" ", "", "\n"]),
    st.lists(st.sampled_from([*WORDS.split(), "\x00", "\ud800", "\t"]), max_size=30),
)

PYTHON = st.recursive(
    st.sampled_from(
        ["results", "results.n", "x", "1", "1.5", "'a'", "b'a'", "1j", "...", "None", "abs", "__import__"]
    ),
    lambda part: st.one_of(
        compound(part),
        st.builds("(lambda x: {})".format, part),
        st.builds("({} if {} else {})".format, part, part, part),
        st.builds("[{} for x in {}]".format, part, part),
        st.builds("{{{}: {} for x in {}}}".format, part, part, part),
        st.builds("max({} for x in {})".format, part, part),
        st.builds("{{{}, {}}}".format, part, part),
        st.builds("({}).__class__".format, part),
        st.builds("({})[{}]".format, part, part),
        st.builds("results[{}]".format, part),
        st.builds("({})[{}:{}]".format, part, part, part),
        st.builds("({})({}, k={})".format, part, part, part),
        st.builds("max(*{}, **{})".format, part, part),
        st.builds("[*{}]".format, part),
        st.builds("{{**{}}}".format, part),
        st.builds(
            "({} {} {})".format, part, st.sampled_from(["@", "<<", ">>", "&", "|", "^", "is", "is not"]), part
        ),
        st.builds("(~{})".format, part),
        st.builds("(x := {})".format, part),
        st.builds('f"{{ {} }}"'.format, st.sampled_from(["results", "1", "x!r:>5"])),
        st.builds("(await {})".format, part),
        st.builds("(yield {})".format, part),
    ),
    max_leaves=8,
)


@given(
    st.one_of(
        st.text(max_size=200), st.binary(max_size=200).map(lambda b: b.decode("latin-1")), TOKENS, PYTHON
    )
)
@examples
def test_any_text_at_all_gives_a_value_or_a_check_error(source: str) -> None:
    results = {"n": 3, "a": [0.5, 1.5], "b": {"a": "text"}}
    message = ""
    try:
        evaluate_expr(source, results)
    except CheckError as fault:
        message = str(fault)
    assert message.encode() is not None


@given(st.text(min_size=1, max_size=4), ANY)
@examples
def test_what_python_itself_cannot_parse_is_refused(noise: str, source: str) -> None:
    text = source + noise
    try:
        compile(text.strip(" \t\r\n\f"), "<check>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError):
        with pytest.raises(ExpressionRefused):
            compile_expr(text)
    except SyntaxWarning:
        assume(False)
