"""Opening a history for writing: the working repository and `history.bundle` are brought to one line.

The bundle counts. What the working repository, or this machine's memory of it, holds beyond the bundle is
preserved separately and reported, except where our own process was killed between a commit and its export: that
export is finished silently.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
import uuid
from typing import TYPE_CHECKING

from autoscirub.errors import CorruptError, HistoryError
from autoscirub.models import now
from autoscirub.store.history.bundle import BUNDLE_NAME, MAIN, Bundle, open_bundle, remove_leftovers
from autoscirub.store.history.compare import HistoryComparison, elsewhere, started_afresh
from autoscirub.store.history.memory import Checkout, Memory
from autoscirub.store.history.objects import HistoryObjects
from autoscirub.store.history.repository import NEW_PREFIX, Repository, new_folder
from autoscirub.store.history.working import WorkingHistory, rebuild
from autoscirub.store.userdata import held

if TYPE_CHECKING:
    from pathlib import Path

_ID = re.compile(r"[0-9a-f]{32}")
_LOCK_SECONDS = 60.0
_HALF_MADE_SECONDS = 86_400.0


def reconcile(
    data: Path, state_dir: Path, project: Path, history_id: str | None, cleanup: contextlib.ExitStack
) -> WorkingHistory:
    """Open the history of `state_dir` with its working repository under `data`.

    `cleanup` takes the lock and what is to be closed. Raises HistoryError for a bundle that must be left
    alone, StateError and BusyError for the data directory.
    """
    if history_id is not None and not _ID.fullmatch(history_id):
        raise HistoryError(f"history: {history_id!r} is not a history id (32 lower-case hexadecimal digits)")
    if not state_dir.is_dir():
        raise HistoryError(f"{state_dir}: is not a directory; the state directory is made before its history")
    histories = data / "histories"
    histories.mkdir(mode=0o700, exist_ok=True)
    remove_leftovers(state_dir)
    _remove_half_made(histories)
    opening = _Opening(histories, state_dir, Memory(data, state_dir, project), cleanup)
    opened = opening.open(history_id)
    opened.notices += opening.memory.notices
    return opened


def _remove_half_made(histories: Path) -> None:
    # Repositories that a kill left half made; one of another process's is younger than this.
    for folder in histories.glob(f"{NEW_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _HALF_MADE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


class _Opening:
    """The steps of `reconcile`, with what they share."""

    def __init__(
        self, histories: Path, state_dir: Path, memory: Memory, cleanup: contextlib.ExitStack
    ) -> None:
        self.histories = histories
        self.path = state_dir / BUNDLE_NAME
        self.memory = memory
        self.cleanup = cleanup
        self.known = memory.checkout()
        self.notices: list[str] = []
        self.damaged = False
        self.fresh: Repository | None = None
        self.refs: dict[str, str] = {}

    def open(self, history_id: str | None) -> WorkingHistory:
        bundle = self._bundle()
        if bundle is not None and history_id is None:
            bundle = self._unpacked(bundle)
            history_id = self._id_in(bundle)
        history_id = history_id or uuid.uuid4().hex
        self.cleanup.enter_context(held(self.histories / f"{history_id}.lock", seconds=_LOCK_SECONDS))
        directory = self.histories / f"{history_id}.git"
        repository = self._existing(directory)
        if bundle is not None and self.fresh is None and not self._is_here(repository, bundle):
            bundle = self._unpacked(bundle)
        repository = self._adopted(repository, directory)
        self.cleanup.callback(repository.git.close)
        opened = WorkingHistory(repository, self.memory, self.known, history_id, notices=self.notices)
        if bundle is None:
            self._without_bundle(opened)
        else:
            self._with_bundle(opened, bundle)
        return opened

    def _bundle(self) -> Bundle | None:
        try:
            bundle = open_bundle(self.path)
        except CorruptError as error:
            self._move_aside(error)
            return None
        if bundle is not None:
            self.cleanup.callback(bundle.close)
        return bundle

    def _unpacked(self, bundle: Bundle) -> Bundle | None:
        folder = new_folder(self.histories)
        self.cleanup.callback(
            shutil.rmtree, folder, ignore_errors=True
        )  # nothing is there once it is adopted
        try:
            self.fresh = rebuild(bundle, folder)
        except CorruptError as error:
            self._move_aside(error)
            return None
        return bundle

    def _move_aside(self, error: CorruptError) -> None:
        stamp = now().replace("-", "").replace(":", "")
        aside, number = self.path.with_name(f"{BUNDLE_NAME}.corrupt-{stamp}"), 1
        while aside.is_symlink() or aside.exists():
            number += 1
            aside = self.path.with_name(f"{BUNDLE_NAME}.corrupt-{stamp}-{number}")
        try:
            self.path.rename(aside)
        except OSError as cause:
            raise HistoryError(f"{error}; it could not be moved aside: {cause.strerror}") from cause
        self.damaged = True
        self.notices.append(f"{error}; moved aside to {aside.name}")

    def _id_in(self, bundle: Bundle | None) -> str | None:
        if bundle is None or self.fresh is None:
            return None
        named = HistoryObjects(self.fresh).commit(bundle.head).history_id
        return named if named and _ID.fullmatch(named) else None

    def _existing(self, directory: Path) -> Repository | None:
        if not directory.exists():
            return None
        repository = Repository(directory)
        repository.sweep()
        try:
            self.refs = repository.refs()
            if MAIN not in self.refs or repository.has_commit(self.refs[MAIN]):
                return repository
        except HistoryError:
            pass  # moved aside below: the bundle is what counts, and it can be rebuilt from that
        self.refs = {}
        repository.git.close()
        aside = directory.with_name(f"{directory.name}.broken-{uuid.uuid4().hex[:8]}")
        directory.rename(aside)
        self.notices.append(f"{directory}: the working repository is damaged; moved aside to {aside.name}")
        return None

    def _is_here(self, repository: Repository | None, bundle: Bundle) -> bool:
        # Only the very bytes that we exported need no check: a head that we know says nothing about the rest.
        return (
            repository is not None and repository.has_commit(bundle.head) and bundle.is_as(self.known.bundle)
        )

    def _adopted(self, repository: Repository | None, directory: Path) -> Repository:
        """The working repository, with what was unpacked taken in."""
        fresh, self.fresh = self.fresh, None
        if repository is None:
            if fresh is None:
                return self._made(directory)
            fresh.git.close()
            fresh.directory.rename(directory)
            repository = Repository(directory)
            self.refs = repository.refs()
            return repository
        if fresh is not None:
            repository.take_in(fresh)
            fresh.remove()
            repository.git.close()  # so that a running cat-file sees the new packs
        return repository

    def _made(self, directory: Path) -> Repository:
        # Made under another name and renamed, so that a kill never leaves half a repository under this one.
        made = Repository.create(new_folder(self.histories))
        made.git.close()
        made.directory.rename(directory)
        return Repository(directory)

    def _without_bundle(self, opened: WorkingHistory) -> None:
        repository, main = opened.repository, self.refs.get(MAIN)
        pending = self.known.pending
        quiet = pending is not None and pending.before is None and not self.damaged
        tips = [pending.head if pending else None, self.known.head, main]
        tip = next((tip for tip in tips if tip and repository.has_commit(tip)), None)
        if tip is not None:
            self._move_main(opened, tip)
            commits, _ = repository.line(tip)
            if self.damaged:
                self.notices.append(
                    f"{self.path}: exported again from the working repository, {commits} steps, the last {tip[:12]}"
                )
            elif not quiet:
                self.notices.append(
                    f"{self.path}: was removed, though {commits} steps are recorded, the last {tip[:12]}; it was "
                    "exported again from the working repository"
                )
            opened.export(self.path)
        elif self.known.first is not None:
            self.notices.append(
                started_afresh(self.path, self.known.first, None, "as this machine remembers,")
            )
        else:
            self.notices += elsewhere(self.path, self.memory, None)

    def _with_bundle(self, opened: WorkingHistory, bundle: Bundle) -> None:
        repository, head = opened.repository, bundle.head
        opened.exported = head
        main = self.refs.get(MAIN)
        pending = self.known.pending
        if pending is not None and pending.before == head:
            tip = pending.head if repository.has_commit(pending.head) else main
            if tip and tip != head and repository.is_ancestor(head, tip):
                self._move_main(opened, tip)
                opened.exported = None  # only the export was cut off by a kill: nothing to report
                opened.export(self.path)
                return
        self.notices += HistoryComparison(
            self.path, repository, self.memory, self.known, self.refs
        ).with_bundle(head)
        self._move_main(opened, head)
        if not self.notices and (self.known.head != head or pending or not bundle.is_as(self.known.bundle)):
            commits, first = repository.line(head)
            opened.remember(
                Checkout(
                    history_id=opened.history_id,
                    first=first,
                    head=head,
                    commits=commits,
                    bundle=bundle.mark(),
                )
            )

    def _move_main(self, opened: WorkingHistory, head: str) -> None:
        repository = opened.repository
        opened.head = head
        main = self.refs.get(MAIN)
        if main == head:
            return
        if main is not None and not repository.is_ancestor(main, head):
            repository.keep_other_line(main)
        repository.update_refs((MAIN, head, main))
