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

from autoscirub.checks.rerun.comparing import (
    Comparison,
    Status,
    Tolerance,
    Unclear,
    compare_file,
    is_ignored,
)
from autoscirub.checks.rerun.pairs import judge_pair, judge_text

TOLERANCE = Tolerance(rtol=1e-6, atol=1e-9)
EXACT = Tolerance(0, 0)


def _json(before: Any, after: Any) -> dict[str | None, Status]:
    found = compare_file("r.json", json.dumps(before).encode(), json.dumps(after).encode(), TOLERANCE)
    return {one.key: one.status for one in found if isinstance(one, Comparison)}


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (1, 1, Status.EQUAL),
        (1, 2, Status.MOVED),
        (10**12, 10**12 + 1, Status.MOVED),  # whole numbers are counts: no tolerance
        (1, 1.0, Status.EQUAL),
        (1.0, 1.0 + 1e-7, Status.WITHIN_TOLERANCE),
        (1.0, 1.0 + 1e-5, Status.MOVED),
        (0.0, 1e-10, Status.WITHIN_TOLERANCE),
        (0.0, 1e-8, Status.MOVED),
        (0.0, -0.0, Status.EQUAL),
        (float("nan"), float("nan"), Status.EQUAL),
        (float("nan"), 1.0, Status.MOVED),
        (1.0, float("nan"), Status.MOVED),
        (float("inf"), float("inf"), Status.EQUAL),
        (float("inf"), float("-inf"), Status.MOVED),
        (float("inf"), 1e308, Status.MOVED),
        (1e308, float("inf"), Status.MOVED),
        (10**400, 1.0, Status.MOVED),
        (True, 1, Status.MOVED),
        (True, True, Status.EQUAL),
        (None, None, Status.EQUAL),
        (None, 0, Status.MOVED),
        ("a", "a", Status.EQUAL),
        ("1", 1, Status.MOVED),
        ({}, {}, Status.EQUAL),
        ([], {}, Status.MOVED),
        ([1], 1, Status.MOVED),
    ],
)
def test_two_values(before: Any, after: Any, status: Status) -> None:
    assert judge_pair(before, after, TOLERANCE) is status


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_with_no_tolerance_only_equal_numbers_agree(before: float, after: float) -> None:
    assert (judge_pair(before, after, EXACT) is Status.EQUAL) == (before == after)


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
        getattr(one, "status", None) is Status.EQUAL or isinstance(one, Unclear)
        for one in compare_file("r.json", data, data, EXACT)
    )


def test_json_is_compared_by_key_at_any_depth() -> None:
    before = {"a": 1, "b": {"c": [1.0, 2.0], "gone": "x"}, "same": None}
    after = {"a": 1, "b": {"c": [1.0, 3.0, 4.0]}, "same": None, "added": 5}
    assert _json(before, after) == {
        "a": Status.EQUAL,
        "b.c[0]": Status.EQUAL,
        "b.c[1]": Status.MOVED,
        "b.c[2]": Status.NEW,
        "b.gone": Status.MISSING,
        "same": Status.EQUAL,
        "added": Status.NEW,
    }


def test_the_order_of_keys_does_not_matter() -> None:
    assert set(_json({"a": 1, "b": 2}, {"b": 2, "a": 1}).values()) == {Status.EQUAL}


def test_json_before_that_cannot_be_read_is_unclear_and_after_is_moved() -> None:
    [found] = compare_file("r.json", b"{", b"{}", EXACT)
    assert isinstance(found, Unclear)
    [found] = compare_file("r.json", b"{}", b'{"a": 1, "a": 2}', EXACT)
    assert isinstance(found, Comparison)
    assert found.status is Status.MOVED


