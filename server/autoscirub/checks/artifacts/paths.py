"""Decides which artifact paths a freeze refuses, before any file is opened. Pure: no I/O.

A path is relative to the project, in POSIX spelling, and stays inside it. It is read twice, with `/` alone and
with `\\` as a separator too, because the one who wrote it may have meant either.
"""

from __future__ import annotations

import re
import unicodedata

MAX_PATH = 1024
"""Characters. Above PATH_MAX on some systems and far above any real path; keeps every message short."""

_DRIVE = re.compile(".:")  # any one character: so ntpath reads it
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:", re.IGNORECASE)
# Control, format (bidi marks too), surrogate, line and paragraph separator: what can forge a terminal line.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Refused in a path. Format characters are not: a joiner is part of ordinary names in several scripts.
_NO_NAME = frozenset({"Cc", "Cs", "Zl", "Zp"})


def printable(text: object, limit: int = 200) -> str:
    """`text` fit for one line of a message: control characters escaped, cut to `limit` characters.

    A file name or a library's message may hold escape sequences, and a terminal would obey them.
    """
    cut = str(text)[: limit + 1]
    safe = "".join(
        c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _HIDDEN else c for c in cut
    )
    return safe if len(cut) <= limit else safe[: limit - 1] + "…"


def _posix(path: str) -> str:
    return path.replace("\\", "/")


def _leaves(path: str) -> bool:
    """Whether `..` climbs above the start, at any point of the way."""
    depth = 0
    for part in path.split("/"):
        if part in ("", "."):
            continue
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def path_faults(path: str) -> str | None:
    """Why `path` is refused as an artifact's path, in one sentence, or None.

    A path that passes stays inside the project in every lexical reading; where its symlinks lead is found out
    when it is checked.
    """
    if not isinstance(path, str):
        return f"the path must be text, not {type(path).__name__}"
    if not path.strip():
        return "the path is empty; name a file, relative to the project"
    if len(path) > MAX_PATH:
        return f"{printable(path, 60)}: the path has {len(path)} characters; {MAX_PATH} is the most"
    bad = next((c for c in path if unicodedata.category(c) in _NO_NAME), None)
    if bad is not None:
        return f"{printable(path)}: the path holds {printable(bad)}, a control or line-break character; remove it"
    if _SCHEME.match(path):
        return f"{printable(path)}: a URL; name a file of the project, relative to it"
    if _DRIVE.match(path):
        return f"{printable(path)}: a path on a Windows drive; write it relative to the project"
    if path.startswith("~"):
        return f"{printable(path)}: starts with ~, a home directory; write it relative to the project"
    if path.startswith(("/", "\\")):
        return f"{printable(path)}: an absolute path; write it relative to the project"
    if _leaves(path) or _leaves(_posix(path)):
        return f"{printable(path)}: leaves the project by ..; an artifact must lie inside it"
    return None


def path_warnings(path: str) -> str | None:
    """What is worth a warning at freeze about a `path` that is not refused, in one sentence, or None."""
    if path_faults(path) is not None:
        return None
    if "\\" in path:
        return (
            f"{printable(path)}: a backslash is a part of a file's name here, not a separator; "
            f"write {printable(_posix(path))}"
        )
    if path.endswith("/"):
        return f"{printable(path)}: ends in a slash, so it names a directory, and a directory never passes; name a file"
    return None
