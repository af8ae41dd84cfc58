"""Finds the project and its state directory fast: the usual cases without loading the store.

The rules are `store.resolving`'s. Wherever a configuration or a variable could override the default, that function is
called; a test compares the two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = ".autoscirub"
_MARKS = (DEFAULT, "autoscirub.toml", ".git")
_CONFIGS = ("autoscirub.toml", "pyproject.toml", f"{DEFAULT}/config.yaml")
_CONFIG_LIMIT = 1024 * 1024
_VARIABLES = ("AUTOSCIRUB_PROJECT", "AUTOSCIRUB_STATE_DIR")


@dataclass(frozen=True)
class HookLocation:
    """A project that has a state directory. Both paths are absolute; the project's has no links."""

    root: str
    state: str


def find_place(
    start: str,
    environment: Mapping[str, str],
    *,
    project: str | None = None,
    state_dir: str | None = None,
) -> HookLocation | None:
    """The project that `start` lies in, or that is named; None where there is no state directory.

    Raises ConfigError and StateError, as `store.resolving` does, where a configuration must be read and cannot be.
    """
    named = project or state_dir or any(environment.get(name) for name in _VARIABLES)
    here = os.path.realpath(start)
    root = None if named else nearest_root(here)
    if not named and root is None:
        # The working directory is the project then; without a mark, only its pyproject.toml can name a state directory.
        return _resolved(start, environment, project, state_dir) if _says_where(here) else None
    if named or _says_where(root or ""):
        return _resolved(start, environment, project, state_dir)
    state = f"{root}/{DEFAULT}"
    return HookLocation(root or "", state) if os.path.isdir(state) and _inside(state, root or "") else None


def nearest_root(folder: str) -> str | None:
    """The nearest folder upwards that is marked as a project; None where there is none."""
    while True:
        if any(os.path.lexists(f"{folder}/{mark}") for mark in _MARKS):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _says_where(root: str) -> bool:
    """Whether a configuration may name a state directory. An escape in a key could spell it otherwise."""
    for name in _CONFIGS:
        try:
            descriptor = os.open(f"{root}/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            data = os.read(descriptor, _CONFIG_LIMIT)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        if b"state_dir" in data or b"\\u" in data.lower() or b"\\x" in data:
            return True
    return False


def _inside(state: str, root: str) -> bool:
    # A link that leads out of the project is refused, as everywhere; one within it is followed.
    real = os.path.realpath(state)
    return real.startswith(f"{root.rstrip('/')}/") and not real.startswith(f"{root.rstrip('/')}/.git/")


def _resolved(
    start: str, environment: Mapping[str, str], project: str | None, state_dir: str | None
) -> HookLocation | None:
    from pathlib import Path

    from autoscirub.store import resolve

    found = resolve(project, state_dir, environment=environment, working_directory=Path(start))
    return HookLocation(str(found.project), str(found.state_dir)) if found.state_dir.is_dir() else None
