"""How much a workspace may hold, and the identity of a file that is to stay as it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from autoscirub.checks.artifacts import shown
from autoscirub.errors import BlindingError

if TYPE_CHECKING:
    import os

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, and the times (ns) of the last write and the last change of status."""


@dataclass(frozen=True)
class WorkspaceLimits:
    """What a workspace is refused above; each a BlindingError that names it."""

    files: int = 200_000
    """Files, folders, links and others that are looked at."""
    bytes: int = 20 * 1024**3
    file_bytes: int = 10 * 1024**3
    depth: int = 100
    """Folders within each other."""
    path: int = 2_000
    """Bytes of a path from the project's root."""


class Seen(NamedTuple):
    """A file as it was when it was listed."""

    path: str
    """From the project's root, by the way it was come to."""
    real: str
    stamp: Stamp


def stamp_of(status: os.stat_result) -> Stamp:
    """What identifies a file's bytes, short of reading them."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def too_much(path: str, found: str, most: str) -> BlindingError:
    """The error for a project that goes beyond a limit."""
    return BlindingError(
        f"{shown(path)}: {found}, more than the {most} that a judge's workspace may have; "
        "exclude what a judge need not see ([profiles.NAME] exclude), or keep it outside of the project"
    )


def changed(path: str) -> BlindingError:
    """The error for a file that is not what it was when it was listed."""
    return BlindingError(
        f"{shown(path)}: changed while the workspace was built; let what writes there come to an end, and build "
        "it again"
    )
