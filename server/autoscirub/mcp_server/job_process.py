"""The process of a job: reads the request, does the work, and leaves the answer in the job's folder.

`mcp_server.jobs` starts it. The protocol is not loaded here, and what is printed goes to the job's log.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError
from autoscirub.mcp_server.projects import ServedProject
from autoscirub.mcp_server.tools import TOOLS, read_arguments
from autoscirub.models import JobAnswer, now
from autoscirub.store import Job

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_SAY_SECONDS = 0.5


class _Cancelled(BaseException):
    """Raised where the process was told to end, so that what it started is ended on the way out."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Work on one job. Returns 0 when there is an answer, even one that reports an error."""
    folder, project = (Path(each) for each in (sys.argv[1:] if arguments is None else arguments))
    job = Job(folder)
    # The client may be gone, and the terminal with it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _cancel)
    with job.held():
        answer = JobAnswer(state="cancelled", error="cancelled", at=now())
        try:
            answer = _work(job, project)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the work is done, and its answer must be written
        except _Cancelled:
            pass  # the answer is what it was by then
        except AutoscirubError as error:
            answer = JobAnswer(state="failed", error=str(error), at=now())
        except Exception as error:  # noqa: BLE001 - the outermost edge: whoever waits must learn of it
            import traceback

            traceback.print_exc()
            answer = JobAnswer(
                state="failed",
                error=f"an error of ours: {type(error).__name__}: {error} (trace in {folder / 'log'}); "
                "please report it",
                at=now(),
            )
        job.end(answer)
    return 0


def _work(job: Job, project: Path) -> JobAnswer:
    request = job.request
    spec = TOOLS[request.tool]
    last_report = [float("-inf")]

    def progress(done: int, total: int) -> None:
        if time.monotonic() - last_report[0] >= _SAY_SECONDS:
            last_report[0] = time.monotonic()
            job.say(done, total)

    place = ServedProject(project, _state_dir(job), job.id)
    found = spec.run(place, read_arguments(spec, request.arguments), progress)
    whole = found.model_copy(update={"job": job.id})
    return JobAnswer(state="done", answer=whole.model_dump(mode="json"), at=now())


def _state_dir(job: Job) -> Path:
    return job.folder.parents[1]


def _cancel(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Cancelled
