"""The record as an audit reads it: its steps oldest first, and files out of them, each read with suspicion.

A bundle may be a stranger's, so every fact is taken for what it says only where it has the right shape.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from autoscirub.errors import HistoryError, StateError
from autoscirub.models import RunManifest, StateModel
from autoscirub.store import Session, decode
from autoscirub.store.history import History
from autoscirub.workflow.rounds import FOLDER, VERIFICATION, round_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.store import Project
    from autoscirub.store.history import HistoryCommit

Model = TypeVar("Model", bound=StateModel)

MODEL_BYTES = 16 * 1024 * 1024
"""A larger state file is not read as one: a file of nothing but faults costs the validator 250 times its size."""

_ROUND_FILE = re.compile(rf"state/{FOLDER}/(round-\d{{3,9}})/{re.escape(VERIFICATION)}")


@dataclass(frozen=True)
class Listed:
    """A file that a step was decided on."""

    path: str
    sha256: str
    size: int
    stored: bool
    """Whether the step keeps its bytes, under `project/<path>`."""


@dataclass(frozen=True)
class Step:
    """One commit of the record; one that is not of ours has a `problem` and no event."""

    oid: str
    event: str
    at: str
    facts: dict[str, Any] = field(repr=False)
    notices: tuple[str, ...]
    problem: str | None
    parents: tuple[str, ...]
    history_id: str | None

    @property
    def name(self) -> str:
        """The step as messages name it."""
        return f"step {self.oid[:12]} ({self.event})" if self.event else f"step {self.oid[:12]}"

    @property
    def round(self) -> int | None:
        """The round that a step belongs to."""
        number = self.facts.get("round")
        return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None

    @cached_property
    def files(self) -> dict[str, Listed]:
        """What it was decided on, by path."""
        entries = self.facts.get("files")
        found: dict[str, Listed] = {}
        for entry in entries if isinstance(entries, list) else []:
            if not isinstance(entry, dict):
                continue
            path, sha256, size = entry.get("path"), entry.get("sha256"), entry.get("size")
            if isinstance(path, str) and isinstance(sha256, str):
                found[path] = Listed(
                    path, sha256, size if isinstance(size, int) else 0, entry.get("kept") is True
                )
        return found

    def text(self, *keys: str) -> str:
        """A text among the facts, by its keys; empty where there is none."""
        value: Any = self.facts
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return text_of(value)


class AuditedRecord:
    """The history of a session, opened for reading. Raises HistoryError when there is none."""

    def __init__(self, opened: Project, session: Session) -> None:
        history = session.history
        if history is None or history.head is None:
            raise HistoryError(
                "; ".join(
                    [
                        *session.notices,
                        f"{opened.state.root}: holds no history.bundle, so there is no record; "
                        "`autoscirub freeze` begins one",
                    ]
                )
            )
        self.opened, self.session, self.history = opened, session, history
        self.head: str = history.head
        self.commits = history.commits()
        self.steps = [_step(commit) for commit in reversed(self.commits)]
        self.faults: list[str] = []
        """What could not be read, in words."""

    def bytes(self, path: str, oid: str | None = None, most: int = MODEL_BYTES) -> bytes | None:
        """A file of a step (the newest one), None when it keeps none; what cannot be read is a fault."""
        try:
            return self.history.read(oid or self.head, path, most)
        except HistoryError as error:
            self.faults.append(str(error))
            return None

    def model(self, path: str, model: type[Model], oid: str | None = None) -> Model | None:
        """A file of a step as its model, None when it keeps none; what is no such model is a fault."""
        data = self.bytes(path, oid)
        if data is None:
            return None
        try:
            return decode(data, model, path)
        except StateError as error:
            self.faults.append(str(error).splitlines()[0])
            return None

    @cached_property
    def numbers(self) -> list[int]:
        """The rounds that the newest step has, in order."""
        found = set()
        for name in self.session.recorded_state():
            match = _ROUND_FILE.fullmatch(f"state/{name}")
            if match and round_name(int(match.group(1)[6:])) == match.group(1):
                found.add(int(match.group(1)[6:]))
        return sorted(found)

    @cached_property
    def checks(self) -> dict[int, list[int]]:
        """Round -> where in `steps` it was verified, oldest first."""
        found: dict[int, list[int]] = {}
        for index, step in enumerate(self.steps):
            if step.event == "check" and step.round is not None:
                found.setdefault(step.round, []).append(index)
        return found


@contextlib.contextmanager
def reading_record(opened: Project) -> Iterator[Session]:
    """As `Project.reading`, but a manifest that cannot be read does not keep the record from being read."""
    with contextlib.ExitStack() as stack:
        history = History.open_for_reading(opened.state.root, opened.root) if opened.state.exists() else None
        if history is not None:
            stack.enter_context(history)
        missing = None if history else History.missing_notice(opened.state.root, opened.root)
        notices = list(history.notices) if history else [missing] if missing else []
        found: RunManifest | None = None
        try:
            found = opened.state.read(RunManifest)
        except StateError as error:
            notices.append(str(error).splitlines()[0])
        yield Session.opened(opened, history, found, notices)


def placeless(record: AuditedRecord, text: str) -> str:
    """`text` without the places of this machine: an export travels."""
    return text.replace(f"{record.opened.state.root}/", "").replace(f"{record.opened.root}/", "")


def round_file(number: int, part: str) -> str:
    """Where a step keeps a part of a round."""
    return f"state/{FOLDER}/{round_name(number)}/{part}"


def preview(value: Any) -> str:
    """A value of the facts in a message: bounded, since they may be a stranger's."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


def text_of(value: Any) -> str:
    """`value` where it is text, or a number; else empty."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _step(commit: HistoryCommit) -> Step:
    return Step(
        oid=commit.oid,
        event=commit.event or "",
        at=commit.at or "",
        facts=commit.facts,
        notices=commit.notices,
        problem=commit.problem,
        parents=commit.parents,
        history_id=commit.history_id,
    )
