"""Limits on what a workspace may hold, and stamps that reveal whether a file changed since it was listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from autoscirub.checks.artifacts import printable
from autoscirub.errors import BlindingError

if TYPE_CHECKING:
    import os

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, and the times (ns) of the last write and the last change of status."""


@dataclass(frozen=True)
class WorkspaceLimits:
    """The most that a workspace may hold; beyond each a BlindingError names the limit."""

    files: int = 200_000
    """Files, folders, links and others that are examined."""
    bytes: int = 20 * 1024**3
    file_bytes: int = 10 * 1024**3
    depth: int = 100
    """Folders within each other."""
    path: int = 2_000
    """Bytes of a path from the project's root."""


class Seen(NamedTuple):
    """A file as it was when it was listed."""

    path: str
    """From the project's root, by the way that the walk took."""
    real: str
    stamp: Stamp


def stamp_of(status: os.stat_result) -> Stamp:
    """What identifies a file's bytes, short of reading them."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def too_much(path: str, found: str, most: str) -> BlindingError:
    """The error for a project that goes beyond a limit."""
    return BlindingError(
        f"{printable(path)}: {found}, more than the {most} that a judge's workspace may have; "
        "exclude what a judge need not see ([profiles.NAME] exclude), or keep it outside of the project"
    )


def changed(path: str) -> BlindingError:
    """The error for a file that is not what it was when it was listed."""
    return BlindingError(
        f"{printable(path)}: changed while the workspace was built; wait until whatever writes there has finished, and "
        "build it again"
    )
