"""Self-test of judge programs: one that hangs, crashes, floods or forks is an error, and leaves no process."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from autoscirub.judging import ReadReply, ask_panel
from autoscirub.judging.backends import open_backend
from autoscirub.judging.verdicts import CheckedVerdict
from autoscirub.models import CriterionVerdict, JudgeConfig, JudgeReply, JudgeRequest
from autoscirub.setup.selftest.test_bed import AttackResult, Check, listed, processes_of

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.models import Member
    from autoscirub.setup.selftest.test_bed import TestBed

LIMIT = 1.0
BOUND = 5 * (LIMIT + 1)
"""Five times what is promised: the limit, and the second in which a program may end by itself."""

_ANSWER = 'print(\'{"criterion_id": "c1", "reasoning": "because", "satisfied": true}\', flush=True)\n'
_DEAF = "import signal\nfor number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
_DAEMON = """
import os, signal, sys
note = sys.argv[1] + "/daemon"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        with open(note + ".new", "w") as file: file.write(str(os.getpid()))
        os.rename(note + ".new", note)
        while True: signal.pause()
    os._exit(0)
os.wait()
while not os.path.exists(note): pass
"""


@dataclass(frozen=True)
class JudgeAttack:
    """A misbehaving judge program, and how it must end."""

    script: str
    says: str
    """What the error must say; empty: it must be believed."""
    seconds: float = 8.0
    forks: bool = False
    """Whether it leaves processes; then the attack is inconclusive where processes cannot be inspected."""


PROGRAMS: dict[str, JudgeAttack] = {
    "an honest program": JudgeAttack(f"import sys; sys.stdin.read()\n{_ANSWER}", ""),
    "one that hangs": JudgeAttack("import signal; signal.pause()", "no answer within 1 s", LIMIT),
    "one that hangs and hears no signal": JudgeAttack(
        f"{_DEAF}while True: signal.pause()", "no answer within 1 s", LIMIT
    ),
    "one that answers and hangs": JudgeAttack(
        f"{_ANSWER}import os, signal; os.close(1); os.close(2); signal.pause()", "no answer within 1 s", LIMIT
    ),
    "one that crashes": JudgeAttack("import os; os.abort()", "crashed: ended by SIGABRT"),
    "one that answers and fails": JudgeAttack(f"{_ANSWER}raise SystemExit(3)", "ended with exit status 3"),
    "one that says nothing": JudgeAttack("", "printed nothing"),
    "one that prints what is no text": JudgeAttack("import os; os.write(1, b'\\xff\\xfe')", "not UTF-8"),
    "one that floods its output": JudgeAttack(
        "import os\nwhile True: os.write(1, b'satisfied' * 8000)", "printed more than 1,000,000 bytes"
    ),
    "one that floods its standard error": JudgeAttack(
        "import os\nwhile True: os.write(2, b'x' * 8000)", "no answer within 1 s", LIMIT
    ),
    "one that answers for another criterion": JudgeAttack(
        'print(\'{"criterion_id": "c2", "satisfied": true}\')', "no verdict on c1"
    ),
    "one that leaves a daemon and answers": JudgeAttack(f"{_DAEMON}{_ANSWER}", "", forks=True),
    "one that leaves a daemon and hangs": JudgeAttack(
        f"{_DAEMON}signal.pause()", "no answer within 2 s", 2 * LIMIT, forks=True
    ),
    "one that forks": JudgeAttack(
        "import os, signal\n"
        "for _ in range(30):\n    if os.fork() == 0: os.setpgid(0, 0); signal.pause()\n"
        "signal.pause()",
        "no answer within 2 s",
        2 * LIMIT,
        forks=True,
    ),
    "one that kills what started it": JudgeAttack(
        "import os, signal; os.kill(os.getppid(), 9); signal.pause()", "SIGKILL", forks=True
    ),
}


def _read(reply: JudgeReply) -> ReadReply:
    found = reply.structured
    if not isinstance(found, dict) or found.get("criterion_id") != "c1":
        return ReadReply(faults="no verdict on c1")
    return ReadReply(CheckedVerdict(CriterionVerdict.model_validate(found)))


async def _asked(config: JudgeConfig, request: JudgeRequest, folder: Path) -> Member:
    """The verdict of a panel of one."""
    import anyio

    backend = open_backend(config, folder, trusted=True)
    assert backend is not None  # noqa: S101 - "command" is built in
    [member] = await ask_panel(
        backend, request, repeats=1, agree=1, read=_read, gate=anyio.CapacityLimiter(1)
    )
    return member


def _ran(program: JudgeAttack, test_bed: TestBed) -> AttackResult:
    import anyio

    folder = test_bed.place("program")
    workspace = folder / "workspace"
    workspace.mkdir()
    (folder / "judge.py").write_text(program.script, encoding="utf-8")
    config = JudgeConfig(backend="command", command=[sys.executable, str(folder / "judge.py"), str(folder)])
    request = JudgeRequest(
        kind="criterion",
        subject="c1",
        system="a judge",
        prompt="is it so?",
        answer_schema={},
        workspace=str(workspace),
        seconds=program.seconds,
        turns=10,
        prompt_digest="a" * 64,
        workspace_digest="b" * 64,
    )
    started = time.monotonic()
    result = anyio.run(_asked, config, request, folder)
    took = time.monotonic() - started
    through = _wrong(program, result)
    if took > max(BOUND, 5 * (program.seconds + 1)):
        through.append(f"it took {took:.0f} s with a limit of {program.seconds:g} s")
    left = _left(folder)
    if left:
        through.append(f"{len(left)} of its processes are left: {', '.join(map(str, left[:5]))}")
    cannot = None
    if left is None and program.forks:
        cannot = "whether any process of it is left cannot be checked here (no /proc)"
    after = "" if left is None else f", {len(left) or 'no'} process left"
    return AttackResult(
        f"limit {program.seconds:g} s; over after {took:.1f} s{after}", listed(through), cannot
    )


def _wrong(program: JudgeAttack, result: Member) -> list[str]:
    error = result.error
    if not program.says:
        return [] if error is None else [f"an answer was refused: {error[:200]}"]
    if error is None:
        return ["it was believed"]
    return [] if program.says in error else [f"its error says something else: {error[:200]}"]


def _left(folder: Path) -> list[int] | None:
    left = processes_of(str(folder))
    if left is not None and (folder / "daemon").is_file():
        pid = int((folder / "daemon").read_text())
        with_it = os.path.exists(f"/proc/{pid}") and pid not in left  # noqa: PTH110 - a number, no path of ours
        return [*left, pid] if with_it else left
    return left


CHECKS = [
    Check(
        what,
        "Is it an error of its own, in time, with no process left?"
        if program.says
        else "Is its answer taken?",
        partial(_ran, program),
    )
    for what, program in PROGRAMS.items()
]
