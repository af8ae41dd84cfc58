"""Inspects PNG and JPEG pictures: whole by their own structure, decoded to the last pixel, and not blank.

The structure is walked first (`png.py`, `jpeg.py`), which also finds the size in pixels before anything is decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from autoscirub.checks.artifacts.finding import (
    LIBRARY_ERRORS,
    ArtifactFinding,
    broken,
    from_error,
    quiet,
    too_large,
)
from autoscirub.checks.artifacts.jpeg import walk_jpeg
from autoscirub.checks.artifacts.png import walk_png

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_PIXELS = 89_478_485
"""Pillow's own default for `Image.MAX_IMAGE_PIXELS`; four bytes a pixel make 358 MB. Repeated here because a host
program may have changed that global."""

IMAGE_BYTES = 512 * 1024 * 1024
"""More than MAX_PIXELS need in any photograph or figure; bounds what a chunk may hold."""


def look_png(source: BinaryIO, size: int) -> ArtifactFinding:
    """A PNG: whole, decodable, and whether it shows anything."""
    if (large := too_large(size, IMAGE_BYTES)) is not None:
        return large
    walked = walk_png(source, MAX_PIXELS)
    if isinstance(walked, ArtifactFinding):
        return walked
    return _decode(source, "PNG", *walked)


def look_jpeg(source: BinaryIO, size: int) -> ArtifactFinding:
    """A JPEG: whole, decodable, and whether it shows anything.

    Someone who cuts a JPEG and puts an end marker after it is not found out: libjpeg fills the rest with grey.
    """
    if (large := too_large(size, IMAGE_BYTES)) is not None:
        return large
    walked = walk_jpeg(source)
    if isinstance(walked, ArtifactFinding):
        return walked
    return _decode(source, "JPEG", *walked)


def _decode(source: BinaryIO, what: str, width: int, height: int) -> ArtifactFinding:
    """Decodes every pixel with Pillow and looks for a blank picture."""
    if width * height > MAX_PIXELS:
        return ArtifactFinding(
            unknown=f"{width} × {height} pixels are more than are decoded here: the limit is {MAX_PIXELS} pixels"
        )
    from PIL import Image, ImageFile, UnidentifiedImageError

    source.seek(0)
    limits: tuple[type[Exception], ...] = (Image.DecompressionBombError,)
    raised: tuple[type[Exception], ...] = (*limits, *LIBRARY_ERRORS)
    with quiet("PIL"):
        forgiving, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            with Image.open(source, formats=(what,)) as image:
                image.load()
                blank = _blank(image)
        except UnidentifiedImageError:  # its message names a descriptor of ours
            return broken(what, "its header cannot be read")
        except raised as error:
            if isinstance(error, ValueError) and "MAX_TEXT" in str(error):
                # Pillow's own bound on a picture's text chunks, which say nothing about the picture.
                limits = (ValueError,)
            return from_error(error, f"not a whole {what}", limits)
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = forgiving
    return ArtifactFinding(flags=(blank,) if blank else ())


def _blank(image: Picture) -> str | None:
    """Why a decoded picture shows nothing, or None."""
    if image.mode == "P":
        return _blank(_palette_in_use(image))
    bands = image.getextrema()
    ranges = bands if isinstance(bands[0], tuple) else (bands,)
    if image.mode in ("LA", "La", "RGBA", "RGBa") and ranges[-1] == (0, 0):
        return "blank: every pixel is transparent"
    if all(low == high for low, high in ranges):
        return "blank: every pixel has the same colour"
    return None


def _palette_in_use(image: Picture) -> Picture:
    """A palette picture's used colours, one pixel each, without a full-size copy of it."""
    from PIL import Image

    used = bytes(index for index, count in enumerate(image.histogram()) if count)
    small = Image.frombytes("P", (len(used), 1), used)
    small.putpalette(image.getpalette() or [])
    if "transparency" in image.info:
        small.info["transparency"] = image.info["transparency"]
    return small.convert("RGBA")
