"""What the user's data directory remembers of a project's history, outside of the project.

`checkouts/<key>.json`, one for each state directory: the line that was last exported there, and, while a
commit waits for its export, that commit. `projects.json`: for each project, its state directories with
their history's id and first commit, so that a history started afresh is noticed.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from autoscirub.errors import CorruptError
from autoscirub.models import now
from autoscirub.store.history.bundle import FileMark
from autoscirub.store.userdata import read_user_json, update_user_json, write_user_json

if TYPE_CHECKING:
    from pathlib import Path

PROJECTS_NAME = "projects.json"
_MOST_PROJECTS = 2000
_MOST_REPORTS = 4_096
"""Reports, reruns and verdicts that are known to have been produced here; the newest."""


class Pending(BaseModel):
    """A commit that was written and not yet exported: `before` is what the bundle held then."""

    model_config = ConfigDict(frozen=True, strict=True)

    head: str
    before: str | None


class Checkout(BaseModel):
    """The history of one state directory, as it was last exported from here."""

    model_config = ConfigDict(frozen=True, strict=True)

    state_dir: str = ""
    history_id: str | None = None
    first: str | None = None
    head: str | None = None
    commits: int = 0
    bundle: FileMark | None = None
    pending: Pending | None = None


class Memory:
    """What is remembered for one state directory. `data` is the data directory."""

    def __init__(self, data: Path, state_dir: Path, project: Path | None) -> None:
        self._data = data
        self._state_dir = _key_text(state_dir)
        self._project = _key_text(project) if project is not None else None
        self.key = hashlib.sha256(self._state_dir.encode()).hexdigest()[:32]
        self.notices: list[str] = []

    def checkout(self) -> Checkout:
        """The record; an empty one when there is none. One that cannot be read is noted and counts as none."""
        name = f"checkouts/{self.key}.json"
        try:
            value = read_user_json(name, self._data)
            return Checkout.model_validate_json(_json(value)) if value else Checkout()
        except (CorruptError, ValidationError):
            self.notices.append(
                f"{self._data / name}: cannot be read, so an older or another history.bundle would not be noticed"
            )
            return Checkout()

    def save(self, checkout: Checkout) -> None:
        """Keep the record. Raises StateError."""
        folder = self._data / "checkouts"
        folder.mkdir(mode=0o700, exist_ok=True)
        value = checkout.model_copy(update={"state_dir": self._state_dir}).model_dump(mode="json")
        write_user_json(folder / f"{self.key}.json", value)

    def reports(self) -> list[str]:
        """The sha256 of the last reports, reruns and verdicts that this machine itself produced here, oldest first."""
        try:
            value = read_user_json(f"reports/{self.key}.json", self._data)
        except CorruptError as error:
            self.notices.append(str(error))
            return []
        known = value.get("sha256")
        return [entry for entry in known if isinstance(entry, str)] if isinstance(known, list) else []

    def remember_reports(self, sha256s: list[str]) -> None:
        """Remember that this machine produced what has these digests. Raises StateError."""
        folder = self._data / "reports"
        folder.mkdir(mode=0o700, exist_ok=True)
        others = [entry for entry in self.reports() if entry not in set(sha256s)]
        known = [*others, *sha256s][-_MOST_REPORTS:]
        write_user_json(folder / f"{self.key}.json", {"state_dir": self._state_dir, "sha256": known})

    def remember_project(self, history_id: str, first: str) -> None:
        """Keep the history's id and first commit for the project. Raises StateError and BusyError."""
        if self._project is None:
            return
        project = self._project

        def add(value: dict[str, Any]) -> dict[str, Any]:
            projects = _objects(value.get("projects"))
            entry = {"history_id": history_id, "first": first, "begun": now()}
            # The newest last, and the oldest forgotten: the file stays small on machines that test a lot.
            known = _objects(projects.pop(project, {}))
            projects[project] = {**known, self._state_dir: entry}
            newest = dict(list(projects.items())[-_MOST_PROJECTS:])
            return {**value, "projects": newest}

        update_user_json(PROJECTS_NAME, add, self._data)

    def elsewhere(self) -> dict[str, str]:
        """The project's other state directories, each with its history's first commit."""
        try:
            value = read_user_json(PROJECTS_NAME, self._data)
        except CorruptError as error:
            self.notices.append(str(error))
            return {}
        known = _objects(_objects(value.get("projects")).get(self._project or ""))
        firsts = {folder: _objects(entry).get("first") for folder, entry in known.items()}
        return {
            folder: first
            for folder, first in firsts.items()
            if folder != self._state_dir and isinstance(first, str)
        }


def records_of(project: Path) -> list[str]:
    """The state directories that this machine remembers a history of the project in."""
    try:
        value = read_user_json(PROJECTS_NAME)
    except CorruptError:
        return []
    return list(_objects(_objects(value.get("projects")).get(_key_text(project))))


def _key_text(path: Path) -> str:
    # A name that is not UTF-8 stays readable and unique: JSON here is strict UTF-8.
    return os.fsencode(os.path.realpath(path)).decode("utf-8", "backslashreplace")


def _objects(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _json(value: dict[str, Any]) -> str:
    import json

    return json.dumps(value)
