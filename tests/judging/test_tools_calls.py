"""What holds of every call of a judge's tools: its bounds, its arguments, its record, its root."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest
from tests.judging.ordinary import content

from autoscirub.errors import BlindingError, ToolRefused
from autoscirub.judging.tools import ToolBounds, ToolCall, WorkspaceTools

# Every answer


def test_the_same_call_gives_the_same_answer(tools) -> None:
    for ask in (
        tools.list,
        lambda: tools.glob("**"),
        lambda: tools.grep("slope"),
        lambda: tools.read("t.parquet"),
    ):
        assert ask() == ask()


def test_no_answer_is_longer_than_its_bound_and_none_is_lost_between_pages(root) -> None:
    tools = WorkspaceTools(root, ToolBounds(answer_chars=5_000, line_chars=1_000))
    (root / "wide.txt").write_text("".join(f"{n} {'w' * 900}\n" for n in range(1, 60)))
    seen, start = [], 1
    while start <= 59:
        answer = tools.read("wide.txt", start)
        assert len(answer.text) <= 5_000
        seen += [int(line.split()[0]) for line in content(answer)]
        start = seen[-1] + 1
    assert seen == list(range(1, 60))
    for answer in (
        tools.list(depth=9),
        tools.glob("**"),
        tools.grep("w"),
        tools.read("t.parquet", lines=2000),
    ):
        assert len(answer.text) <= 5_000


def test_bounds_in_which_no_line_would_fit_are_refused() -> None:
    with pytest.raises(
        ValueError, match="answer_chars is 3000; one line and what is said about it need 4100"
    ):
        ToolBounds(answer_chars=3_000)
    with pytest.raises(ValueError, match="seconds is 0; it must be above 0"):
        ToolBounds(seconds=0)


# Arguments

WRONG: list[tuple[str, Any, str]] = [
    ("write", {}, '"write": no such tool; there are list, glob, grep, read'),
    (["read"], {}, "no such tool"),
    ("read", {}, "read: path must be a string, not NoneType"),
    ("read", [], "read: the arguments must be an object"),
    ("read", {"path": 3}, "read: path must be a string, not int"),
    ("read", {"path": "report.md", "start": 0}, "read: start is 0; it must be 1 to"),
    ("read", {"path": "report.md", "start": 10**6000}, "read: start is (int); it must be 1 to"),
    ("read", {"path": "report.md", "start": True}, "read: start must be an integer, not bool"),
    ("read", {"path": "report.md", "start": "1"}, "read: start must be an integer, not str"),
    ("read", {"path": "report.md", "lines": 2001}, "read: lines is 2001; it must be 1 to 2,000"),
    (
        "read",
        {"path": "report.md", "offset": 1},
        'read: no argument "offset"; it takes path, start, lines, column',
    ),
    ("list", {"path": "report.md"}, '"report.md": a file; read shows it; list takes a folder'),
    ("read", {"path": "data"}, '"data": a folder; list shows what is in it, read takes a file'),
    ("read", {"path": "data/table.csv/x"}, '"data/table.csv": a file, and a folder is needed'),
    ("read", {"path": ""}, 'the path is empty; "." is the workspace itself'),
    ("glob", {"pattern": " "}, "the pattern must be text that is not empty"),
    ("glob", {"pattern": "a" * 501}, "the pattern has 501 characters; 500 is the most"),
    ("grep", {"pattern": ""}, "the pattern has 0 characters; it must have 1 to 500"),
    ("grep", {"pattern": "x", "literal": 1}, "grep: literal must be a boolean, not int"),
]


@pytest.mark.parametrize(("name", "arguments", "words"), WRONG, ids=[words[:40] for *_, words in WRONG])
def test_a_wrong_call_is_refused_and_says_what_is_right(tools, name, arguments, words) -> None:
    with pytest.raises(ToolRefused, match=re.escape(words)):
        tools.call(name, arguments)
    assert tools.calls[-1].ok is False


def test_the_specs_are_json_schemas_of_what_the_tools_take(tools) -> None:
    specs = {spec.name: spec for spec in tools.tool_specs()}
    assert list(specs) == ["list", "glob", "grep", "read"]
    for spec in specs.values():
        jsonschema.Draft202012Validator.check_schema(spec.input_schema)
        assert spec.description
    assert specs["read"].call({"path": "report.md"}) == tools.read("report.md")
    assert specs["list"].call({}) == tools.list()
    for name, arguments, _ in [*WRONG[2:6], *WRONG[7:11]]:
        assert not jsonschema.Draft202012Validator(specs[name].input_schema).is_valid(arguments)


# The record


def test_every_call_is_recorded_with_what_came_of_it(tools) -> None:
    answer = tools.read("report.md")
    with pytest.raises(ToolRefused):
        tools.read("../" + "x" * 900)
    assert tools.calls[0] == ToolCall(
        "read", {"path": "report.md", "start": 1, "lines": None, "column": 1}, True, len(answer.text)
    )
    assert tools.calls[1].ok is False
    assert '".." is not allowed' in tools.calls[1].refused
    assert len(tools.calls[1].arguments["path"]) == 200


def test_the_record_is_bounded_and_says_how_many_calls_are_not_in_it(root) -> None:
    tools = WorkspaceTools(root, ToolBounds(calls=3))
    for _ in range(5):
        tools.list()
    assert (len(tools.calls), tools.calls_unrecorded) == (3, 2)


# The root


@pytest.mark.parametrize("name", ["report.md", "none", "nul\0"])
def test_a_root_that_is_no_folder_is_refused(root, name) -> None:
    with pytest.raises(BlindingError, match="cannot be the root of a workspace"):
        WorkspaceTools(root / name)


def test_a_workspace_that_was_replaced_is_not_read(root, tools) -> None:
    root.rename(root.with_name("moved"))
    root.mkdir()
    (root / "report.md").write_text("another one")
    with pytest.raises(ToolRefused, match="the workspace was replaced"):
        tools.read("report.md")


def test_nothing_is_written(root, tools, tree) -> None:
    before = tree(root)
    for path in before:
        if (root / path).is_file():
            tools.read(path)
    tools.list(depth=9)
    tools.glob("**")
    tools.grep(".")
    assert tree(root) == before
