"""The page of the checks: limits, grammar, what each input gives, what is refused, the formats."""

from __future__ import annotations

import json
import re

import pytest
from tests.docs.pages import code, table

from autoscirub.checks.artifacts import finding, images, paths
from autoscirub.checks.artifacts.formats import FORMATS
from autoscirub.checks.expressions import check_expr, compile_expr, limits, tree
from autoscirub.checks.expressions.grammar import HELPER_ARGUMENTS
from autoscirub.errors import ExpressionRefused
from autoscirub.models import ProjectConfig
from autoscirub.store import strictjson

LIMITS = {
    "characters of an expression": limits.MAX_LENGTH,
    "parts of an expression": limits.MAX_NODES,
    "levels of nesting in an expression, or in values that it compares": limits.MAX_DEPTH,
    "digits of an integer": limits.MAX_INT_DIGITS,
    "items or characters that `+` makes": limits.MAX_SEQUENCE,
    "the results file, in bytes": ProjectConfig().limits.results_bytes,
    "levels of nesting in a JSON file": strictjson.MAX_DEPTH,
    "characters of an artifact's path": paths.MAX_PATH,
    "CSV, JSON, SVG, PDF, and a Parquet footer, in bytes": finding.PARSED_BYTES,
    "PNG and JPEG, in bytes": images.IMAGE_BYTES,
    "pixels of a picture": images.MAX_PIXELS,
}


def test_the_limits_are_the_code_s_own() -> None:
    assert {what: int(limit.replace(",", "")) for what, limit in table("checks.md", "Limits")} == LIMITS


def test_the_grammar_s_operators_and_helpers_are_all_there() -> None:
    rows = {part: code(cell) for part, cell in table("checks.md", "Expressions")}
    assert rows["arithmetic"] == [*tree.BINARY.values(), "+", "-"]
    assert rows["comparison"][: len(tree.COMPARISONS)] == list(tree.COMPARISONS.values())
    assert list(dict.fromkeys(span.split("(")[0] for span in rows["helpers"])) == list(HELPER_ARGUMENTS)


INPUTS = table("checks.md", "What an input gives")
REFUSED = table("checks.md", "What is refused")


@pytest.mark.parametrize(("expression", "results", "answer"), INPUTS, ids=[row[0] + row[1] for row in INPUTS])
def test_an_input_gives_what_the_page_says(expression, results, answer) -> None:
    passed, _, message = check_expr(compile_expr(code(expression)[0]), json.loads(code(results)[0]))
    word, _, why = answer.partition(": ")
    assert passed is {"True": True, "False": False, "inconclusive": None}[word]
    if passed is None:
        assert re.sub("`", "", why) in message


@pytest.mark.parametrize(("expression", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_expression_is_refused_as_the_page_says(expression, why) -> None:
    with pytest.raises(ExpressionRefused, match=re.escape(why)):
        compile_expr(code(expression)[0])


def test_the_formats_are_those_that_are_opened() -> None:
    rows = {code(row[0])[0]: tuple(code(row[1])) for row in table("checks.md", "Artifacts")}
    assert rows == {name: each.suffixes for name, each in FORMATS.items()}
