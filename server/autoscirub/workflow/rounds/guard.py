"""Guarding a revision: what a reviser may change, what it may not, and undoing either without losing anything."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.predictions import LOCK_NAME, PREDICTIONS_NAME
from autoscirub.errors import StateError
from autoscirub.judging.backends import own_files
from autoscirub.models import now
from autoscirub.store import CONFIG_NAMES, read_regular, write_atomic

if TYPE_CHECKING:
    from autoscirub.store import Project

_LEFT_OUT = {
    ".git",
    "__pycache__",
    ".venv",
    "venv",
    "node_modules",
    ".hypothesis",
    ".pytest_cache",
    ".mypy_cache",
}
_MOST_FILES = 20_000
_GUARDED_BYTES = 512 * 1024 * 1024


class Aside:
    """A folder on this machine for what is about to be undone, so that nothing is lost. Made when needed."""

    def __init__(self, opened: Project, why: str) -> None:
        self.opened, self.why = opened, why
        self.folder: Path | None = None

    def keep(self, path: Path) -> None:
        """Move a file or folder there, by its place in the project. A link, FIFO or socket holds nothing to keep."""
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            return
        if self.folder is None:
            jobs = self.opened.state.root / "jobs"
            if jobs.is_symlink():  # not ours, and it would choose where we write
                jobs.unlink()
            stamp = now().replace(":", "").replace("-", "")
            self.folder = jobs / f"{self.why}-{stamp}"
        root = self.opened.root
        target = self.folder / (path.relative_to(root) if path.is_relative_to(root) else path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            path.rename(target)
        else:
            shutil.copyfile(path, target)


_ODD = object()
"""Something there that is no regular file of a bearable size."""


class RevisionGuard:
    """What no reviser may change: everything that is locked, the configuration, and the whole state directory."""

    def __init__(self, opened: Project) -> None:
        self.opened = opened
        self.real = os.path.realpath(opened.state.root)
        self.before = self._look()

    def put_back(self) -> list[str]:
        """Undo every change since, and name what was changed."""
        state = self.opened.state.root
        moved = [state] if os.path.realpath(state) != self.real else []
        for path in moved:  # a link was put in its place
            path.unlink()
        now_there = self._look()
        touched = sorted(
            path
            for path in {**self.before, **now_there}
            if self.before.get(path) != now_there.get(path) or now_there.get(path) is _ODD
        )
        touched = [path for path in touched if self.before.get(path) is not _ODD]
        aside = Aside(self.opened, "void")
        for path in touched:  # a folder before what lies in it
            # To put back what is locked matters more than to keep what was put in its place.
            with contextlib.suppress(OSError):
                aside.keep(path)
            data = self.before.get(path)
            self._clear(path, keep_file=isinstance(data, bytes))
            if isinstance(data, bytes):
                self._make_folder(path.parent)
                write_atomic(path, data)
            else:
                self._remove_empty(path.parent)
        root = self.opened.root
        return [
            path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
            for path in [*moved, *touched]
        ]

    @staticmethod
    def _clear(path: Path, *, keep_file: bool) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path) and not (keep_file and path.is_file() and not path.is_symlink()):
            path.unlink()

    def _make_folder(self, folder: Path) -> None:
        stop = self.opened.state.root if folder.is_relative_to(self.opened.state.root) else self.opened.root
        for place in reversed([folder, *folder.parents]):
            if place.is_relative_to(stop) and place != self.opened.root:
                if os.path.lexists(place) and not place.is_dir():
                    place.unlink()
                place.mkdir(exist_ok=True)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.opened.state.root and folder.is_relative_to(self.opened.state.root):
            if not folder.is_dir() or any(folder.iterdir()):
                return
            folder.rmdir()
            folder = folder.parent

    def _look(self) -> dict[Path, object]:
        state = self.opened.state.root
        paths = [self.opened.root / name for name in _locked_names(self.opened)]
        for base, folders, names in os.walk(state):
            here = Path(base)
            paths += [here / name for name in folders if (here / name).is_symlink()]
            if here == state:
                folders[:] = [name for name in folders if name not in {"jobs", "logs"}]
            paths += [here / name for name in names if not name.startswith(".lock")]
        found: dict[Path, object] = {}
        for path in paths:
            if not os.path.lexists(path):
                continue
            try:
                found[path] = read_regular(path, limit=_GUARDED_BYTES)
            except StateError:
                found[path] = _ODD
        return found


def _locked_names(opened: Project) -> list[str]:
    names = [PREDICTIONS_NAME, LOCK_NAME, opened.config.rubric_file, "autoscirub.toml"]
    # Whoever revises could have the judge say yes.
    names += own_files(opened.config.judge, opened.root)
    return [*names, *(name for name in CONFIG_NAMES if name not in names and (opened.root / name).exists())]


def project_files(opened: Project) -> list[tuple[str, Path]]:
    """The project's regular files with their names from its root, without what is no work of it."""
    found: list[tuple[str, Path]] = []
    state = opened.state.root
    for folder, folders, names in os.walk(opened.root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and here / name != state)
        for name in sorted(names):
            path = here / name
            if path.is_file() and not path.is_symlink():
                found.append((path.relative_to(opened.root).as_posix(), path))
            if len(found) > _MOST_FILES:
                raise StateError(
                    f"{opened.root}: more than {_MOST_FILES:,} files, too many to keep before a revision; "
                    "move what is not the work out of the project"
                )
    return found
