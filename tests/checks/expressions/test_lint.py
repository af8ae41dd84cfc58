"""What can be said of a check before there are results."""

from __future__ import annotations

import pytest

from autoscirub.checks.expressions import compile_expr

CANNOT_BE_FALSE = [
    # reads no result; constants; what folds to True
    ("True", "reads no result"),
    ("False", "reads no result"),
    ("1 < 2", "reads no result"),
    ("all([])", "reads no result"),
    ("len('abc') == 3", "reads no result"),
    ("1 / 0 > 1", "reads no result"),
    ("9 ** 9 ** 9 > 1", "reads no result"),
    ("True or results.a > 1", "True is always true"),
    ("results.a > 1 or 1 < 2", "1 < 2 is always true"),
    ("results.a > 1 or (len([]) == 0)", "len([]) == 0 is always true"),
    # len and abs against zero, and mirrored
    ("len(results.items) >= 0", "len(results.items) >= 0 is true of every length"),
    ("len(results.items) > -1", "true of every length"),
    ("0 <= len(results.items)", "true of every length"),
    ("-1 < len(results.items)", "true of every length"),
    ("len(results.items) != -1", "true of every length"),
    ("len(results.items) >= 0.0", "true of every length"),
    ("len(results.items) >= 1 - 1", "true of every length"),
    ("abs(results.a) >= 0", "true of every absolute value"),
    ("abs(results.a - results.b) > -0.5", "true of every absolute value"),
    ("0 <= abs(results.a)", "true of every absolute value"),
    ("-1 < abs(results.a) >= 0", "-1 is true of every absolute value"),
    # a value compared with itself
    ("results.a == results.a", "results.a is compared with itself"),
    ("results.a <= results.a", "compared with itself"),
    ("results.a >= results['a']", "compared with itself"),
    ("(results.a + 1) == results.a+1", "compared with itself"),
    ("results.a <= results.a <= results.a", "compared with itself"),
    ("results.a in [1, results.a]", "a list that it is in"),
    # a or not a
    ("results.a or not results.a", "always exactly one holds"),
    ("not results.a or results.a", "always exactly one holds"),
    ("results.b > 1 or results.a or not results.a", "of results.a and not results.a"),
    ("(results.b > 1 or results.a) or not results.a", "always exactly one holds"),
    ("not results.a > 1 or results.b or results.a > 1", "always exactly one holds"),
    ("results.a > 1 or results.a <= 1", "always exactly one holds"),
    ("results.a > 1 or 1 >= results.a", "always exactly one holds"),
    ("results.a == 'x' or results.a != 'x'", "always exactly one holds"),
    ("results.a in (1, 2) or results.a not in (1, 2)", "always exactly one holds"),
    ("any([results.a, not results.a])", "always exactly one holds"),
    # what and, or, not make of them
    ("results.a == results.a or results.b > 1", "results.a is compared with itself"),
    ("results.a == results.a and len(results.b) >= 0", "compared with itself; len(results.b) >= 0"),
    ("not results.a != results.a", "results.a is compared with itself"),
    ("not results.a < results.a", "compared with itself"),
    ("not len(results.a) < 0", "false of every length"),
    ("not 0 > len(results.a)", "false of every length"),
    ("not abs(results.a) == -1", "false of every absolute value"),
    ("not (results.a and not results.a)", "always exactly one holds"),
    ("not (results.b > 1 and len(results.a) < 0)", "false of every length"),
    ("not (results.b > 1 and False)", "False is always false"),
    ("not not len(results.a) >= 0", "true of every length"),
    ("all([len(results.a) >= 0, True])", "true of every length"),
    ("any([results.b > 1, len(results.a) >= 0])", "true of every length"),
]


@pytest.mark.parametrize(("source", "reason"), CANNOT_BE_FALSE)
def test_a_check_that_cannot_be_false_is_flagged_with_the_reason(source: str, reason: str) -> None:
    assert reason in (compile_expr(source).cannot_be_false or "")


@pytest.mark.parametrize(
    "source",
    [
        "results.a > 1",
        "results.a",
        "not results.a",
        "len(results.a) >= 1",
        "len(results.a) > 0",
        "len(results.a) <= 0",
        "0 < len(results.a)",
        "0 >= len(results.a)",
        "0 <= len(results.a) <= 5",
        "abs(results.a) > 0",
        "abs(results.a) <= 0",
        "abs(results.a) != 0",
        "-abs(results.a) >= 0",
        "results.a == results.b",
        "results.a[0] == results.a[1]",
        "results.a != results.a",
        "results.a < results.a",
        "results.a <= results.a <= results.b",
        "results.a or not results.b",
        "results.a and not results.a",
        "results.a > 1 or results.a < 1",
        "results.a > 1 or results.a <= 2",
        "results.a == results.a and results.b > 1",
        "results.a > 1 or False",
        "results.a > 1 and True",
        "not (results.a == results.a)",
        "results.a in [1, results.b]",
        "results.a not in [results.a]",
        "all([results.a, results.b])",
        "any([results.a, results.b])",
        "any(results.a)",
        "results.a > 1 / 0",
        "results.a == 'a or not a'",
    ],
)
def test_a_check_that_can_be_false_is_not_flagged(source: str) -> None:
    assert compile_expr(source).cannot_be_false is None


FLOAT_EQUALITY = [
    (
        "results.a == 0.5",
        "results.a == 0.5 compares a float exactly (column 1); safer is abs(results.a - 0.5) < 1e-9",
    ),
    ("0.5 == results.a", "compares a float exactly"),
    ("results.a != -0.5", "compares a float exactly"),
    ("results.a == results.b / 2", "compares a float exactly"),
    ("results.a == abs(results.b - 0.1)", "compares a float exactly"),
    ("results.a == [0.5, 1]", "one comparison with a tolerance for each item"),
    ("results.a in (0.5, 1.5)", "compares a float exactly"),
    ("results.b > 1 and (results.a == 1.0)", "(column 20)"),
    ("results.a == results.b == 0.5", "results.b == 0.5 compares"),
]


@pytest.mark.parametrize(("source", "warning"), FLOAT_EQUALITY)
def test_equality_on_a_float_is_warned_of(source: str, warning: str) -> None:
    (found,) = compile_expr(source).warnings
    assert warning in found


@pytest.mark.parametrize(
    ("source", "warning"),
    [
        ("results.a + 1", "never gives True or False"),
        ("len(results.a)", "never gives True or False"),
        ("[results.a]", "never gives True or False"),
        ("results.a != results.a", "it can never be true: results.a is compared with itself"),
        ("len(results.a) < 0", "it can never be true"),
        ("results.a and not results.a", "it can never be true"),
    ],
)
def test_what_can_never_pass_is_warned_of(source: str, warning: str) -> None:
    (found,) = compile_expr(source).warnings
    assert warning in found


@pytest.mark.parametrize(
    "source",
    [
        "results.a == 1",
        "results.a == 'x'",
        "results.a < 0.5",
        "abs(results.a - 0.5) < 1e-9",
        "round(results.a, 1) == 1.0",
        "results.flag",
        "results.a == results.b",
        "max(results.a, results.b) == results.c",
    ],
)
def test_an_ordinary_check_has_no_warning(source: str) -> None:
    assert compile_expr(source).warnings == []


def test_every_warning_is_given_in_the_order_of_the_source() -> None:
    warnings = compile_expr("results.a == 0.5 or results.b == 1.5").warnings
    assert [text.split(" compares")[0] for text in warnings] == ["results.a == 0.5", "results.b == 1.5"]
