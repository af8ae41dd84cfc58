"""Judge programs that hang, crash, flood, lie and fork: each is a JudgeError that says which, and nothing of it is left."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from autoscirub.errors import JudgeError
from autoscirub.judging import ReadReply, ask_panel
from autoscirub.judging.backends import ask_within, open_backend
from autoscirub.judging.backends.command import OUTPUT_BYTES
from autoscirub.models import CriterionVerdict, JudgeConfig, JudgeReply, JudgeRequest

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="looks at processes in /proc")

LIMIT = 1.0
BOUND = 5 * (LIMIT + 1)
"""Five times what is promised: the limit, and the second in which a program may end by itself."""
VERDICT = {"criterion_id": "c1", "reasoning": "because", "satisfied": True}
READ_ALL = "import json, sys; request = json.load(sys.stdin)\n"
ANSWER = f"import json; print(json.dumps({VERDICT!r}), flush=True)\n"


def processes(mark: str) -> list[int]:
    """Processes, zombies not counted, whose command line or environment holds `mark`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                running = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
                known = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                if running and mark.encode() in known:
                    found.append(int(entry.name))
    return found


def zombies() -> list[int]:
    """Children of this process that have ended and that nobody has waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state == "Z" and int(parent) == os.getpid():
                    found.append(int(entry.name))
    return found


def request(workspace: Path, *, seconds: float = 60, prompt: str = "is it so?") -> JudgeRequest:
    return JudgeRequest(
        kind="criterion",
        subject="c1",
        system="a judge",
        prompt=prompt,
        answer_schema={},
        workspace=str(workspace),
        seconds=seconds,
        turns=10,
        prompt_digest="a" * 64,
        workspace_digest="b" * 64,
    )


class Judging:
    """Asks a program, written for the test; afterwards nothing of it may be left."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mark = f"mark-{secrets.token_hex(8)}"
        self.folder, self.workspace = folder, folder / "workspace"
        self.workspace.mkdir()
        monkeypatch.setenv("JUDGE_TEST_MARK", self.mark)

    def ask(self, script: str, *, seconds: float = 60, prompt: str = "is it so?") -> JudgeReply:
        program = self.folder / "judge.py"
        program.write_text(script, encoding="utf-8")
        config = JudgeConfig(
            backend="command", command=[sys.executable, str(program), str(self.folder), self.mark]
        )
        backend = open_backend(config, self.folder, trusted=True)
        assert backend is not None

        async def asked() -> JudgeReply:
            with anyio.fail_after(max(BOUND, seconds)):
                return await ask_within(backend, request(self.workspace, seconds=seconds, prompt=prompt))

        return anyio.run(asked)

    def refused(self, script: str, words: str, **options: Any) -> JudgeError:
        with pytest.raises(JudgeError, match=words) as caught:
            self.ask(script, **options)
        return caught.value


@pytest.fixture
def judging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = Judging(tmp_path, monkeypatch)
    before = set(zombies())
    yield found
    assert processes(found.mark) == []
    assert set(zombies()) <= before


def test_an_honest_program_is_believed(judging: Judging) -> None:
    reply = judging.ask(READ_ALL + ANSWER)
    assert reply.structured == VERDICT
    assert reply.usage.cost_usd is None
    assert reply.usage.seconds > 0


def test_one_that_hangs_is_ended_at_the_limit_and_what_it_said_is_kept(judging: Judging) -> None:
    error = judging.refused(
        "import signal; print('thinking', flush=True); signal.pause()",
        r"no answer within 1 s \(judge.seconds\)",
        seconds=LIMIT,
    )
    assert error.raw == "thinking\n"
    assert "left behind" not in str(error)


@pytest.mark.slow
def test_one_that_ignores_sigterm_is_killed(judging: Judging) -> None:
    script = (
        "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: signal.pause()\n"
    )
    error = judging.refused(script, "no answer within 1 s", seconds=LIMIT)
    assert "left behind" not in str(error)