@pytest.mark.parametrize("after", ['{"a": 2e400}', '{"a": Infinity}', '{"a": 1e400 }'])
def test_json_numbers_beyond_any_float_are_never_equal_for_being_infinities(after) -> None:
    [found] = compare_file("r.json", b'{"a": 1e400}', after.encode(), EXACT)
    assert isinstance(found, Unclear)
    [found] = compare_file("r.json", b'{"a": Infinity}', b'{"a": 1e400}', EXACT)
    assert isinstance(found, Comparison)
    assert found.status is Status.MOVED
    assert {
        each.status for each in compare_file("r.json", b'{"a": Infinity}', b'{ "a": Infinity}', EXACT)
    } == {Status.EQUAL}


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("1.0", "1.00", Status.EQUAL),
        ("1.0", "1.0000001", Status.WITHIN_TOLERANCE),
        ("1", "2", Status.MOVED),
        ("1000000000000", "1000000000001", Status.MOVED),
        ("north", "north", Status.EQUAL),
        ("north", "south", Status.MOVED),
        ("nan", "NaN", Status.EQUAL),
        ("", "0", Status.MOVED),
        ("inf", "Infinity", Status.EQUAL),
        ("inf", "-inf", Status.MOVED),
        ("1_000", "1000", Status.MOVED),  # a number to Python alone
        ("1_000.0", "1000.0", Status.MOVED),
        ("run_1", "run_1", Status.EQUAL),
        ("1e400", "2e400", Status.MOVED),  # both beyond any float
        ("9" * 5000, "8" * 5000 + ".0", Status.MOVED),
        ("9007199254740993", "9007199254740992.0", Status.WITHIN_TOLERANCE),
        ("10", "10.0", Status.EQUAL),
    ],
)
def test_two_cells(before: str, after: str, status: Status) -> None:
    assert judge_text(before, after, TOLERANCE) is status


def test_tables_are_compared_cell_by_cell_and_the_cell_is_named() -> None:
    before = b"year,flow\n1871,1120.0\n1872,1160.0\n"
    after = b"year,flow\r\n1871,1120.00\r\n1872,1161.0\r\n1873,1.0\r\n"
    found = [one for one in compare_file("t.csv", before, after, TOLERANCE) if isinstance(one, Comparison)]
    other = {one.key: (one.before, one.after, one.status) for one in found if one.status is not Status.EQUAL}
    assert other == {
        "row 3, flow": ("1160.0", "1161.0", Status.MOVED),
        "row 4, year": (None, "1873", Status.NEW),
        "row 4, flow": (None, "1.0", Status.NEW),
    }


def _picture(colour: tuple[int, int, int], kind: str = "PNG", spot: bool = False, **options: Any) -> bytes:
    from PIL import Image

    image = Image.new("RGB", (8, 8), colour)
    if spot:
        image.putpixel((3, 4), (255, 255, 255))
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def test_pictures_are_compared_by_pixel_and_not_by_their_bytes() -> None:
    plain, packed = _picture((1, 2, 3)), _picture((1, 2, 3), compress_level=0)
    assert plain != packed
    for after, status in ((packed, Status.EQUAL), (_picture((1, 2, 3), spot=True), Status.MOVED)):
        [found] = compare_file("f.png", plain, after, TOLERANCE)
        assert isinstance(found, Comparison)
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
    assert isinstance(found, Comparison)
    assert found.status is Status.EQUAL


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
        one.status for one in compare_file("n.txt", b"a", b"a", EXACT) if isinstance(one, Comparison)
    ] == [Status.EQUAL]
    assert [
        one.status for one in compare_file("n.txt", b"a", b"b", EXACT) if isinstance(one, Comparison)
    ] == [Status.MOVED]


@pytest.mark.parametrize(
    ("before", "after", "status"), [(b"x", None, Status.MISSING), (None, b"x", Status.NEW)]
)
def test_a_file_on_one_side_only(before: bytes | None, after: bytes | None, status: Status) -> None:
    [found] = compare_file("r.json", before, after, EXACT)
    assert isinstance(found, Comparison)
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
    one = Comparison("r.json", "timing.seconds", 1.0, 2.0, Status.MOVED)
    assert is_ignored(one, [pattern]) == ignored
