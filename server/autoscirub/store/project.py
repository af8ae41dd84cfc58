"""A project that has been opened: its place, its configuration, its state directory and its history."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.errors import CorruptError
from autoscirub.models import Locks, RunManifest, now
from autoscirub.store.files import read_regular, sha256_bytes, sha256_file
from autoscirub.store.history import History, placeless
from autoscirub.store.history_repository import path_problem
from autoscirub.store.project_git import ProjectHead, project_head
from autoscirub.store.resolve import Location, resolve
from autoscirub.store.state import StateStore, decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from autoscirub.models import ProjectConfig

__all__ = ["Project", "Session", "open_project"]

_MANIFEST = RunManifest.file_name


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
        """The configuration, with defaults filled in."""
        return self.location.config.values

    def read(self, name: str, *, limit: int) -> bytes | None:
        """A file of the project (not of the state directory); None when it is not there."""
        return read_regular(self.root / name, limit=limit, within=self.root)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """Look, and write nothing anywhere: the history comes from a temporary copy of the bundle."""
        with contextlib.ExitStack() as stack:
            history = History.open_for_reading(self.state.root, self.root) if self.state.exists() else None
            if history is not None:
                stack.enter_context(history)
            missing = None if history else History.missing_notice(self.state.root, self.root)
            notices = history.notices if history else [missing] if missing else []
            yield Session.opened(self, history, self.state.read(RunManifest), notices)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Session]:
        """Hold the state directory's lock, with the working history open for writing."""
        with self.state.writing():
            found = self.state.read(RunManifest)
            history = History.open_for_writing(
                self.state.root, found.history_id if found else None, self.root
            )
            with history:
                session = Session.opened(self, history, found, [*self.state.notices, *history.notices])
                if session.manifest.history_id is None:
                    session.manifest.history_id = history.id
                    session.manifest.created_at = session.manifest.created_at or now()
                yield session


@dataclass
class Session:
    """A project while it is being read or written."""

    project: Project
    history: History | None
    found: RunManifest | None
    """`run_manifest.json` as it lies there."""
    recorded: RunManifest | None
    """`run_manifest.json` as the history's newest step has it: what was decided, whatever the file says."""
    manifest: RunManifest
    """What holds: the recorded one, and the file only where there is no record."""
    notices: list[str] = field(default_factory=list)

    @classmethod
    def opened(
        cls, project: Project, history: History | None, found: RunManifest | None, notices: Iterable[str]
    ) -> Session:
        """Compare the manifest with the history; the history's holds, because a file can be edited."""
        recorded = _recorded(history)
        session = cls(project, history, found, recorded, recorded or found or RunManifest())
        session.notices += [placeless(notice, project.state.root) for notice in notices]
        if recorded is not None and found is None:
            session.notices.append(
                f"{_MANIFEST}: is gone or cannot be read; what the history has of it holds"
            )
        elif recorded is not None and found != recorded:
            session.notices.append(
                f"{_MANIFEST}: is not as the history has it (edited, or a write was cut off); the history's holds"
            )
        return session

    @property
    def found_locks(self) -> Locks:
        """The locks that the file claims."""
        return self.found.locks if self.found else Locks()

    @property
    def recorded_locks(self) -> Locks:
        """The locks that the history has."""
        return self.recorded.locks if self.recorded else Locks()

    def knows(self, name: str) -> bool:
        """Whether the history's newest step has the state file `name` exactly as it lies there."""
        if self.history is None or self.history.head is None:
            return False
        kept = self.history.read(self.history.head, f"state/{name}")
        return kept is not None and kept == self.project.state.read_bytes(name)

    def recorded_notices(self) -> list[str]:
        """What was ever found amiss with the history itself, oldest first: it was begun again, put back, lost."""
        commits = self.history.commits() if self.history else []
        return [f"{commit.at}: {notice}" for commit in reversed(commits) for notice in commit.notices]

    def record(self, event: str, *, at: str, facts: dict[str, Any], judged: Iterable[str] = ()) -> str:
        """Write the manifest, commit the state and the judged files, and export the history.

        `judged` are paths from the project root; those over the bounds of `[audit]` are listed with their
        digest and not kept. Returns the commit's id.
        """
        if self.history is None:
            raise RuntimeError("a session that only reads cannot record")
        state = self.project.state
        state.write(self.manifest)
        names = [name for name in state.files() if path_problem(f"state/{name}") is None]
        files: dict[str, bytes | Path] = {f"state/{name}": state.root / name for name in names}
        listed = self._keep(judged, files)
        facts = {**facts, "files": listed, "project_git": dict(self._project_head())}
        oid = self.history.commit(event, files, facts=facts, at=at)
        self.history.export()
        return oid

    def _project_head(self) -> ProjectHead:
        root, state = self.project.root, self.project.state.root
        return project_head(root, [state.relative_to(root).as_posix()] if state.is_relative_to(root) else [])

    def _keep(self, judged: Iterable[str], files: dict[str, bytes | Path]) -> list[dict[str, Any]]:
        bounds = self.project.config.audit
        left = bounds.keep_round
        listed: list[dict[str, Any]] = []
        for path in sorted(set(judged)):
            target = self.project.root / path
            if target.is_symlink() or not target.is_file() or path_problem(f"project/{path}"):
                continue
            size = target.stat().st_size
            if size > min(bounds.keep_file, left):
                listed.append({"path": path, "sha256": sha256_file(target), "size": size, "kept": False})
                continue
            # Read once, so that what is kept and what is listed are the same bytes.
            data = target.read_bytes()
            files[f"project/{path}"] = data
            listed.append({"path": path, "sha256": sha256_bytes(data), "size": len(data), "kept": True})
            left -= len(data)
        return listed


def _recorded(history: History | None) -> RunManifest | None:
    if history is None or history.head is None:
        return None
    data = history.read(history.head, f"state/{_MANIFEST}")
    try:
        return decode(data, RunManifest, _MANIFEST) if data is not None else None
    except CorruptError:
        return None


def open_project(project: str | Path | None = None, state_dir: str | Path | None = None) -> Project:
    """Find a project and its state directory. Raises ConfigError and StateError; creates nothing."""
    location = resolve(project, state_dir)
    return Project(
        location, StateStore(location.state_dir, lock_seconds=location.config.values.limits.lock_seconds)
    )
