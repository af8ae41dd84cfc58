"""Names of files in a workspace: as in the project, with control characters and undecodable bytes escaped."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control, format (direction marks too), half of a pair (a byte that is not UTF-8), line and paragraph separator."""


def display_name(path: str) -> str:
    """`path` as the workspace and its manifest have it. No two paths get the same one.

    A backslash is doubled, so that an escaped name is never another file's own.
    """
    if path.isascii() and path.isprintable() and "\\" not in path:
        return path
    return "".join(_escaped(character) for character in path)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that os.fsdecode could not read as UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
