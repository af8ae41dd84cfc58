"""Self-test of the rerun's sandbox: attacks from the inside what it claims to enforce on this machine.

What the sandbox claims to enforce must hold. What it does not enforce here is inconclusive, with the reason; the
attack is made all the same, and its effect is reported.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from autoscirub.checks.rerun import rerun
from autoscirub.sandbox import Limits, available
from autoscirub.setup.selftest.test_bed import AttackResult, Check, listed, processes_of
from autoscirub.store import open_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.checks.rerun import Rerun
    from autoscirub.sandbox import Isolated
    from autoscirub.setup.selftest.test_bed import TestBed

INSTALL = "to have it enforced: apt-get install bubblewrap (Linux), or run in a container"
ALLOW = (
    "bubblewrap is there and may not start: let it make user namespaces (in a container --security-opt "
    "seccomp=unconfined, on Ubuntu an AppArmor profile for bwrap), or run in a container of its own"
)
_MIB = 1024 * 1024
_LIMITS = Limits(seconds=8, memory=256 * _MIB, processes=40)
_STARTED = "STARTED"
_BEGIN = f"print({_STARTED!r}, flush=True)\n"
_HONEST = "import json; json.dump({'slope': 0.5}, open('results.json', 'w'))\n"

READING = "import sys; print(open(sys.argv[1]).read(), flush=True)\n"
WRITING = "import sys; open(sys.argv[1], 'w').write('planted')\n"
CONNECTING = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)\n"
ENVIRONMENT = "import os; print(dict(os.environ), flush=True)\n"
SEEING = """
import os, sys
mark = sys.argv[1][::-1].encode()
if not os.path.isdir("/proc"):
    os.kill(int(sys.argv[2]), 9)
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{name}/cmdline", "rb") as file:
            if mark in file.read():
                print("SEEN", flush=True); os.kill(int(name), 9)
    except OSError:
        pass
"""
FORKING = """
import os, signal, time
made = 0
for _ in range(300):
    try:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        made += 1
    except OSError:
        break
print("MADE", made, flush=True)
if made == 300:
    time.sleep(60)
"""
ALLOCATING = (
    "import time\nheld = bytearray(b'x') * (512 << 20)\ntime.sleep(2)\nprint('GOT', len(held), flush=True)\n"
)
SPINNING = "while True: pass\n"
LEAVING = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
"""


def _run(test_bed: TestBed, script: str, *arguments: str, seconds: float = 8) -> tuple[Rerun, str]:
    """Rerun a project whose code is `script`, as `rerun` does it; and the folder that identifies its processes."""
    folder = test_bed.place("sandbox")
    command = json.dumps([sys.executable, "run.py", *arguments, str(folder)])
    (folder / "run.py").write_text(_BEGIN + script + _HONEST, encoding="utf-8")
    (folder / "results.json").write_text('{"slope": 0.5}', encoding="utf-8")
    (folder / "autoscirub.toml").write_text(
        f'[run]\ncommand = {command}\noutputs = ["results.json"]\nseconds = {seconds}\n', encoding="utf-8"
    )
    return rerun(open_project(folder), trusted=True, limits=_LIMITS), str(folder)


@dataclass(frozen=True)
class Bound:
    """Something that the sandbox may enforce."""

    words: tuple[str, ...]
    """How the sandbox says that it does; one of them."""
    question: str
    attack: Callable[[TestBed], tuple[Rerun, list[str], str]]
    """The run, what got through, and what was tried."""
    leaves: bool = False
    """Whether left processes matter too; then it is inconclusive where processes cannot be inspected."""


