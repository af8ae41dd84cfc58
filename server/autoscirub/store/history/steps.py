"""The history of a project: each step a commit in a repository of our own, exported as `history.bundle`.

The bundle is what counts, and it travels with the project. The working repository, in the user's data
directory, can be rebuilt from it. The user's own repository is never touched, nothing is ever checked out,
and a bundle is read as untrusted data.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from autoscirub.errors import CorruptError, HistoryError
from autoscirub.store.files import sha256_bytes
from autoscirub.store.history.bundle import BUNDLE_NAME, open_bundle
from autoscirub.store.history.compare import PUT_BACK, started_afresh
from autoscirub.store.history.memory import Checkout, Memory
from autoscirub.store.history.objects import MOST_BYTES, HistoryObjects
from autoscirub.store.history.opening import reconcile
from autoscirub.store.history.working import rebuild
from autoscirub.store.userdata import user_data_dir
from autoscirub.store.write_points import step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from autoscirub.store.history.facts import HistoryCommit
    from autoscirub.store.history.repository import Repository
    from autoscirub.store.history.working import WorkingHistory


class History:
    """An opened history; a context manager. Use `open_for_reading` or `open_for_writing`.

    `notices` describes the problems found when it was opened: tampering or a restored backup, a
    history started afresh, a corrupt bundle. When writing, the next commit records them too.
    """

    def __init__(
        self,
        repository: Repository,
        *,
        head: str | None,
        path: Path,
        notices: list[str],
        cleanup: contextlib.ExitStack,
        project: Path | None = None,
        opened: WorkingHistory | None = None,
        temporary: bool = True,
    ) -> None:
        self.head = head
        """The newest commit; None while there is none."""
        self.notices = notices
        self.temporary = temporary
        """Whether the working repository goes away on closing, so that only the bundle remains."""
        self._path = path
        self._project = project
        self._repository = repository
        self._objects = HistoryObjects(repository)
        self._cleanup = cleanup
        self._opened = opened
        self._unrecorded = list(notices)

    @classmethod
    def open_for_writing(cls, state_dir: Path, history_id: str | None, project: Path) -> History:
        """The history of `state_dir`, started when there is none. Under the state directory's lock only.

        `history_id` is the manifest's; None takes the one that the bundle names, or a new one (see `id`).
        A corrupt bundle is moved aside and noted. Raises HistoryError for a bundle that must be left alone
        (a link, a Git LFS pointer, one of a newer kind) or without git, and BusyError when another
        checkout with the same history holds it.
        """
        with contextlib.ExitStack() as stack:
            data = user_data_dir()
            temporary = data is None
            if data is None:
                data = _temporary_folder(stack)
            opened = reconcile(data, state_dir, project, history_id, stack)
            return cls(
                opened.repository,
                head=opened.head,
                path=state_dir / BUNDLE_NAME,
                notices=opened.notices,
                cleanup=stack.pop_all(),
                project=project,
                opened=opened,
                temporary=temporary,
            )

    @classmethod
    def open_for_reading(cls, state_dir: Path, project: Path | None = None) -> History | None:
        """The history that the bundle in `state_dir` holds, in a temporary copy; None without a bundle.

        Nothing is written in the project, the state directory or the user's data directory. Raises
        HistoryError when the bundle cannot be read, and then says why.
        """
        path = state_dir / BUNDLE_NAME
        with contextlib.ExitStack() as stack:
            try:
                bundle = open_bundle(path)
                if bundle is None:
                    return None
                stack.callback(bundle.close)
                repository = rebuild(bundle, _temporary_folder(stack) / "history.git")
            except CorruptError as error:
                raise HistoryError(
                    f"{error}. Restore it from a backup or a clone; the next command that writes moves it aside"
                ) from None
            stack.callback(repository.git.close)
            notices = _beyond(repository, bundle.head, state_dir, project)
            return cls(
                repository,
                head=bundle.head,
                path=path,
                notices=notices,
                cleanup=stack.pop_all(),
                project=project,
            )

    @classmethod
    def missing_notice(cls, state_dir: Path, project: Path | None = None) -> str | None:
        """The notice for when `open_for_reading` returned None though this machine remembers a history here."""
        data = user_data_dir(create=False)
        if data is None:
            return None
        known = Memory(data, state_dir, project).checkout()
        if known.head is None:
            return None
        return (
            f"{state_dir / BUNDLE_NAME}: is missing, though {known.commits} steps are recorded on this machine, the "
            f"last {known.head[:12]}: it was removed, or the state directory was restored without it"
        )

    @property
    def id(self) -> str | None:
        """What names the working repository; None for a history opened for reading that names none."""
        if self._opened is not None:
            return self._opened.history_id
        return self._objects.commit(self.head).history_id if self.head else None

    def produced_locally(self, report: bytes) -> bool:
        """Whether this machine itself produced a report with these bytes; one known only from a bundle is a claim."""
        data = user_data_dir(create=False)
        if data is None:
            return False
        return sha256_bytes(report) in Memory(data, self._path.parent, self._project).reports()

    def remember_report(self, report: bytes) -> None:
        """Remember, outside of the project, that this machine produced a report. Raises StateError."""
        self.remember_reports([report])

    def remember_reports(self, reports: Iterable[bytes]) -> None:
        """The same for several: reports, reruns, verdicts. Raises StateError."""
        data = user_data_dir()
        if data is not None:
            memory = Memory(data, self._path.parent, self._project)
            memory.remember_reports([sha256_bytes(report) for report in reports])

    @property
    def first(self) -> str | None:
        """The oldest commit; None while there is none."""
        return self._repository.line(self.head)[1] if self.head else None

    @property
    def other_lines(self) -> dict[str, str]:
        """The other lines that are preserved (refs/other/<n>), each with its newest commit."""
        refs = self._repository.refs()
        return {name: oid for name, oid in refs.items() if name.startswith("refs/other/")}

    def commits(self) -> list[HistoryCommit]:
        """Every commit, newest first; one that is not of ours is listed with its `problem`."""
        return self._objects.commits(self.head)

    def files(self, oid: str) -> list[str]:
        """The paths of the files in a commit, sorted, without its facts. Raises HistoryError for no commit."""
        return self._objects.files(oid)

    def changed(self, oid: str) -> list[str]:
        """The paths that a commit added, changed or took away against its first parent."""
        return self._objects.changed(oid)

    def read(self, oid: str, path: str, most: int = MOST_BYTES) -> bytes | None:
        """A file's bytes in a commit; None when it has no such file. Raises HistoryError above `most`."""
        return self._objects.read(oid, path, most)

    def commit(
        self,
        event: str,
        files: Mapping[str, bytes | Path],
        *,
        facts: Mapping[str, Any],
        at: str,
        drop: Sequence[str] | None = None,
    ) -> str:
        """Write one commit that holds `files` and `facts`, dated `at`; returns its id.

        Exactly `files`; with `drop`, what the newest commit holds, without the paths and folders in `drop`,
        and `files` over it. `files` maps relative POSIX paths, such as `state/run_manifest.json`, to bytes or
        to a regular file that is streamed. `facts` is plain JSON data. Call `export` when the command's steps
        are done. Raises HistoryError for a name, a file or facts that cannot be recorded; nothing has changed then.
        """
        step("commit")
        notices = [placeless(notice, self._path.parent) for notice in self._unrecorded]
        self.head = self._writable().commit(event, files, facts, at, notices, drop)
        self._unrecorded = []
        return self.head

    def export(self) -> Path | None:
        """Write `history.bundle`, atomically; returns its path, None while there is no commit.

        Raises HistoryError, and StateError where the data directory cannot be written.
        """
        opened = self._writable()
        if self.head is None:
            return None
        if opened.exported != self.head:
            step("export")
            opened.export(self._path)
            try:
                self._repository.tidy()
            except HistoryError as error:  # the export itself is done
                self.notices.append(f"{self._repository.directory}: could not be tidied: {error}")
        return self._path

    def close(self) -> None:
        """Let go of the working repository, or remove the temporary one."""
        self._cleanup.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _writable(self) -> WorkingHistory:
        if self._opened is None:
            raise HistoryError("history: opened for reading, so nothing can be recorded in it")
        return self._opened


