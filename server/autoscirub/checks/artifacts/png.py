"""Walks the chunks of a PNG (W3C, second edition), without holding the file in memory.

Pillow forgives a missing end chunk and missing rows, so whether it is whole is decided here: every chunk is there and
matches its checksum (Pillow's `verify()` leaves out the last one), and the pixel data inflate to as many
bytes as the header says.
"""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

from autoscirub.checks.artifacts.finding import HEAD_BYTES, PARSED_BYTES, ArtifactFinding, broken, likeness

_START = b"\x89PNG\r\n\x1a\n"
_BLOCK = 1 << 16
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples a pixel by colour type (table 11.1): grey, RGB, palette, grey with alpha, RGB with alpha."""
_WHOLE = ((0, 0, 1, 1),)
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Of each pass: first column, first row, step across, step down (section 8.2)."""


class _Pixels:
    """Counts what the pixel data inflate to, up to what the header asks for, and keeps none of it."""

    def __init__(self, header: bytes, limit: int) -> None:
        self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
        bits = depth * _CHANNELS.get(colour, 0)
        self.known = self.width * self.height > 0 and bits > 0
        # Over the limit nothing is inflated: the caller says that such a picture is not decoded.
        self.wanted = self._bytes(bits, bool(interlaced)) if self.width * self.height <= limit else 0
        self.data = False
        self._inflater = zlib.decompressobj()

    def _bytes(self, bits: int, interlaced: bool) -> int:
        total = 0
        for column, row, across, down in _ADAM7 if interlaced else _WHOLE:
            columns, rows = -((column - self.width) // across), -((row - self.height) // down)
            if columns > 0 and rows > 0:
                total += rows * (1 + (columns * bits + 7) // 8)  # each row begins with its filter type
        return total

    def take(self, block: bytes) -> None:
        """Raises zlib.error for data that do not inflate."""
        self.data = True
        while block and self.wanted > 0 and not self._inflater.eof:
            self.wanted -= len(self._inflater.decompress(block, _BLOCK))
            block = self._inflater.unconsumed_tail


def walk_png(source: BinaryIO, limit: int) -> ArtifactFinding | tuple[int, int]:
    """(width, height) in pixels of a whole PNG, or what is wrong; nothing over `limit` pixels is inflated."""
    head = source.read(HEAD_BYTES)
    if not head.startswith(_START):
        if _START.startswith(head):
            return broken("PNG", f"it ends within its first {len(_START)} bytes")
        if head.startswith(_START[:4]):
            return broken("PNG", "its first 8 bytes are damaged, as converting line endings does")
        return ArtifactFinding(fault=f"not a PNG: {likeness(head)}")
    source.seek(len(_START))
    pixels: _Pixels | None = None
    around_pixels = 0
    while True:
        at = source.tell()
        header = source.read(8)
        if len(header) < 8:
            return broken("PNG", f"cut off at byte {at + len(header)}, before its end chunk")
        length, name = int.from_bytes(header[:4], "big"), header[4:].decode("latin-1")
        if not (name.isascii() and name.isalpha()):
            return broken("PNG", f"there is no chunk at byte {at}, where one should begin")
        if (name == "IHDR") != (pixels is None) or (name == "IHDR" and length != 13):
            return broken("PNG", f"the chunk at byte {at} is {name}, which does not belong there")
        checksum, left, first = zlib.crc32(header[4:]), length, b""
        while left and (block := source.read(min(left, _BLOCK))):
            checksum, left, first = zlib.crc32(block, checksum), left - len(block), first or block
            if name == "IDAT" and pixels is not None:
                try:
                    pixels.take(block)
                except zlib.error:
                    return broken("PNG", f"its pixels cannot be inflated, in the chunk at byte {at}")
        stored = source.read(4)
        if left or len(stored) < 4:
            return broken("PNG", f"cut off at byte {source.tell()}, in chunk {name}")
        if int.from_bytes(stored, "big") != checksum:
            return broken("PNG", f"chunk {name} at byte {at} does not match its checksum")
        if name not in ("IDAT", "fdAT"):
            around_pixels += length
        if around_pixels > PARSED_BYTES:  # Pillow would hold them all
            return ArtifactFinding(
                unknown=f"it holds over {PARSED_BYTES} bytes beside its pixels, more than is read here"
            )
        if name == "IHDR":
            pixels = _Pixels(first, limit)
            if not pixels.known:
                return broken("PNG", "its header names no size or no known kind of pixels")
        if name == "IEND" and pixels is not None:
            break
    if not pixels.data:
        return broken("PNG", "it has no chunk of pixels (IDAT)")
    if pixels.wanted > 0:
        return broken("PNG", f"its pixels end {pixels.wanted} bytes early")
    return pixels.width, pixels.height
