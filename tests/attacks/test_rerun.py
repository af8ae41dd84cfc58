"""Commands that want to do harm, or to pass without computing anything. Each is named, harms nothing, passes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscirub.checks.rerun import Rerun, ValueStatus, rerun
from autoscirub.errors import SandboxError
from autoscirub.models import Answer
from autoscirub.sandbox import Isolation, Limits, available
from autoscirub.store import open_project

KINDS = ["bubblewrap", "process"]
TRUTH = {"slope": 0.5, "n": 40}
HONEST = f"import json; json.dump({TRUTH!r}, open('results.json', 'w'))\n"


def _need(isolation: str) -> None:
    try:
        available(isolation)  # type: ignore[arg-type]
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture
def attack(tmp_path: Path) -> Callable[..., Rerun]:
    """Rerun a project whose run.py is `script`."""

    def run(
        script: str,
        isolation: Isolation,
        *,
        limits: Limits | None = None,
        seconds: float = 30,
        prepare: Callable[[Path], object] = lambda _: None,
    ) -> Rerun:
        _need(isolation)
        project = tmp_path / "project"
        project.mkdir()
        (project / "run.py").write_text(script, encoding="utf-8")
        (project / "results.json").write_text(json.dumps(TRUTH), encoding="utf-8")
        (project / "autoscirub.toml").write_text(
            f"[run]\ncommand = {json.dumps([sys.executable, 'run.py', str(tmp_path)])}\n"
            f'outputs = ["results.json"]\nseconds = {seconds}\n',
            encoding="utf-8",
        )
        prepare(project)
        return rerun(open_project(project), trusted=True, isolation=isolation, limits=limits)

    return run


def _alive(mark: str) -> list[int]:
    """Processes other than this one whose command line holds `mark`."""
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                running = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
                if running and mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def _evidence_text(found: Rerun) -> str:
    return "\n".join([*found.decision.open, *(entry.note or "" for entry in found.decision.evidence)])


@pytest.mark.parametrize("isolation", KINDS)
def test_writing_outside_of_the_copy_does_nothing_or_is_said_to_be_open(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    outside = tmp_path / "outside.txt"
    script = f"""
import pathlib
for target in ({str(outside)!r}, "/usr/planted", "/planted", "/etc/planted"):
    try:
        pathlib.Path(target).write_text("here") if target == {str(outside)!r} or {isolation == "bubblewrap"} else None
    except OSError:
        pass
"""
    found = attack(script + HONEST, isolation)
    if isolation == "bubblewrap":
        assert not outside.exists()
        assert not any(Path(place).exists() for place in ("/usr/planted", "/planted", "/etc/planted"))
        assert found.decision.answer is Answer.HOLDS
    else:
        assert "files outside its folder can be read and written" in _evidence_text(found)


def test_a_socket_reaches_nobody_under_bubblewrap(attack: Callable[..., Rerun]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        script = f"""
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 2); print("REACHED")
except OSError as error:
    print("no:", error)
raise SystemExit(1)
"""
        found = attack(script, "bubblewrap")
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "REACHED" not in _evidence_text(found)
    assert found.decision.answer is Answer.INCONCLUSIVE


def test_an_open_network_is_said_where_nothing_closes_it(attack: Callable[..., Rerun]) -> None:
    assert "the network is open" in _evidence_text(attack(HONEST, "process"))


@pytest.mark.parametrize("isolation", KINDS)
def test_forking_without_end_is_bounded_and_ended(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    script = """
import os, time
for _ in range(9):  # 512 processes, if nothing stops it
    try:
        os.fork()
    except OSError:
        pass
while True:
    time.sleep(60)
"""
    found = attack(script, isolation, limits=Limits(processes=40), seconds=3)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.ran is not None
    assert found.ran.ended in ("more than 40 processes at once", "ran longer than 3 s")
    assert _alive(str(tmp_path)) == []


@pytest.mark.parametrize("isolation", KINDS)
def test_filling_the_disk_with_many_files_is_ended(
    attack: Callable[..., Rerun], isolation: Isolation
) -> None:
    script = """
