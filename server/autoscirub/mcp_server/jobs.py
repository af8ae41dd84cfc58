"""Starts, awaits and cancels jobs: processes of their own, which outlive the client."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import CheckError, StateError
from autoscirub.models import JobAnswer, now
from autoscirub.store import find_job, jobs, new_job, one_starts

if TYPE_CHECKING:
    from autoscirub.mcp_server.projects import ServedProject
    from autoscirub.store import Job

_AT_ONCE = 16
_TERM_SECONDS = 10.0
_POLL_SECONDS = 0.05
_OUR_PATH = str(Path(__file__).resolve().parents[2])
_WORKER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from autoscirub.mcp_server.job_process import main; "
    "sys.exit(main())"
)
"""The process must be of this very version, wherever it lies; -P, because a json.py in the project must not be ours."""


class Jobs:
    """The jobs that this server started, and those of others that it is asked about."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, place: ServedProject, tool: str, arguments: dict[str, Any]) -> Job:
        """Start a process for it. Raises CheckError where the same is under way already, or too much is."""
        with one_starts(place.state_dir):  # another server may be asked the same
            return self._start(place, tool, arguments)

    def _start(self, place: ServedProject, tool: str, arguments: dict[str, Any]) -> Job:
        alive = [job for job in jobs(place.state_dir) if self.is_open(job)]
        for job in alive:
            with contextlib.suppress(StateError):  # one whose request cannot be read is not the same
                if (job.request.tool, job.request.arguments) == (tool, arguments):
                    raise UnderWay(job)
        if len(alive) >= _AT_ONCE:
            raise CheckError(f"{len(alive)} jobs are under way; wait for one: job(id={alive[-1].id!r})")
        job = new_job(place.state_dir, tool, arguments)
        try:
            log = os.open(job.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as cause:
            shutil.rmtree(job.folder, ignore_errors=True)
            raise StateError(f"{job.folder}: its log cannot be made: {cause.strerror}") from cause
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER, _OUR_PATH, str(job.folder), str(place.project)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=place.project,
                start_new_session=True,
            )
        except OSError as cause:
            shutil.rmtree(job.folder, ignore_errors=True)
            raise StateError(f"a job's process could not be started: {cause}") from cause
        finally:
            os.close(log)
        self._children[job.id] = child
        # It may outlive this server, and until then somebody must take note of its end.
        threading.Thread(target=child.wait, name=job.id, daemon=True).start()
        return job

    def is_open(self, job: Job) -> bool:
        """Whether an answer is still to come: it has none, and a process holds it or is about to."""
        child = self._children.get(job.id)
        if child is None:
            return job.is_open()
        return job.answer is None and (child.poll() is None or job.is_alive())

    def ended(self, job: Job) -> JobAnswer | None:
        """Its answer; for a process that died without one, that; None while it goes on."""
        answer = job.answer
        if answer is not None:
            self._reap(job)
            return answer
        if self.is_open(job):
            return None
        answer = job.answer  # written between the two looks
        if answer is None:
            answer = JobAnswer(
                state="failed",
                error=f"its process died without an answer; its last words: {_last_words(job)}",
                at=now(),
            )
            job.end(answer)
        self._reap(job)
        return answer

    def cancel(self, job: Job) -> JobAnswer:
        """End its process and all that it started, with SIGTERM, then SIGKILL. One that has ended stays as it is."""
        if (answer := self.ended(job)) is not None:
            return answer
        for signal_, seconds in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _TERM_SECONDS)):
            if not self._signal(job, signal_):
                break
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if not self.is_open(job):
                    break
                time.sleep(_POLL_SECONDS)
        if job.answer is None and job.is_alive():
            raise StateError(
                f"{job.id}: its process could not be ended from here; it goes on. Its log is {job.folder / 'log'}"
            )
        job.end(JobAnswer(state="cancelled", error="cancelled", at=now()))
        answer = job.answer
        self._reap(job)
        if answer is None:
            raise StateError(f"{job.folder}: that it was cancelled could not be written down")
        return answer

    def _signal(self, job: Job, number: signal.Signals) -> bool:
        """Whether there was a process of the job's to signal. The job's folder is not trusted: whoever can
        write there could name any process."""
        child = self._children.get(job.id)
        if child is not None and child.poll() is None:
            pid: int | None = child.pid
        else:
            pid = job.pid if job.is_alive() else None
            if pid is not None and not _is_worker(pid, job):
                pid = None
        if pid is None:
            return False
        try:
            os.killpg(pid, number)  # it leads a group of its own, by the way it was started
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _reap(self, job: Job) -> None:
        child = self._children.get(job.id)
        if child is not None and child.poll() is not None:
            del self._children[job.id]

    @staticmethod
    def find(place: ServedProject, job_id: str) -> Job:
        """The job of that id. Raises CheckError, naming those that there are."""
        job = find_job(place.state_dir, job_id)
        if job is None:
            known = ", ".join(each.id for each in jobs(place.state_dir)[:8]) or "none"
            raise CheckError(f"job: there is no {job_id!r} in {place.state_dir}; there is {known}")
        return job


class UnderWay(CheckError):  # noqa: N818 - no error to the caller: what it asked for is being done
    """Raised where the same is being done already."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"{job.id}: the same is under way since {job.request.at}")
        self.job = job


def _is_worker(pid: int, job: Job) -> bool:
    """Whether that process was started for this very job: by its command line, and as the leader of its group."""
    try:
        if pid <= 1 or os.getpgid(pid) != pid:
            return False
        command = Path(f"/proc/{pid}/cmdline")
        if command.exists():
            words = command.read_bytes().split(b"\0")
        else:  # macOS has no /proc
            listing = subprocess.run(
                ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False, timeout=10
            )
            words = listing.stdout.split()
    except (OSError, subprocess.SubprocessError):
        return False
    return os.fsencode(job.folder) in words and any(b"mcp_server.job_process" in word for word in words)


def _last_words(job: Job) -> str:
    try:
        lines = (job.folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return "none"
    return lines[-1][:300] if lines else "none"
