"""Where a link really leads, and opening a folder without following one."""

# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import errno
import os
from typing import NamedTuple

__all__ = ["Led", "lead", "open_folder"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_WHY = {
    errno.ENOENT: "a link to nothing",
    errno.ENOTDIR: "a link to nothing",
    errno.ELOOP: "a link that leads in a circle, or through too many others",
    errno.ENAMETOOLONG: "a link to nothing: no file can have so long a name",
}


class Led(NamedTuple):
    """The end of a link: its real path, what is there, and its path from the project's root if it is in it."""

    real: str
    own: str | None
    status: os.stat_result | None
    why: str = ""
    """Why it is not followed, where there is nothing to follow it to."""

    @property
    def words(self) -> str:
        return self.real if self.own is None else self.own or "the project itself"


def lead(link: str, root: str) -> Led:
    """Follow the link at `link` to its end, through all others."""
    try:
        real = os.path.realpath(link, strict=True)
        status = os.lstat(real)
    except RecursionError:  # Python 3.11 and 3.12 follow a chain of links by recursion
        return Led("", None, None, _WHY[errno.ELOOP])
    except (OSError, ValueError) as error:
        code = getattr(error, "errno", None) or 0
        said = getattr(error, "strerror", None) or "no path"
        return Led("", None, None, _WHY.get(code, f"a link that cannot be followed: {said}"))
    if real == root:
        return Led(real, "", status)
    return Led(real, real[len(root) + 1 :] if real.startswith(f"{root}/") else None, status)


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