import os, time
for number in range(40):
    with open(f"junk{number}", "wb") as file:
        file.write(b"x" * 1_000_000); file.flush(); os.fsync(file.fileno())
time.sleep(60)
"""
    found = attack(script, isolation, limits=Limits(disk=20_000_000))
    assert found.decision.open[0] == "the command was ended: more than 20,000,000 bytes written"


@pytest.mark.parametrize("isolation", KINDS)
def test_one_huge_file_is_refused_by_the_kernel(attack: Callable[..., Rerun], isolation: Isolation) -> None:
    script = "open('junk', 'wb').write(b'x' * 30_000_000)\n" + HONEST
    found = attack(script, isolation, limits=Limits(file_bytes=10_000_000))
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert "File too large" in _evidence_text(found)


@pytest.mark.parametrize("isolation", KINDS)
def test_filling_the_memory_is_refused(attack: Callable[..., Rerun], isolation: Isolation) -> None:
    script = "x = bytearray(2 * 1024**3)\n" + HONEST
    found = attack(script, isolation, limits=Limits(memory=512 * 1024**2))
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert "MemoryError" in _evidence_text(found)


@pytest.mark.parametrize("isolation", KINDS)
def test_a_command_that_hangs_and_ignores_signals_is_ended(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    script = """
import signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True:
    signal.pause()
"""
    found = attack(script, isolation, seconds=1)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.decision.open[0].startswith(
        "the command was ended: ran longer than 1 s; raise [run] seconds"
    )
    assert _alive(str(tmp_path)) == []


@pytest.mark.parametrize("isolation", KINDS)
def test_killing_its_parent_does_not_reach_us_and_passes_nothing(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    script = """
import os, signal
try:
    os.kill(os.getppid(), signal.SIGKILL)
except PermissionError:
    raise SystemExit("not allowed")
os.kill(0, signal.SIGKILL)
"""
    found = attack(script, isolation)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert _alive(str(tmp_path)) == []
    if isolation == "process":
        assert "the process that keeps it was ended by SIGKILL" in found.decision.open[0]


def test_living_on_after_killing_its_keeper_is_ended_all_the_same(
    attack: Callable[..., Rerun], tmp_path: Path
) -> None:
    script = HONEST + "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True: signal.pause()\n"
    found = attack(script, "process")
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert _alive(str(tmp_path)) == []


@pytest.mark.parametrize("isolation", KINDS)
def test_editing_the_results_in_the_source_tree_does_nothing_or_is_named(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    results = tmp_path / "project" / "results.json"
    wrong = {"slope": 9.0, "n": 40}
    script = f"""
import json, os
values = {wrong!r}
os.makedirs(os.path.dirname({str(results)!r}), exist_ok=True)
for place in ({str(results)!r}, "results.json"):
    json.dump(values, open(place, "w"))
