"""One step of work on an opened project: reading what is recorded, and recording the next step all or nothing.

A step goes: mark, commit, export, files, unmark. The commit holds every file of the step, so whatever a kill
leaves undone after it is written again from there; before it, nothing has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from autoscirub.errors import CorruptError, StateError
from autoscirub.models import Locks, RunManifest, strict_json
from autoscirub.store.files import leads_out, sha256_bytes, sha256_file, write_atomic
from autoscirub.store.history import History, path_problem, placeless
from autoscirub.store.project_git import ProjectHead, ask_ignored, project_head
from autoscirub.store.state import ASIDE_MARK, decode
from autoscirub.store.write_points import step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from autoscirub.models import ProjectConfig
    from autoscirub.store.state import StateStore


STATE = "state/"
"""In a commit: the state files as we wrote them. What others wrote there is not in it."""
LOCKED = "locked/"
"""In a commit: what decides, byte for byte as it was locked (predictions, rubric), and our lock in the project."""
_PASSING = ("project", "before")
"""In a commit: what this one step was decided on, and backups. Not carried into the next."""

MARK_NAME = ".lock.step"
EVENTS_NAME = "revisions/events.jsonl"
"""Added to at its end, so what others wrote there stays in it."""
_MANIFEST = RunManifest.file_name


class OpenedProject(Protocol):
    """What a session needs of a project that has been opened: see `store.project.Project`."""

    @property
    def root(self) -> Path: ...
    @property
    def state(self) -> StateStore: ...
    @property
    def config(self) -> ProjectConfig: ...


@dataclass
class Session:
    """A project while it is being read or written."""

    project: OpenedProject
    history: History | None
    found: RunManifest | None
    """`run_manifest.json` as it is on disk."""
    recorded: RunManifest | None
    """`run_manifest.json` as the history's newest step has it: what was decided, whatever the file says."""
    manifest: RunManifest
    """What applies: the recorded one. Without a record nothing was decided, whatever the file says."""
    notices: list[str] = field(default_factory=list)

    @classmethod
    def opened(
        cls,
        project: OpenedProject,
        history: History | None,
        found: RunManifest | None,
        notices: Iterable[str],
    ) -> Session:
        """Compare the manifest with the history; the history's holds, because a file can be edited."""
        recorded = _recorded(history)
        session = cls(project, history, found, recorded, recorded or _unrecorded(found))
        session.notices += [placeless(notice, project.state.root) for notice in notices]
        if recorded is not None and found is None:
            session.notices.append(
                f"{_MANIFEST}: is missing or cannot be read; the version in the history applies"
            )
        elif recorded is not None and found != recorded:
            session.notices.append(
                f"{_MANIFEST}: is not as the history has it (edited, or a write was cut off); the version in the "
                "history applies"
            )
        return session

    @classmethod
    def finish_cut_off(cls, project: OpenedProject, history: History) -> bool:
        """Write the files of a step that a kill cut off after its commit. Whether there was one."""
        mark = project.state.read_bytes(MARK_NAME)
        if mark is None:
            return False
        head = history.head
        after = mark.decode("ascii", "replace").strip()
        if head is not None and after != head:
            names = [name for name in history.changed(head) if name.startswith((STATE, LOCKED))]
            _write_files(project, {name: history.read(head, name) for name in names})
        project.state.remove(MARK_NAME)
        return True

    @property
    def found_locks(self) -> Locks:
        """The locks that the file claims."""
        return self.found.locks if self.found else Locks()

    @property
    def recorded_locks(self) -> Locks:
        """The locks that the history has."""
        return self.recorded.locks if self.recorded else Locks()

    def recorded_file(self, name: str) -> bytes | None:
        """A file of the history's newest step, such as `locked/prereg.toml`; None when it has none."""
        if self.history is None or self.history.head is None:
            return None
        return self.history.read(self.history.head, name)

    def recorded_state(self) -> set[str]:
        """The names of the state files that the history's newest step has."""
        if self.history is None or self.history.head is None:
            return set()
        return {
            name.removeprefix(STATE)
            for name in self.history.files(self.history.head)
            if name.startswith(STATE)
        }

    def knows(self, name: str) -> bool:
        """Whether the history's newest step has the state file `name` exactly as it is on disk."""
        recorded = self.recorded_file(STATE + name)
        return recorded is not None and recorded == self.project.state.read_bytes(name)

    def ignored(self, paths: list[str]) -> set[str]:
        """Those of `paths` that the user's git ignores. What git could not tell becomes a notice, once."""
        answer = ask_ignored(self.project.root, paths)
        if answer.note and answer.note not in self.notices:
            self.notices.append(answer.note)
        return set(answer.paths)

    def recorded_notices(self) -> list[str]:
        """Every problem ever found with the history itself, oldest first: it was started afresh, put back, lost."""
        commits = self.history.commits() if self.history else []
        return [f"{commit.at}: {notice}" for commit in reversed(commits) for notice in commit.notices]

    def record(
        self,
        event: str,
        *,
        at: str,
        facts: Mapping[str, Any],
        judged: Iterable[str] = (),
        based_on: Mapping[str, str] | None = None,
        state: Mapping[str, bytes | None] | None = None,
        locked: Mapping[str, bytes | None] | None = None,
        before: Mapping[str, Path] | None = None,
    ) -> str:
        """Take one step: commit, export, and write the files. Returns the commit's id.

        `state`: state files by name, None to remove; the manifest is added. `locked`: what decides, as it is
        locked; `.prereg.lock` among it is written into the project. `judged`: paths from the project root that
        the step was decided on; those over the bounds of `[audit]` are listed with their digest and not stored.
        `based_on`: the digests that the answers are based on; a file that has changed by now voids them, and
        StateError is raised before anything is written. `before`: copies of files, so that they can be put back.
        """
        if self.history is None:
            raise StateError("a session that only reads cannot record")
        project = self.project
        files: dict[str, bytes | None] = {STATE + name: data for name, data in (state or {}).items()}
        files |= {LOCKED + name: data for name, data in (locked or {}).items()}
        files[STATE + _MANIFEST] = strict_json(self.manifest).encode("utf-8")
        stored: dict[str, bytes | Path] = {name: data for name, data in files.items() if data is not None}
        listed = self._keep(judged, stored)
        refuse_moved(based_on or {}, {entry["path"]: entry["sha256"] for entry in listed})
        stored |= {f"before/{name}": path for name, path in (before or {}).items()}
        drop = [*_PASSING, *(name for name, data in files.items() if data is None)]
        self._set_aside(files)
        write_atomic(project.state.root / MARK_NAME, f"{self.history.head or ''}\n".encode())
        oid = self.history.commit(
            event,
            stored,
            facts={**facts, "files": listed, "project_git": dict(self._project_head())},
            at=at,
            drop=drop,
        )
        self.history.export()
        _write_files(project, files)
        project.state.remove(MARK_NAME)
        self.recorded = self.found = self.manifest.model_copy(deep=True)
        return oid

    def _set_aside(self, files: Mapping[str, bytes | None]) -> None:
        """Rename what others wrote where this step will put a file: it stays for inspection."""
        state = self.project.state
        for name, data in files.items():
            inner = name.removeprefix(STATE)
            if not name.startswith(STATE) or inner == EVENTS_NAME or self.history is None:
                continue
            found = state.read_bytes(inner)
            if found is None or found in (data, self.recorded_file(name)):
                continue
            aside = state.move_aside(inner, mark=ASIDE_MARK)
            self.notices.append(f"{inner}: was not as the history has it; set aside as {aside}")

    def _project_head(self) -> ProjectHead:
        root, state = self.project.root, self.project.state.root
        return project_head(root, [state.relative_to(root).as_posix()] if state.is_relative_to(root) else [])

    def _keep(self, judged: Iterable[str], files: dict[str, bytes | Path]) -> list[dict[str, Any]]:
        bounds = self.project.config.audit
        left = bounds.keep_round
        listed: list[dict[str, Any]] = []
        for path in sorted(set(judged)):
            target = self.project.root / path
            if not target.is_file() or leads_out(target, self.project.root):
                continue
            size = target.stat().st_size
            nameable = not target.is_symlink() and path_problem(f"project/{path}") is None
            if not nameable or size > min(bounds.keep_file, left):
                listed.append({"path": path, "sha256": sha256_file(target), "size": size, "kept": False})
                continue
            # Read once, so that what is stored and what is listed are the same bytes.
            data = target.read_bytes()
            files[f"project/{path}"] = data
            listed.append({"path": path, "sha256": sha256_bytes(data), "size": len(data), "kept": True})
            left -= len(data)
        return listed


