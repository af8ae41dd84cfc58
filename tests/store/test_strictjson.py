"""Strict JSON: what is refused, why, and on which line; what is read although other readers stumble on it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoscirub.store.strictjson import MAX_DEPTH, MAX_DIGITS, JsonFault, line_of, lines_of, parse

FIVE_THOUSAND = "1234567890" * 500

REFUSED = {
    # duplicate keys
    "twice in one object": (b'{\n "a": 1,\n "a": 2\n}', "the key 'a' appears twice in one object", 3),
    "twice in an inner object": (b'{"x": {\n "a": 1,\n "a": 2}}', "the key 'a' appears twice", 3),
    "twice in an object in a list": (b'[1,\n{"a": 1},\n{"a": 1,\n"a": 2}]', "the key 'a' appears twice", 4),
    "the line of the key, not of its value": (b'{"a": 1,\n"a":\n\n2}', "the key 'a' appears twice", 2),
    "twice, once written with an escape": (b'{"ab": 1,\n"a\\u0062": 2}', "the key 'ab' appears twice", 2),
    "twice the empty key": (b'{"": 1,\n"": 2}', "the key '' appears twice", 2),
    "an inner key, and so is its object's": (
        b'{"x": {"k": 1},\n"x": {"k": 2,\n"k": 3}}',
        "the key 'k' appears twice",
        3,
    ),
    "a very long key": (b'{"' + b"k" * 9999 + b'": 1,\n"' + b"k" * 9999 + b'": 2}', "appears twice", 2),
    # one document
    "two documents": (b'{"a": 1}\n{"a": 2}', "more than one document", 2),
    "JSON lines": (b"1\n2\n3\n", "more than one document", 2),
    "a bracket too many": (b'{"a": [1]]}', "is not JSON", 1),
    "text after the end": (b'{"a": 1}\n\nthe end', "more than one document", 3),
    "a NUL after the end": (b'{"a": 1}\x00', "more than one document", 1),
    # cut off
    "cut off after a comma": (b'{"a": 1,\n', "is cut off", 2),
    "cut off in a string": (b'{"a":\n"b', "is cut off", 2),
    "cut off in an escape": (b'{"a":\n"b\\', "is cut off", 2),
    "cut off in a unicode escape": (b'{"a":\n"b\\u00', "is cut off", 2),
    "cut off in a word": (b'{"a":\ntru', "is cut off", 2),
    "cut off in an exponent": (b'{"a":\n1e-', "is cut off", 2),
    "cut off in a character": ('{"a":\n"é'.encode()[:-1], "is cut off in the middle of a character", 2),
    # encodings
    "invalid UTF-8": (b'{"a":\n"\xff"}', "is not UTF-8: byte 0xff at offset 7", 2),
    "Latin-1": ('{"a":\n\n"é"}'.encode("latin-1"), "is not UTF-8: byte 0xe9", 3),
    "a surrogate in UTF-8": (b'["\xed\xa0\x80"]', "is not UTF-8: byte 0xed", 1),
    "UTF-16 with a mark": ('{"a": 1}'.encode("utf-16"), "is UTF-16, not UTF-8; save it as UTF-8", None),
    "UTF-16 big-endian with a mark": (b"\xfe\xff" + '{"a": 1}'.encode("utf-16-be"), "is UTF-16", None),
    "UTF-16 without a mark": ('{"a": 1}'.encode("utf-16-le"), "is UTF-16 or UTF-32", None),
    "UTF-32 with a mark": ('{"a": 1}'.encode("utf-32"), "is UTF-32, not UTF-8", None),
    "UTF-32 without a mark": ('{"a": 1}'.encode("utf-32-be"), "is UTF-16 or UTF-32", None),
    # numbers
    "5,000 digits": (b'{"a":\n' + FIVE_THOUSAND.encode() + b"}", "a number of more than 4,300 digits", 2),
    "5,000 digits after a point": (b'{"a":\n0.' + FIVE_THOUSAND.encode() + b"}", "more than 4,300 digits", 2),
    "5,000 digits in an exponent": (b"[1e" + FIVE_THOUSAND.encode() + b"]", "more than 4,300 digits", 1),
    "5,000 digits, and as many in a string before": (
        f'["{FIVE_THOUSAND}",\n{FIVE_THOUSAND}]'.encode(),
        "more than 4,300 digits",
        2,
    ),
    "1e999": (b'{"a":\n1e999}', "the number 1e999 is too large", 2),
    "-1e999, and its text in a string before": (b'{"s": "-1e999",\n"a": -1e999}', "-1e999 is too large", 2),
    "NaN": (b'{"a":\nNaN}', "the token NaN is not JSON", 2),
    "NaN, and the word in a string before": (b'{"NaN": "NaN and NaN",\n"a": NaN}', "the token NaN", 2),
    "Infinity": (b'{"a":\nInfinity}', "the token Infinity is not JSON", 2),
    "-Infinity": (b'{"a": "x",\n"b": -Infinity}', "the token -Infinity is not JSON", 2),
    "nan in lower case": (b"[nan]", "is not JSON", 1),
    # depth
    "201 levels": (b"[" * 201 + b"]" * 201, "nested deeper than 200 levels", 1),
    "201 levels, one a line": (b"[\n" * 201 + b"]" * 201, "nested deeper than 200 levels", 201),
    "100,000 lists": (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 200 levels", 1),
    "100,000 lists, not closed": (b"[" * 100_000, "nested deeper than 200 levels", 1),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested deeper than 200 levels", 1),
    # text
    "half a surrogate pair": (b'{"a":\n"\\ud800"}', r"half of a surrogate pair, \ud800", 2),
    "half a pair as a key": (b'{"\\uDFFF": 1}', r"half of a surrogate pair, \uDFFF", 1),
    "a pair the wrong way round": (b'["ok",\n"\\udc00\\ud800"]', "half of a surrogate pair", 2),
    "a control character in a string": (b'{"a": 1,\n"b": "x\ty"}', "is not JSON: invalid control", 2),
    "an escape there is not": (b'["\\x41"]', "is not JSON", 1),
    # nothing, or nearly
    "nothing": (b"", "is empty", None),
    "white space": (b" \n\t\r\n", "is empty", None),
    "a mark and nothing": (b"\xef\xbb\xbf", "is empty", None),
    # what people write
    "a comma too many": (b'{\n"a": 1,\n}', "is not JSON", None),
    "single quotes": (b"{'a': 1}", "is not JSON", 1),
    "a comment": (b'{\n// why\n"a": 1}', "is not JSON", 2),
    "an HTML page": (b"<!doctype html>\n<p>404</p>", "is not JSON", 1),
    "a merge conflict": (b'{"a": 1,\n<<<<<<< HEAD\n"b": 2}', "is not JSON", 2),
}

READ = {
    "the same key in sibling objects": (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    "the same key in an object and in one in it": (b'{"a": {"a": {"a": 1}}}', {"a": {"a": {"a": 1}}}),
    "keys that differ in case": (b'{"a": 1, "A": 2}', {"a": 1, "A": 2}),
    "a byte-order mark": (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    "CRLF": (b'{\r\n"a": 1\r\n}\r\n', {"a": 1}),
    "5,000 digits inside a string": (f'"{FIVE_THOUSAND}"'.encode(), FIVE_THOUSAND),
    "as many digits as there may be": (b"9" * MAX_DIGITS, int("9" * MAX_DIGITS)),
    "as many levels as there may be": (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
    "brackets in a string": (b'["' + b"[{" * 1000 + b'"]', ["[{" * 1000]),
    "brackets after an escaped quote": (b'["\\"' + b"[" * 1000 + b'"]', ['"' + "[" * 1000]),
    "a whole surrogate pair": (rb'"\ud83d\ude00"', "\N{GRINNING FACE}"),
    "an escaped backslash before what looks like half a pair": (rb'"\\ud800"', r"\ud800"),
    "a plain value": (b" -0.5e1 ", -5.0),
    "the words in strings": (b'["NaN", "Infinity", "1e999"]', ["NaN", "Infinity", "1e999"]),
    "a line separator in a string": ('"a\u2028b"'.encode(), "a\u2028b"),
    "a NUL written as an escape": (b'"\\u0000"', "\0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_one_strict_document_is_refused_with_its_reason_and_line(name: str) -> None:
    data, problem, line = REFUSED[name]
    with pytest.raises(JsonFault) as caught:
        parse(data)
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 200
    if line is not None:
        assert caught.value.line == line
        assert str(caught.value).endswith(f"(line {line})")


@pytest.mark.parametrize("name", READ)
def test_what_only_looks_odd_is_read(name: str) -> None:
    data, expected = READ[name]
    value = parse(data)
    if expected is not None:
        assert value == expected


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("NaN", math.nan),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ("-1e999", -math.inf),
    ],
)
def test_tokens_that_are_no_json_numbers_are_read_where_they_are_allowed(token: str, expected: float) -> None:
    value = parse(f'{{"a": {token}}}'.encode(), allow_nonfinite=True)["a"]
    assert value == expected or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize(
    "name", [name for name in REFUSED if not name.lstrip("-").startswith(("NaN", "I", "1e9"))]
)
def test_everything_else_is_refused_also_where_these_tokens_are_allowed(name: str) -> None:
    with pytest.raises(JsonFault, match=r".") as caught:
        parse(REFUSED[name][0], allow_nonfinite=True)
    assert REFUSED[name][1] in caught.value.problem


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
CONTAINERS = st.lists(VALUES, min_size=1) | st.dictionaries(st.text(), VALUES, min_size=1)
INDENTS = st.sampled_from([None, 0, 1, 4])


@settings(deadline=None)  # a busy machine is no fault
@given(VALUES, INDENTS, st.booleans())
def test_what_json_writes_is_read_back(value: Any, indent: int | None, ascii_only: bool) -> None:
    assert parse(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()) == value


@settings(deadline=None)  # a busy machine is no fault
@given(st.binary() | st.text().map(str.encode) | st.text('{}[]",:\\u0dD18eE+-.ntNI \n').map(str.encode))
def test_random_bytes_are_read_or_refused_and_nothing_else(data: bytes) -> None:
    for allow_nonfinite in (False, True):
        try:
            value = parse(data, allow_nonfinite=allow_nonfinite)
        except JsonFault:
            continue
        expected = json.loads(data.decode("utf-8-sig"))
        assert value == expected or allow_nonfinite  # NaN equals nothing


@settings(deadline=None)  # a busy machine is no fault
@given(CONTAINERS, INDENTS, st.booleans(), st.data())
def test_a_document_cut_off_anywhere_says_so(
    value: Any, indent: int | None, ascii_only: bool, data: st.DataObject
) -> None:
    whole = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    part = whole[: data.draw(st.integers(1, len(whole) - 1))]
    with pytest.raises(JsonFault, match=r"^is cut off"):
        parse(part)


MARKER = "@marker@"
UNMARKED = st.text().filter(lambda text: "@" not in text)
TREES = st.recursive(
    SCALARS.filter(lambda value: not isinstance(value, str)) | UNMARKED,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(UNMARKED, inner, max_size=4),
    max_leaves=20,
)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in parts for place in [(*path, key), *_places(part, (*path, key))]]


def _put(value: Any, path: tuple[str | int, ...], new: Any) -> None:
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new


@settings(deadline=None)  # a busy machine is no fault
@given(TREES, INDENTS, st.data())
def test_a_values_line_is_where_it_stands(value: Any, indent: int | None, data: st.DataObject) -> None:
    places = _places(value)
    assume(places)
    path = data.draw(st.sampled_from(places))
    _put(value, path, MARKER)
    text = json.dumps(value, indent=indent)
    line = text.count("\n", 0, text.index(MARKER)) + 1
    assert line_of(text, path) == line
    assert line_of(text, (*path, "no such key", 7)) == line  # the nearest parent
    assert lines_of(text, [path, (*path, 0), ()]) == {path: line, (*path, 0): line, (): 1}


def test_a_missing_field_has_the_line_of_the_object_that_lacks_it() -> None:
    text = '{\n "a": 1,\n "list": [\n  {"x": 1},\n  {"y": 2}\n ]\n}'
    assert line_of(text, ("list", 1, "x")) == 5
    assert line_of(text, ("list", 2)) == 3
    assert line_of(text, ("nothing",)) == 1
    assert line_of("", ("nothing",)) is None


@settings(deadline=None)  # a busy machine is no fault
@given(st.text('{}[]",:\\ab1 \n'), st.lists(st.text("ab", max_size=2) | st.integers(0, 3), max_size=3))
def test_lines_are_asked_of_text_that_is_no_json_without_harm(text: str, path: list[str | int]) -> None:
    line = line_of(text, tuple(path))
    assert line is None or 1 <= line <= text.count("\n") + 1


BOMBS = {
    "100,000 levels": "b'[' * 100_000",
    "100,000 levels of objects": """b'{"a":' * 100_000 + b'1' + b'}' * 100_000""",
    "a number of a million digits": "b'[' + b'7' * 1_000_000 + b']'",
    "a million digits after a point": "b'[0.' + b'7' * 1_000_000 + b']'",
    "a long string among many brackets": """b'["' + b'x' * 4_000_000 + b'"' + b',[]' * 300 + b']'""",
    "a string of three million escapes": r"""b'["' + b'\\n' * 3_000_000 + b'"' + b',[]' * 300 + b']'""",
    "a string that does not end": r"""b'[' * 150 + b'[],' * 100 + b'"' + b'\\\\[' * 500_000""",
    "two documents, the second long": "b'{}' + b'x' * 4_000_000",
    "a very long key, twice": """b'{"' + b'k' * 2_000_000 + b'":1,"' + b'k' * 2_000_000 + b'":2}'""",
    "half a surrogate pair after many whole ones": r"""b'["' + b'\\ud83d\\ude00' * 50_000 + b'\\ud83d"]'""",
}
CHILD = """
import os, resource, sys
from autoscirub.store.strictjson import JsonFault, parse

def survive(data):
    pages = int(open("/proc/self/statm").read().split()[0])
    memory = pages * resource.getpagesize() + 5 * 50 * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 2  # whole seconds, so at least one to spend
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for allow in (False, True):
        try:
            parse(data, allow_nonfinite=allow)
        except JsonFault as fault:
            assert len(str(fault)) < 200

for name, data in {bombs}:
    if (child := os.fork()) == 0:
        status = 1
        try:
            survive(data)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        sys.stderr.write(name + "\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and address-space limits")
def test_every_bomb_is_read_or_refused_within_250_mb_and_about_a_second() -> None:
    bombs = ", ".join(f"({name!r}, {data})" for name, data in BOMBS.items())
    child = subprocess.run(
        [sys.executable, "-c", CHILD.replace("{bombs}", f"({bombs})")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
