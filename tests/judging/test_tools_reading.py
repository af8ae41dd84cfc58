"""What a file is and what it holds: the tool read, on text, tables, notebooks and pictures."""

from __future__ import annotations

import io
import re
from hashlib import sha256
from typing import Any

import pytest
from PIL import Image
from tests.judging.ordinary import BLOB, content, lines

from autoscirub.judging.tools import ToolBounds, WorkspaceTools

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


@pytest.mark.parametrize(("path", "first", "expected"), READ)
def test_read_says_what_a_file_is_and_shows_what_it_holds(tools, path, first, expected) -> None:
    answer = tools.read(path)
    assert lines(answer)[0] == first
    assert content(answer) == expected
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
    with Image.open(io.BytesIO(answer.image.data)) as picture:
        picture.load()
        assert picture.size == size
        assert answer.image.mime_type == f"image/{picture.format}".lower()
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