def placeless(text: str, state_dir: Path) -> str:
    """`text` without the paths of this machine: what is recorded travels to others, and must not reveal them."""
    text = text.replace(f"{state_dir}/", "").replace(str(state_dir), "the state directory")
    data = user_data_dir(create=False)
    return text if data is None else text.replace(str(data), "(this machine's data directory)")


def _beyond(repository: Repository, head: str, state_dir: Path, project: Path | None) -> list[str]:
    """What this machine remembers beyond the bundle. Reads the data directory, writes nothing."""
    data = user_data_dir(create=False)
    if data is None:
        return []
    memory = Memory(data, state_dir, project)
    known: Checkout = memory.checkout()
    path = state_dir / BUNDLE_NAME
    if known.head not in (None, head) and not (
        repository.has_commit(known.head) and repository.is_ancestor(known.head, head)
    ):
        commits, first = repository.line(head)
        if known.first and known.first != first:
            memory.notices.append(started_afresh(path, known.first, first, "as this machine remembers,"))
        else:
            memory.notices.append(
                f"{path}: lacks the step {known.head[:12]} that was exported here last; there were {known.commits} "
                f"steps then, and there are {commits} now: {PUT_BACK}"
            )
    return memory.notices


def _temporary_folder(stack: contextlib.ExitStack) -> Path:
    import shutil

    try:
        folder = Path(tempfile.mkdtemp(prefix="autoscirub-history-"))
    except OSError as cause:
        raise HistoryError(
            f"history: no temporary folder could be created: {cause.strerror}; set TMPDIR to one that can be written"
        ) from cause
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder
