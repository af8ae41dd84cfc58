"""How two results compare, by kind of file."""

from __future__ import annotations

import io
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscirub.checks.rerun.comparison import compare_file, is_ignored
from autoscirub.checks.rerun.pairs import (
    Tolerance,
    Unclear,
    ValueComparison,
    ValueStatus,
    judge_pair,
    judge_text,
)

TOLERANCE = Tolerance(rtol=1e-6, atol=1e-9)
EXACT = Tolerance(0, 0)


def _json(before: Any, after: Any) -> dict[str | None, ValueStatus]:
    found = compare_file("r.json", json.dumps(before).encode(), json.dumps(after).encode(), TOLERANCE)
    return {one.key: one.status for one in found if isinstance(one, ValueComparison)}


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (1, 1, ValueStatus.EQUAL),
        (1, 2, ValueStatus.MOVED),
        (10**12, 10**12 + 1, ValueStatus.MOVED),  # whole numbers are counts: no tolerance
        (1, 1.0, ValueStatus.EQUAL),
        (1.0, 1.0 + 1e-7, ValueStatus.WITHIN_TOLERANCE),
        (1.0, 1.0 + 1e-5, ValueStatus.MOVED),
        (0.0, 1e-10, ValueStatus.WITHIN_TOLERANCE),
        (0.0, 1e-8, ValueStatus.MOVED),
        (0.0, -0.0, ValueStatus.EQUAL),
        (float("nan"), float("nan"), ValueStatus.EQUAL),
        (float("nan"), 1.0, ValueStatus.MOVED),
        (1.0, float("nan"), ValueStatus.MOVED),
        (float("inf"), float("inf"), ValueStatus.EQUAL),
        (float("inf"), float("-inf"), ValueStatus.MOVED),
        (float("inf"), 1e308, ValueStatus.MOVED),
        (1e308, float("inf"), ValueStatus.MOVED),
        (10**400, 1.0, ValueStatus.MOVED),
        (True, 1, ValueStatus.MOVED),
        (True, True, ValueStatus.EQUAL),
        (None, None, ValueStatus.EQUAL),
        (None, 0, ValueStatus.MOVED),
        ("a", "a", ValueStatus.EQUAL),
        ("1", 1, ValueStatus.MOVED),
        ({}, {}, ValueStatus.EQUAL),
        ([], {}, ValueStatus.MOVED),
        ([1], 1, ValueStatus.MOVED),
    ],
)
def test_two_values(before: Any, after: Any, status: ValueStatus) -> None:
    assert judge_pair(before, after, TOLERANCE) is status


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_with_no_tolerance_only_equal_numbers_agree(before: float, after: float) -> None:
    assert (judge_pair(before, after, EXACT) is ValueStatus.EQUAL) == (before == after)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_anything_equals_itself(value: Any) -> None:
    data = json.dumps({"x": value}).encode()
    assert all(
        getattr(one, "status", None) is ValueStatus.EQUAL or isinstance(one, Unclear)
        for one in compare_file("r.json", data, data, EXACT)
    )


def test_json_is_compared_by_key_at_any_depth() -> None:
    before = {"a": 1, "b": {"c": [1.0, 2.0], "gone": "x"}, "same": None}
    after = {"a": 1, "b": {"c": [1.0, 3.0, 4.0]}, "same": None, "added": 5}
    assert _json(before, after) == {
        "a": ValueStatus.EQUAL,
        "b.c[0]": ValueStatus.EQUAL,
        "b.c[1]": ValueStatus.MOVED,
        "b.c[2]": ValueStatus.NEW,
        "b.gone": ValueStatus.MISSING,
        "same": ValueStatus.EQUAL,
        "added": ValueStatus.NEW,
    }


def test_the_order_of_keys_does_not_matter() -> None:
    assert set(_json({"a": 1, "b": 2}, {"b": 2, "a": 1}).values()) == {ValueStatus.EQUAL}


def test_json_before_that_cannot_be_read_is_unclear_and_after_is_moved() -> None:
    [found] = compare_file("r.json", b"{", b"{}", EXACT)
    assert isinstance(found, Unclear)
    [found] = compare_file("r.json", b"{}", b'{"a": 1, "a": 2}', EXACT)
    assert isinstance(found, ValueComparison)
    assert found.status is ValueStatus.MOVED


@pytest.mark.parametrize("after", ['{"a": 2e400}', '{"a": Infinity}', '{"a": 1e400 }'])
def test_json_numbers_beyond_any_float_are_never_equal_for_being_infinities(after) -> None:
    [found] = compare_file("r.json", b'{"a": 1e400}', after.encode(), EXACT)
    assert isinstance(found, Unclear)
    [found] = compare_file("r.json", b'{"a": Infinity}', b'{"a": 1e400}', EXACT)
    assert isinstance(found, ValueComparison)
    assert found.status is ValueStatus.MOVED
    assert {
        each.status for each in compare_file("r.json", b'{"a": Infinity}', b'{ "a": Infinity}', EXACT)
    } == {ValueStatus.EQUAL}


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("1.0", "1.00", ValueStatus.EQUAL),
        ("1.0", "1.0000001", ValueStatus.WITHIN_TOLERANCE),
        ("1", "2", ValueStatus.MOVED),
        ("1000000000000", "1000000000001", ValueStatus.MOVED),
        ("north", "north", ValueStatus.EQUAL),
        ("north", "south", ValueStatus.MOVED),
        ("nan", "NaN", ValueStatus.EQUAL),
        ("", "0", ValueStatus.MOVED),
        ("inf", "Infinity", ValueStatus.EQUAL),
        ("inf", "-inf", ValueStatus.MOVED),
        ("1_000", "1000", ValueStatus.MOVED),  # a number to Python alone
        ("1_000.0", "1000.0", ValueStatus.MOVED),
        ("run_1", "run_1", ValueStatus.EQUAL),
        ("1e400", "2e400", ValueStatus.MOVED),  # both beyond any float
        ("9" * 5000, "8" * 5000 + ".0", ValueStatus.MOVED),
        ("9007199254740993", "9007199254740992.0", ValueStatus.WITHIN_TOLERANCE),
        ("10", "10.0", ValueStatus.EQUAL),
    ],
)
def test_two_cells(before: str, after: str, status: ValueStatus) -> None:
    assert judge_text(before, after, TOLERANCE) is status


def test_tables_are_compared_cell_by_cell_and_the_cell_is_named() -> None:
    before = b"year,flow\n1871,1120.0\n1872,1160.0\n"
    after = b"year,flow\r\n1871,1120.00\r\n1872,1161.0\r\n1873,1.0\r\n"
    found = [
        one for one in compare_file("t.csv", before, after, TOLERANCE) if isinstance(one, ValueComparison)
    ]
    other = {
        one.key: (one.before, one.after, one.status) for one in found if one.status is not ValueStatus.EQUAL
    }
    assert other == {
        "row 3, flow": ("1160.0", "1161.0", ValueStatus.MOVED),
        "row 4, year": (None, "1873", ValueStatus.NEW),
        "row 4, flow": (None, "1.0", ValueStatus.NEW),
    }


def _picture(colour: tuple[int, int, int], kind: str = "PNG", dotted: bool = False, **options: Any) -> bytes:
    from PIL import Image

    image = Image.new("RGB", (8, 8), colour)
    if dotted:
        image.putpixel((3, 4), (255, 255, 255))
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def test_pictures_are_compared_by_pixel_and_not_by_their_bytes() -> None:
    plain, packed = _picture((1, 2, 3)), _picture((1, 2, 3), compress_level=0)
    assert plain != packed
    for after, status in ((packed, ValueStatus.EQUAL), (_picture((1, 2, 3), dotted=True), ValueStatus.MOVED)):
        [found] = compare_file("f.png", plain, after, TOLERANCE)
        assert isinstance(found, ValueComparison)
        assert found.status is status
    assert "(3, 4, 4, 5)" in found.after


def _png(depth: int, colours: int, sample: bytes) -> bytes:
    """One pixel, chunk by chunk: Pillow writes no colours of 16 bits."""
    header = struct.pack(">IIBBBBB", 1, 1, depth, colours, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" + sample)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def _tiff(bits: int, samples: int, photometric: int, pixel: bytes, *more: tuple[int, int]) -> bytes:
    """One pixel, tag by tag."""
    tags = [(256, 1), (257, 1), (258, bits), (259, 1), (262, photometric), (273, 0), (277, samples), (278, 1)]
    tags += [(279, len(pixel)), *more]
    wide = struct.pack(f"<{samples}H", *[bits] * samples)
    at = 8 + 2 + 12 * len(tags) + 4
    places = {258: (3, samples, at), 273: (4, 1, at + len(wide))}
    entries = [struct.pack("<HHII", tag, *places.get(tag, (4, 1, value))) for tag, value in tags]
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + b"".join(entries) + bytes(4) + wide + pixel


FINER = {
    "png of 16 bits, colours": ("png", _png(16, 2, b"\x10\x00" * 3), _png(16, 2, b"\x10\xff" * 3)),
    "png of 16 bits, with alpha": ("png", _png(16, 6, b"\x10\x00" * 4), _png(16, 6, b"\x10\xff" * 4)),
    "png of 16 bits, grey and alpha": ("png", _png(16, 4, b"\x10\x00" * 2), _png(16, 4, b"\x10\xff" * 2)),
    "png of 16 bits, grey": ("png", _png(16, 0, b"\x10\x00"), _png(16, 0, b"\x10\xff")),
    "tiff of 16 bits": ("tiff", _tiff(16, 3, 2, b"\x00\x10" * 3), _tiff(16, 3, 2, b"\xff\x10" * 3)),
    "tiff with a channel that is not shown": (
        "tif",
        _tiff(8, 4, 2, b"\1\2\3\4", (338, 0)),
        _tiff(8, 4, 2, b"\1\2\3\5", (338, 0)),
    ),
    "CMYK": ("tiff", _tiff(8, 4, 5, b"\xff\1\1\xff"), _tiff(8, 4, 5, b"\xff\2\1\xff")),
    "LAB": ("tiff", _tiff(8, 3, 8, b"\1\2\3"), _tiff(8, 3, 8, b"\1\2\4")),
}


@pytest.mark.parametrize("name", FINER)
def test_pictures_of_finer_pixels_or_other_colours_are_unclear(name: str) -> None:
    from PIL import Image

    kind, before, after = FINER[name]
    for data in (before, after):
        with Image.open(io.BytesIO(data)) as image:
            image.load()  # one that Pillow does not read would be unclear for that reason
    [found] = compare_file(f"f.{kind}", before, after, TOLERANCE)
    assert isinstance(found, Unclear), found
    assert found.why == "its bytes differ, and pictures of its kind are not compared here"


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA"])
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_pictures_of_eight_bits_and_fewer_are_compared(kind: str, mode: str) -> None:
    from PIL import Image

    if (kind, mode) == ("PNG", "PA"):
        pytest.skip("PNG has no such pixels")
    files = []
    for number in (1, 2):
        file = io.BytesIO()
        Image.new(mode, (4, 4)).save(file, kind, dpi=(number, 1))
        files.append(file.getvalue())
    [found] = compare_file(f"f.{kind.lower()}", *files, EXACT)
    assert files[0] != files[1]
    assert isinstance(found, ValueComparison)
    assert found.status is ValueStatus.EQUAL


def test_a_picture_in_a_format_that_is_not_known_here_is_unclear() -> None:
    from PIL import Image

    files = []
    for depth in (b"\x10\x00", b"\x10\x01"):
        files.append(b"P6\n1 1\n65535\n" + depth * 3)
        with Image.open(io.BytesIO(files[-1])) as image:
            image.load()
    [found] = compare_file("f.png", *files, EXACT)
    assert isinstance(found, Unclear)


def test_a_picture_that_cannot_be_decoded_is_unclear() -> None:
    [found] = compare_file("f.png", _picture((1, 2, 3)), b"\x89PNG\r\n\x1a\nbroken", TOLERANCE)
    assert isinstance(found, Unclear)
    whole = _tiff(8, 3, 2, b"\1\2\3")
    without_width = whole.replace(struct.pack("<HHII", 256, 4, 1, 1), struct.pack("<HHII", 255, 4, 1, 1))
    [found] = compare_file("f.tiff", whole, without_width, TOLERANCE)
    assert isinstance(found, Unclear)


def test_other_files_are_compared_by_their_bytes() -> None:
    assert [
        one.status for one in compare_file("n.txt", b"a", b"a", EXACT) if isinstance(one, ValueComparison)
    ] == [ValueStatus.EQUAL]
    assert [
        one.status for one in compare_file("n.txt", b"a", b"b", EXACT) if isinstance(one, ValueComparison)
    ] == [ValueStatus.MOVED]


@pytest.mark.parametrize(
    ("before", "after", "status"), [(b"x", None, ValueStatus.MISSING), (None, b"x", ValueStatus.NEW)]
)
def test_a_file_on_one_side_only(before: bytes | None, after: bytes | None, status: ValueStatus) -> None:
    [found] = compare_file("r.json", before, after, EXACT)
    assert isinstance(found, ValueComparison)
    assert (found.key, found.status) == (None, status)


@pytest.mark.parametrize(
    ("pattern", "ignored"),
    [
        ("tim*", True),
        ("r.json: timing.*", True),
        ("r.json", True),
        ("timing.seconds", True),
        ("seconds", False),
        ("other.json", False),
    ],
)
def test_ignore_names_a_file_a_key_or_both(pattern: str, ignored: bool) -> None:
    one = ValueComparison("r.json", "timing.seconds", 1.0, 2.0, ValueStatus.MOVED)
    assert is_ignored(one, [pattern]) == ignored
