"""Running git so that neither the repository nor the environment decides which programs run.

A repository's own configuration can name programs (hooks, filters, a file-system monitor, an external diff,
transports), and so can `GIT_*` variables. Every call here overrides the first and drops the second.
"""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from autoscirub.errors import HistoryError
from autoscirub.programs import on_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

SAFE_CONFIGURATION: tuple[tuple[str, str], ...] = (
    # programs that a repository's configuration could name
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", ""),
    ("diff.external", ""),
    ("credential.helper", ""),
    ("uploadpack.packObjectsHook", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("log.showSignature", "false"),
    # transports; GIT_ALLOW_PROTOCOL also overrides protocol.<name>.allow
    ("protocol.allow", "never"),
    # git's own housekeeping, which starts processes and writes
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.untrackedCache", "false"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    # files that git would read: they could be FIFOs
    ("core.attributesFile", os.devnull),
    ("core.excludesFile", os.devnull),
    # a bare repository lying in a work tree is never taken for the repository
    ("safe.bareRepository", "explicit"),
)

SAFE_ENVIRONMENT: dict[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_PAGER": "cat",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}

MOST_OUTPUT = 64 * 1024 * 1024
_MOST_STDERR = 64 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True)
class GitAnswer:
    """The result of one git command. `status` is negative when a signal ended it."""

    status: int
    out: bytes
    err: str


class GitRunner:
    """Git commands in one place, isolated.

    `where` is the working directory. With `git_dir` that repository is used and nothing is searched for.
    `configuration` comes after SAFE_CONFIGURATION, so it wins. `environment` likewise; a variable set to
    None there is left out of it.
    """

    def __init__(
        self,
        where: Path,
        *,
        git_dir: Path | None = None,
        options: Sequence[str] = (),
        configuration: Sequence[tuple[str, str]] = (),
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        self._options = [f"--git-dir={git_dir}"] if git_dir is not None else []
        self._options += ["--no-pager", *options]
        for key, value in (*SAFE_CONFIGURATION, *configuration):
            self._options += ["-c", f"{key}={value}"]
        merged = {**SAFE_ENVIRONMENT, **(environment or {})}
        self._git = _isolated_git()(
            os.fspath(where),
            self._options,
            {name: value for name, value in merged.items() if value is not None},
        )

    def run(
        self,
        *arguments: str,
        stdin: BinaryIO | None = None,
        accept: Collection[int] | None = (0,),
        seconds: float = 120,
        most: int = MOST_OUTPUT,
    ) -> GitAnswer:
        """One command to its end. `accept` None takes every status.

        Raises HistoryError for a status outside `accept`, more than `most` bytes of output, or when it
        takes longer than `seconds`.
        """
        with self.started(*arguments, stdin=stdin) as process:
            answer = finish(process, arguments[0], seconds=seconds, most=most)
        if accept is not None and answer.status not in accept:
            raise HistoryError(f"git {arguments[0]} failed (status {answer.status}): {plain(answer.err)}")
        return answer

    @contextlib.contextmanager
    def started(
        self, *arguments: str, stdin: BinaryIO | int | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A running command, ended on the way out if it still runs then."""
        process = self._start(arguments, stdin)
        try:
            yield process
        finally:
            if process.poll() is None:
                _kill(process)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # what was still to be written has no reader
                        pipe.close()
            process.wait()

    def _start(self, arguments: Sequence[str], stdin: BinaryIO | int | None) -> subprocess.Popen[bytes]:
        from git.exc import GitCommandNotFound

        try:
            wrapper = self._git.execute(["git", *arguments], istream=stdin, as_process=True)
        except (GitCommandNotFound, OSError, ValueError) as error:  # ValueError: a NUL in an argument
            raise HistoryError(f"git {arguments[0]} could not be started: {plain(str(error))}") from error
        process: subprocess.Popen[bytes] = wrapper.proc
        wrapper.proc = None  # the wrapper would end the process when it is collected; `started` does that
        return process

    def object_info(self, name: str) -> tuple[str, str, int] | None:
        """Object id, type and size in bytes of the object `name`; None when there is none."""
        try:
            oid, kind, size = self._git.get_object_header(name)
        except (ValueError, OSError) as error:
            if "could not be resolved" not in str(error):
                self.close()  # it died over the object; the next call restarts it
            return None
        return _text(oid), _text(kind), size

    def object_bytes(self, name: str) -> bytes:
        """The bytes of the object `name`; ask `object_info` for its size first. Raises HistoryError."""
        try:
            data: bytes = self._git.get_object_data(name)[3]
        except (ValueError, OSError) as error:
            self.close()
            raise HistoryError(f"git could not read the object {name}: {plain(str(error))}") from error
        return data

    def close(self) -> None:
        """End the processes that `object_info` and `object_bytes` keep running."""
        self._git.clear_cache()


def finish(
    process: subprocess.Popen[bytes], name: str, *, seconds: float, most: int = MOST_OUTPUT
) -> GitAnswer:
    """Read a process to its end, both outputs at once and neither without bound. Raises HistoryError."""
    deadline = time.monotonic() + seconds
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, buffer in ((process.stdout, out), (process.stderr, err)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, buffer)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                _kill(process)
                raise HistoryError(f"git {name} took longer than {seconds:g} s and was ended")
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data is out:
                    out += chunk
                elif len(err) < _MOST_STDERR:
                    err += chunk
            if len(out) > most:
                _kill(process)
                raise HistoryError(f"git {name} answered more than {most:,} bytes and was ended")
    try:
        status = process.wait(max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _kill(process)
        raise HistoryError(f"git {name} took longer than {seconds:g} s and was ended") from None
    return GitAnswer(status, bytes(out), err.decode("utf-8", "replace"))


def git_program() -> str:
    """The absolute path of git, from PATH. Raises HistoryError saying how to install it.

    Entries of PATH that are not absolute are passed over: they would look for git in the project.
    """
    program = on_path("git")
    if program is None:
        raise HistoryError(
            "git is not on PATH, and the history needs it; install it (Debian, Ubuntu: `apt install git`; "
            "Fedora: `dnf install git`; macOS: `xcode-select --install`) and run this again"
        )
    return program


def git_version() -> str:
    """The version of git, asked outside of any repository. Raises HistoryError where it does not start."""
    answer = GitRunner(Path("/")).run("--version", seconds=20)
    return answer.out.decode("utf-8", "replace").strip().removeprefix("git version ")


def plain(text: str, limit: int = 300) -> str:
    """Git's own words as one short printable line: what it quotes may come from a stranger's repository."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    line = "; ".join(telling[:3]) or "it printed nothing"
    return "".join(char if char.isprintable() else "?" for char in line)[:limit]


def _text(value: str | bytes) -> str:
    # GitPython declares str and returns bytes.
    return value.decode("ascii") if isinstance(value, bytes) else value


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@functools.cache
def _isolated_git() -> Any:
    git_program()  # says how to install it; GitPython's own message at import does not
    try:
        from git.cmd import Git
    except ImportError as error:
        raise HistoryError(
            f"GitPython cannot use git: {plain(str(error))}; unset GIT_PYTHON_GIT_EXECUTABLE and "
            "GIT_PYTHON_REFRESH if they are set, or install git"
        ) from error

    class IsolatedGit(Git):
        """GitPython's command object, with every command's options and environment decided here."""

        def __init__(self, where: str, options: list[str], environment: dict[str, str]) -> None:
            super().__init__(None)
            # Set directly: GitPython would expand `$NAME` and `~` in a folder's name.
            self._working_dir = where
            self._isolation = options
            self.update_environment(**environment)

        def execute(self, command: Any, *arguments: Any, **options: Any) -> Any:
            options.setdefault("start_new_session", True)  # so that a time limit ends its children too
            call = [*self._without_outer_variables(), git_program(), *self._isolation, *command[1:]]
            return super().execute(call, *arguments, **options)

        def _without_outer_variables(self) -> list[str]:
            # GitPython copies os.environ, and can add to it but not take away; `env -u` can.
            outer = [name for name in os.environ if name.startswith("GIT_") and name not in self._environment]
            if not outer:
                return []
            env = on_path("env")
            if env is None:
                raise HistoryError(
                    f"unset {', '.join(outer)}: they cannot be hidden from git here without `env`"
                )
            return [env, *(part for name in outer for part in ("-u", name))]

    return IsolatedGit
