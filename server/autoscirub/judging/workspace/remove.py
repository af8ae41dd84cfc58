"""Removes a workspace, whatever was done to its files and folders."""

# ruff: noqa: PTH101

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from autoscirub.sandbox import remove_tree

if TYPE_CHECKING:
    from pathlib import Path


def remove_workspace(folder: Path) -> None:
    """Remove a workspace's folder and all below it, even where folders were made unreadable or are very deep."""
    with contextlib.suppress(RecursionError, OSError):
        remove_tree(folder)
    if os.path.lexists(folder):
        _flatten(folder)
        with contextlib.suppress(OSError):
            remove_tree(folder)


def _flatten(folder: Path) -> None:
    """Bring every folder below up to the top, so that no path and no recursion is too long to remove it."""
    waiting, number = [str(folder)], 0
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError):
            os.chmod(place, 0o700)
            with os.scandir(place) as entries:
                found = list(entries)
            for entry in found:
                if not entry.is_dir(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        os.unlink(entry.path)  # noqa: PTH108
                elif place == str(folder):
                    waiting.append(entry.path)
                else:
                    number += 1
                    up = f"{folder}/.{number:x}.up"
                    with contextlib.suppress(OSError):
                        os.chmod(entry.path, 0o700)
                        os.rename(entry.path, up)  # noqa: PTH104
                        waiting.append(up)
