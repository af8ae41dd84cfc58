"""Compares a workspace with its manifest, to see whether anything changed since it was built."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autoscirub.judging.profiles import prefixes
from autoscirub.judging.workspace.copy_file import hash_open, open_regular
from autoscirub.judging.workspace.links import open_folder
from autoscirub.judging.workspace.names import display_name

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.models import WorkspaceManifest

_MOST = 1_000
"""Differences after which no more are looked for."""


def differences(root: Path, manifest: WorkspaceManifest) -> list[str]:
    """The differences from the manifest, in words: files or folders that were added, changed or removed."""
    files = {file.path: file for file in manifest.files}
    folders = {folder for path in files for folder in prefixes(path)[:-1]}
    top = f"{os.path.realpath(root.parent)}/{root.name}"  # a link in its own place is not followed
    found: list[str] = []
    seen: set[str] = set()
    waiting = [""]
    while waiting and len(found) < _MOST:
        folder = waiting.pop()
        try:
            descriptor = open_folder(f"{top}/{folder}")
        except OSError as error:
            found.append(f"{folder or 'the folder itself'} cannot be opened ({error.strerror})")
            continue
        try:
            with os.scandir(descriptor) as entries:
                names = sorted(entry.name for entry in entries)
            for name in names:
                path = f"{folder}/{name}" if folder else name
                if path in folders:
                    seen.add(path)
                    waiting.append(path)
                elif path not in files:
                    found.append(f"{display_name(path)} was added")
                else:
                    seen.add(path)
                    if _digest(name, descriptor) != (files[path].size, files[path].sha256):
                        found.append(f"{path} was changed")
        finally:
            os.close(descriptor)
    if len(found) < _MOST:
        # A folder that is gone is not named: its missing files say the same.
        found += [f"{path} was removed" for path in files if path not in seen]
    return found


def _digest(name: str, within: int) -> tuple[int, str] | None:
    descriptor = open_regular(name, within)
    if descriptor is None:
        return None
    try:
        return os.fstat(descriptor).st_size, hash_open(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
