"""Decides whether a file is text and decodes it, in one way for everything that reads workspace files."""

from __future__ import annotations

HEAD = 8192
"""Bytes. A NUL among the first so many means that a file is not text; UTF-16 is known by its byte-order mark."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decoded(data: bytes) -> str | None:
    """The text of a file, or of its first bytes; None for one that is not text."""
    if data.startswith(UTF16_MARKS):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:HEAD]:
        return None
    return data.decode("utf-8-sig", "replace")
