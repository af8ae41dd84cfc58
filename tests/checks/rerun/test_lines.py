"""The line of a value that a rerun names."""

from __future__ import annotations

import json

import pytest

from autoscirub.checks.rerun import key_lines
from autoscirub.checks.rerun.comparison import compare_file
from autoscirub.checks.rerun.pairs import Tolerance

RESULTS = {"n": 3, "model": {"slope": 0.5, "of": ["a", {"x": 1}]}, "a.b": [[1, 2]], "empty": {}}


def test_every_key_that_a_comparison_names_has_the_line_that_it_stands_on() -> None:
    text = json.dumps(RESULTS, indent=1)
    keys = {found.key for found in compare_file("r.json", text.encode(), text.encode(), Tolerance(0, 0))}
    lines = key_lines(text.encode(), keys)
    assert lines.keys() == keys
    text_lines = text.splitlines()
    assert text_lines[lines["model.slope"] - 1].strip() == '"slope": 0.5,'
    assert text_lines[lines["model.of[1].x"] - 1].strip() == '"x": 1'
    assert text_lines[lines["a.b[0][1]"] - 1].strip() == "2"


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1, "a": 2}', b"\xff", b"[" * 5000, b'"a"'])
def test_what_is_no_results_file_has_no_lines(data) -> None:
    assert key_lines(data, {"a"}) == {}


def test_a_key_that_is_not_there_has_no_line() -> None:
    assert key_lines(b'{"a": 1}', {"a", "b"}) == {"a": 1}