def refuse_moved(based_on: Mapping[str, str], now_there: Mapping[str, str | None]) -> None:
    """Raise StateError, naming the files, when one of them has changed since it was read: the answers are void."""
    moved = sorted(path for path, digest in based_on.items() if now_there.get(path) != digest)
    if moved:
        raise StateError(
            f"{', '.join(moved[:5])}: changed while it was being verified, so the answers are void and nothing was "
            "recorded; wait until whatever writes it is done, and run this again"
        )


def _unrecorded(found: RunManifest | None) -> RunManifest:
    """What a file says that no history backs: who it is. What it says was decided is a claim, and stays in the file."""
    if found is None:
        return RunManifest()
    return RunManifest(
        history_id=found.history_id, instruction=found.instruction, created_at=found.created_at
    )


def _recorded(history: History | None) -> RunManifest | None:
    if history is None or history.head is None:
        return None
    data = history.read(history.head, STATE + _MANIFEST)
    try:
        return decode(data, RunManifest, _MANIFEST) if data is not None else None
    except CorruptError:
        return None


def _write_files(project: OpenedProject, files: Mapping[str, bytes | None]) -> None:
    for name, data in files.items():
        if name.startswith(STATE):
            inner = name.removeprefix(STATE)
            if data is None:
                project.state.remove(inner)
            elif project.state.read_bytes(inner) != data:
                project.state.write_bytes(inner, data)
        elif name == LOCKED + ".prereg.lock":
            target = project.root / ".prereg.lock"
            if data is None:
                step("remove")
                target.unlink(missing_ok=True)
            else:
                write_atomic(target, data, within=project.root)
