"""Recognises copies of withheld files, which are withheld too: a copied write-up is still the write-up."""

# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.errors import BlindingError
from autoscirub.judging.workspace.copy_file import digest_of
from autoscirub.judging.workspace.limits import Seen, Stamp, WorkspaceLimits, stamp_of, too_much

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.judging.profiles import Patterns

SMALLEST = 64
"""Bytes. A file of no more than so many is too small for an equal one to count as its copy."""

_STATE_FOLDERS = ("revisions", "verdicts")
_STATE_FILES = (
    "verification*.json*",
    "revision_plan*.json*",
    "change_summary*.json*",
    "run_manifest.json*",
    "*.md",
)


def collect(
    path: str,
    real: str,
    status: os.stat_result,
    limits: WorkspaceLimits,
    count: Callable[[str, int], None],
    only: Patterns | None = None,
) -> list[Seen]:
    """The files of a withheld file or folder, or what its link leads to; those that `only` holds, where it is given.

    A link inside of a withheld folder is followed to a file alone. Raises BlindingError for a folder that cannot be
    listed: a copy of what is in it could not be recognised.
    """
    if stat.S_ISLNK(status.st_mode):
        try:
            real = os.path.realpath(real)
            status = os.stat(real)
        except (OSError, RecursionError):
            return []
    waiting, found = [(path, real, status, only is None)], []
    while waiting:
        path, real, status, held = waiting.pop()
        held = held or (only is not None and only.holds(path))
        if stat.S_ISREG(status.st_mode):
            if held:
                found.append(Seen(path, real, stamp_of(status)))
        elif stat.S_ISDIR(status.st_mode) and (held or only is None or only.may_hold_in(path)):
            if path.count("/") > limits.depth:
                raise too_much(path, "its folders lie deeper", f"{limits.depth} folders within each other")
            waiting += [(*each, held) for each in _listed(path, real, count)]
    return found


def _listed(path: str, real: str, count: Callable[[str, int], None]) -> list[tuple[str, str, os.stat_result]]:
    found = []
    try:
        with os.scandir(real) as entries:
            for entry in entries:
                count(path, 1)
                try:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISLNK(status.st_mode):
                        status = entry.stat()
                        if stat.S_ISDIR(status.st_mode):
                            continue
                except OSError:  # gone by now, or a link to nothing
                    continue
                found.append((f"{path}/{entry.name}", os.path.join(real, entry.name), status))
    except OSError as error:
        raise BlindingError(
            f"{printable(path)}: is withheld and cannot be listed ({error.strerror}), so copies of the files in it "
            "could not be recognised; make it readable"
        ) from error
    return found


def collect_state(state_dir: str, limits: WorkspaceLimits, count: Callable[[str, int], None]) -> list[Seen]:
    """The verdicts, plans and manifest of the state directory. Its history rightly holds copies of results."""
    found: list[Seen] = []
    try:
        with os.scandir(state_dir) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:  # there is none yet
        return found
    named = os.path.basename(state_dir)  # noqa: PTH119
    for entry in listed:
        count(state_dir, 1)
        if entry.name in _STATE_FOLDERS or any(fnmatchcase(entry.name, name) for name in _STATE_FILES):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found += collect(f"{named}/{entry.name}", entry.path, status, limits, count)
    unfrozen = os.path.join(state_dir, "unfrozen")
    if os.path.isdir(unfrozen):  # noqa: PTH112
        # Not the predictions next to them: those may be the very ones that were frozen again.
        unfrozen_files = collect(f"{named}/unfrozen", unfrozen, os.stat(unfrozen), limits, count)
        found += [seen for seen in unfrozen_files if fnmatchcase(seen.path, "*/verification*.json*")]
    return found


class Compared:
    """The withheld files that a visible one is compared with: by identity, and by size and then bytes."""

    def __init__(self, files: list[Seen]) -> None:
        self._by_size: dict[int, list[Seen]] = {}
        self._identities: dict[tuple[int, int], Seen] = {}
        self._digests: dict[tuple[int, int], str] = {}
        for seen in files:
            self._identities.setdefault(_identity(seen.stamp), seen)
            if seen.stamp[2] > SMALLEST:
                self._by_size.setdefault(seen.stamp[2], []).append(seen)

    def same_file(self, seen: Seen) -> Seen | None:
        """The withheld file that `seen` is another name of."""
        return self._identities.get(_identity(seen.stamp))

    def has_size(self, size: int) -> bool:
        """Whether a withheld file has that size, so that comparing bytes is worthwhile."""
        return size in self._by_size

    def same_bytes(self, size: int, sha256: str) -> Seen | None:
        """The withheld file with these bytes. Raises BlindingError where one of that size cannot be read."""
        for seen in self._by_size.get(size, ()):
            identity = _identity(seen.stamp)
            if identity not in self._digests:
                self._digests[identity] = digest_of(seen)
            if self._digests[identity] == sha256:
                return seen
        return None


def _identity(stamp: Stamp) -> tuple[int, int]:
    return stamp[0], stamp[1]
