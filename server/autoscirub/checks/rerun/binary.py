"""Compares NumPy arrays and pictures, decoded. What cannot be decoded here is unclear, never different."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from importlib import import_module
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from autoscirub.checks.rerun.pairs import Tolerance, Unclear, ValueComparison, ValueStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_PIXELS = 89_478_485
_MAX_ARRAYS_BYTES = 1024**3
_LISTED_ELEMENTS = 20
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
"""Kinds of pixels that are the same as RGBA of 8 bits, whatever they hold."""
_UNREADABLE = (
    ValueError, OSError, EOFError, KeyError, MemoryError, zipfile.BadZipFile, zlib.error,
    RuntimeError,  # an archive with a password, or (NotImplementedError) packed in a way that is not known
    TypeError, OverflowError, SyntaxError, TokenError,  # a header that is no Python, or says no size
    struct.error,
)  # fmt: skip
"""What NumPy and Pillow raise for what a file holds."""
_BITS, _SAMPLES = 258, 277
"""Tags of TIFF: the bits of each channel, and how many channels there are."""


def compare_arrays(
    path: str, before: bytes, after: bytes, tolerance: Tolerance
) -> Iterator[ValueComparison | Unclear]:
    """`.npy` and `.npz`, array by array. Never unpickles anything."""
    try:
        numpy: Any = import_module("numpy")
    except ImportError:
        yield Unclear(path, "its bytes differ, and numpy is not installed here to look closer")
        return
    try:
        old, new = _load(numpy, before), _load(numpy, after)
    except _UNREADABLE as error:
        yield Unclear(path, f"its bytes differ, and it is no NumPy file that can be read: {str(error)[:100]}")
        return
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            there = _shape(old.get(name, new.get(name)))
            status = ValueStatus.MISSING if name in old else ValueStatus.NEW
            yield ValueComparison(
                path, name, there if name in old else None, there if name in new else None, status
            )
            continue
        yield from _compare_one(numpy, path, name, old[name], new[name], tolerance)


def _compare_one(
    numpy: Any, path: str, name: str | None, old: Any, new: Any, tolerance: Tolerance
) -> Iterator[ValueComparison | Unclear]:
    kind, fields = old.dtype.kind, old.dtype.names
    # Fields, and bytes without a type, are compared only with their like: NumPy refuses, or takes them by place.
    if old.shape != new.shape or kind != new.dtype.kind or (kind == "V" and old.dtype != new.dtype):
        yield ValueComparison(path, name, _shape(old), _shape(new), ValueStatus.MOVED)
        return
    if fields:
        for field in fields:
            yield from _compare_one(numpy, path, f"{name or ''}.{field}", old[field], new[field], tolerance)
        return
    if kind in "mM" and numpy.datetime_data(old.dtype) != numpy.datetime_data(new.dtype):
        # Another unit overflows without a word, and two dates that are not the same would be.
        yield Unclear(path, f"its dates are in other units: {old.dtype} before, {new.dtype} now")
        return
    if kind in "fc":
        with numpy.errstate(all="ignore"):
            same = _same(numpy, old.real, new.real)
            same = same & _same(numpy, old.imag, new.imag) if kind == "c" else same
            close = numpy.abs(new - old) <= tolerance.atol + tolerance.rtol * numpy.abs(old)
        # An infinity is within a relative tolerance of anything; only its equal will do.
        close = same | (close & numpy.isfinite(old) & numpy.isfinite(new))
    elif kind in "mM":
        same = close = (old == new) | (numpy.isnat(old) & numpy.isnat(new))
    else:
        same = close = numpy.asarray(old == new)
    if bool(close.all()):
        status = ValueStatus.EQUAL if bool(same.all()) else ValueStatus.WITHIN_TOLERANCE
        yield ValueComparison(path, name, _shape(old), _shape(new), status)
        return
    moved = numpy.argwhere(~close)
    for place in moved[:_LISTED_ELEMENTS]:
        at = tuple(int(index) for index in place)
        key = f"{name or ''}[{', '.join(map(str, at))}]"
        yield ValueComparison(path, key, _plain(old[at]), _plain(new[at]), ValueStatus.MOVED)
    if len(moved) > _LISTED_ELEMENTS:
        count = f"{len(moved):,} of {old.size:,} elements moved"
        yield ValueComparison(path, name, _shape(old), count, ValueStatus.MOVED)


def _same(numpy: Any, old: Any, new: Any) -> Any:
    return (old == new) | (numpy.isnan(old) & numpy.isnan(new))


def _load(numpy: Any, data: bytes) -> dict[str | None, Any]:
    if not data.startswith(b"PK"):  # as NumPy decides; an array can have an archive after it
        return {None: _array(numpy, data)}
    found: dict[str | None, Any] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_ARRAYS_BYTES:
            raise ValueError(f"more than {_MAX_ARRAYS_BYTES:,} bytes unpacked")
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if name in found:
                raise ValueError(f"{name} is in it twice")
            found[name] = _array(numpy, archive.read(entry))
    return found


def _array(numpy: Any, data: bytes) -> Any:
    """The one array of a file. What it holds beyond that would not be compared, so it is refused."""
    file = io.BytesIO(data)
    array = numpy.lib.format.read_array(file, allow_pickle=False)
    if file.tell() != len(data):
        raise ValueError("bytes after its array")
    if array.size > len(data):  # of elements without a byte there may be more than fit in memory
        raise ValueError("more elements than bytes")
    return array


def _shape(array: Any) -> str:
    return f"{array.dtype} array of shape {array.shape}"


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


def compare_pictures(path: str, before: bytes, after: bytes) -> Iterator[ValueComparison | Unclear]:
    """Pictures by their decoded pixels, as RGBA: another encoder or time stamp is no other picture.

    Of finer pixels, or of other colours, RGBA would be a rounding: they are unclear.
    """
    from PIL import Image, ImageChops

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
        except (*_UNREADABLE, Image.DecompressionBombError) as error:
            which = "the one before" if data is before else "the one that came out"
            yield Unclear(path, f"its bytes differ, and {which} cannot be decoded: {type(error).__name__}")
            return
    old, new = pictures
    was, is_now = (f"{picture.width} × {picture.height} pixels" for picture in pictures)
    if old.size != new.size:
        yield ValueComparison(path, None, was, is_now, ValueStatus.MOVED)
        return
    # getbbox compares alpha alone by default, and opaque pictures never differ there.
    box = ImageChops.difference(old, new).getbbox(alpha_only=False)
    if box is None:
        yield ValueComparison(path, None, was, is_now, ValueStatus.EQUAL)
    else:
        yield ValueComparison(path, None, was, f"{is_now}; pixels differ within {box}", ValueStatus.MOVED)


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
