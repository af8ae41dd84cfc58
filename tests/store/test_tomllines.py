"""Lines of strings in TOML: the right ones, whatever else the text holds."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscirub.store import toml_strings

CHECKS = {("checks", "id")}

TEXTS = [
    ('[[checks]]\nid = "a"\n[[checks]]\nid = "b"\n', {"a": 2, "b": 4}),
    ('[[checks]]\n  id   =   "a" # id = "b"\n', {"a": 2}),
    ("[[checks]]\nid = 'a'\n", {"a": 2}),
    ("[[checks]]\r\nkind = 'expr'\r\nid = 'a'\r\n", {"a": 3}),
    ('[[checks]]\n"id" = "a"\n', {"a": 2}),
    ("[[ 'checks' ]]\nid = \"a\"\n", {"a": 2}),
    ('[[checks]]\nid = "\\u0061\\"b"\n', {'a"b': 2}),
    ('[[checks]]\nid = """a"""\n', {"a": 2}),
    ('checks = [\n  { kind = "expr", id = "a" },\n  { id = "b", expr = "c" },\n]\n', {"a": 2, "b": 3}),
    ('[[checks]]\ntags = ["x", ["y"], 1.5, 2026-01-31]\nid = "a"\n', {"a": 3}),
    ('[[checks]]\ndeep = { id = "no", more = { id = "no" } }\nid = "a"\n', {"a": 3}),
    # what only looks like one
    ('plan = """\n[[checks]]\nid = "a"\n"""\n[[checks]]\nid = "b"\n', {"b": 6}),
    ("plan = '''\n[[checks]]\nid = 'a'\n'''\n[[checks]]\nid = \"b\"\n", {"b": 6}),
    ('plan = """ \\""" [[checks]]\nid = "a" """"\n[[checks]]\nid = "b"\n', {"b": 4}),
    ('# [[checks]]\n# id = "a"\n[[checks]]\nid = "b"\n', {"b": 4}),
    ('[[criteria]]\nid = "a"\n[[criteria.checks]]\nid = "a"\n[[checks]]\nid = "a"\n', {"a": 6}),
    ('id = "a"\n[checks.x]\nid = "a"\n', {}),
    ("[[checks]]\nid = 7\n", {}),
    ("", {}),
]


@pytest.mark.parametrize(("text", "lines"), TEXTS)
def test_a_string_is_found_on_its_line_and_what_only_looks_like_one_is_not(text, lines) -> None:
    tomllib.loads(text.replace("\r\n", "\n"))
    assert {value: line for _, value, line in toml_strings(text, CHECKS)} == lines


def _quoted(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(f"\\U{ord(c):08X}" if not c.isprintable() else escapes.get(c, c) for c in text) + '"'


TEXT = st.text(
    st.sampled_from(list("ab[]{}=,.#'\"\\\n\t ")) | st.characters(exclude_categories=["Cs"]), max_size=20
)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5))
def test_every_id_of_a_file_with_any_text_around_it_is_found_in_order(entries) -> None:
    lines, expected = [], []
    for identifier, prose in entries:
        lines += ["[[checks]]", f"note = {_quoted(prose)}"]
        # the same prose as a multi-line string, which holds line ends as they are
        inner = _quoted(prose)[1:-1].replace("\\U0000000A", "\n").replace("\\U0000000a", "\n")
        lines += f'more = """\n{inner}"""'.split("\n")
        lines.append(f"id = {_quoted(identifier)}")
        expected.append((identifier, len(lines)))
    text = "\n".join(lines)
    assert [check["id"] for check in tomllib.loads(text)["checks"]] == [name for name, _ in expected]
    assert [(value, line) for _, value, line in toml_strings(text, CHECKS)] == expected


@given(st.text(st.sampled_from(list("ab[]{}=,.#'\"\\\n ")), max_size=60))
def test_a_text_that_is_no_toml_gives_less_and_raises_nothing(text) -> None:
    assert all(0 < line <= text.count("\n") + 1 for _, _, line in toml_strings(text, {("a",), ("a", "b")}))
