"""NumPy arrays and pictures, decoded. What cannot be decoded here is unclear, never different."""

from __future__ import annotations

import io
import zipfile
from importlib import import_module
from typing import TYPE_CHECKING, Any

from autoscirub.checks.rerun.pairs import Comparison, Status, Tolerance, Unclear

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["compare_arrays", "compare_pictures"]

_MAX_PIXELS = 89_478_485
_MAX_ARRAYS_BYTES = 1024**3
_SHOWN_ELEMENTS = 20
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
"""Kinds of pixels that are the same as RGBA of 8 bits, whatever they hold."""
_BITS, _SAMPLES = 258, 277
"""Tags of TIFF: the bits of each channel, and how many channels there are."""


def compare_arrays(
    path: str, before: bytes, after: bytes, tolerance: Tolerance
) -> Iterator[Comparison | Unclear]:
    """`.npy` and `.npz`, array by array. Never unpickles anything."""
    try:
        numpy: Any = import_module("numpy")
    except ImportError:
        yield Unclear(path, "its bytes differ, and numpy is not installed here to look closer")
        return
    try:
        old, new = _load(numpy, before), _load(numpy, after)
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, MemoryError) as error:
        yield Unclear(path, f"its bytes differ, and it is no NumPy file that can be read: {str(error)[:100]}")
        return
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            there = _shape(old.get(name, new.get(name)))
            status = Status.MISSING if name in old else Status.NEW
            yield Comparison(
                path, name, there if name in old else None, there if name in new else None, status
            )
            continue
        yield from _compare_one(numpy, path, name, old[name], new[name], tolerance)


def _compare_one(
    numpy: Any, path: str, name: str | None, old: Any, new: Any, tolerance: Tolerance
) -> Iterator[Comparison]:
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        yield Comparison(path, name, _shape(old), _shape(new), Status.MOVED)
        return
    if old.dtype.kind in "fc":
        with numpy.errstate(all="ignore"):
            same = (old == new) | (numpy.isnan(old) & numpy.isnan(new))
            close = numpy.abs(new - old) <= tolerance.atol + tolerance.rtol * numpy.abs(old)
        # An infinity is within a relative tolerance of anything; only its equal will do.
        close = same | (close & numpy.isfinite(old) & numpy.isfinite(new))
    else:
        same = close = numpy.asarray(old == new)
    if bool(close.all()):
        status = Status.EQUAL if bool(same.all()) else Status.WITHIN_TOLERANCE
        yield Comparison(path, name, _shape(old), _shape(new), status)
        return
    moved = numpy.argwhere(~close)
    for place in moved[:_SHOWN_ELEMENTS]:
        at = tuple(int(index) for index in place)
        key = f"{name or ''}[{', '.join(map(str, at))}]"
        yield Comparison(path, key, _plain(old[at]), _plain(new[at]), Status.MOVED)
    if len(moved) > _SHOWN_ELEMENTS:
        count = f"{len(moved):,} of {old.size:,} elements moved"
        yield Comparison(path, name, _shape(old), count, Status.MOVED)


def _load(numpy: Any, data: bytes) -> dict[str | None, Any]:
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return {None: numpy.lib.format.read_array(io.BytesIO(data), allow_pickle=False)}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_ARRAYS_BYTES:
            raise ValueError(f"more than {_MAX_ARRAYS_BYTES:,} bytes unpacked")
    with numpy.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _shape(array: Any) -> str:
    return f"{array.dtype} array of shape {array.shape}"


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


def compare_pictures(path: str, before: bytes, after: bytes) -> Iterator[Comparison | Unclear]:
    """Pictures by their decoded pixels, as RGBA: another encoder or time stamp is no other picture.

    Of finer pixels, or of other colours, RGBA would be a rounding: they are unclear.
    """
    from PIL import Image, ImageChops, UnidentifiedImageError

    pictures = []
    for data in (before, after):
        try:
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                if image.width * image.height > _MAX_PIXELS:
                    yield Unclear(path, f"its bytes differ, and it has more than {_MAX_PIXELS:,} pixels")
                    return
                if getattr(image, "n_frames", 1) > 1 or not _is_plain(image):
                    yield Unclear(path, "its bytes differ, and pictures of its kind are not compared here")
                    return
                pictures.append(image.convert("RGBA"))
        except (
            UnidentifiedImageError,
            OSError,
            ValueError,
            SyntaxError,
            Image.DecompressionBombError,
        ) as error:
            which = "the one before" if data is before else "the one that came out"
            yield Unclear(path, f"its bytes differ, and {which} cannot be decoded: {type(error).__name__}")
            return
    old, new = pictures
    was, is_now = (f"{picture.width} × {picture.height} pixels" for picture in pictures)
    if old.size != new.size:
        yield Comparison(path, None, was, is_now, Status.MOVED)
        return
    # getbbox looks at alpha alone unless told otherwise, and opaque pictures never differ there.
    box = ImageChops.difference(old, new).getbbox(alpha_only=False)
    if box is None:
        yield Comparison(path, None, was, is_now, Status.EQUAL)
    else:
        yield Comparison(path, None, was, f"{is_now}; pixels differ within {box}", Status.MOVED)


def _is_plain(image: Any) -> bool:
    """Whether nothing of an opened picture is lost when it becomes RGBA of 8 bits for each channel."""
    if image.mode not in _MODES:
        return False
    if image.format == "PNG":  # how its bytes will be unpacked: RGB, P;4, RGB;16B
        return all(str(tile[3]).partition(";")[2] in ("", "1", "2", "4") for tile in image.tile)
    if image.format == "TIFF":
        bits = image.tag_v2.get(_BITS, 1)
        deepest = max(bits) if isinstance(bits, tuple) else bits
        return bool(deepest <= 8 and image.tag_v2.get(_SAMPLES, 1) == len(image.getbands()))
    return True
