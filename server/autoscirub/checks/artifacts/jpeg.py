"""Walks the markers of a JPEG (ITU T.81, annex B) to its end, without holding the file in memory.

Pillow accepts a file whose last bytes are missing. An end marker anywhere will not do either: an embedded
thumbnail has one of its own, so segments are stepped over by their lengths.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from autoscirub.checks.artifacts.finding import HEAD_BYTES, ArtifactFinding, broken, likeness

_BLOCK = 1 << 16
# A marker that is neither stuffing (FF00), a fill byte (FFFF) nor a restart (FFD0 to FFD7).
_MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])", re.DOTALL)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_START, _END, _SCAN, _TEMPORARY = 0xD8, 0xD9, 0xDA, 0x01
_MAX_SCANS = 100
"""A progressive file has about ten; each costs a pass over every pixel, so a small file could cost hours."""
_MAX_SEGMENTS = 10_000
"""Real files have dozens, and some hundreds with a large colour profile."""


def walk_jpeg(source: BinaryIO) -> ArtifactFinding | tuple[int, int]:
    """(width, height) in pixels of a JPEG that reaches its end marker, or what is wrong."""
    head = source.read(HEAD_BYTES)
    if not head.startswith(b"\xff\xd8"):
        if head == b"\xff":
            return broken("JPEG", "it ends within its first 2 bytes")
        return ArtifactFinding(fault=f"not a JPEG: {likeness(head)}")
    source.seek(2)
    pixels: tuple[int, int] | None = None
    segments = scans = 0
    while (marker := _next_marker(source)) is not None:
        if marker == _END:
            return pixels or broken("JPEG", "it ends before any picture (no frame header)")
        if marker in (_START, _TEMPORARY):
            continue
        segments, scans = segments + 1, scans + (marker == _SCAN)
        if scans > _MAX_SCANS or segments > _MAX_SEGMENTS:
            return ArtifactFinding(
                unknown=f"it has over {_MAX_SCANS} scans or {_MAX_SEGMENTS} segments, not decoded here"
            )
        segment = source.read(2)
        length = int.from_bytes(segment, "big")
        if len(segment) < 2 or length < 2:
            return broken("JPEG", f"the segment at byte {source.tell()} has no length")
        if marker in _FRAMES and pixels is None:
            frame = source.read(5)
            pixels = int.from_bytes(frame[3:5], "big"), int.from_bytes(frame[1:3], "big")
            source.seek(-len(frame), 1)
        source.seek(length - 2, 1)
    return broken("JPEG", "cut off before its end marker")


def _next_marker(source: BinaryIO) -> int | None:
    """The next marker's code, with `source` just after it; None at the end of the file."""
    while block := source.read(_BLOCK):
        found = _MARKER.search(block)
        if found is not None:
            source.seek(found.end() - len(block), 1)
            return found[1][0]
        if block.endswith(b"\xff") and len(block) > 1:
            source.seek(-1, 1)  # the marker's second byte may be in the next block
    return None
