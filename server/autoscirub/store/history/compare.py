"""Finding what this machine has recorded beyond `history.bundle`, so that it is preserved and reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.store.history.bundle import MAIN
from autoscirub.store.history.working import CHECKOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autoscirub.store.history.memory import Checkout, Memory
    from autoscirub.store.history.repository import Repository

PUT_BACK = "tampering or a restored backup (switching to another git branch restores one too)"
"""What a bundle that lacks recorded steps can come from. Nothing here can distinguish them."""


@dataclass(frozen=True)
class HistoryComparison:
    """A bundle at `path` against the working repository, with its `refs`, and what is known of this checkout."""

    path: Path
    repository: Repository
    memory: Memory
    known: Checkout
    refs: Mapping[str, str]

    def with_bundle(self, head: str) -> list[str]:
        """The notices about what the bundle, whose main is at `head`, lacks. Preserves the lines that it lacks."""
        notices: list[str] = []
        reported: list[str] = []
        if self.known.head is None:
            notices += elsewhere(self.path, self.memory, self.repository.line(head)[1])
        for line, where in self._lines():
            if line == head:
                continue
            if not self.repository.has_commit(line):
                notices.append(self._lacking(head, line))
            elif not any(self.repository.is_ancestor(line, tip) for tip in (head, *reported)):
                notices.append(self._other_line(head, line, where))
                reported.append(line)
        return notices

    def _lines(self) -> Iterator[tuple[str, str]]:
        """What the bundle is expected to hold or to build on, and where that is known from."""
        known, main = self.known, self.refs.get(MAIN)
        if known.pending is not None and self.repository.has_commit(known.pending.head):
            yield known.pending.head, "written here and not yet exported"
        if known.head is not None:
            yield known.head, "recorded here"
        others = {
            oid
            for name, oid in self.refs.items()
            if name.startswith(CHECKOUTS) and name != f"{CHECKOUTS}{self.memory.key}"
        }
        # Another clone of the project shares the working repository and may have moved its main.
        if main is not None and (known.head is None or main not in others):
            yield main, "in the working repository"

    def _lacking(self, head: str, line: str) -> str:
        first = self.repository.line(head)[1]
        if self.known.first and self.known.first != first:
            text = started_afresh(self.path, self.known.first, first, "as this machine remembers,")
        else:
            text = f"{self.path}: lacks the step {line[:12]} that was recorded here: {PUT_BACK}"
        return f"{text}. The bundle counts"

    def _other_line(self, head: str, other: str, where: str) -> str:
        repository = self.repository
        saved_ref = repository.keep_other_line(other)
        known_first, first = repository.line(other)[1], repository.line(head)[1]
        if known_first != first:
            text = started_afresh(self.path, known_first, first, f"{where},")
        elif repository.is_ancestor(head, other):
            missing = repository.count(other, head)
            text = f"{self.path}: lacks {missing} of the steps {where}, the last {other[:12]}: {PUT_BACK}"
        else:
            text = f"{self.path}: is on another line than the one {where}, whose last step is {other[:12]}: {PUT_BACK}"
        if not self.known.head:
            text += ", or another checkout of this project has continued"
        return f"{text}. The bundle counts; the other line is kept in {repository.directory} as {saved_ref}"


def elsewhere(bundle: Path, memory: Memory, first: str | None) -> list[str]:
    """A notice for each other state directory of the project whose history does not begin with `first`."""
    return [
        f"{bundle}: this project also has a history in {folder}, which begins with commit {other[:12]}; this one "
        "is separate from it"
        for folder, other in memory.elsewhere().items()
        if other != first
    ]


def started_afresh(bundle: Path, known_first: str, first: str | None, where: str) -> str:
    """The notice that a history does not begin as the one that is remembered."""
    now_begins = f"now begins with commit {first[:12]}" if first else "is not there, so a new one begins"
    return (
        f"{bundle}: the history was started afresh: {where} it began with commit {known_first[:12]}, and it "
        f"{now_begins}. It was removed or replaced, or another project is here now"
    )
