"""Jobs: calls that may outlast their caller. Each has a folder in `jobs/`, and a process that holds its lock.

A job is alive as long as its lock is held, whoever started it: no process number is trusted that might by now be
another's. Nothing of a job belongs to the record.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from autoscirub.errors import CorruptError, StateError
from autoscirub.models import JobAnswer, JobProgress, JobRequest, StateModel, now, strict_json
from autoscirub.store.files import TEMPORARY_PREFIX, leads_out, read_regular, write_atomic
from autoscirub.store.locks import LEASE_NAME, LOCK_NAME, state_lock
from autoscirub.store.state import decode, lay_gitignore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOBS_DIR = "jobs"
MAX_ENDED_JOBS = 50
"""How many ended jobs are stored; older ones are removed when a new one begins."""
BEGIN_SECONDS = 60.0
"""A process that has not started by then never will."""
PID_NAME = "pid"

_ID = re.compile(r"[a-z_]{1,40}-[0-9a-f]{12}")
_PATIENCE_SECONDS = 5.0
_LIMIT = 64 * 1024 * 1024

Model = TypeVar("Model", bound=StateModel)


@dataclass(frozen=True)
class Job:
    """One job's folder. Reading it takes no lock."""

    folder: Path

    @property
    def id(self) -> str:
        """The job's id: the name of its folder."""
        return self.folder.name

    @property
    def request(self) -> JobRequest:
        """What was asked for. Raises CorruptError when that cannot be read."""
        found = self._read(JobRequest)
        if found is None:
            raise CorruptError(f"{self.folder / JobRequest.file_name}: is not there")
        return found

    @property
    def answer(self) -> JobAnswer | None:
        """How it ended; None while it has not. Raises CorruptError when that cannot be read."""
        return self._read(JobAnswer)

    @property
    def progress(self) -> JobProgress | None:
        """Its progress, as it last reported."""
        with contextlib.suppress(StateError):
            return self._read(JobProgress)
        return None

    @property
    def started(self) -> bool:
        """Whether its process got so far as to hold the lock."""
        return (self.folder / PID_NAME).exists()

    @property
    def pid(self) -> int | None:
        """The process that holds the lock; of use only while `is_alive`."""
        data = read_regular(self.folder / PID_NAME, limit=40)
        return int(data) if data and data.strip().isdigit() else None

    def is_alive(self) -> bool:
        """Whether a process holds the job's lock now."""
        import fcntl

        # Shared, so that looking blocks only a worker that is just starting, and it waits a moment.
        try:
            descriptor = os.open(
                self.folder / LOCK_NAME, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            )
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system that cannot lock
            return (self.folder / LEASE_NAME).exists() and self._process_is_there()
        finally:
            os.close(descriptor)
        return False

    def _process_is_there(self) -> bool:
        pid = self.pid
        if pid is None:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def is_open(self) -> bool:
        """Whether an answer may still come: it has none, and a process holds its lock or is about to."""
        try:
            if (self.folder / JobAnswer.file_name).exists():
                return False
            return self.is_alive() or (not self.started and 0 <= self._age() < BEGIN_SECONDS)
        except OSError:  # nobody waits for a job whose folder we may not read
            return False

    def _age(self) -> float:
        try:
            return time.time() - self.folder.stat().st_mtime
        except OSError:
            return float("inf")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the job's lock, as the process that works on it. Raises BusyError when another does."""
        with state_lock(self.folder, seconds=_PATIENCE_SECONDS):
            self._write_pid()
            yield

    def say(self, done: int, total: int) -> None:
        """Report its progress."""
        self.write(JobProgress(done=done, total=total))

    def end(self, answer: JobAnswer) -> None:
        """Record how it ended. The first answer stands."""
        if self._read(JobAnswer) is None:
            self.write(answer)

    def _write_pid(self) -> None:
        write_atomic(self.folder / PID_NAME, f"{os.getpid()}\n".encode(), within=self.folder)

    def write(self, value: StateModel) -> None:
        """Write one of its files, atomically."""
        write_atomic(self.folder / value.file_name, strict_json(value).encode("utf-8"), within=self.folder)

    def _read(self, model: type[Model]) -> Model | None:
        data = read_regular(self.folder / model.file_name, limit=_LIMIT, within=self.folder)
        return None if data is None else decode(data, model, f"{JOBS_DIR}/{self.id}/{model.file_name}")


@contextlib.contextmanager
def one_starts(state_dir: Path) -> Iterator[None]:
    """Keep others from starting a job meanwhile. Raises BusyError, and StateError where nothing can be written."""
    with state_lock(_home(state_dir), seconds=_PATIENCE_SECONDS):
        yield


def _home(state_dir: Path) -> Path:
    home = state_dir / JOBS_DIR
    if leads_out(home, state_dir):
        raise StateError(f"{home}: is a link that leads out of the state directory; remove it")
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise StateError(
            f"{home}: cannot be created: {cause.strerror}; make the state directory writable, or name another"
        ) from cause
    return home


def new_job(state_dir: Path, tool: str, arguments: dict[str, Any]) -> Job:
    """A job's folder, made, with the request in it. The caller starts its process.

    Raises StateError where the state directory cannot be written.
    """
    home = _home(state_dir)
    name = f"{tool}-{secrets.token_hex(6)}"
    # Under a name that is no job's until it is whole: another process may look at any time.
    job = Job(home / f"{TEMPORARY_PREFIX}{name}")
    try:
        lay_gitignore(state_dir)
        job.folder.mkdir()
        job.write(JobRequest(id=name, tool=tool, arguments=arguments, at=now()))
        job.folder.rename(home / name)
    except StateError:
        shutil.rmtree(job.folder, ignore_errors=True)
        raise
    except OSError as cause:
        shutil.rmtree(job.folder, ignore_errors=True)
        raise StateError(
            f"{home / name}: cannot be created: {cause.strerror}; make the state directory writable, or name another"
        ) from cause
    _drop_old(state_dir)
    return Job(home / name)


def jobs(state_dir: Path) -> list[Job]:
    """Every job there is, the newest first. Folders of other names are ignored."""
    try:
        found = [
            (entry.stat().st_mtime_ns, entry.name)
            for entry in os.scandir(state_dir / JOBS_DIR)
            if _ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        ]
    except OSError:
        return []
    if leads_out(state_dir / JOBS_DIR, state_dir):
        return []
    return [Job(state_dir / JOBS_DIR / name) for _, name in sorted(found, reverse=True)]


def find_job(state_dir: Path, job_id: str) -> Job | None:
    """The job of that id; None when there is none, or when it is not a job's id."""
    if not _ID.fullmatch(job_id):
        return None
    folder = state_dir / JOBS_DIR / job_id
    there = folder.is_dir() and not folder.is_symlink() and not leads_out(folder, state_dir)
    return Job(folder) if there else None


def running(state_dir: Path) -> list[str]:
    """The ids of the jobs that a process works on now, or will in a moment."""
    return [job.id for job in jobs(state_dir) if job.is_open()]


def _drop_old(state_dir: Path) -> None:
    ended = [job for job in jobs(state_dir) if not job.is_open()]
    for job in ended[MAX_ENDED_JOBS:]:
        shutil.rmtree(job.folder, ignore_errors=True)
