"""What a judge's tools answer: the four tools on ordinary files, their pages, their words, their record."""

from __future__ import annotations

import io
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from autoscirub.errors import BlindingError, ToolRefused
from autoscirub.judging import ToolAnswer, ToolBounds, ToolCall, WorkspaceTools

BLOB = bytes(range(256)) * 40
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": "# Title\nwords"},
        {
            "cell_type": "code",
            "source": ["import x\n", "print(x)"],
            "outputs": [
                {"output_type": "stream", "text": ["4.2\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "[1, 2]"}},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["t"]},
            ],
        },
    ]
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "data" / "raw").mkdir(parents=True)
    (root / "report.md").write_text("# Report\nThe slope is 0.48.\r\n", encoding="utf-8")
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1235)), encoding="utf-8")
    (root / "data" / "table.csv").write_text("x,y\n" + "1,2\n" * 49, encoding="utf-8")
    (root / "data" / "table.tsv").write_text("x;y\tz\n1\t2\n1\n", encoding="utf-8")
    (root / "data" / "raw" / "a.json").write_text('[{"slope": 0.48}, {"slope": 0.5}]', encoding="utf-8")
    (root / "results.json").write_text(json.dumps({"slope": 0.48, "all": list(range(2000))}))
    (root / "n.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    (root / "blob.bin").write_bytes(BLOB)
    (root / "latin.txt").write_bytes("first\ngr\u00fcn\n".encode("latin-1"))
    (root / "utf16.txt").write_text("h\u00e9llo\nthere\n", encoding="utf-16")
    (root / "bom.txt").write_bytes(b"\xef\xbb\xbffirst\nlast")
    (root / "empty.txt").touch()
    (root / "coloured.log").write_text("\x1b[31mred\x1b[0m\tok\nplain \u202eback\n", encoding="utf-8")
    pyarrow.parquet.write_table(
        pyarrow.table({"n": list(range(3000)), "name": [f"row{n}" for n in range(3000)]}),
        root / "t.parquet",
    )
    return root


@pytest.fixture
def tools(root: Path) -> WorkspaceTools:
    return WorkspaceTools(root)


def lines(answer: ToolAnswer) -> list[str]:
    return answer.text.split("\n")


def content(answer: ToolAnswer) -> list[str]:
    return [line.partition("│")[2] for line in lines(answer) if not line.startswith("# ")]


# What is there


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


# Reading


READ = [
    # file, what the first line says of it, lines shown
    ("report.md", '# "report.md": text, 2 lines, 29 bytes', ["# Report", "The slope is 0.48."]),
    ("bom.txt", '# "bom.txt": text, 2 lines, 13 bytes', ["first", "last"]),
    ("utf16.txt", '# "utf16.txt": UTF-16 text, 2 lines, 26 bytes', ["h\u00e9llo", "there"]),
    (
        "latin.txt",
        '# "latin.txt": text, 2 lines, 11 bytes; line 2 is not UTF-8: what is not is shown as \ufffd',
        ["first", "gr\ufffdn"],
    ),
    (
        "coloured.log",
        '# "coloured.log": text, 2 lines, 30 bytes',
        ["\\x1b[31mred\\x1b[0m\tok", "plain \\u202eback"],
    ),
    ("empty.txt", '# "empty.txt": empty, 0 bytes', []),
    (
        "data/raw/a.json",
        '# "data/raw/a.json": JSON, an array of 2 items, all of them objects, 1 line, 33 bytes',
        ['[{"slope": 0.48}, {"slope": 0.5}]'],
    ),
    (
        "data/table.tsv",
        '# "data/table.tsv": a table, 3 rows (with its header, if it has one) × 2 columns by tab, '
        "1 row of another length, 3 lines, 12 bytes",
        ["x;y\tz", "1\t2", "1"],
    ),
    (
        "blob.bin",
        f'# "blob.bin": binary data of an unknown kind, 10,240 bytes, sha256 {sha256(BLOB).hexdigest()}; '
        "nothing of it is shown",
        [],
    ),
]


@pytest.mark.parametrize(("path", "first", "shown"), READ)
def test_read_says_what_a_file_is_and_shows_what_it_holds(tools, path, first, shown) -> None:
    answer = tools.read(path)
    assert lines(answer)[0] == first
    assert content(answer) == shown
    assert answer.image is None


def test_a_text_comes_in_windows_of_lines_with_their_numbers_and_says_what_was_cut(tools) -> None:
    first = lines(tools.read("long.txt"))
    assert first[1] == "1│line 1"
    assert first[200] == "200│line 200"
    assert first[201:] == ['# lines 1–200 of 1,234; 1,034 more: read("long.txt", start=201)']
    assert lines(tools.read("long.txt", 1233, 10))[1:] == [
        "1233│line 1233",
        "1234│line 1234",
        "# lines 1,233–1,234 of 1,234",
    ]
    assert lines(tools.read("long.txt", 5000))[1:] == ["# no line 5,000: there are 1,234"]


def test_a_table_is_shown_as_its_head_and_its_shape(tools) -> None:
    answer = lines(tools.read("data/table.csv"))
    assert "a table, 50 rows (with its header, if it has one) × 2 columns by comma" in answer[0]
    assert answer[1:3] == ["1│x,y", "2│1,2"]
    assert answer[-1] == '# lines 1–20 of 50; 30 more: read("data/table.csv", start=21)'
    assert len(content(tools.read("data/table.csv", lines=50))) == 50


def test_a_parquet_file_is_shown_as_its_head_and_its_shape(tools) -> None:
    answer = lines(tools.read("t.parquet", start=2999))
    assert answer[0].startswith('# "t.parquet": a Parquet file, 3,000 rows × 2 columns, ')
    assert answer[1:] == [
        "columns│n (int64)\tname (string)",
        "row 2999│2998\trow2998",
        "row 3000│2999\trow2999",
        "# rows 2,999–3,000 of 3,000",
    ]


def test_a_notebook_is_shown_as_the_text_of_its_cells(tools) -> None:
    assert lines(tools.read("n.ipynb"))[1:] == [
        "1 cell 1 markdown│# Title",
        "2 cell 1 markdown│words",
        "3 cell 2 code│import x",
        "4 cell 2 code│print(x)",
        "5 cell 2 out│4.2",
        "6 cell 2 out│[1, 2]",
        "7 cell 2 a picture, not shown│",
        "8 cell 2 error│ValueError: no",
        "# lines 1–8 of 8",
    ]
    assert lines(tools.read("n.ipynb", 4, 1))[1:] == [
        "4 cell 2 code│print(x)",
        '# lines 4–4 of 8; 4 more: read("n.ipynb", start=5)',
    ]


def test_a_long_line_is_cut_and_every_part_of_it_can_be_read(root, tools) -> None:
    whole, text, column = (root / "results.json").read_text("utf-8"), "", 1
    while column <= len(whole):
        [line] = [each for each in lines(tools.read("results.json", column=column)) if "│" in each]
        label, _, part = line.partition("│")
        assert f"characters {column:,}–{column + len(part) - 1:,}" in label or "from character" in label
        text, column = text + part, column + len(part)
    assert text == whole
    assert "nothing from character" in tools.read("results.json", column=column).text


def picture(size: tuple[int, int], kind: str, mode: str = "RGB", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, 0 if mode in ("I;16", "P", "L") else (200, 30, 30, 128)[: len(mode)]).save(
        buffer, kind, **options
    )
    return buffer.getvalue()


PICTURES = [
    ("a.png", picture((40, 20), "PNG"), (40, 20), "a PNG picture, 40 × 20 pixels"),
    ("a.jpg", picture((40, 20), "JPEG"), (40, 20), "a JPEG picture, 40 × 20 pixels"),
    ("a.gif", picture((40, 20), "GIF", "P"), (40, 20), "a GIF picture, 40 × 20 pixels"),
    ("a.webp", picture((40, 20), "WEBP"), (40, 20), "a WebP picture, 40 × 20 pixels"),
    ("clear.png", picture((40, 20), "PNG", "RGBA"), (40, 20), "a PNG picture"),
    ("grey.png", picture((40, 20), "PNG", "L"), (40, 20), "a PNG picture"),
    ("deep.png", picture((40, 20), "PNG", "I;16"), (40, 20), "a PNG picture"),
    ("named.txt", picture((40, 20), "PNG"), (40, 20), "a PNG picture"),
    ("large.png", picture((4000, 1000), "PNG"), (1568, 392), "scaled down to 1,568 × 392"),
    ("high.jpg", picture((100, 4000), "JPEG"), (39, 1568), "100 × 4,000 pixels"),
]


@pytest.mark.parametrize(("name", "data", "size", "words"), PICTURES, ids=[name for name, *_ in PICTURES])
def test_a_picture_comes_as_a_picture_whatever_its_name(root, tools, name, data, size, words) -> None:
    (root / name).write_bytes(data)
    answer = tools.read(name)
    assert words in answer.text
    assert answer.image is not None
    with Image.open(io.BytesIO(answer.image.data)) as shown:
        shown.load()
        assert shown.size == size
        assert answer.image.mime_type == f"image/{shown.format}".lower()
    assert len(answer.image.data) <= tools.bounds.image_bytes


def test_a_picture_is_its_pixels_alone(root, tools) -> None:
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text("Comment", "hypothesis: it rises")
    (root / "a.png").write_bytes(picture((9, 9), "PNG", pnginfo=info) + b"and behind the end")
    image = tools.read("a.png").image
    assert image is not None
    assert b"hypothesis" not in image.data
    assert b"behind" not in image.data


def test_a_picture_that_is_too_much_for_a_png_becomes_a_jpeg(root) -> None:
    Image.effect_noise((700, 700), 90).convert("RGB").save(root / "noise.png")
    answer = WorkspaceTools(root, ToolBounds(image_bytes=200_000)).read("noise.png")
    assert answer.image is not None
    assert answer.image.mime_type == "image/jpeg"
    assert len(answer.image.data) <= 200_000


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "t2.parquet", "a.ipynb", "a.csv", "a.json"])
def test_a_file_that_is_broken_says_so_and_does_not_fail_the_call(root, tools, name) -> None:
    data = {
        "a.png": picture((400, 200), "PNG")[:60],
        "a.jpg": picture((400, 200), "JPEG")[:60],
        "a.csv": b'x,"y\n1,2\n',
        "t2.parquet": (root / "t.parquet").read_bytes()[:-20],
    }.get(name, b'{"cells": "')
    (root / name).write_bytes(data)
    answer = tools.read(name)
    assert answer.image is None
    assert re.search(r"broken|cannot be read|can be read|not a notebook", answer.text)


# Searching


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