def test_one_is_asked_to_end_before_it_is_ended(judging: Judging) -> None:
    note = judging.folder / "note"
    script = f"""
import pathlib, signal, sys
def end(*_):
    pathlib.Path({str(note)!r}).write_text("tidied up")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
while True: signal.pause()
"""
    judging.refused(script, "no answer within 1 s", seconds=LIMIT)
    assert note.read_text() == "tidied up"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("raise SystemExit(3)", "ended with exit status 3, expected 0"),
        ("1/0", "ended with exit status 1.*ZeroDivisionError"),
        ("import os; os.abort()", r"crashed: ended by SIGABRT \(exit status 134\)"),
        ("import os; os.kill(os.getpid(), 9)", r"crashed: ended by SIGKILL \(exit status 137\)"),
        ("", "ended well and printed nothing"),
        ("print('   ')", "ended well and printed nothing"),
        (
            'import sys; sys.stdout.buffer.write(b\'{"satisfied": true, "x": "\\xff"}\')',
            "not UTF-8: byte 0xff at offset",
        ),
        (ANSWER + "raise SystemExit(1)", "ended with exit status 1"),
    ],
)
def test_one_that_ends_badly_is_named_by_how(judging: Judging, script: str, words: str) -> None:
    judging.refused(script, words)


def test_an_answer_before_a_crash_is_kept_and_not_believed(judging: Judging) -> None:
    error = judging.refused(ANSWER + "import os; os.abort()", "SIGABRT")
    assert json.loads(error.raw) == VERDICT


def test_a_flood_on_standard_output_is_cut_and_the_program_ended(judging: Judging) -> None:
    script = "import os\nwhile True: os.write(1, b'satisfied' * 8000)"
    error = judging.refused(script, f"printed more than {OUTPUT_BYTES:,} bytes")
    assert len(error.raw) <= 65536


def test_a_flood_on_standard_error_is_read_and_thrown_away(judging: Judging) -> None:
    script = "import os\nfor _ in range(2000): os.write(2, b'x' * 8000 + b'\\n')\n"
    assert judging.ask(script + ANSWER).structured == VERDICT
    error = judging.refused(script + "import sys; print('the end', file=sys.stderr); sys.exit(1)", "the end")
    assert len(str(error)) < 2000


def test_an_endless_flood_on_standard_error_ends_at_the_limit(judging: Judging) -> None:
    judging.refused("import os\nwhile True: os.write(2, b'x' * 8000)", "no answer within 1 s", seconds=LIMIT)


def test_escapes_on_standard_error_do_not_reach_the_message(judging: Judging) -> None:
    error = judging.refused(
        "import os; os.write(2, b'\\x1b[2J\\x1b]0;owned\\x07 oh\\r\\nno'); raise SystemExit(1)", "oh no"
    )
    assert str(error).isprintable()


def test_a_question_larger_than_a_pipe_reaches_one_that_reads_late(judging: Judging) -> None:
    prompt = "long " * 400_000
    script = READ_ALL + "print(json.dumps({'length': len(request['prompt'])}))"
    assert judging.ask(script, prompt=prompt).structured == {"length": len(prompt)}


def test_one_that_never_reads_its_question_may_answer_all_the_same(judging: Judging) -> None:
    assert judging.ask(ANSWER, prompt="long " * 400_000).structured == VERDICT
    closed = "import os; os.close(0)\n"
    assert judging.ask(closed + ANSWER, prompt="long " * 400_000).structured == VERDICT


def test_one_that_closes_its_output_and_lingers_is_ended_at_the_limit(judging: Judging) -> None:
    script = ANSWER + "import os, signal; os.close(1); os.close(2); signal.pause()"
    error = judging.refused(script, "no answer within 1 s", seconds=LIMIT)
    assert json.loads(error.raw) == VERDICT


