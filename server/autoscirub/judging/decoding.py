"""Whether a file of the workspace is text, and its text: one answer for everything that looks into files."""

from __future__ import annotations

HEAD = 8192
"""Bytes: a NUL in the first so many makes a file no text, but for UTF-16, which says itself that it is."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decoded(data: bytes) -> str | None:
    """A text file's text, or its beginning's; None for one that is none."""
    if data.startswith(UTF16_MARKS):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:HEAD]:
        return None
    return data.decode("utf-8-sig", "replace")
