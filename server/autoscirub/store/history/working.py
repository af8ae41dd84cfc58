"""The working repository behind a history that is being written: committing to it, and exporting it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.errors import HistoryError
from autoscirub.store.history.bundle import MAIN, Bundle, unpack, write_bundle
from autoscirub.store.history.facts import FACTS_NAME, facts_document, seconds_of
from autoscirub.store.history.memory import Checkout, Memory, Pending
from autoscirub.store.history.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CHECKOUTS = "refs/checkouts/"
"""Below it, for each state directory, the newest commit made there: two clones share a working repository."""


def rebuild(bundle: Bundle, directory: Path) -> Repository:
    """A fresh repository at `directory` from a bundle, everything in it checked.

    Raises CorruptError when the bundle is damaged, HistoryError when this machine could not do it; then
    nothing is left of it.
    """
    repository = Repository.create(directory)
    try:
        unpack(bundle, repository.git)
    except BaseException:
        repository.remove()
        raise
    return repository


@dataclass
class WorkingHistory:
    """A history ready to be written: main is at `head`, and the bundle holds `exported`."""

    repository: Repository
    memory: Memory
    checkout: Checkout
    history_id: str
    head: str | None = None
    exported: str | None = None
    made: int = 0
    """Commits made on top of `exported`."""
    notices: list[str] = field(default_factory=list)

    def commit(
        self,
        event: str,
        files: Mapping[str, bytes | Path],
        facts: Mapping[str, Any],
        at: str,
        notices: Sequence[str],
        drop: Sequence[str] | None = None,
    ) -> str:
        """Write one commit and move main to it. Raises HistoryError, and then nothing has changed."""
        from autoscirub.version import __version__

        if FACTS_NAME in files:
            raise HistoryError(f"history: {FACTS_NAME} is the commit's own; give the file another name")
        document = facts_document(
            event, facts, at=at, version=__version__, history_id=self.history_id, notices=notices
        )
        waiting = f"refs/pending/{self.memory.key}"
        oid = self.repository.write_commit(
            {**files, FACTS_NAME: document},
            parent=self.head,
            message=event,
            seconds=seconds_of(at),
            pending=waiting,
            drop=drop,
        )
        # The mark comes before main moves: if we are killed now, the next start recognizes the commit as ours.
        mark = Pending(head=oid, before=self.exported)
        self.checkout = self.checkout.model_copy(update={"pending": mark})
        self.memory.save(self.checkout)
        self.repository.update_refs(
            (MAIN, oid, self.head), (waiting, None, oid), anyway={f"{CHECKOUTS}{self.memory.key}": oid}
        )
        self.head = oid
        self.made += 1
        return oid

    def export(self, path: Path) -> None:
        """Write the bundle, and then remember it. Raises HistoryError and StateError."""
        if self.head is None:
            return
        known = self.checkout
        if known.first and known.head == self.exported:
            commits, first = known.commits + self.made, known.first
        else:
            commits, first = self.repository.line(self.head)
        mark = write_bundle(path, self.repository.git)
        self.exported, self.made = self.head, 0
        self.remember(
            Checkout(history_id=self.history_id, first=first, head=self.head, commits=commits, bundle=mark)
        )

    def remember(self, checkout: Checkout) -> None:
        """Remember what is now the exported line, and the project's first commit where that is new."""
        known, self.checkout = self.checkout, checkout
        self.memory.save(checkout)
        if checkout.first and (known.history_id, known.first) != (checkout.history_id, checkout.first):
            self.memory.remember_project(self.history_id, checkout.first)
