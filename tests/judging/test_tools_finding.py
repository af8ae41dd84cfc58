"""What there is in a workspace: the tools list and glob."""

from __future__ import annotations

import re

import pytest
from tests.judging.ordinary import lines

from autoscirub.judging.tools import WorkspaceTools


def test_list_shows_names_kinds_and_sizes_in_order(tools) -> None:
    assert lines(tools.list("data")) == [
        '# "data": what is in it, each name as read takes it',
        'folder "data/raw/"',
        'file "data/table.csv" 200 bytes',
        'file "data/table.tsv" 12 bytes',
        "# 1–3 of 3",
    ]


def test_list_goes_as_deep_as_it_is_asked(tools) -> None:
    assert 'file "data/raw/a.json" 33 bytes' in lines(tools.list(depth=3))
    assert 'file "data/raw/a.json" 33 bytes' not in lines(tools.list(depth=2))


def test_a_long_folder_comes_in_pages_that_say_how_to_go_on(tmp_path) -> None:
    for number in range(450):
        (tmp_path / f"f{number:03}").touch()
    tools = WorkspaceTools(tmp_path)
    names, start = [], 1
    while True:
        answer = tools.list(start=start)
        names += re.findall(r'^file "(.+)"', answer.text, re.MULTILINE)
        if (more := re.search(r"more: the same call with start=(\d+)$", answer.text)) is None:
            break
        start = int(more[1])
    assert names == sorted(path.name for path in tmp_path.iterdir())


GLOBS = [
    ("*.md", ["report.md"]),
    ("*.csv", []),
    ("**/*.csv", ["data/table.csv"]),
    ("data/*", ["data/table.csv", "data/table.tsv"]),
    ("data/**", ["data/raw/a.json", "data/table.csv", "data/table.tsv"]),
    ("**/raw/**/*.json", ["data/raw/a.json"]),
    ("./data//table.?sv", ["data/table.csv", "data/table.tsv"]),
    ("data/table.[!c]sv", ["data/table.tsv"]),
    ("REPORT.md", []),
    ("report.md/**", []),
    ("**/**/a.json", ["data/raw/a.json"]),
    ("*.{md,csv}", []),
]


@pytest.mark.parametrize(("pattern", "expected"), GLOBS)
def test_a_glob_finds_files_by_their_path(tools, pattern, expected) -> None:
    answer = tools.glob(pattern)
    assert re.findall(r'^file "(.+)"', answer.text, re.MULTILINE) == expected
    assert expected or '# none; "*" stays within one folder' in answer.text
