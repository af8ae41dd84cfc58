"""CSV, JSON and Parquet, and the pointers that stand for any file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable

import pytest

from autoscirub.checks.artifacts.finding import PARSED_BYTES
from autoscirub.models import Answer, Decision

Look = Callable[..., Decision]
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


def note(decision: Decision) -> str:
    return decision.evidence[0].note or ""


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,2\n",
        b"\xef\xbb\xbfa,b\r\n1,2\r\n",
        b"a,b\r1,2\r",
        b"a;b\n1,5;2,5\n",
        b"a\tb\n1\t2\n",
        b"value\n1\n2\n",
        b'a,b\n"two\nlines",2\n\n3,4\n',
        b'name;"x, y"\n"q";1\n',
        "größe,b\n1,2".encode(),
        b"a,b\n" + b"x" * 500_000 + b",2\n",
    ],
)
def test_a_readable_csv_passes_without_a_flag(look: Look, data: bytes) -> None:
    before = csv.field_size_limit()
    decision = look(data, "a.csv")
    assert decision.answer is Answer.HOLDS
    assert note(decision) == ""
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a,b\n1,2\n\xff\xfe,3\n", "not a CSV: line 3 is not UTF-8"),
        (b"a,b\nM\xfcnchen,3\n", "not a CSV: line 2 is not UTF-8"),
        (b"a,b\n1,\0\n", "not a CSV: line 2 holds a NUL byte"),
        ("a,b\n1,2\n".encode("utf-16"), "not a CSV: it is UTF-16 text; UTF-8 is needed"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "not a whole CSV: a quote in the row of line 3 is never closed"),
        (b'a,b\n1,2\n"3"x,4\n', "not a CSV: line 3 has text after a closing quote"),
        (b"<!doctype html>\n<html>a,b</html>", "not a CSV: it is an HTML page"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not a CSV: line 1 is not UTF-8; it is a PNG image"),
    ],
)
def test_an_unparsable_csv_fails_and_names_the_line(look: Look, data: bytes, reason: str) -> None:
    decision = look(data, "a.csv")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert note(decision) == reason


@pytest.mark.parametrize(
    ("data", "flag"),
    [
        (b"a,b\n", "blank: no rows, only a header"),
        (b"\n\n", "blank: no rows"),
        (b"\xef\xbb\xbf", "blank: no rows"),
        (b"a,b\n1,2\n1,2,3\n4\n", "ragged: line 3 has 3 fields, the header 2 (and 1 more rows)"),
        (b'a,b\n"1\n1",2\n\n4\n', "ragged: line 5 has 1 fields, the header 2"),
    ],
)
def test_a_csv_without_rows_or_with_ragged_ones_passes_and_is_flagged(
    look: Look, data: bytes, flag: str
) -> None:
    decision = look(data, "a.csv")
    assert decision.answer is Answer.HOLDS
    assert note(decision) == flag


def test_a_tsv_is_opened_too(look: Look) -> None:
    assert note(look(b'a\tb\n1\t"2\n', "a.tsv")).startswith("not a whole CSV")


@pytest.mark.parametrize("data", [b"{}", b"3", b"\xef\xbb\xbf{}\r\n", b'[1e999, "\\ud800"]', b"1" * 5000])
def test_a_json_document_passes_without_a_flag(look: Look, data: bytes) -> None:
    decision = look(data, "a.json")
    assert decision.answer is Answer.HOLDS
    assert note(decision) == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1,\n "b": }', "not JSON: Expecting value (line 2, column 7)"),
        (b'{"a": 1}\n{"a": 2}\n', "not JSON: a second document begins (line 2, column 1)"),
        (b'{"a": "cut', "not JSON: Unterminated string starting at (line 1, column 7)"),
        (b"<html></html>", "not JSON: it is an HTML page"),
        (b'{"a": "M\xfcnchen"}', "not JSON: line 1 is not UTF-8"),
        (b"\n", "not JSON: Expecting value (line 2, column 1)"),
    ],
)
def test_broken_json_fails_and_names_the_line(look: Look, data: bytes, reason: str) -> None:
    decision = look(data, "a.json")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert note(decision) == reason


def test_duplicate_keys_and_nan_tokens_pass_and_are_flagged(look: Look) -> None:
    decision = look(b'{"r": [{"a": NaN, "b": 1, "b": 2}]}', "a.json")
    assert decision.answer is Answer.HOLDS
    assert "the key b is there twice in one object" in note(decision)
    assert "it holds NaN, which strict JSON does not allow" in note(decision)


@pytest.mark.parametrize(
    "data", [b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000]
)
def test_json_nested_too_deep_gives_one_short_sentence(look: Look, data: bytes) -> None:
    decision = look(data, "a.json")
    assert decision.answer is Answer.INCONCLUSIVE
    assert decision.open == ["a.json: it is nested deeper than can be read here"]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".svg", ".pdf"])
def test_a_file_over_the_parsing_limit_is_hashed_and_is_inconclusive(
    look: Look, tmp_path: object, suffix: str
) -> None:
    decision = look(b" " * (PARSED_BYTES + 1), f"a{suffix}")
    assert decision.answer is Answer.INCONCLUSIVE
    assert f"the limit is {PARSED_BYTES} bytes" in decision.open[0]
    assert decision.evidence[0].size == PARSED_BYTES + 1
    assert decision.evidence[0].sha256 is not None


def test_a_real_parquet_passes_without_a_flag(look: Look, parquet_bytes: bytes) -> None:
    decision = look(parquet_bytes, "a.parquet")
    assert decision.answer is Answer.HOLDS
    assert note(decision) == ""


def test_a_parquet_without_rows_is_flagged(look: Look) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(arrow.table({"day": arrow.array([], arrow.int64())}), buffer)
    assert note(look(buffer.getvalue(), "a.parquet")) == "blank: 0 rows and 1 columns"


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html></html>", "not a Parquet file: it is an HTML page"),
        (b"PA", "not a whole Parquet file"),
        (b"PAR1" + b"x" * 40, "not a whole Parquet file: cut off before its footer"),
        (b"PAR1\xff\xff\xff\x7fPAR1", "not a whole Parquet file: its footer says 2147483647 bytes"),
    ],
)
def test_a_parquet_without_its_magic_bytes_fails_with_or_without_pyarrow(
    look: Look, monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str, missing: bool
) -> None:
    if missing:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    decision = look(data, "a.parquet")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert note(decision).startswith(reason)


def test_without_pyarrow_a_parquet_is_inconclusive_and_the_message_says_how_to_get_it(
    look: Look, monkeypatch: pytest.MonkeyPatch, parquet_bytes: bytes
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    decision = look(parquet_bytes, "a.parquet")
    assert decision.answer is Answer.INCONCLUSIVE
    assert decision.open == ["a.parquet: needs pyarrow: pip install 'autoscirub[parquet]'"]


@pytest.mark.parametrize("path", ["a.png", "a.csv", "a.json", "a.parquet", "model.bin", "no-suffix"])
def test_a_git_lfs_pointer_fails_whatever_its_suffix(look: Look, path: str) -> None:
    decision = look(POINTER, path)
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert note(decision) == "only a Git LFS pointer: the content is not here; run `git lfs pull`"


def test_a_git_annex_pointer_fails_too(look: Look) -> None:
    assert "git annex get" in note(look(b"/annex/objects/SHA256E-s3--abc.csv\n", "a.csv"))


def test_a_text_about_git_lfs_is_no_pointer(look: Look) -> None:
    assert look(POINTER * 20, "notes.txt").answer is Answer.HOLDS


@pytest.mark.parametrize("path", ["a.txt", "a.npy", "a.gif", "a.svgz", ".png", "png"])
def test_other_suffixes_are_asked_for_existence_alone(look: Look, path: str) -> None:
    decision = look(b"\0\1\2", path)
    assert decision.answer is Answer.HOLDS
    assert decision.question == f"Is {path} there and non-empty?"
