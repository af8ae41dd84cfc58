"""A project that has been opened: its place, its configuration, its state directory and its history."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.models import RunManifest, now
from autoscirub.store.files import TEMPORARY_PREFIX, read_regular
from autoscirub.store.history import History
from autoscirub.store.resolving import Location, resolve
from autoscirub.store.session import Session
from autoscirub.store.state import StateStore, lay_gitignore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoscirub.models import ProjectConfig


@dataclass(frozen=True)
class Project:
    """Where everything is. Opening one creates nothing and locks nothing."""

    location: Location
    state: StateStore

    @property
    def root(self) -> Path:
        """The project's folder, absolute."""
        return self.location.project

    @property
    def config(self) -> ProjectConfig:
        """The configuration in effect: with defaults filled in, under the policy of this machine."""
        return self.location.config.values

    def deciding(self) -> dict[str, Any]:
        """The settings that decide, as the project's own files set them: what a freeze locks.

        A policy is no part of it. It is the machine's: a lab that gets one has not changed its projects, and a
        clone is verified where there is another one, or none.
        """
        return self.location.config.own.deciding()

    def read(self, name: str, *, limit: int) -> bytes | None:
        """A file of the project (not of the state directory); None when it is not there."""
        return read_regular(self.root / name, limit=limit, within=self.root)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """Open the project read-only and write nothing: the history comes from a temporary copy of the bundle."""
        with contextlib.ExitStack() as stack:
            history = History.open_for_reading(self.state.root, self.root) if self.state.exists() else None
            if history is not None:
                stack.enter_context(history)
            missing = None if history else History.missing_notice(self.state.root, self.root)
            notices = history.notices if history else [missing] if missing else []
            yield Session.opened(self, history, self.state.read(RunManifest), notices)

    def _sweep(self) -> None:
        """Remove what our own writes left when they were killed. We hold the lock, so no write is under way."""
        places = [
            self.root,
            self.state.root,
            *(self.state.root / "revisions").glob("*/"),
            self.state.root / "revisions",
        ]
        for place in places:
            with contextlib.suppress(OSError):
                for path in place.iterdir():
                    if _is_leftover(path.name):
                        path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Session]:
        """Hold the state directory's lock, with the working history open for writing.

        A step that a kill cut off is finished first, so that what follows finds it complete or not started.
        """
        with self.state.writing():
            self._sweep()
            lay_gitignore(self.state.root)
            found = self.state.read(RunManifest)
            history = History.open_for_writing(
                self.state.root, found.history_id if found else None, self.root
            )
            with history:
                if Session.finish_cut_off(self, history):
                    found = self.state.read(RunManifest)
                session = Session.opened(self, history, found, [*self.state.notices, *history.notices])
                if session.manifest.history_id is None:
                    session.manifest.history_id = history.id
                    session.manifest.created_at = session.manifest.created_at or now()
                yield session


def _is_leftover(name: str) -> bool:
    return re.fullmatch(rf"{re.escape(TEMPORARY_PREFIX)}[0-9a-f]{{16}}", name) is not None


def open_project(project: str | Path | None = None, state_dir: str | Path | None = None) -> Project:
    """Find a project and its state directory. Raises ConfigError and StateError; creates nothing."""
    location = resolve(project, state_dir)
    return Project(
        location, StateStore(location.state_dir, lock_seconds=location.config.values.limits.lock_seconds)
    )
