"""Isolation by bubblewrap: a minimal file system of its own, no network, no view of other processes.

As an ordinary user it runs in a user namespace. As root it does not: there the program would still be root to
every file that is bound, and no limit on processes would hold for it. So root lays out the file system, and the
program is started in it as a user number that nobody else has.
"""

from __future__ import annotations

import functools
import os
import secrets
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.programs import on_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from autoscirub.sandbox.limits import Limits

HOME = "/tmp/.home"  # noqa: S108 - inside: a temporary file system of its own
_ROOTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_READ = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "fonts", "ssl/openssl.cnf")
"""Below /etc: what programs need to start, and nothing that is about this machine's users."""
_NETWORK_READ = ("resolv.conf", "hosts", "nsswitch.conf", "ssl/certs", "ca-certificates", "pki")
_SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_FIRST_USER, _USERS = 1_900_000_000, 100_000_000
"""As root: user numbers above all that systems hand out (systemd's ranges end at 1,879,048,191)."""


def fresh_user() -> int | None:
    """A user number for one run, so that its processes are counted apart; None where we are not root."""
    return _FIRST_USER + secrets.randbelow(_USERS) if os.geteuid() == 0 else None


def hand_over(folder: Path, user: int | None) -> None:
    """Give a folder and all below it to the user of one run. Follows no link."""
    if user is None:
        return
    os.chown(folder, user, user)
    folder.chmod(0o755)  # bwrap itself enters it, as root without root's powers
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(os.path.join(place, name), user, user, follow_symlinks=False)  # noqa: PTH118 - many files


def bubblewrap_command(
    command: Sequence[str],
    *,
    folder: Path,
    mounted_as: Path,
    readable: Sequence[Path],
    environment: Mapping[str, str],
    limits: Limits,
    network: bool,
    user: int | None,
) -> list[str]:
    """The command line that runs `command` inside. `folder` is writable and appears at `mounted_as`."""
    words = [_tool("bwrap"), "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    words += ["--unshare-user", "--disable-userns"] if user is None else []
    words += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"]
    words += [] if user is None else ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in _ROOTS:
        root = Path("/", name)
        if root.is_symlink():
            words += ["--symlink", str(root.readlink()), str(root)]
        elif root.is_dir():
            words += ["--ro-bind", str(root), str(root)]
    words += _open_folders(["/etc", "/etc/ssl"])
    for name in (*_READ, *(_NETWORK_READ if network else ())):
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    temporary = ["--size", str(min(limits.disk, limits.memory)), "--perms", "1777", "--tmpfs"]
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", *temporary, "/dev/shm"]  # noqa: S108
    words += [*temporary, "/tmp", "--perms", "1777", "--dir", HOME]  # noqa: S108
    # Outer folders first, so that an inner one is not hidden; the program's own folder over what it lies in.
    binds = [(path, path, "--ro-bind") for path in readable] + [(folder, mounted_as, "--bind")]
    for source, target, how in sorted(binds, key=lambda bind: (len(bind[1].parts), bind[2])):
        words += [
            *_open_folders(str(parent) for parent in reversed(target.parents)),
            how,
            str(source),
            str(target),
        ]
    words += ["--remount-ro", "/", "--chdir", str(mounted_as), "--clearenv"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    words += ["--"]
    if user is not None:
        words += [_tool("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    bounds = [f"--{name}={value}" for name, value in limits.rlimits().items()]
    return [*words, _tool("prlimit"), *bounds, "--", *command]


def bubblewrap_missing() -> list[str]:
    """The programs that bubblewrap needs and that are nowhere on PATH. Starts nothing, so it may still refuse."""
    needed = ["bwrap", "prlimit", *(["setpriv"] if os.geteuid() == 0 else [])]
    return [name for name in needed if not _found(name)]


def bubblewrap_problem(limits: Limits) -> str | None:
    """Why bubblewrap cannot be used here; None when it can. Tried once in a process, on `true`."""
    return _problem(os.environ.get("PATH", ""), limits)


@functools.cache
def _problem(_path: str, limits: Limits) -> str | None:
    if missing := bubblewrap_missing():
        return f"{', '.join(missing)}: not installed (Debian: apt install bubblewrap util-linux)"
    folder = Path("/usr/share")
    words = bubblewrap_command(
        ["true"],
        folder=folder,
        mounted_as=Path("/sandbox"),
        readable=[],
        environment={"PATH": "/usr/bin:/bin"},
        limits=limits,
        network=False,
        user=fresh_user(),
    )
    try:
        tried = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not start: {error}"
    errors = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return None if tried.returncode == 0 else f"bwrap refuses: {errors[-1] if errors else tried.returncode}"


def _found(name: str) -> str | None:
    return on_path(name, _SYSTEM_PATH)


def _open_folders(folders: Iterable[str]) -> list[str]:
    # Those that bubblewrap makes by itself are closed to any user but its own.
    made = (name for name in folders if name not in ("/", "/tmp"))  # noqa: S108
    return [word for name in made for word in ("--perms", "0755", "--dir", name)]


def _tool(name: str) -> str:
    return _found(name) or name
