"""Finding and reading a results file."""

from __future__ import annotations

import json
import os

import pytest

from autoscirub.checks import find_results, load_results, read_results
from autoscirub.errors import ConfigError, ResultsError

LIMIT = 64 * 1024 * 1024

UNREADABLE = [
    (b'{"slope": 1,\n "slope": 2}', "the key 'slope' appears twice in one object (line 2)"),
    (b'{"slope": 1}\n{"slope": 2}', "holds more than one document: there is text after the first (line 2)"),
    (b'{"slope": [1, 2', "is cut off: the document does not end (line 1)"),
    (b'{"slope": "\xff"}', "is not UTF-8: byte 0xff at offset 11 (line 1)"),
    (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 200 levels (line 1)"),
    (b'{\n"n": ' + b"7" * 5_000 + b"}", "a number of more than 4,300 digits (line 2)"),
    ('{"slope": 1}'.encode("utf-16"), "is UTF-16, not UTF-8; save it as UTF-8"),
    (b"", "is empty"),
    (b"{slope: 1}", "is not JSON: expecting property name enclosed in double quotes, column 2 (line 1)"),
    (b"[1, 2]", "holds a list, expected an object with named values"),
    (b"3", "holds 3, expected an object with named values"),
]


@pytest.mark.parametrize(("data", "text"), UNREADABLE, ids=[text[:30] for _, text in UNREADABLE])
def test_a_results_file_that_cannot_be_read_gives_one_short_error(data, text) -> None:
    with pytest.raises(ResultsError) as caught:
        read_results(data, "results.json")
    message = str(caught.value)
    assert message.removeprefix("results.json: ") == text
    assert len(message) < 200
    assert "\n" not in message


@pytest.mark.parametrize(
    "data", [b'\xef\xbb\xbf{"slope": 0.51}', b'{\r\n"slope": 0.51\r\n}\r\n', b' {"slope": 0.51} ']
)
def test_a_byte_order_mark_crlf_and_spaces_are_read_as_if_not_there(data) -> None:
    assert read_results(data, "results.json").values == {"slope": 0.51}


def test_non_finite_tokens_are_read_for_the_checks_to_judge() -> None:
    values = read_results(b'{"a": NaN, "b": Infinity, "c": -Infinity, "d": 1e999}', "r").values
    assert [str(value) for value in values.values()] == ["nan", "inf", "-inf", "inf"]


def test_a_long_row_of_digits_inside_a_text_is_no_number() -> None:
    assert read_results(json.dumps({"dna": "0" * 5_000}).encode(), "r").values["dna"] == "0" * 5_000


def test_two_candidates_are_an_error_that_names_both(tmp_path) -> None:
    (tmp_path / "results").mkdir()
    for name in ("results.json", "results/results.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ConfigError, match=r"results/results\.json and results\.json both exist"):
        find_results(tmp_path, None)
    assert find_results(tmp_path, "results.json") == "results.json"


@pytest.mark.parametrize(
    ("present", "found"),
    [
        ([], "results/results.json"),
        (["results.json"], "results.json"),
        (["results/results.json"], "results/results.json"),
    ],
)
def test_the_one_results_file_is_found(tmp_path, present, found) -> None:
    (tmp_path / "results").mkdir()
    for name in present:
        (tmp_path / name).write_text("{}")
    assert find_results(tmp_path, None) == found


def test_a_link_a_fifo_and_a_file_over_the_limit_are_refused_saying_so(tmp_path) -> None:
    (tmp_path / "real.json").write_text('{"slope": 1}')
    (tmp_path / "link.json").symlink_to("real.json")
    os.mkfifo(tmp_path / "pipe.json")
    for name, text in (
        ("link.json", "is a symbolic link"),
        ("pipe.json", "is a FIFO"),
        ("none.json", "is not there"),
    ):
        with pytest.raises(ResultsError, match=text):
            load_results(tmp_path, name, limit=LIMIT)
    with pytest.raises(ResultsError, match="12 bytes, more than the limit of 5"):
        load_results(tmp_path, "real.json", limit=5)


def test_a_results_folder_that_is_a_link_out_of_the_project_is_refused(tmp_path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "results.json").write_text('{"slope": 1}')
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "results").symlink_to("../outside")
    with pytest.raises(ResultsError, match="leads out of"):
        load_results(tmp_path / "project", "results/results.json", limit=LIMIT)