def _read(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    done, _ = _run(test_bed, READING, str(test_bed.outside / "holdout.csv"))
    leaked = test_bed.found_in(_output_of(done))
    return done, [f"it read {what}, outside of its folder" for what in leaked], "reading a file outside"


def _write(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    target = test_bed.place("written") / "planted.txt"
    done, _ = _run(test_bed, WRITING, str(target))
    return (
        done,
        ["it wrote a file outside of its folder"] if target.exists() else [],
        "writing a file outside",
    )


def _connect(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        done, _ = _run(test_bed, CONNECTING, str(server.getsockname()[1]))
        try:
            server.accept()[0].close()
        except BlockingIOError:
            breaches = []
        else:
            breaches = ["it reached a listener of ours"]
    return done, breaches, "connecting to a listener on this machine"


def _look(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    done, _ = _run(test_bed, ENVIRONMENT)
    leaked = test_bed.found_in(_output_of(done))
    return done, [f"it has {what} of whoever started it" for what in leaked], "reading the environment"


def _see(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    mark = test_bed.place("victim").name
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-I", "-c", code, mark], stdin=subprocess.PIPE) as victim:
        try:
            done, _ = _run(test_bed, SEEING, mark[::-1], str(victim.pid))
            ended = victim.poll() is not None
        finally:
            victim.kill()
    through = ["it ended a process of ours"] if ended else []
    through += ["it saw a process of ours"] if "SEEN" in _output_of(done) else []
    return done, through, "looking for a process of ours, and ending it"


def _fork(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    done, place = _run(test_bed, FORKING)
    ended = done.ran is not None and "processes at once" in (done.ran.ended or "")
    through = ["300 processes were not ended"] if "MADE 300" in _output_of(done) and not ended else []
    through += ["some of its processes are left"] if processes_of(place) else []
    return done, through, f"300 processes with a limit of {_LIMITS.processes}"


def _allocate(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    done, _ = _run(test_bed, ALLOCATING)
    through = ["it got 512 MB"] if "GOT" in _output_of(done) else []
    return done, through, f"512 MB with a limit of {_LIMITS.memory // _MIB} MB"


def _spin(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    started = time.monotonic()
    done, place = _run(test_bed, SPINNING, seconds=1)
    through = [] if done.ran is not None and done.ran.timed_out else ["it was not ended"]
    through += ["it took more than 10 s"] if time.monotonic() - started > 10 else []
    through += ["it is still running"] if processes_of(place) else []
    return done, through, "a loop without end, with a limit of 1 s"


def _leave(test_bed: TestBed) -> tuple[Rerun, list[str], str]:
    done, place = _run(test_bed, LEAVING)
    return done, ["a daemon of it is left"] if processes_of(place) else [], "leaving a daemon"


BOUNDS: dict[str, Bound] = {
    "files outside, reading": Bound(("file system",), "Can it not read files outside of its folder?", _read),
    "files outside, writing": Bound(
        ("file system",), "Can it not write files outside of its folder?", _write
    ),
    "network": Bound(("no network",), "Can it reach nobody?", _connect),
    "environment": Bound(("clean environment",), "Is the user's environment not in it?", _look),
    "processes of others": Bound(("sight of other processes",), "Can it neither see nor end them?", _see),
    "number of processes": Bound(
        ("number of processes", "number of processes (watched)"),
        "Is it bounded, and are all ended?",
        _fork,
        leaves=True,
    ),
    "memory": Bound(("memory",), "Is it bounded?", _allocate),
    "time": Bound(("wall clock",), "Is it ended at its limit?", _spin, leaves=True),
    "what it leaves running": Bound(
        ("end of all it started", "number of processes (watched)"),
        "Does a daemon end with its run?",
        _leave,
        leaves=True,
    ),
}


def _output_of(done: Rerun) -> str:
    return done.ran.output if done.ran is not None else ""


def _tried(name: str, test_bed: TestBed) -> AttackResult:
    bound = BOUNDS[name]
    done, through, what = bound.attack(test_bed)
    if (ran := done.ran) is None:
        return AttackResult(what, cannot=f"nothing could be run: {'; '.join(done.decision.open)[:300]}")
    if _STARTED not in ran.output:
        return AttackResult(
            what, cannot=f"the attack did not start inside: {ran.output[-200:].strip() or ran.ended}"
        )
    if any(word in ran.enforced for word in bound.words):
        unseen = bound.leaves and processes_of(str(test_bed.root)) is None
        cannot = "whether any process of it is left cannot be checked here (no /proc)" if unseen else None
        return AttackResult(f"{what}; isolation {ran.isolation}", listed(through), cannot)
    breaches = "; ".join(through) or "it did not get through this time, but nothing prevents it"
    return AttackResult(
        f"{what}; isolation {ran.isolation}", cannot=f"cannot be enforced here: {breaches}", advice=_advice()
    )


def _advice() -> tuple[str, ...]:
    _, problem = available()
    return (ALLOW if "refuses" in (problem or "") else INSTALL,)


def _isolation(_test_bed: TestBed) -> AttackResult:
    kind, problem = available()
    if kind == "bubblewrap":
        return AttackResult("bubblewrap")
    return AttackResult(
        "a plain process",
        cannot=f"there is only a plain process: {problem or 'bubblewrap is not there'}",
        advice=_advice(),
    )


def _honest(test_bed: TestBed) -> AttackResult:
    done, _ = _run(test_bed, "")
    ran: Isolated | None = done.ran
    if done.decision.answer.value == "holds":
        return AttackResult(f"an honest command, {ran.seconds:.1f} s" if ran else "an honest command")
    why = "; ".join(done.decision.open)[:300]
    return AttackResult(
        "an honest command", cannot=f"it cannot be run: {why} {_output_of(done)[-200:]}".strip()
    )


CHECKS = [
    Check("isolation", "Is there more than a plain process?", _isolation),
    Check("an honest command", "Does a command run inside, and do its results come out again?", _honest),
    *(Check(name, bound.question, partial(_tried, name)) for name, bound in BOUNDS.items()),
]