DAEMON = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        open(FOLDER + "/daemon", "w").write(str(os.getpid()))
        while True: signal.pause()
    os._exit(0)
os.wait()
while not os.path.exists(FOLDER + "/daemon"): pass
"""


@pytest.mark.parametrize("then", ["answers", "hangs"])
def test_a_daemon_ends_with_the_program_that_left_it(judging: Judging, then: str) -> None:
    script = f"FOLDER = {str(judging.folder)!r}\n{DAEMON}"
    if then == "answers":
        assert judging.ask(script + ANSWER).structured == VERDICT
    else:
        judging.refused(
            script + "signal.signal(15, signal.SIG_DFL); signal.pause()", "no answer", seconds=LIMIT
        )
    assert (judging.folder / "daemon").is_file()


def test_a_daemon_with_a_clean_environment_ends_too(judging: Judging) -> None:
    clean = DAEMON.replace(
        "while True: signal.pause()",
        "os.chdir('/'); os.execve('/bin/sleep', ['sleep', '600'], {})",
    )
    judging.ask(f"FOLDER = {str(judging.folder)!r}\n{clean}{ANSWER}")
    pid = int((judging.folder / "daemon").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_one_that_forks_without_end_is_ended_with_all_of_its_children(judging: Judging) -> None:
    script = "import os, signal\nfor _ in range(30):\n    if os.fork() == 0: os.setpgid(0, 0); signal.pause()\nsignal.pause()"
    judging.refused(script, "no answer", seconds=LIMIT)


def test_one_that_kills_its_parent_does_not_kill_us(judging: Judging) -> None:
    judging.refused("import os, signal; os.kill(os.getppid(), 9); signal.pause()", "SIGKILL")


def test_what_it_may_know_of_the_user_is_not_kept(judging: Judging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-0123456789")
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", "/somewhere/ours")
    monkeypatch.setenv("GIT_DIR", "/somewhere/git")
    monkeypatch.setenv("OLDPWD", "/somewhere/project")
    seen = judging.ask("import json, os; print(json.dumps(dict(os.environ)))").structured
    assert seen["SOME_API_KEY"] == "[SOME_API_KEY]"
    assert seen["AUTOSCIRUB_JUDGE"] == "1"
    assert seen["PWD"] == str(judging.workspace)
    assert not Path(seen["TMPDIR"]).exists()
    assert [name for name in seen if name.startswith(("AUTOSCIRUB_", "GIT_", "OLDPWD"))] == [
        "AUTOSCIRUB_JUDGE"
    ]
    script = "import os, sys; print(os.environ['SOME_API_KEY']); sys.exit(os.environ['SOME_API_KEY'])"
    error = judging.refused(script, r"\[SOME_API_KEY\]")
    assert "very-secret" not in str(error) + error.raw


def test_it_has_no_terminal_and_runs_in_the_workspace(judging: Judging) -> None:
    script = """
import json, os
try:
    os.open("/dev/tty", os.O_RDWR); terminal = True
except OSError:
    terminal = False
