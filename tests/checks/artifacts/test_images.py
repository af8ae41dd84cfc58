"""PNG and JPEG: whole, decodable, and not blank."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFile

from autoscirub.checks.artifacts.formats import FORMATS
from autoscirub.checks.artifacts.images import IMAGE_BYTES
from autoscirub.models import Answer, Decision

Look = Callable[..., Decision]


def saved(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width: int, height: int, pixels: bytes, interlaced: int = 0) -> bytes:
    """A PNG of sound chunks, 8-bit grey, whatever its pixel data say."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def drawn(mode: str = "RGB") -> Image.Image:
    """A white picture with one thin line, in any mode."""
    image = Image.new("L", (64, 48), 255)
    ImageDraw.Draw(image).line((3, 40, 60, 5), fill=0)
    return image.convert(mode)


@pytest.mark.parametrize("suffix", [".png", ".PNG"])
def test_a_real_png_passes_without_a_flag(look: Look, good: dict[str, bytes], suffix: str) -> None:
    decision = look(good["png"], f"figures/a{suffix}")
    assert decision.answer is Answer.HOLDS
    assert decision.question == f"Is figures/a{suffix} there, non-empty, and really a PNG?"
    assert decision.evidence[0].note is None


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".JPG"])
def test_a_real_jpeg_passes_without_a_flag(look: Look, good: dict[str, bytes], suffix: str) -> None:
    decision = look(good["jpeg"], f"a{suffix}")
    assert decision.answer is Answer.HOLDS
    assert decision.evidence[0].note is None


def test_the_explicit_format_goes_before_the_suffix(look: Look, good: dict[str, bytes]) -> None:
    assert look(good["png"], "a.dat", "png").answer is Answer.HOLDS
    assert look(good["png"], "a.png", "jpeg").evidence[0].note == "not a JPEG: it is a PNG image"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html><body>404 Not Found</body></html>\n", "not a PNG: it is an HTML page"),
        (b"\xef\xbb\xbf\n <!DOCTYPE html>\n<html>", "not a PNG: it is an HTML page"),
        (b"figure to come\n", "not a PNG: it is text"),
        (b"GIF89a...", "not a PNG: it is a GIF image"),
        (b"\x93NUMPY\x01\x00", "not a PNG: it is a NumPy array"),
        (b"\x00\x01\x02\x03", "not a PNG: it is binary data of another kind"),
        (b"\x89PN", "not a whole PNG: it ends within its first 8 bytes"),
        (b"\x89PNG\n\x1a\n" + b"x" * 50, "not a whole PNG: its first 8 bytes are damaged"),
    ],
)
def test_what_is_no_png_fails_and_says_what_it_is(look: Look, data: bytes, reason: str) -> None:
    decision = look(data, "a.png")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert (decision.evidence[0].note or "").startswith(reason)


def test_a_png_without_its_end_chunk_fails(look: Look, good: dict[str, bytes]) -> None:
    data = good["png"]
    assert data[-8:-4] == b"IEND"
    decision = look(data[:-12], "a.png")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert f"not a whole PNG: cut off at byte {len(data) - 12}" in (decision.evidence[0].note or "")


def test_a_png_whose_pixels_end_early_inside_sound_chunks_fails(look: Look) -> None:
    decision = look(png_of(40, 40, zlib.compress(b"\0" * 41 * 10)), "a.png")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert decision.evidence[0].note == "not a whole PNG: its pixels end 1230 bytes early"


def test_an_interlaced_png_passes_whole_and_fails_short(look: Look) -> None:
    """The rows of 5 by 3 grey pixels in Adam7 order, by hand; the third pass has none."""
    rows = [1, 1, 1, 3, 2, 2, 5]
    pixels = b"".join(b"\0" + bytes(range(1, width + 1)) for width in rows)
    assert look(png_of(5, 3, zlib.compress(pixels), interlaced=1), "a.png").evidence[0].note is None
    short = look(png_of(5, 3, zlib.compress(pixels[:-1]), interlaced=1), "a.png")
    assert short.evidence[0].note == "not a whole PNG: its pixels end 1 bytes early"


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]), st.integers(1, 40), st.integers(1, 9))
def test_a_png_of_any_kind_and_size_passes_whole_and_fails_one_byte_short(
    mode: str, width: int, height: int
) -> None:
    data = saved(Image.new(mode, (width, height)))
    assert FORMATS["png"].look(io.BytesIO(data), len(data)).fault is None
    at = data.index(b"IDAT")
    length = int.from_bytes(data[at - 4 : at], "big")
    pixels = zlib.decompress(data[at + 4 : at + 4 + length])
    short = data[: at - 4] + chunk(b"IDAT", zlib.compress(pixels[:-1])) + chunk(b"IEND", b"")
    found = FORMATS["png"].look(io.BytesIO(short), len(short))
    assert found.fault == "not a whole PNG: its pixels end 1 bytes early"


def test_a_png_whose_pixels_cannot_be_inflated_fails(look: Look) -> None:
    assert look(png_of(40, 40, b"no zlib at all"), "a.png").answer is Answer.DOES_NOT_HOLD


