"""An expression as a check: three answers, and the values that each came from."""

from __future__ import annotations

from typing import Any

import pytest

from autoscirub.checks.expressions import check_expr, compile_expr

RESULTS: dict[str, Any] = {
    "available_wind_twh": 4.192662004779861,
    "n": 0,
    "x": 1.0,
    "note": "ok",
    "flag": True,
    "m": [1, 2, 3],
    "long": [0.1] * 1_000,
    "nan": float("nan"),
    "null": None,
}

MESSAGES = [
    (
        "abs(results.available_wind_twh - 3.45) < 0.05",
        False,
        "abs(results.available_wind_twh - 3.45) < 0.05 is False: 0.7426620047798611 < 0.05; "
        "results.available_wind_twh = 4.192662004779861",
    ),
    ("results.x > 0.5", True, "results.x > 0.5 is True: 1.0 > 0.5; results.x = 1.0"),
    ("10.2 < results.x < 12.4", False, "10.2 < results.x < 12.4 is False: 10.2 < 1.0; results.x = 1.0"),
    ("0 <= results.x < 12.4", True, "0 <= results.x < 12.4 is True: 0 <= 1.0 < 12.4; results.x = 1.0"),
    (
        "results.n != 0 and results.x / results.n > 1",
        False,
        "results.n != 0 and results.x / results.n > 1 is False: 0 != 0; results.n = 0, results.x = 1.0",
    ),
    (
        "results.x > 2 or results.note == 'no'",
        False,
        "results.x > 2 or results.note == 'no' is False: 1.0 > 2 or 'ok' == 'no'; "
        "results.x = 1.0, results.note = 'ok'",
    ),
    ("results.flag and results.x > 2", False, "1.0 > 2; results.flag = True, results.x = 1.0"),
    ("not results.x > 0.5", False, "not results.x > 0.5 is False: not (1.0 > 0.5); results.x = 1.0"),
    ("results.flag", True, "results.flag is True: results.flag = True"),
    ("all([])", True, "all([]) is True"),
    ("results.x in (2, 3)", False, "results.x in (2, 3) is False: 1.0 in (2, 3); results.x = 1.0"),
    ("results.m == [1, 2]", False, "[1, 2, 3] == [1, 2]; results.m = [1, 2, 3]"),
    (
        "max(results.long) > 1",
        False,
        "0.1 > 1; results.long = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, … 1,000 items]",
    ),
    (
        "results.x",
        None,
        "could not be evaluated: results.x: gives 1.0, a number; a check must give True or False",
    ),
    (
        "results.n",
        None,
        "could not be evaluated: results.n: gives 0, a number; a check must give True or False",
    ),
    ("results.note", None, "gives 'ok', a string"),
    ("results.null", None, "gives None, null"),
    ("results.m", None, "gives [1, 2, 3], a list"),
    (
        "1.75 * 2",
        None,
        "could not be evaluated: 1.75 * 2: gives 3.5, a number; a check must give True or False",
    ),
    ("1 < results.x / results.n", None, "could not be evaluated: results.x / results.n: division by zero"),
    ("results.nan > 0", None, "could not be evaluated: results.nan: is nan, not a finite number"),
    ("results.slop > 0", None, "results.slop: no key 'slop'; results has available_wind_twh, n, x"),
]


@pytest.mark.parametrize(("source", "passed", "message"), MESSAGES)
def test_a_check_says_what_it_came_from(source: str, passed: bool | None, message: str) -> None:
    found, _, text = check_expr(compile_expr(source), RESULTS)
    assert found is passed
    assert text == message if message.startswith((source, "could not be")) else message in text


def test_the_value_of_a_check_is_kept_but_for_containers() -> None:
    scalars = {"results.x > 0": True, "results.x < 0": False, "results.x": 1.0, "results.note": "ok"}
    scalars |= {"results.m": None, "results": None, "results.slop": None}
    assert {source: check_expr(compile_expr(source), RESULTS)[1] for source in scalars} == scalars


def test_results_that_are_no_mapping_could_not_be_evaluated() -> None:
    passed, value, message = check_expr(compile_expr("results.x > 0"), [1])  # type: ignore[arg-type]
    assert (passed, value) == (None, None)
    assert "results is a list; expected a dict of named values" in message


def test_a_message_stays_short_and_on_one_line_whatever_it_shows() -> None:
    results = {"text": "x\n" * 100_000, "nested": [[[[1] * 9] * 9] * 9] * 9, "big": 10**4299}
    for source in (
        "results.text == 'a' or\n results.big < 1" + " or results.big < 1" * 200,
        "results.nested == [1, 2]",
        "results.nested == [[[[1]]]]",
        "results.nested",
        "results.text",
    ):
        _, _, message = check_expr(compile_expr(f"({source})"), results)
        assert "\n" not in message
        assert len(message) < 3_000


def test_an_integer_too_long_to_spell_is_described() -> None:
    _, _, message = check_expr(compile_expr("max(results.m) < 1"), {"m": [10**5000]})
    assert "an integer of 16,610 bits" in message
