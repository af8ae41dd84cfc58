"""The parent process of a program that runs without bubblewrap. A script of its own: it imports nothing of ours.

It stands between us and the program, so that a program which kills its parent does not kill us, and it takes
in what the program leaves behind (Linux: as the subreaper), so that a daemon ends with its run.

    python -I -S keeper.py LIMITS COMMAND...

LIMITS is a JSON object of `resource` names in lower case. Exits as the program did, 128 + n for signal n.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

__all__: list[str] = []

_SUBREAPER, _DEATH_SIGNAL = 36, 1
_PROC = Path("/proc")


def _adopt() -> None:
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        library = ctypes.CDLL(None)
        library.prctl(_SUBREAPER, 1, 0, 0, 0)
        library.prctl(_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)


def _limit(limits: dict[str, int]) -> None:
    import resource

    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if number is None:
            continue
        hard = resource.getrlimit(number)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(number, (bound, bound))


def _children() -> list[int]:
    me = os.getpid()
    found = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == me:
                    found.append(int(entry.name))
    return found


def _end(child: int) -> None:
    # Those of a killed child come to us, and are killed on the next turn: so one is waited for at a time.
    for _ in range(100_000):
        for target in (child, *_children()):
            with contextlib.suppress(OSError):
                os.killpg(target, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.kill(target, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _main(limits: dict[str, int], command: list[str]) -> int:
    _adopt()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            _limit(limits)
            os.execvpe(command[0], command, os.environ)  # noqa: S606 - no shell, a list
        except OSError as error:
            os.write(2, f"{command[0]}: cannot be started: {error.strerror}\n".encode())
        finally:
            os._exit(127)

    def stop(_number: int, _frame: object) -> None:
        _end(child)
        os._exit(128 + signal.SIGKILL)

    signal.signal(signal.SIGTERM, stop)
    status = 0
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            break
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if _children():
        _end(child)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(_main(json.loads(sys.argv[1]), sys.argv[2:]))