print(json.dumps({"cwd": os.getcwd(), "terminal": terminal, "leads": os.getsid(0) == os.getpid()}))
"""
    expected = {"cwd": str(judging.workspace), "terminal": False, "leads": True}
    assert judging.ask(script).structured == expected


# What is printed is passed on whole; whoever reads it decides. Here a reader as plain as can be.


def read(reply: JudgeReply) -> ReadReply:
    found = reply.structured
    if not isinstance(found, dict) or found.get("criterion_id") != "c1":
        return ReadReply(faults="no verdict on c1")
    return ReadReply(CriterionVerdict.model_validate(found))


@pytest.mark.parametrize(
    "script",
    [
        'print(\'{"criterion_id": "c2", "satisfied": true}\')',
        ANSWER + ANSWER,
        'print(\'{"criterion_id": "c1", "criterion_id": "c1", "satisfied": true}\')',
        "print('[' * 100000)",
        "print('satisfied')",
    ],
)
def test_an_answer_on_something_else_or_twice_is_asked_for_once_more_and_then_no_verdict(
    judging: Judging, script: str
) -> None:
    count = judging.folder / "count"
    program = judging.folder / "judge.py"
    program.write_text(f"open({str(count)!r}, 'a').write('x')\n{script}", encoding="utf-8")
    config = JudgeConfig(backend="command", command=[sys.executable, str(program), judging.mark])

    async def asked() -> list[Any]:
        backend = open_backend(config, judging.folder, trusted=True)
        assert backend is not None
        gate = anyio.CapacityLimiter(1)
        return await ask_panel(backend, request(judging.workspace), repeats=1, agree=1, read=read, gate=gate)

    [member] = anyio.run(asked)
    assert member.verdict is None
    assert member.answer is None
    assert "even after one repair: no verdict on c1" in member.error
    assert member.raw
    assert count.read_text() == "xx"


# Breaking off

CALLER = """
import sys
from pathlib import Path
import anyio
from autoscirub.judging.backends import ask_within, open_backend
from autoscirub.models import JudgeConfig, JudgeRequest
folder, program, mark = sys.argv[1:]
config = JudgeConfig(backend="command", command=[sys.executable, program, mark])
request = JudgeRequest(kind="criterion", subject="c1", system="", prompt="", answer_schema={}, workspace=folder,
                       seconds=600, turns=1, prompt_digest="a" * 64, workspace_digest="b" * 64)
anyio.run(ask_within, open_backend(config, Path(folder), trusted=True), request)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_whoever_asks_may_be_broken_off_or_killed_and_leaves_nothing_running(
    judging: Judging, number: signal.Signals
) -> None:
    ready = judging.folder / "ready"
    os.mkfifo(ready)
    program = judging.folder / "judge.py"
    program.write_text(
        f"import os, signal\nopen({str(ready)!r}, 'w').write('go')\nsignal.pause()\n", encoding="utf-8"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, str(judging.folder), str(program), judging.mark],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "server"),
            "TMPDIR": str(judging.folder),  # killed, it leaves a folder there
        },
        stderr=subprocess.DEVNULL,
    )
    assert ready.read_text() == "go"  # waits for the judge to have started
    judges = [pid for pid in processes(judging.mark) if pid != caller.pid]
    assert judges
    caller.send_signal(number)
    caller.wait(timeout=60)
    # Killed, we cannot wait for it: the kernel tells the keeper, which ends the judge.
    for pid in judges:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                assert poll.poll(10_000)
            finally:
                os.close(descriptor)


def test_a_cancelled_panel_leaves_nothing_running(judging: Judging) -> None:
    program = judging.folder / "judge.py"
    started = judging.folder / "started"
    os.mkfifo(started)
    program.write_text(
        f"import os, signal\nos.write(os.open({str(started)!r}, os.O_WRONLY), b'x')\nsignal.pause()\n",
        encoding="utf-8",
    )
    config = JudgeConfig(backend="command", command=[sys.executable, str(program), judging.mark])

    async def asked() -> None:
        backend = open_backend(config, judging.folder, trusted=True)
        assert backend is not None
        async with anyio.create_task_group() as group:

            async def panel() -> None:
                gate = anyio.CapacityLimiter(5)
                await ask_panel(backend, request(judging.workspace), repeats=5, agree=3, read=read, gate=gate)

            group.start_soon(panel)
            descriptor = os.open(started, os.O_RDWR | os.O_NONBLOCK)
            try:
                count = 0
                while count < 5:
                    await anyio.wait_readable(descriptor)
                    count += len(os.read(descriptor, 5))
            finally:
                os.close(descriptor)
            assert len(processes(judging.mark)) >= 5
            group.cancel_scope.cancel()

    anyio.run(asked)
