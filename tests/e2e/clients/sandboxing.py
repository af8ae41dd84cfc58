"""Where the clients run: a network of their own that ends at loopback, a fresh home, and nothing of the user's environment.

A `Box` holds one network namespace for one test. Its holder process opens listening sockets inside and passes them out, so
that a script of the model's part can be an ordinary function of the test, in the test's own process. Where the system allows
no namespace, the box says so in `enforced`, and its clients run on the host's network with a proxy that leads nowhere.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
# Read when this module loads: each test starts with no AUTOSCIRUB_ variable.
CLIENTS = Path(os.environ.get("AUTOSCIRUB_CLIENTS") or REPOSITORY / ".clients")
NODE = CLIENTS / "node" / "bin" / "node"

HOLDER = """
import fcntl, os, socket, struct, sys
channel = socket.socket(fileno=int(sys.argv[1]))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    up = struct.pack("16sh14x", b"lo", 0x1 | 0x40)  # IFF_UP | IFF_RUNNING
    fcntl.ioctl(probe, 0x8914, up)  # SIOCSIFFLAGS
channel.sendall(b"+")
while channel.recv(1):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        socket.send_fds(channel, [b"+"], [listening.fileno()])
"""


def program(name: str) -> Path:
    """An installed client; the test skips where it is missing."""
    path = NODE if name == "node" else CLIENTS / "node_modules" / ".bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not installed in {CLIENTS}: `make clients` installs it")
    return path


@functools.cache
def namespace() -> tuple[list[str], str]:
    """How to enter a fresh network namespace here, or an empty command and why there is none."""
    problem = "no `unshare` or `nsenter` on PATH"
    if shutil.which("unshare") and shutil.which("nsenter"):
        for flags in ("-n", "-Urn"):
            done = subprocess.run(["unshare", flags, "true"], capture_output=True, encoding="utf-8")
            if done.returncode == 0:
                return ["unshare", flags], ""
            problem = done.stderr.strip()
    return [], f"no network namespace: {problem}"


@dataclass(frozen=True)
class Ended:
    """A client that has ended."""

    status: int
    out: str
    err: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"exit {self.status} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"
        )


@dataclass
class Box:
    """One test's network, home and working directory."""

    home: Path
    work: Path
    enforced: bool
    why_not: str = ""
    _enter: list[str] = field(default_factory=list)
    _channel: socket.socket | None = None
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def listen(self) -> socket.socket:
        """A listening socket on the box's loopback."""
        if self._channel is None:
            return socket.create_server(("127.0.0.1", 0))
        self._channel.sendall(b"?")
        _, [descriptor], _, _ = socket.recv_fds(self._channel, 1, 1)
        return socket.socket(fileno=descriptor)

    def environment(self, **more: str) -> dict[str, str]:
        """What a client gets: nothing of the environment that the tests run in but where Python is."""
        nowhere = (
            {} if self.enforced else {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
        )
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home.parent / "tmp"),
            **nowhere,
            **more,
        }

    def start(
        self,
        command: Sequence[str | Path],
        env: dict[str, str],
        cwd: Path | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[str]:
        """Start a program in the box, in a process group of its own. It ends with the box."""
        started = subprocess.Popen(
            [*self._enter, *map(str, command)],
            cwd=cwd or self.work,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        self._started.append(started)
        return started

    def run(
        self,
        command: Sequence[str | Path],
        env: dict[str, str],
        cwd: Path | None = None,
        timeout: float = 60,
    ) -> Ended:
        """Run a program to its end, with nothing on standard input. One that overstays is killed, with its children, and the test fails with its output."""
        began = time.monotonic()
        started = self.start(command, env, cwd)
        try:
            out, err = started.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(started)
            out, err = started.communicate()
            pytest.fail(
                f"{Path(command[0]).name} did not end in {timeout} s\n--- stdout\n{out}\n--- stderr\n{err}"
            )
        return Ended(started.returncode, out, err, time.monotonic() - began)

    def converse(
        self,
        command: Sequence[str | Path],
        env: dict[str, str],
        lines: Sequence[str],
        answer: Callable[[str], Any],
        timeout: float = 30,
    ) -> Any:
        """Start a program, send it lines, and read its own until one of them is the answer."""
        started = self.start(command, env, stdin=subprocess.PIPE)
        assert started.stdin is not None
        assert started.stdout is not None
        late = threading.Timer(timeout, _kill, [started])
        late.start()
        try:
            started.stdin.writelines(f"{line}\n" for line in lines)
            started.stdin.flush()
            for line in started.stdout:
                if (found := answer(line)) is not None:
                    return found
        finally:
            late.cancel()
            _kill(started)
        pytest.fail(f"{Path(command[0]).name} did not answer in {timeout} s")

    def close(self) -> None:
        for started in self._started:
            _kill(started)
            started.wait()
            for pipe in (started.stdin, started.stdout, started.stderr):
                if pipe is not None:
                    pipe.close()


def first_line(started: subprocess.Popen[str], stream: str = "stdout", timeout: float = 30) -> str:
    """The first line that a program prints, such as the port that it listens on."""
    pipe = getattr(started, stream)
    ready, _, _ = select.select([pipe], [], [], timeout)
    line: str = pipe.readline() if ready else ""
    if not line:
        _kill(started)
        pytest.fail(f"{started.args!r} said nothing in {timeout} s\n{started.communicate()}")
    return line.strip()


def _kill(started: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)


@contextlib.contextmanager
def boxed(folder: Path) -> Iterator[Box]:
    """A box whose home and working directory are made in `folder`."""
    home, work = folder / "home", folder / "project"
    for made in (home, work, folder / "tmp"):
        made.mkdir(parents=True, exist_ok=True)
    command, why_not = namespace()
    with contextlib.ExitStack() as stack:
        box = Box(home, work, enforced=bool(command), why_not=why_not)
        if command:
            ours, theirs = socket.socketpair()
            box._channel = stack.enter_context(ours)
            with theirs:
                holder = subprocess.Popen(
                    [*command, sys.executable, "-I", "-c", HOLDER, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            stack.callback(holder.wait)
            stack.callback(holder.kill)
            ours.settimeout(30)
            assert ours.recv(1) == b"+", "the holder of the network namespace did not start"
            user = ["--user", "--preserve-credentials"] if "-Urn" in command else []
            box._enter = ["nsenter", "--target", str(holder.pid), "--net", *user, "--"]
        stack.callback(box.close)
        yield box
