"""What a rerun starts: found outside, on the user's PATH, with the folders that it needs to start inside."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import SandboxError
from autoscirub.store import sha256_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Program", "find_program"]

_PYTHON = re.compile(r"(python|pypy)(\d+(\.\d+)*)?")
_ASK_SECONDS = 60
_ASK = """
import importlib.metadata, json, platform, sys
named = {(d.metadata["Name"] or "?", d.version or "?") for d in importlib.metadata.distributions()}
print(json.dumps({
    "executable": sys.executable,
    "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    "implementation": platform.python_implementation(),
    "version": sys.version,
    "distributions": sorted("==".join(one) for one in named),
}))
"""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_BINARIES = ("bin", "sbin", "condabin", "shims")


@dataclass(frozen=True)
class Program:
    """A command ready to be started inside."""

    command: list[str]
    readable: list[Path]
    path: str
    """PATH inside: where it and its interpreter lie, then the system's programs."""
    environment: dict[str, Any] = field(default_factory=dict)
    """What it runs on: interpreter, installed distributions, platform."""


def find_program(command: Sequence[str], root: Path) -> Program:
    """Find `command[0]` as a shell in the project's folder would. Raises SandboxError when there is none.

    A name with a slash is relative to the project: one that lies in it is started from the copy. Python is asked
    where its parts are, so that a launcher on PATH is not needed inside; for any other program the Python on
    PATH is made readable too, because scripts call it.
    """
    found = _find(command[0], root)
    asked = _ask(found, root) if _PYTHON.fullmatch(found.name) else None
    folders: list[Path] = []
    first = command[0] if "/" in command[0] and not command[0].startswith("/") else str(found)
    if asked:
        started = Path(asked["executable"])
        first = str(started)
        folders += _python_folders(asked, root)
        front = [started.parent]
    else:
        if not _inside(found, root):
            folders += _program_folders(found, root)
        front = [found.parent] if not _inside(found, root) else []
        python = shutil.which("python3") or shutil.which("python")
        if python and (asked := _ask(Path(python), root)):
            folders += _python_folders(asked, root)
            front.append(Path(asked["executable"]).parent)
    path = [str(folder) for folder in front] + ["/usr/local/bin", "/usr/bin", "/bin"]
    about = {
        "program": command[0],
        "sha256": None if asked else sha256_file(found),
        "python": {key: asked[key] for key in ("implementation", "version", "distributions")}
        if asked
        else None,
        "platform": [
            platform.system(),
            platform.release(),
            platform.machine(),
            "-".join(platform.libc_ver()),
        ],
    }
    return Program([first, *command[1:]], list(dict.fromkeys(folders)), ":".join(dict.fromkeys(path)), about)


def _find(name: str, root: Path) -> Path:
    found = str(root / name) if "/" in name else shutil.which(name)
    if found is None or not os.access(found, os.X_OK) or not Path(found).is_file():
        where = "in the project" if "/" in name else "on PATH"
        raise SandboxError(f"{name}: no such program {where}; look at [run] command in autoscirub.toml")
    return Path(os.path.abspath(found))  # noqa: PTH100 - links must stay: an environment's python is one


def _ask(python: Path, root: Path) -> dict[str, Any] | None:
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _ASK],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return answer if isinstance(answer, dict) and answer.get("executable") else None


def _python_folders(asked: dict[str, Any], root: Path) -> list[Path]:
    prefixes = [Path(prefix) for prefix in asked["prefixes"]]
    real = [Path(os.path.realpath(prefix)) for prefix in prefixes]
    kept = [folder for folder in (*prefixes, *real) if not _is_system(folder) and not _too_wide(folder, root)]
    return [*kept, *_program_folders(Path(asked["executable"]), root)]


def _program_folders(program: Path, root: Path) -> list[Path]:
    """The folder that a program belongs to, at each link on the way to it; the file alone where that is too wide."""
    folders = []
    for place in _hops(program):
        folder = place.parent.parent if place.parent.name in _BINARIES else place.parent
        if not _is_system(place):
            folders.append(place if _too_wide(folder, root) else folder)
    return folders


def _hops(program: Path) -> Iterator[Path]:
    for _ in range(40):
        yield program
        if not program.is_symlink():
            break
        program = Path(os.path.normpath(program.parent / program.readlink()))
    yield Path(os.path.realpath(program))


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _SYSTEM)


def _too_wide(folder: Path, root: Path) -> bool:
    """Whether making a folder readable would show what is no part of a program: a home, or the project."""
    home = Path.home()
    closed = (home, home / ".local", home / ".config", root, Path("/etc"), Path("/tmp"), Path("/var"))  # noqa: S108
    return any(place.is_relative_to(folder) for place in closed)


def _inside(path: Path, root: Path) -> bool:
    return path.is_relative_to(root)