def test_every_cut_of_a_png_fails(good: dict[str, bytes]) -> None:
    data, look_png = good["png"], FORMATS["png"].look
    for length in range(1, len(data)):
        assert look_png(io.BytesIO(data[:length]), length).fault is not None, length


def test_every_damaged_byte_of_a_png_fails(good: dict[str, bytes]) -> None:
    data, look_png = good["png"], FORMATS["png"].look
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        found = look_png(io.BytesIO(damaged), len(damaged))
        assert found.fault is not None or found.unknown is not None, at


@pytest.mark.parametrize("progressive", [False, True])
def test_every_cut_of_a_jpeg_fails(progressive: bool) -> None:
    data = saved(Image.effect_noise((24, 16), 80), "JPEG", progressive=progressive)
    for length in range(1, len(data)):
        found = FORMATS["jpeg"].look(io.BytesIO(data[:length]), length)
        assert found.fault is not None, length


def test_a_jpeg_with_an_embedded_thumbnail_that_is_cut_off_fails(look: Look) -> None:
    """The thumbnail holds a whole JPEG of its own, end marker and all."""
    thumbnail = saved(Image.effect_noise((8, 8), 80), "JPEG")
    data = saved(Image.effect_noise((24, 16), 80), "JPEG", exif=b"Exif\0\0" + thumbnail)
    assert look(data, "a.jpg").answer is Answer.HOLDS
    assert look(data[: data.index(thumbnail) + len(thumbnail) + 40], "a.jpg").answer is Answer.DOES_NOT_HOLD


def test_a_host_that_lets_pillow_forgive_cut_off_files_changes_no_answer(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert look(png_of(40, 40, zlib.compress(b"\0" * 41 * 10)), "a.png").answer is Answer.DOES_NOT_HOLD
    without_tables = saved(Image.effect_noise((24, 16), 80), "JPEG").replace(b"\xff\xdb", b"\xff\xeb")
    assert look(without_tables, "a.jpg").answer is Answer.DOES_NOT_HOLD
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


@pytest.mark.parametrize("name", ["png", "jpeg"])
def test_a_picture_file_over_the_limit_is_not_decoded_and_is_inconclusive(name: str) -> None:
    found = FORMATS[name].look(io.BytesIO(b""), IMAGE_BYTES + 1)
    assert found.fault is None
    assert f"the limit is {IMAGE_BYTES} bytes" in (found.unknown or "")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:8] + chunk(b"gAMA", b"\0\0\0\1") + data[8:], "the chunk at byte 8 is gAMA"),
        (lambda data: data[:8] + data[8:33] * 2 + data[33:], "the chunk at byte 33 is IHDR"),
        (lambda data: data[:33] + data[-12:], "it has no chunk of pixels (IDAT)"),
        (lambda _: png_of(0, 5, b"x"), "its header names no size"),
        (lambda data: data[:12] + b"\0" + data[13:], "there is no chunk at byte 8"),
    ],
)
def test_a_png_of_misplaced_chunks_fails_and_says_which(
    look: Look, good: dict[str, bytes], damage: Callable[[bytes], bytes], reason: str
) -> None:
    decision = look(damage(good["png"]), "a.png")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert reason in (decision.evidence[0].note or "")


def blank_pictures() -> dict[str, Image.Image]:
    transparent = Image.effect_noise((20, 20), 80).convert("RGBA")
    transparent.putalpha(0)
    twice_white = Image.new("P", (20, 20))
    twice_white.putpalette([255, 255, 255, 255, 255, 255])
    twice_white.putpixel((3, 3), 1)
    return {
        "one pixel": Image.new("RGB", (1, 1), "red"),
        "white": Image.new("RGB", (400, 300), "white"),
        "grey": Image.new("L", (40, 30), 7),
        "black and white": Image.new("1", (40, 30), 1),
        "16 bit": Image.new("I;16", (40, 30), 700),
        "see-through": Image.new("RGBA", (40, 30), (1, 2, 3, 128)),
        "transparent noise": transparent,
        "two palette entries of one colour": twice_white,
    }


@pytest.mark.parametrize("name", blank_pictures())
def test_a_blank_picture_passes_and_is_flagged(look: Look, name: str) -> None:
    decision = look(saved(blank_pictures()[name]), "a.png")
    assert decision.answer is Answer.HOLDS
    expected = (
        "blank: every pixel is transparent" if "noise" in name else "blank: every pixel has the same colour"
    )
    assert decision.evidence[0].note == expected


def test_a_blank_jpeg_is_flagged(look: Look) -> None:
    decision = look(saved(Image.new("RGB", (40, 30), "navy"), "JPEG"), "a.jpg")
    assert decision.evidence[0].note == "blank: every pixel has the same colour"


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_a_thin_line_is_not_blank_in_any_mode(look: Look, mode: str) -> None:
    decision = look(saved(drawn(mode)), "a.png")
    assert decision.answer is Answer.HOLDS
    assert decision.evidence[0].note is None


def test_a_shape_of_one_colour_on_a_transparent_ground_is_not_blank(look: Look) -> None:
    image = Image.new("RGBA", (40, 30), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (5, 5, 9, 9))
    assert look(saved(image), "a.png").evidence[0].note is None
