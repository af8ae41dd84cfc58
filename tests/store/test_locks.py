"""One writer at a time: between processes, after a kill, and where the file system has no locks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from autoscirub.errors import BusyError, StateError
from autoscirub.store.locks import HOLDER_NAME, LEASE_NAME, LOCK_NAME, state_lock

NO_LOCKS = """
import errno, fcntl, os
def flock(*_): raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = flock
"""
HOLD = """
import sys
from pathlib import Path
from autoscirub.store.locks import state_lock
folder = Path(sys.argv.pop(1))
with state_lock(folder, seconds=30):
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    sys.stdin.readline()
"""
COUNT = """
import sys
from pathlib import Path
from autoscirub.store.locks import state_lock
folder, times = Path(sys.argv[1]), int(sys.argv[2])
for _ in range(times):
    with state_lock(folder, seconds=60):
        count = folder / "count"  # read and written without any care, so that every overlap shows
        count.write_text(str(int(count.read_text()) + 1))
"""
FILE_SYSTEMS = {"with locks": "", "without locks": NO_LOCKS}


def _no_locks(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOLCK) -> None:
    def flock(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start processes that hold the lock on `tmp_path` until they are sent a line."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, before: str = "") -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-c", before + HOLD, str(tmp_path), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            return process

        yield start


def test_the_lock_leaves_only_its_own_file_behind(tmp_path: Path) -> None:
    with state_lock(tmp_path, seconds=1):
        assert {path.name for path in tmp_path.iterdir()} == {LOCK_NAME, HOLDER_NAME}
    assert {path.name for path in tmp_path.iterdir()} == {LOCK_NAME}


def test_it_is_released_when_the_step_fails(tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), state_lock(tmp_path, seconds=0):
            raise ZeroDivisionError
    assert not (tmp_path / HOLDER_NAME).exists()


def test_who_holds_it_is_named_by_process_machine_and_command(
    tmp_path: Path, holder: Callable[..., subprocess.Popen[str]]
) -> None:
    process = holder("round", "--project", "a secret path")
    with pytest.raises(BusyError) as caught, state_lock(tmp_path, seconds=0.1):
        pytest.fail("two at a time")
    assert re.fullmatch(
        rf"{re.escape(str(tmp_path))}: held by process {process.pid} on {re.escape(socket.gethostname())} "
        r"\(autoscirub round --project\) since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ; waited 0\.1 s\. "
        r"Wait for it to end, or end it, and run this again",
        str(caught.value),
    )


@pytest.mark.parametrize("where", FILE_SYSTEMS)
def test_a_holder_that_is_killed_releases_it(
    tmp_path: Path, holder: Callable[..., subprocess.Popen[str]], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = holder(before=FILE_SYSTEMS[where])
    if FILE_SYSTEMS[where]:
        _no_locks(monkeypatch)
    with pytest.raises(BusyError, match=f"held by process {process.pid} "), state_lock(tmp_path, seconds=0):
        pytest.fail("two at a time")
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    assert (tmp_path / HOLDER_NAME).exists()  # what it left
    with state_lock(tmp_path, seconds=30):
        assert str(os.getpid()) in (tmp_path / HOLDER_NAME).read_text()


def test_one_that_waits_goes_on_when_the_other_ends(
    tmp_path: Path, holder: Callable[..., subprocess.Popen[str]]
) -> None:
    process = holder()
    held = threading.Event()

    def wait_for_it() -> None:
        with state_lock(tmp_path, seconds=60):
            held.set()

    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    assert not held.is_set()
    process.communicate("go on\n", timeout=30)
    waiting.join(timeout=60)
    assert held.is_set()


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    inside: list[int] = []
    overlaps: list[int] = []

    def work() -> None:
        for _ in range(20):
            with state_lock(tmp_path, seconds=60):
                inside.append(1)
                overlaps.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert overlaps == [1] * 80


@pytest.mark.slow
@pytest.mark.parametrize("where", FILE_SYSTEMS)
def test_no_two_processes_are_ever_inside_together(tmp_path: Path, where: str) -> None:
    (tmp_path / "count").write_text("0")
    script = FILE_SYSTEMS[where] + COUNT
    processes = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), "40"]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0, 0]
    assert (tmp_path / "count").read_text() == "160"


@pytest.mark.parametrize("name", ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP", "EINVAL"])
def test_where_the_file_system_cannot_lock_a_lease_file_serves_and_this_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _no_locks(monkeypatch, getattr(errno, name))
    notices: list[str] = []
    for _ in range(2):
        with state_lock(tmp_path, seconds=0, notices=notices):
            assert (tmp_path / LEASE_NAME).exists()
            with (
                pytest.raises(BusyError, match=f"held by process {os.getpid()} .* remove .*{LEASE_NAME}"),
                state_lock(tmp_path, seconds=0),
            ):
                pytest.fail("two at a time")
        assert not (tmp_path / LEASE_NAME).exists()
    assert notices == [f"{tmp_path}: this file system cannot lock, so a lease file is used: {LEASE_NAME}"]


def test_a_fault_of_the_disk_is_no_missing_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _no_locks(monkeypatch, errno.EIO)
    with (
        pytest.raises(StateError, match=r"cannot be locked for writing: .*; make it writable"),
        state_lock(tmp_path, seconds=0),
    ):
        pytest.fail("not locked")
    assert not (tmp_path / LEASE_NAME).exists()


def test_a_lease_of_a_process_on_another_machine_stands_and_the_message_says_which_file_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_locks(monkeypatch)
    lease = tmp_path / LEASE_NAME
    lease.write_text("1\nanother-machine\n")
    with (
        pytest.raises(
            BusyError, match=rf"if no such process is left, on any machine, remove {re.escape(str(lease))}"
        ),
        state_lock(tmp_path, seconds=0),
    ):
        pytest.fail("taken over from a process that may be alive")
    lease.unlink()
    with state_lock(tmp_path, seconds=0):
        pass


def test_a_very_long_wait_is_allowed(tmp_path: Path) -> None:
    with state_lock(tmp_path, seconds=1e300):
        pass


HOLDER_FILES = {
    "nothing": b"",
    "no JSON": b"who?",
    "a list": b"[1, 2]",
    "no object of ours": b'{"pid": 1}',
    "deep": b"[" * 3000,
    "long": b'{"pid": "' + b"x" * 5000 + b'"}',
    "escapes for the terminal": rb'{"pid": 1, "host": "\u001b[31m", "command": "x", "since": "y"}',
    "a message of several lines": rb'{"pid": 1, "host": "a\nb", "command": "x", "since": "y"}',
    "not UTF-8": b'{"pid": "\xff"}',
}


@pytest.mark.parametrize("name", HOLDER_FILES)
def test_a_holder_file_that_says_nothing_useful_names_nobody(tmp_path: Path, name: str) -> None:
    with state_lock(tmp_path, seconds=0):
        (tmp_path / HOLDER_NAME).write_bytes(HOLDER_FILES[name])
        with (
            pytest.raises(BusyError, match="held by another process; waited 0 s"),
            state_lock(tmp_path, seconds=0),
        ):
            pytest.fail("two at a time")


UNPRIVILEGED = """
import os, sys
from pathlib import Path
import filelock
from autoscirub.errors import StateError
from autoscirub.store.locks import state_lock
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with state_lock(Path("closed"), seconds=0):
        pass
except StateError as error:
    sys.stdout.write(f"{error}\\n")
"""


@pytest.mark.parametrize("lock", ["no lock file yet", "a lock file of somebody else"])
def test_a_directory_that_may_not_be_written_says_what_to_do(tmp_path: Path, lock: str) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    if lock == "a lock file of somebody else":
        (closed / LOCK_NAME).touch(mode=0o400)
    closed.chmod(0o555)
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    closed.chmod(0o755)
    assert done.stdout == (
        "closed: cannot be locked for writing: Permission denied; make it writable, or name another "
        "state directory with --state-dir or AUTOSCIRUB_STATE_DIR\n"
    )
