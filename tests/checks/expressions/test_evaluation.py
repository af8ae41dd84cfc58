"""What an allowed expression gives: Python's value, or none, by the rows of the design's table."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from autoscirub.checks.expressions import compile_expr, evaluate_expr
from autoscirub.errors import CheckError, ExpressionRefused, NotEvaluable

NAN, INFINITY = math.nan, math.inf
RESULTS: dict[str, Any] = {
    "n": 0,
    "k": 7,
    "x": 1.5,
    "y": -2.25,
    "huge": 10**4000,
    "big": 1e308,
    "yes": True,
    "no": False,
    "note": "ok",
    "null": None,
    "m": [1, 2, 3],
    "floats": [0.5, 0.25, 2.0],
    "holes": [0.5, None, 2.0],
    "texts": ["b", "a", "c"],
    "mixed": [1, "a"],
    "flags": [True, False],
    "empty": [],
    "nan": NAN,
    "inf": INFINITY,
    "some_nan": [0.5, NAN, 2.0],
    "deep_nan": {"a": [1, {"b": NAN}]},
    "fit": {"r2": [0.9, 0.95], "name": "ols", "0": 1},
    "mean squared error": 0.125,
}

VALUES = [
    ("1", 1),
    ("-1.5", -1.5),
    ("'a' \"b\"", "ab"),
    ("None", None),
    ("True", True),
    ("[1, 'a', (2.0,), {}]", [1, "a", (2.0,), {}]),
    ("(results.x,)", (1.5,)),
    ("{'a': results.n, 1: [results.x]}", {"a": 0, 1: [1.5]}),
    ("results", RESULTS),
    ("results.fit", RESULTS["fit"]),
    ("results.some_nan", RESULTS["some_nan"]),
    ("results.fit.r2[0]", 0.9),
    ("results.fit.r2[-1]", 0.95),
    ("results['fit']['0']", 1),
    ("results['mean squared error']", 0.125),
    ("results.some_nan[0]", 0.5),
    ("results.null", None),
    ("results.x + results.k", 8.5),
    ("results.x - 1", 0.5),
    ("results.k * results.yes", 7),
    ("results.k / 2", 3.5),
    ("results.k // 2", 3),
    ("results.y // 1", -3.0),
    ("results.k % 4", 3),
    ("results.k ** 2", 49),
    ("2 ** -1", 0.5),
    ("4 ** 0.5", 2.0),
    ("True + True", 2),
    ("-True", -1),
    ("+results.yes", 1),
    ("-results.x", -1.5),
    ("'a' + results.note", "aok"),
    ("results.m + [4]", [1, 2, 3, 4]),
    ("(1,) + (2,)", (1, 2)),
    ("results.huge * 10 ** 299 > 1", True),
    ("1 ** 10 ** 100", 1),
    ("(-1) ** (10 ** 100 + 1)", -1),
    ("0 ** 10 ** 100", 0),
    ("2 ** 14000 > 2.5", True),
    ("results.n == 0 or results.x / results.n > 1", True),
    ("results.n > 0 and results.x / results.n > 1", False),
    ("not results.yes", False),
    ("not not results.yes", True),
    ("1 < results.x < 2", True),
    ("2 < results.x < results.missing", False),
    ("2 < results.x < 'a'", False),
    ("1 < results.x != 2 >= 2.0", True),
    ("results.yes == 1", True),
    ("results.yes < 2", True),
    ("results.note == 'ok'", True),
    ("results.note < 'p'", True),
    ("results.huge > results.big", True),
    ("results.m == [1, 2, 3]", True),
    ("results.m == [1.0, 2, 3, 'a']", False),
    ("results.m != [1, 2]", True),
    ("results.m < [1, 3]", True),
    ("(1, 'a') < (1, 'b')", True),
    ("results.fit == {'r2': [0.9, 0.95], 'name': 'ols', '0': 1}", True),
    ("results.fit == {'other': 1}", False),
    ("results.null == None", True),
    ("None == results.x", False),
    ("results.x != None", True),
    ("results.m == None", False),
    ("results.null != None", False),
    ("results.null == results.null", True),
    ("results.k in results.m", False),
    ("2 in results.m", True),
    ("2.0 in results.m", True),
    ("1 in results.mixed", True),
    ("'a' in results.texts", True),
    ("'z' not in results.texts", True),
    ("'o' in results.note", True),
    ("'r2' in results.fit", True),
    ("'slope' in results", False),
    ("'nan' in results", True),
    ("results.x in [1, None]", False),
    ("results.null in [1, None]", True),
    ("None in results.holes", True),
    ("None not in results.m", True),
    ("[1, 2] in [[1, 2], [3]]", True),
    ("abs(results.y)", 2.25),
    ("abs(-3)", 3),
    ("abs(True)", 1),
    ("round(2.5)", 2),
    ("round(results.y, 1)", -2.2),
    ("round(results.k, -1)", 10),
    ("round(results.k, -10 ** 9)", 0),
    ("round(1.5, 10 ** 9)", 1.5),
    ("round(True)", 1),
    ("len(results.note)", 2),
    ("len(results.fit)", 3),
    ("len(results.some_nan)", 3),
    ("len((1, 2))", 2),
    ("sum(results.m)", 6),
    ("sum(results.floats)", 2.75),
    ("sum(results.floats, 1)", 3.75),
    ("sum([])", 0),
    ("sum([], 0.5)", 0.5),
    ("sum(results.flags)", 1),
    ("sum([1, 0.5])", 1.5),
    ("max(results.floats)", 2.0),
    ("min(results.floats)", 0.25),
    ("max(results.m)", 3),
    ("max(1, results.x, True)", 1.5),
    ("max([True, 0])", True),
    ("max(results.texts)", "c"),
    ("min('b', 'a')", "a"),
    ("max([1e308, 1e308])", 1e308),
    ("all(results.flags)", False),
    ("any(results.flags)", True),
    ("all([])", True),
    ("any([])", False),
    ("any([True, results.n, 3])", True),
    ("all([False, 'a'])", False),
    ("sum(results.floats) / len(results.floats) < max(results.floats)", True),
]


@pytest.mark.parametrize(("source", "value"), VALUES)
def test_an_allowed_expression_gives_pythons_own_value(source: str, value: object) -> None:
    found = evaluate_expr(source, RESULTS)
    assert found == value
    assert type(found) is type(value)


NO_VALUE = [
    # division by zero, overflow, a complex result
    ("1 / 0", "1 / 0: division by zero"),
    ("1 // results.n", "1 // results.n: division by zero"),
    ("1.5 % 0", "1.5 % 0: division by zero"),
    ("0.0 ** -1", "0.0 ** -1: division by zero"),
    ("1 + (results.x / results.n)", "results.x / results.n: division by zero"),
    ("results.big * 10", "results.big * 10: overflows"),
    ("results.big + results.big", "overflows"),
    ("10.0 ** 400", "10.0 ** 400: overflows"),
    ("10 ** 400 / 3", "overflows"),
    ("10 ** 400 + 0.5", "overflows"),
    ("(-8) ** 0.5", "gives a complex number"),
    ("sum([1e308, 1e308])", "overflows"),
    ("sum([10 ** 400, 0.5])", "overflows"),
    ("round(1.7e308, -308)", "overflows"),
    # the size of integers and sequences
    ("9 ** 9 ** 9", "9 ** 9 ** 9: gives an integer of more than 4,300 digits"),
    ("(10 ** 4000) * (10 ** 4000)", "more than 4,300 digits"),
    ("results.huge * results.huge", "more than 4,300 digits"),
    ("10 ** 4299 * 9 + 10 ** 4299", "more than 4,300 digits"),
    ("(-10) ** 4300", "more than 4,300 digits"),
    ("-(10 ** 4299) * 10", "more than 4,300 digits"),
    ("sum([10 ** 4299 * 9, 10 ** 4299])", "more than 4,300 digits"),
    ("round(10 ** 4300 - 1, -4300)", "more than 4,300 digits"),
    # wrong operands
    ("'a' * 3", "* takes two numbers; 'a' is a string ('a'), 3 is a number (3)"),
    ("[0] * 10 ** 9", "* takes two numbers"),
    ("'%d' % 1", "% takes two numbers"),
    ("results.note + 1", "results.note is a string ('ok'), 1 is a number (1)"),
    ("results.m + (1,)", "+ takes two numbers, strings, lists or tuples"),
    ("results.null + 1", "results.null is null, 1 is a number (1)"),
    ("{} + {}", "+ takes two numbers"),
    ("[1] - [1]", "- takes two numbers"),
    ("-results.note", "the operand is a string ('ok')"),
    # and, or, not
    ("results.n and True", "results.n: is a number (0)"),
    ("results.yes and results.n", "results.n: is a number (0); and, or and not take True and False only"),
    ("results.null or True", "results.null: is null"),
    ("not results.n", "results.n: is a number (0)"),
    ("not results.empty", "results.empty: is a list ([])"),
    # comparisons
    ("results.note == 1", "results.note is a string ('ok'), 1 is a number (1)"),
    ("results.note != 1.5", "type mismatch"),
    ("results.note < 1", "type mismatch"),
    ("1 < results.note < 2", "type mismatch"),
    ("results.note == True", "type mismatch"),
    ("0 < results.x < results.note", "results.x is a number (1.5), results.note is a string ('ok')"),
    ("results.x == results.null", "results.x is a number (1.5), results.null is null"),
    ("results.null != 1", "type mismatch"),
    ("results.null < 1", "type mismatch"),
    ("None < 1", "type mismatch"),
    ("results.null < results.null", "< is not defined between null and another"),
    ("results.m == 1", "results.m is a list ([1, 2, 3]), 1 is a number (1)"),
    ("results.m != 'a'", "type mismatch"),
    ("results.fit == [1]", "type mismatch"),
    ("results.m == (1, 2, 3)", "type mismatch"),
    ("results.fit < results.fit", "< is not defined between a dict and another"),
    ("results.m == [1, 'a', 3]", "results.m[1] is a number (2), [1, 'a', 3][1] is a string ('a')"),
    ("results.m == [9, 'a']", "type mismatch"),
    ("results.holes == [0.5, 1.0, 2.0]", "results.holes[1] is null"),
    (
        "results.fit == {'name': 1}",
        "results.fit['name'] is a string ('ols'), {'name': 1}['name'] is a number",
    ),
    ("[[1]] == [1]", "type mismatch"),
    # in
    ("1 in results.note", "type mismatch"),
    ("'a' in results.m", "'a' is a string ('a'), results.m[0] is a number (1)"),
    ("3 not in results.mixed", "results.mixed[1] is a string ('a')"),
    ("results.x in results.holes", "results.holes[1] is null"),
    ("results.null in results.m", "type mismatch"),
    ("1 in results.fit", "1 is a number (1), results.fit, key 'r2', is a string"),
    ("1 in {}", "a key of a dict is a string"),
    ("[1] in results.fit", "which is no key of a dict"),
    ("1 in results.k", "nothing is in results.k: it is a number"),
    ("None in results.note", "None is not in a string"),
    ("0.5 in results.some_nan", "results.some_nan[1] is nan"),
    ("'x' in ['x', results.note, 1, results.nan]", "results.nan: is nan"),
    # numbers that are not finite
    ("results.nan", "results.nan: is nan, not a finite number"),
    ("results.nan == 1", "results.nan: is nan"),
    ("not (results.nan > 0.05)", "results.nan: is nan"),
    ("results.inf > 0", "results.inf: is inf"),
    ("-results.inf < 0", "results.inf: is inf"),
    ("1 / results.inf == 0", "results.inf: is inf"),
    ("[results.nan]", "results.nan: is nan"),
    ("results.some_nan[1]", "results.some_nan[1]: is nan"),
    ("max(results.some_nan)", "item [1] is nan, not a finite number"),
    ("min(results.some_nan)", "item [1] is nan"),
    ("sum(results.some_nan)", "item [1] is nan"),
    ("max([0.7, results.nan])", "results.nan: is nan"),
    ("max(0.7, results.nan)", "results.nan: is nan"),
    ("all(results.some_nan)", "item [0] is a number (0.5)"),
    ("results.some_nan == [0.5]", "results.some_nan[1] is nan"),
    ("results.some_nan == results.some_nan", "results.some_nan[1] is nan"),
    ("results.deep_nan != {}", "results.deep_nan['a'][1]['b'] is nan"),
    ("results.deep_nan in [1]", "results.deep_nan['a'][1]['b'] is nan"),
    # references
    ("results.slop", "results.slop: no key 'slop'; results has n, k, x, y, huge"),
    ("results.fit.r3", "results.fit.r3: no key 'r3'; results.fit has r2, name, 0"),
    ("results['a b']", "no key 'a b'"),
    ("results['__class__']", "no key '__class__'"),
    ("results.__class__", "no key '__class__'"),
    ("results.m[10]", "no index 10; results.m has 3 items"),
    ("results.m[-4]", "no index -4"),
    ("results.m.a", "results.m is a list; it has indices, no key 'a'"),
    ("results[0]", "results is a dict; it has keys, no index 0"),
    ("results.fit[0]", "results.fit is a dict"),
    ("results.note[0]", "results.note is a string"),
    ("results.k.real", "results.k is a number"),
    ("results.null.a", "results.null is null"),
    # helpers
    ("abs('a')", "abs('a'): its argument is a string ('a'); expected a number"),
    ("abs(results.null)", "its argument is null"),
    ("abs(results.m)", "its argument is a list"),
    ("round('a')", "its argument is a string"),
    ("round(1.5, 'a')", "its decimals are a string"),
    ("round(1.5, None)", "its decimals are null"),
    ("round(1.5, True)", "its decimals are a boolean"),
    ("round(1.5, 1.0)", "its decimals are a number (1.0); expected an integer"),
    ("len(1)", "which has no length"),
    ("len(None)", "which has no length"),
    ("sum(1)", "its argument is a number (1); expected a list"),
    ("sum('ab')", "expected a list"),
    ("sum(results.fit)", "its argument is a dict"),
    ("sum(results.texts)", "item [0] is a string ('b'); expected a number"),
    ("sum([[1]], [])", "its start is a list"),
    ("sum([1], 'a')", "its start is a string"),
    ("sum(results.holes)", "item [1] is null"),
    ("max(results.empty)", "there is nothing to choose from"),
    ("min([])", "there is nothing to choose from"),
    ("max(1)", "expected a list"),
    ("max('ab')", "expected a list"),
    ("max(results.fit)", "expected a list"),
    ("max(results.mixed)", "item [1] is a string"),
    ("max('a', 1)", "item [0] is a string, item [1] is a number"),
    ("max([1], [2])", "item [0] is a list"),
    ("max(results.holes)", "item [1] is null"),
    ("all(results.m)", "item [0] is a number (1); expected True or False"),
    ("any([False, results.n])", "item [1] is a number (0)"),
    ("any(True)", "expected a list"),
    ("all(results.fit)", "expected a list"),
    ("{[]: 1}", "a key of a dict cannot be a list"),
]


@pytest.mark.parametrize(("source", "why"), NO_VALUE)
def test_what_has_no_value_names_the_part_and_the_reason(source: str, why: str) -> None:
    with pytest.raises(NotEvaluable) as fault:
        evaluate_expr(source, RESULTS)
    assert str(fault.value).startswith("could not be evaluated: ")
    assert why in str(fault.value)


def test_a_concatenation_is_refused_by_its_length_before_it_is_made() -> None:
    results = {"a": [0] * 60_000, "b": "x" * 60_000}
    for source in ("results.a + results.a", "results.b + results.b"):
        with pytest.raises(NotEvaluable, match="gives 120,000 items or characters"):
            evaluate_expr(source, results)
    assert evaluate_expr("len(results.a + [1])", results) == 60_001


def test_the_keys_there_are_come_in_the_files_order_and_are_cut() -> None:
    results = {f"key{number}": number for number in range(30, 0, -1)}
    with pytest.raises(NotEvaluable) as fault:
        evaluate_expr("results.slope", results)
    assert "results has key30, key29," in str(fault.value)
    assert str(fault.value).endswith("key11 and 10 more")


def test_results_without_keys_say_so() -> None:
    with pytest.raises(NotEvaluable, match="results has no keys"):
        evaluate_expr("results.slope", {})


class Trap:
    """Fails the test when any of its methods is called."""

    def trapped(self, *_: object) -> Any:
        raise AssertionError("a method of a value from outside was called")

    __add__ = __radd__ = __lt__ = __gt__ = __eq__ = __float__ = __index__ = __bool__ = trapped
    __len__ = __iter__ = __getitem__ = __contains__ = __hash__ = __repr__ = __str__ = __abs__ = trapped
    __round__ = __call__ = trapped


class TrapFloat(float):
    """A number that would answer for itself."""

    __add__ = __radd__ = __gt__ = __lt__ = __eq__ = Trap.trapped  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("value", [Trap(), TrapFloat(1.0), Fraction(1, 2), (1, 2), {1, 2}, OrderedDict(a=1)])
@pytest.mark.parametrize(
    "source",
    [
        "results.v",
        "results.v == 1",
        "results.v + 1",
        "abs(results.v)",
        "sum(results.v)",
        "len(results.v)",
        "results.v.a",
        "results.v[0]",
        "max(results.list)",
        "min(results.list)",
        "sum(results.list)",
        "all(results.list)",
        "any(results.list)",
        "max(0.5, results.v)",
        "results.list == [0.5, 1.0]",
        "0.7 in results.list",
        "'a' in results.v",
        "results.v in [1]",
        "not results.v",
    ],
)
def test_a_type_that_json_does_not_have_is_named_and_never_called(source: str, value: object) -> None:
    with pytest.raises(NotEvaluable):
        evaluate_expr(source, {"v": value, "list": [0.5, value]})


def test_an_unknown_type_is_named_in_full() -> None:
    with pytest.raises(NotEvaluable, match=r"the type fractions\.Fraction, which JSON does not have"):
        evaluate_expr("results.v > 0", {"v": Fraction(1, 2)})


def test_a_list_that_contains_itself_ends() -> None:
    loop: list[object] = []
    loop.append(loop)
    for source in ("results.a == [[1]]", "1 in results.a", "results.a == results.a"):
        with pytest.raises(NotEvaluable, match="nested more than 100 levels deep"):
            evaluate_expr(source, {"a": loop})


class Lookup(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> Any:
        return {"a": 1.5}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def test_any_mapping_will_do_for_results() -> None:
    for results in (Lookup(), OrderedDict(a=1.5)):
        assert evaluate_expr("results.a + 1", results) == 2.5
        assert compile_expr("results.a + 1").read_values(results) == [("results.a", 1.5)]


@pytest.mark.parametrize("results", [None, [1], 1.5, "text"])
def test_results_that_are_no_mapping_have_no_values(results: object) -> None:
    with pytest.raises(NotEvaluable, match="expected a dict of named values"):
        evaluate_expr("results.a > 1", results)  # type: ignore[arg-type]


def test_nothing_is_remembered_of_results_between_two_evaluations() -> None:
    expression = compile_expr("sum(results.a) / len(results.a) < max(results.a)")
    values = [0.5, 0.75]
    assert expression.evaluate({"a": values}) is True
    values[1] = NAN
    with pytest.raises(NotEvaluable, match=r"item \[1\] is nan"):
        expression.evaluate({"a": values})
    values[:] = [1.0, 1.0]
    assert expression.evaluate({"a": values}) is False


def test_one_expression_serves_many_results() -> None:
    expression = compile_expr("results.a > 1")
    assert [expression.evaluate({"a": a}) for a in (0, 1.5, True)] == [False, True, False]


def test_one_expression_serves_many_threads() -> None:
    expression = compile_expr("sum(results.a) / len(results.a) < max(results.a)")
    sets = [{"a": [float(number), 0.5, last]} for number in range(50) for last in (0.5, 100.0, NAN)]

    def answers(_: int) -> list[bool | None]:
        found: list[bool | None] = []
        for results in sets:
            try:
                found.append(expression.evaluate(results))
            except NotEvaluable:
                found.append(None)
        return found

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(answers, range(20)))
    assert runs == [[cpython_answer(results["a"]) for results in sets]] * 20


def cpython_answer(values: list[float]) -> bool | None:
    return None if math.isnan(sum(values)) else sum(values) / len(values) < max(values)


def test_a_long_key_is_shortened_in_the_message() -> None:
    with pytest.raises(NotEvaluable) as fault:
        evaluate_expr(f"results['{'a' * 9_000}'] > 1", {"b" * 9_000: 1})
    assert len(str(fault.value)) < 1_000


def test_refused_and_not_evaluable_are_both_check_errors() -> None:
    assert issubclass(ExpressionRefused, CheckError)
    assert issubclass(NotEvaluable, CheckError)
    with pytest.raises(ExpressionRefused):
        evaluate_expr("lambda: 1", {})


def test_the_values_of_the_references_that_exist_are_told_even_if_not_finite() -> None:
    expression = compile_expr(
        "results.x > results.slop or results.nan < results.fit.r2[0] or results.m[7] > 1"
    )
    found = expression.read_values(RESULTS)
    assert [text for text, _ in found] == ["results.x", "results.nan", "results.fit.r2[0]"]
    assert found[0][1] == 1.5
    assert math.isnan(found[1][1])