"""
    found = attack(script, isolation)
    if isolation == "bubblewrap":
        assert json.loads(results.read_text()) == TRUTH
        assert found.decision.answer is Answer.DOES_NOT_HOLD
    else:
        assert found.decision.answer is Answer.INCONCLUSIVE
        assert "the project's own files changed while it ran: results.json" in found.decision.open[0]


@pytest.mark.parametrize("isolation", KINDS)
def test_a_printed_verdict_counts_for_nothing(attack: Callable[..., Rerun], isolation: Isolation) -> None:
    script = 'print(\'{"answer": "holds", "word": "reproduced"}\\nreproduced: 2 of 2 equal\')\n'
    found = attack(script, isolation)
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    assert [one.status for one in found.comparisons] == [ValueStatus.MISSING]


@pytest.mark.parametrize("isolation", KINDS)
@pytest.mark.parametrize(
    "place",
    ["backup.json", "data/old/r.txt", ".git/keep", "sub/.git/keep", ".autoscirub/kept.json", "__pycache__/r"],
)
def test_results_cannot_be_taken_from_a_copy_that_lies_in_the_project(
    attack: Callable[..., Rerun], isolation: Isolation, place: str
) -> None:
    script = f"import shutil; shutil.copyfile({place!r}, 'results.json')\n"

    def hide(project: Path) -> None:
        (project / place).parent.mkdir(parents=True, exist_ok=True)
        (project / place).write_bytes((project / "results.json").read_bytes())

    found = attack(script, isolation, prepare=hide)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert "No such file or directory" in _evidence_text(found)
    assert any(place.startswith(left) for left in found.left_out)


@pytest.mark.parametrize("isolation", KINDS)
@pytest.mark.parametrize("link", ["relative", "absolute"])
def test_results_cannot_be_taken_through_a_link_to_them(
    attack: Callable[..., Rerun], isolation: Isolation, link: str
) -> None:
    script = "data = open('other.json').read(); open('results.json', 'w').write(data)\n"

    def hide(project: Path) -> None:
        target = Path("results.json") if link == "relative" else project / "results.json"
        (project / "other.json").symlink_to(target)

    found = attack(script, isolation, prepare=hide)
    assert found.decision.answer is Answer.INCONCLUSIVE


@pytest.mark.parametrize("isolation", KINDS)
def test_a_daemon_ends_with_its_run(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    script = (
        """
import os, signal
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.write(write, b"up")
        while True:
            signal.pause()
    os._exit(0)
os.read(read, 2)
"""
        + HONEST
    )
    found = attack(script, isolation)
    assert _alive(str(tmp_path)) == []
    assert found.decision.answer is Answer.HOLDS


def test_passwords_and_keys_are_not_there_under_bubblewrap(
    attack: Callable[..., Rerun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE-KEY")
    monkeypatch.setenv("HOME", str(home))
    script = f"""
import os
for path in ("/etc/shadow", "/etc/passwd", os.path.expanduser("~/.ssh/id_ed25519"), {str(home / ".ssh" / "id_ed25519")!r}):
    try:
        print("READ", path, open(path).read()[:40])
    except OSError as error:
        print("no", path)
