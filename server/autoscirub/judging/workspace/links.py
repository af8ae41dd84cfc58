"""Resolves where a link really leads, and opens folders without following links."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from autoscirub.judging.profiles import ENVIRONMENT, NO_RULE, REPOSITORY, Rule

_ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})
_REPOSITORY_PARTS = frozenset({"HEAD", "objects", "refs"})

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_WHY = {
    errno.ENOENT: "a link to nothing",
    errno.ENOTDIR: "a link to nothing",
    errno.ELOOP: "a link that leads in a circle, or through too many others",
    errno.ENAMETOOLONG: "a link to nothing: no file can have so long a name",
}


class Led(NamedTuple):
    """The target of a link: its real path, what is there, and its path from the project's root if it lies in it."""

    real: str
    own: str | None
    status: os.stat_result | None
    why: str = ""
    """Why the link cannot be followed, where it has no target."""

    @property
    def words(self) -> str:
        return self.real if self.own is None else self.own or "the project itself"


def lead(link: str, root: str) -> Led:
    """Follow the link at `link` to its end, through all others."""
    try:
        os.stat(link)  # noqa: PTH116 - the system gives up on a long chain early; resolving each of many would take hours
        real = os.path.realpath(link, strict=True)
        status = _status(real)
    except RecursionError:  # Python 3.11 and 3.12 follow a chain of links by recursion
        return Led("", None, None, _WHY[errno.ELOOP])
    except (OSError, ValueError) as error:
        code = getattr(error, "errno", None) or 0
        reason = getattr(error, "strerror", None) or "no path"
        return Led("", None, None, _WHY.get(code, f"a link that cannot be followed: {reason}"))
    if real == root:
        return Led(real, "", status)
    return Led(real, real[len(root) + 1 :] if real.startswith(f"{root}/") else None, status)


def _status(real: str) -> os.stat_result:
    """What is at a resolved path; an error where a link was put on the way since."""
    folder = open_folder(real.rpartition("/")[0])
    try:
        return os.stat(real.rpartition("/")[2] or ".", dir_fd=folder, follow_symlinks=False)
    finally:
        os.close(folder)


def marked(names: set[str]) -> Rule:
    """Why a folder that holds `names` is withheld whole, whatever it is called."""
    if names & _ENVIRONMENT_MARKS:
        return ENVIRONMENT
    return REPOSITORY if names >= _REPOSITORY_PARTS else NO_RULE


def mark_at(folder: str) -> Rule:
    """The same for a folder on the way to a link's target, which is not listed."""
    if any(os.path.lexists(f"{folder}/{mark}") for mark in _ENVIRONMENT_MARKS):
        return ENVIRONMENT
    bare = all(os.path.lexists(f"{folder}/{part}") for part in _REPOSITORY_PARTS)
    return REPOSITORY if bare else NO_RULE


def open_folder(path: str, within: int | None = None) -> int:
    """The descriptor of a folder: a name in the open one `within`, or an absolute path with no link on the way.

    Raises OSError, also where a link stands on the way by now.
    """
    if within is not None:
        return os.open(path, _FOLDER, dir_fd=within)
    folder = os.open("/", _FOLDER)
    for part in path.split("/"):
        if part:
            try:
                inner = os.open(part, _FOLDER, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
    return folder
