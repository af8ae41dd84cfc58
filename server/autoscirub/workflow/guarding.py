"""What a reviser may not change, what it may, and undoing either without losing anything."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks import LOCK_NAME, PREDICTIONS_NAME
from autoscirub.errors import StateError
from autoscirub.models import now
from autoscirub.store import CONFIG_NAMES, read_regular, write_atomic

if TYPE_CHECKING:
    from autoscirub.store import Project

__all__ = ["Aside", "Guard", "project_files"]

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
        """Copy a file there, by its place in the project."""
        if not path.is_file() or path.is_symlink():
            return
        if self.folder is None:
            stamp = now().replace(":", "").replace("-", "")
            self.folder = self.opened.state.root / "jobs" / f"{self.why}-{stamp}"
        root = self.opened.root
        target = self.folder / (path.relative_to(root) if path.is_relative_to(root) else path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


class Guard:
    """What no reviser may change: everything that is locked, the configuration, and the whole state directory."""

    def __init__(self, opened: Project) -> None:
        self.opened = opened
        self.before = self._look()

    def put_back(self) -> list[str]:
        """Undo every change since, and name what was changed."""
        now_there = self._look()
        touched = sorted(
            path for path in {**self.before, **now_there} if self.before.get(path) != now_there.get(path)
        )
        aside = Aside(self.opened, "void")
        for path in touched:
            aside.keep(path)
            data = self.before.get(path)
            if data is None:
                path.unlink()
                self._remove_empty(path.parent)
            else:
                write_atomic(path, data)
        root = self.opened.root
        return [
            path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path) for path in touched
        ]

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.opened.state.root and folder.is_relative_to(self.opened.state.root):
            if any(folder.iterdir()):
                return
            folder.rmdir()
            folder = folder.parent

    def _look(self) -> dict[Path, bytes]:
        paths = [self.opened.root / name for name in _locked_names(self.opened)]
        for folder, folders, names in os.walk(self.opened.state.root):
            folders[:] = [name for name in folders if name not in {"jobs", "logs"}]
            paths += [Path(folder) / name for name in names if not name.startswith(".lock")]
        found: dict[Path, bytes] = {}
        for path in paths:
            data = read_regular(path, limit=_GUARDED_BYTES)
            if data is not None:
                found[path] = data
        return found


def _locked_names(opened: Project) -> list[str]:
    names = [PREDICTIONS_NAME, LOCK_NAME, opened.config.rubric or "rubric.toml", "autoscirub.toml"]
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