raise SystemExit(1)
"""
    text = _evidence_text(attack(script, "bubblewrap"))
    assert "no /etc/shadow" in text
    assert "READ" not in text
    assert "PRIVATE-KEY" not in text


@pytest.mark.parametrize("isolation", KINDS)
def test_secrets_in_the_environment_are_absent_inside(
    attack: Callable[..., Rerun], monkeypatch: pytest.MonkeyPatch, isolation: Isolation
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2-secret")
    script = "import os; print(sorted(os.environ), os.environ); raise SystemExit(1)\n"
    found = attack(script, isolation)
    assert found.ran is not None
    assert "hunter2-secret" not in found.ran.output
    names = set(eval(found.ran.output.split(" environ(")[0]))  # noqa: S307 - a list that we had printed
    assert names <= {"PATH", "HOME", "LANG", "TMPDIR", "LC_CTYPE", "PWD"}


@pytest.mark.parametrize("isolation", KINDS)
def test_binary_output_cannot_write_to_the_terminal(
    attack: Callable[..., Rerun], isolation: Isolation
) -> None:
    script = "import os; os.write(1, bytes(range(256)) * 20 + b'\\n\\x1b[2J\\x1b]0;owned\\x07'); raise SystemExit(1)\n"
    found = attack(script, isolation)
    text = _evidence_text(found)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    json.dumps(found.decision.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("isolation", KINDS)
def test_printing_without_end_is_ended(attack: Callable[..., Rerun], isolation: Isolation) -> None:
    script = "import os\nwhile True: os.write(1, b'y' * 65536)\n"
    found = attack(script, isolation, limits=Limits(output=1_000_000))
    assert found.decision.open[0] == "the command was ended: printed more than 1,000,000 bytes"


@pytest.mark.parametrize("isolation", KINDS)
def test_deleting_its_own_folder_leaves_results_missing(
    attack: Callable[..., Rerun], tmp_path: Path, isolation: Isolation
) -> None:
    script = HONEST + "import os, shutil; shutil.rmtree(os.getcwd(), ignore_errors=True)\n"
    found = attack(script, isolation)
    assert found.decision.answer is not Answer.HOLDS
    assert json.loads((tmp_path / "project" / "results.json").read_text()) == TRUTH


@pytest.mark.parametrize("isolation", KINDS)
@pytest.mark.parametrize(
    "script",
    [
        "import os; os.symlink('/etc/passwd', 'results.json')",
        "import os; os.symlink('/proc/self/environ', 'results.json')",
        "import os; os.mkfifo('results.json')",
        "import os; os.symlink('.', 'loop'); os.symlink('loop/loop/results.json', 'results.json')",
    ],
    ids=["link-out", "link-to-proc", "fifo", "link-loop"],
)
def test_results_that_are_no_plain_file_are_not_read(
    attack: Callable[..., Rerun], isolation: Isolation, script: str
) -> None:
    found = attack(script + "\n", isolation)
    assert found.decision.answer is not Answer.HOLDS
    assert "root:" not in _evidence_text(found)


@pytest.mark.parametrize("name", [".venv/bin/python", "tools/python3", "tools/any"])
def test_no_program_of_the_project_is_started_outside_of_the_sandbox(
    attack: Callable[..., Rerun], tmp_path: Path, name: str
) -> None:
    def prepare(project: Path) -> None:
        program = project / name
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/outside; exit 1\n")
        program.chmod(0o755)
        (project / ".venv").mkdir(exist_ok=True)
        (project / ".venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/home/bin\n")
        config = project / "autoscirub.toml"
        config.write_text(config.read_text().replace(json.dumps(sys.executable), json.dumps(name)))

    found = attack(HONEST, "bubblewrap", prepare=prepare)
    assert not (tmp_path / "outside").exists()
    assert found.decision.answer is Answer.INCONCLUSIVE


@pytest.mark.parametrize("isolation", KINDS)
@pytest.mark.parametrize(
    "values",
    [
        '{"a\\u001b[2J": 1}',
        '{"a": NaN, "b": Infinity}',
        '{"a": 1e999}',
        '{"a": "\\u001b]0;x\\u0007"}',
        "[" * 500,
    ],
)
def test_values_that_would_break_a_message_or_a_document_do_not(
    attack: Callable[..., Rerun], isolation: Isolation, values: str
) -> None:
    found = attack(f"open('results.json', 'w').write({values!r})\n", isolation)
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    text = json.dumps(found.decision.model_dump(mode="json"), allow_nan=False)
    assert "\\u001b" not in text


def test_names_of_files_that_are_no_text_are_told_escaped(
    attack: Callable[..., Rerun], tmp_path: Path
) -> None:
    def prepare(project: Path) -> None:
        (project / "out").mkdir()
        Path(os.fsdecode(os.fsencode(project / "out") + b"/\xff.txt")).write_text("one")
        config = project / "autoscirub.toml"
        config.write_text(config.read_text().replace('["results.json"]', '["results.json", "out"]'))

    found = attack(HONEST, "best", prepare=prepare)
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    found.decision.model_dump_json()


@pytest.mark.parametrize("isolation", KINDS)
def test_a_locked_up_copy_is_removed_all_the_same(
    attack: Callable[..., Rerun], isolation: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    script = HONEST + "import os; os.makedirs('a/b/c'); os.chmod('a/b', 0); os.chmod('a', 0)\n"
    attack(script, isolation)
    assert list(scratch.iterdir()) == []
