"""Which lines match: the tool grep, its patterns and its pages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.judging.ordinary import content, lines

from autoscirub.errors import ToolRefused


def test_grep_shows_lines_with_file_and_number_and_counts_them(tools) -> None:
    assert lines(tools.grep(r"slope\b.*0\.4")) == [
        '# lines that match "slope\\\\b.*0\\\\.4" in "."',
        '"data/raw/a.json":1│[{"slope": 0.48}, {"slope": 0.5}]',
        '"report.md":2│The slope is 0.48.',
        '"results.json":1 (characters 1–300 of 10,914)│'
        + json.dumps({"slope": 0.48, "all": list(range(2000))})[:300],
        "# not searched, no text: 2 files",
        "# matching lines 1–3 of 3 in 3 files; 12 files searched",
    ]


GREPS: list[tuple[dict[str, Any], list[str]]] = [
    ({"pattern": "SLOPE is"}, []),
    ({"pattern": "SLOPE is", "ignore_case": True}, ["report.md:2"]),
    ({"pattern": "0.48.", "literal": True}, ["report.md:2"]),
    ({"pattern": "[{", "literal": True}, ["data/raw/a.json:1"]),
    ({"pattern": "^line 12$", "files": "*.txt"}, ["long.txt:12"]),
    ({"pattern": "^line 12$", "files": "*.md"}, []),
    ({"pattern": "slope", "path": "data"}, ["data/raw/a.json:1"]),
    ({"pattern": "slope", "path": "data", "files": "raw/*"}, ["data/raw/a.json:1"]),
    ({"pattern": "slope", "path": "report.md"}, ["report.md:2"]),
    ({"pattern": r"0\.48\.$"}, ["report.md:2"]),
    ({"pattern": r"^print"}, ["n.ipynb:4"]),
    ({"pattern": "^there"}, ["utf16.txt:2"]),
    ({"pattern": "^first$"}, ["bom.txt:1", "latin.txt:1"]),
    ({"pattern": "\x1b", "literal": True}, ["coloured.log:1"]),
]


@pytest.mark.parametrize(("asked", "expected"), GREPS, ids=lambda value: str(value)[:40])
def test_grep_finds(tools, asked, expected) -> None:
    found = re.findall(r'^"(.+)":(\d+)', tools.grep(**asked).text, re.MULTILINE)
    assert [":".join(each) for each in found] == expected


def test_a_line_that_grep_found_is_the_one_that_read_shows(tools) -> None:
    for pattern in ("print", "there", "line 77$", "0.48"):
        for path, number in re.findall(r'^"(.+)":(\d+)', tools.grep(pattern).text, re.MULTILINE):
            assert re.search(pattern, content(tools.read(path, int(number), 1))[0])


def test_matches_come_in_pages(tools) -> None:
    answer = lines(tools.grep("line", start=1200))
    assert answer[1].startswith('"long.txt":1200')
    assert answer[-1].startswith("# matching lines 1,200–1,234 of 1,234 in 1 file")
    first = lines(tools.grep("line"))[-1]
    assert first.startswith("# matching lines 1–200 of 1,234 in 1 file; 12 files searched; 1,034 more")


def test_a_pattern_that_is_none_is_refused_with_the_place(tools) -> None:
    with pytest.raises(ToolRefused, match=r'"\(a": no regular expression that can be read: .* position 0'):
        tools.grep("(a")
