"""Finds the files that changed since the last check, by the digests that it rested on and a bounded scan."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from datetime import datetime
from typing import Any

from autoscirub.client_hooks.payload import text_of

_LEFT_OUT = {"__pycache__", "venv", "node_modules", "site-packages"}
_LEFT_OUT_ENDINGS = (".pyc", ".pyo", ".log", ".tmp", ".swp", "~", ".egg-info")
_COPIED_AFTER = 120.0
"""Seconds between the time in a file and its modification time beyond which it counts as copied here, as in a clone."""
_COPYING = 60.0


class Bounds:
    """How much is scanned. Beyond that the scan gives up, and nobody is sent back."""

    def __init__(
        self, *, entries: int = 20_000, seconds: float = 0.5, hashed: int = 32 * 1024 * 1024
    ) -> None:
        self.entries, self.hashed = entries, hashed
        self.until = time.monotonic() + seconds

    def spent(self) -> bool:
        """Whether the scan must end."""
        return self.entries <= 0 or time.monotonic() > self.until


class Changes:
    """`known`: files that a decision rested on and that differ now. `other`: newer files that no decision rested on."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self.other: list[str] = []


def digests_of(
    report: dict[str, Any] | None, verification: dict[str, Any] | None
) -> tuple[dict[str, str], set[str]]:
    """Path -> the hex digest that the last check rested on; and the paths that are certainly names of files.

    What a criterion rests on also names values; such a name counts as a file only where that file exists. A result
    reused from an earlier round has the file's digest of then: the file may differ by now, with the same values.
    """
    digests: dict[str, str] = {}
    certain: dict[str, str] = {}
    earlier: dict[str, str] = {}
    reused: set[Any] = set()
    for criterion in _list(report, "criteria"):
        rests = criterion.get("rests_on")
        if criterion.get("reused_from_round") is not None:
            reused.add(text_of(criterion, "criterion_id"))
        for name, digest in rests.items() if isinstance(rests, dict) else ():
            if isinstance(digest, str):
                digests.setdefault(name.removeprefix("shown: ").removeprefix("./"), digest)
    for source in (report, verification):
        for decision in _list(source, "decisions"):
            of_then = source is report and text_of(decision, "subject") in reused
            _add_evidence(earlier if of_then else certain, decision, 0)
    for name in earlier.keys() & digests.keys():
        certain.setdefault(name, digests[name])
    found = (verification or {}).get("digests")
    artifacts = found.get("artifacts") if isinstance(found, dict) else None
    for name, digest in artifacts.items() if isinstance(artifacts, dict) else ():
        if isinstance(digest, str):
            certain.setdefault(name, digest)
    return {**digests, **certain}, set(certain)


def _list(value: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    found = (value or {}).get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _add_evidence(found: dict[str, str], decision: dict[str, Any], depth: int) -> None:
    for evidence in _list(decision, "evidence"):
        path, digest = evidence.get("path"), evidence.get("sha256")
        if isinstance(path, str) and isinstance(digest, str):
            found.setdefault(path, digest)
    for part in _list(decision, "parts") if depth < 5 else ():
        _add_evidence(found, part, depth + 1)


def reference_time(path: str, at: str | None) -> float:
    """When the last check (or the freeze) was, by the file system's clock.

    `path` was written then, and `at` is the time in it. Where the two are far apart the file was copied here, as were
    the others, in any order: a minute is allowed for that, and the digests cover the rest.
    """
    try:
        written = os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        written = 0.0
    stated = seconds_of(at)
    if stated is None:
        return written
    if abs(written - stated) <= _COPIED_AFTER:
        return written
    return max(written, stated) + _COPYING


def seconds_of(at: str | None) -> float | None:
    """A time of a state file in seconds since 1970; None where it is none."""
    try:
        return datetime.fromisoformat(at).timestamp() if at else None
    except ValueError:
        return None


def changes_since(
    root: str,
    state: str,
    since: float,
    digests: dict[str, str],
    certain: set[str],
    bounds: Bounds,
) -> Changes | None:
    """What has changed in the project; None where the scan would exceed its bounds."""
    found = Changes()
    for path in sorted(certain):
        if not _lies_in_project(path) or (
            not os.path.lexists(f"{root}/{path}") and os.path.lexists(f"{state}/{path}")
        ):
            continue
        digest = _digest(f"{root}/{path}", bounds)
        if digest is not None and digest != digests[path]:
            found.known.append(path)
    newer = _newer(root, os.path.realpath(state), since, bounds)
    if newer is None:
        return None
    for path in newer:
        if path in certain:
            continue
        known = digests.get(path)
        if known is None:
            found.other.append(path)
        elif _digest(f"{root}/{path}", bounds) not in (known, None):
            found.known.append(path)
    return found


def _lies_in_project(path: str) -> bool:
    return not os.path.isabs(path) and not os.path.normpath(path).startswith("..") and "\0" not in path


def _digest(path: str, bounds: Bounds) -> str | None:
    """A file's digest; "" where it is gone; None where it is no regular file, or more than may be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > bounds.hashed:
            return None
        bounds.hashed -= status.st_size
        return hashlib.file_digest(file, "sha256").hexdigest()


def _newer(root: str, state: str, since: float, bounds: Bounds) -> list[str] | None:
    """Files that were written after `since`, from the root. What begins with a dot is a tool's, not the work."""
    found: list[str] = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        bounds.entries -= len(entries)
        if bounds.spent():
            return None
        for entry in entries:
            name = entry.name
            if name.startswith(".") or name in _LEFT_OUT or name.endswith(_LEFT_OUT_ENDINGS):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not os.path.lexists(f"{entry.path}/pyvenv.cfg") and entry.path != state:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime > since:
                found.append(os.path.relpath(entry.path, root))
    return sorted(found)
