"""Runs the child program that parses untrusted files (`parser.py`), and ends it in time whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from autoscirub.errors import ToolRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.judging.tools.bounds import Clock, ToolBounds

_WORKER = Path(__file__).with_name("parser.py")
_GRACE_SECONDS = 1.0
# What a program may need to be loaded at all. No keys: it is hostile files that are parsed there.
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_LIBRARIES = {"picture": "pillow", "parquet": "pyarrow"}


@dataclass(frozen=True)
class Reply:
    """The child's answer. `problem` says why there is none; it quotes nothing of the file."""

    fields: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""
    problem: str = ""


def run_worker(
    job: str,
    arguments: dict[str, Any],
    bounds: ToolBounds,
    clock: Clock,
    *,
    source: BinaryIO | None = None,
    feed: Callable[[IO[bytes]], None] | None = None,
) -> Reply:
    """Run one job on an open file, or on what `feed` writes. Never longer than the clock has left."""
    seconds = max(0.1, clock.left())
    library = _LIBRARIES.get(job)
    # The child's own installation first, our search path only for a library that is elsewhere, and never the
    # working directory, which may be a stranger's.
    path = _search_path() if library else []
    request = {**arguments, "job": job, "path": path, "seconds": seconds, "memory": bounds.memory}
    receive, send = os.pipe()
    with os.fdopen(receive, "rb") as answer:
        try:
            if source is not None:
                source.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", *([] if library else ["-S"]), _WORKER, str(send), json.dumps(request)],
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                stdin=subprocess.PIPE if source is None else source,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(send,),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise ToolRefused(
                f"nothing can be parsed here now: a child process cannot be started: {error.strerror}"
            ) from None
        finally:
            os.close(send)
        # The child sets an alarm at `seconds`; a library may never return to where Python handles it.
        timer = threading.Timer(seconds + _GRACE_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            if process.stdin is not None and feed is not None:
                with contextlib.suppress(BrokenPipeError):  # it has seen enough
                    feed(process.stdin)
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            got = answer.read(bounds.image_bytes + bounds.parse_bytes)
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
    return _reply(got, library, bounds, late=clock.left() <= 0)


def _search_path() -> list[str]:
    try:
        here = os.getcwd()  # noqa: PTH109 - compared with strings
    except OSError:  # it was removed
        here = ""
    return [each for each in sys.path if os.path.isabs(each) and each != here]  # noqa: PTH117


def _reply(got: bytes, library: str | None, bounds: ToolBounds, *, late: bool) -> Reply:
    line, ended, body = got.partition(b"\n")
    fields: dict[str, Any] = json.loads(line) if ended else {}
    if fields.get("missing"):
        return Reply(problem=f"{library} is not installed here")
    if fields.get("slow") or (not ended and late):
        return Reply(fields, problem=f"reading it took longer than {bounds.seconds:g} s")
    if not ended:
        return Reply(problem="reading it broke off (it crashed, or needs more memory than is given to it)")
    return Reply(fields, body, str(fields.get("problem", "")))
