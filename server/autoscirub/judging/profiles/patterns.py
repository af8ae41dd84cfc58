"""Sets of files, folders and glob patterns that a path of the project is matched against."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WILD = re.compile(r"[*?[]")


class Patterns:
    """A set of files, folders (with all below them) and globs. `*` crosses folders, as in `[run] outputs`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        plain = [self.plain(pattern) for pattern in patterns]
        self._exact = frozenset(plain)
        """The entries as written, patterns too: a file may be called `data[1].csv`."""
        self._all = "." in self._exact
        self._above = frozenset(folder for path in plain for folder in prefixes(path)[:-1])
        globs = [pattern for pattern in plain if _WILD.search(pattern)]
        self._heads = tuple(sorted({_WILD.split(pattern, maxsplit=1)[0] for pattern in globs}))
        self._glob = re.compile("|".join(fnmatch.translate(each) for each in globs)).match if globs else None

    @property
    def words(self) -> frozenset[str]:
        """Every entry as it is written."""
        return self._exact

    @staticmethod
    def plain(pattern: str) -> str:
        """A pattern in the spelling that paths are compared in: no `./`, no `//`, no slash at its end."""
        return posixpath.normpath(pattern)

    @staticmethod
    def literal(path: str) -> str:
        """A path as a pattern that matches only it."""
        return _WILD.sub(lambda found: f"[{found[0]}]", path)

    def holds(self, path: str) -> bool:
        """Whether an entry is or matches `path` itself; its parent folders are not checked."""
        return self._all or path in self._exact or (self._glob is not None and self._glob(path) is not None)

    def holds_below(self, path: str) -> bool:
        """Whether an entry is or matches `path` or one of its parent folders."""
        return any(self.holds(prefix) for prefix in prefixes(path))

    def may_hold_in(self, folder: str) -> bool:
        """Whether an entry could match something below `folder`."""
        inside = f"{folder}/"
        return (
            self._all
            or folder in self._above
            or any(head.startswith(inside) or inside.startswith(head) for head in self._heads)
        )


def prefixes(path: str) -> list[str]:
    """`a`, `a/b`, `a/b/c` of `a/b/c`."""
    return list(_prefixes(path))


def _prefixes(path: str) -> Iterator[str]:
    at = path.find("/")
    while at != -1:
        if at:
            yield path[:at]
        at = path.find("/", at + 1)
    yield path
