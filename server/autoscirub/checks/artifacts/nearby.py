"""Hints for the message about a missing file: a broken link, another spelling, or what there is instead."""

# Strings all through, as in files.py.
# ruff: noqa: PTH114, PTH115, PTH116, PTH118

from __future__ import annotations

import os
import posixpath
import unicodedata
from dataclasses import dataclass, field
from itertools import islice

from autoscirub.checks.artifacts.paths import printable

_LISTED = 100_000
"""Entries of a directory that are listed for a hint; a hint is not worth more time."""
_NAMED = 5

_FORM = "the Unicode normal form (NFC or NFD)"
_CASE = "the case of letters"


def _lexical(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path).split("/") if part != "."]


@dataclass(frozen=True)
class _Directory:
    names: frozenset[str]
    first: tuple[str, ...]
    by_form: dict[str, str]
    by_case: dict[str, str]

    def alike(self, part: str) -> tuple[str, str] | None:
        """A name that differs from `part` by normal form alone, else by letter case, and which of them it was."""
        plain = unicodedata.normalize("NFC", part)
        if (name := self.by_form.get(plain)) is not None:
            return name, _FORM
        name = self.by_case.get(plain.casefold())
        return None if name is None else (name, _CASE)


@dataclass
class Directories:
    """The directories of one project as hints need them: each is listed once, and none that lies outside."""

    root: str
    _listed: dict[str, _Directory] = field(default_factory=dict)

    def _directory(self, relative: str) -> _Directory:
        if relative not in self._listed:
            names = self._names(os.path.join(self.root, relative))
            plain = {name: unicodedata.normalize("NFC", name) for name in names}
            self._listed[relative] = _Directory(
                frozenset(names),
                tuple(names[:_NAMED]),
                {plain[name]: name for name in reversed(names)},
                {plain[name].casefold(): name for name in reversed(names)},
            )
        return self._listed[relative]

    def _names(self, directory: str) -> list[str]:
        try:
            # A link must not make a message reveal what lies outside the project.
            if os.path.commonpath([self.root, os.path.realpath(directory)]) != self.root:
                return []
            with os.scandir(directory) as entries:
                return sorted(entry.name for entry in islice(entries, _LISTED))
        except (OSError, RecursionError):  # a very long chain of links recurses on Python 3.11 and 3.12
            return []

    def instead_of(self, path: str) -> tuple[str, bool]:
        """What there is instead of a missing `path`: a broken link, another spelling, or its neighbours.

        And whether it is neighbours alone: they are a hint, and no part of what is wrong with the path.
        """
        if (link := self._broken_link(path)) is not None:
            return link, False
        posix = path.replace("\\", "/")
        if posix != path and self._is_there(posix):
            return f"{printable(posix)} is there: write / instead of \\", False
        found, how = "", []
        for part in _lexical(path):
            directory = self._directory(found)
            if part in directory.names or os.path.lexists(os.path.join(self.root, found, part)):
                found = posixpath.join(found, part)
                continue
            if (alike := directory.alike(part)) is None:
                return self._holds(found, part), True
            found = posixpath.join(found, alike[0])
            how.append(alike[1])
        if how:
            return (
                f"{printable(found)} is there: only {' and '.join(dict.fromkeys(how))} differs; rename one of them",
                False,
            )
        # A slash at the end, or `none/../`: only the plain spelling opens it.
        return f"no such file; {printable(found)} is there: write that", False

    def _is_there(self, path: str) -> bool:
        directory, name = posixpath.split(posixpath.normpath(path))
        return name in self._directory(directory).names

    def _holds(self, relative: str, wanted: str) -> str:
        directory = self._directory(relative)
        where = printable(relative) if relative else "the project's root"
        if not directory.names:
            return f"{where} is empty or cannot be listed"
        left = len(directory.names) - len(directory.first)  # of those that were listed
        more = f" and {left} more" if left else ""
        there = ", ".join(printable(name, 60) for name in directory.first)
        return f"there is no {printable(wanted, 60)} in {where}; it holds {there}{more}"

    def _broken_link(self, path: str) -> str | None:
        """The first link on the way of `path` that leads nowhere, and why."""
        here = self.root
        for part in path.split("/"):
            here = os.path.join(here, part)
            if not os.path.islink(here):
                continue
            name = printable(os.path.relpath(here, self.root))
            try:
                target = printable(os.readlink(here))
                os.stat(here)
            except FileNotFoundError:
                return f"{name} is a link to {target}, which is not there"
            except OSError:
                return f"{name} is a link to {target}, and following it never ends"
        return None

    def other_spelling(self, path: str) -> str | None:
        """How a file that `path` opens is really spelled, where the filesystem ignores case or normal form.

        There a wrong spelling opens the file, and fails for whoever clones the project elsewhere. A directory is
        listed only where a second spelling opens the same file.
        """
        relative = ""
        for part in _lexical(path):
            directory, relative = relative, posixpath.join(relative, part)
            forms = {part.swapcase(), unicodedata.normalize("NFC", part), unicodedata.normalize("NFD", part)}
            same = any(self._same(relative, posixpath.join(directory, form)) for form in forms - {part})
            if part == ".." or not same:
                continue
            listed = self._directory(directory).names
            if part in listed or len(listed) >= _LISTED:
                continue
            if (alike := self._directory(directory).alike(part)) is not None:
                return (
                    f"the file is spelled {printable(alike[0])}: only {alike[1]} differs; rename one of them"
                )
        return None

    def _same(self, one: str, other: str) -> bool:
        try:
            first, second = (os.lstat(os.path.join(self.root, each)) for each in (one, other))
        except OSError:
            return False
        return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
