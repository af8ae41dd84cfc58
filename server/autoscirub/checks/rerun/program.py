"""Finds the program that a rerun starts, on the user's PATH, and the folders that it needs inside the sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.checks.rerun.environment import MAX_FILES, environment_of, fingerprint, settings_of
from autoscirub.errors import SandboxError
from autoscirub.programs import on_path, path_entries
from autoscirub.store import read_regular, sha256_bytes, sha256_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PYTHON = re.compile(r"(python|pypy)(\d+(\.\d+)*)?")
_ASK_SECONDS = 60
_ASK = """
import importlib.metadata, json, platform, site, sys, sysconfig
paths = sysconfig.get_paths()
named = {(d.metadata["Name"] or "?", d.version or "?") for d in importlib.metadata.distributions()}
print(json.dumps({
    "executable": sys.executable,
    "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    "implementation": platform.python_implementation(),
    "version": sys.version,
    "distributions": sorted("==".join(one) for one in named),
    "environment": sys.prefix if sys.prefix != sys.base_prefix else None,
    "sites": sorted({paths["purelib"], paths["platlib"], *site.getsitepackages()}),
    "libraries": sorted({paths["stdlib"], paths["platstdlib"]}),
}))
"""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_BINARIES = ("bin", "sbin", "condabin", "shims")
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""The system's programs, last on PATH inside."""
_TOO_MANY = f"is more than {MAX_FILES:,} files, too many to identify"
_NOT_ASKED = "is unknown: no Python that it may use said what is installed"


@dataclass(frozen=True)
class RunProgram:
    """A command ready to be started inside."""

    command: list[str]
    readable: list[Path]
    path: str
    """PATH inside: where it and its interpreter lie, then the system's programs."""
    environment: dict[str, Any] = field(default_factory=dict)
    """What it runs on: interpreter, installed distributions, their files, platform."""
    unidentified: str = ""
    """Why what it runs on cannot be identified, in words: no answer is reused then; empty where it can."""


def find_program(command: Sequence[str], root: Path) -> RunProgram:
    """Find `command[0]` as a shell in the project's folder would. Raises SandboxError when there is none.

    A name with a slash is relative to the project: one that lies in it is started from the copy. Python is asked
    where its parts are, so that a launcher on PATH is not needed inside; for any other program the Python that
    scripts reach by its name is asked, and made readable too. Nothing that lies in the project is started to be asked:
    of a virtual environment there, its own file says what it needs.
    """
    found = _find(command[0], root)
    first, folders, front, asked, is_python = str(found), [], [found.parent], None, False
    if environment := environment_of(found, root):
        folders = [environment, *_python_folders(_base_of(environment), root), *_program_folders(found, root)]
    elif found.is_relative_to(root):
        first, front = f"./{found.relative_to(root)}", []
    elif (is_python := _PYTHON.fullmatch(found.name) is not None) and (asked := _ask(found, root)):
        first, folders, front = (
            asked["executable"],
            _asked_folders(asked, root),
            [Path(asked["executable"]).parent],
        )
    else:
        folders = _program_folders(found, root)
    if environment is None and asked is None and not is_python:
        # What a system's folder holds is found there all the same: the user's own Python comes before it, as outside.
        front = [folder for folder in front if str(folder) not in _PATH]
        if asked := _ask_on_path(front, root):
            folders += _asked_folders(asked, root)
            front.append(Path(asked["executable"]).parent)
    path = [*map(str, front), *_PATH]
    files = _files(found, root, environment, asked)
    about = {
        "program": command[0],
        "sha256": sha256_file(found),
        "python": {key: asked[key] for key in ("implementation", "version", "distributions")}
        if asked
        else None,
        "environment": _installed(environment) if environment else None,
        "files": files,
        "platform": [
            platform.system(),
            platform.release(),
            platform.machine(),
            "-".join(platform.libc_ver()),
        ],
    }
    return RunProgram(
        [first, *command[1:]],
        list(dict.fromkeys(filter(Path.exists, folders))),
        ":".join(dict.fromkeys(path)),
        about,
        _NOT_ASKED if environment is None and asked is None else _TOO_MANY if files is None else "",
    )


def _find(name: str, root: Path) -> Path:
    found = str(root / name) if "/" in name else on_path(name)
    if found is None or not os.access(found, os.X_OK) or not Path(found).is_file():
        where = "in the project" if "/" in name else "on PATH"
        raise SandboxError(f"{name}: no such program {where}; look at [run] command in autoscirub.toml")
    return Path(os.path.abspath(found))  # noqa: PTH100 - links must stay: an environment's python is one


def _ask_on_path(front: Sequence[Path], root: Path) -> dict[str, Any] | None:
    """What the Python says that a script reaches by its name inside; None where none does.

    The first of: the folders before it inside, the user's PATH, the system's programs. The project's are passed over:
    an environment there that is active outside is not on PATH inside.
    """
    listed = [Path(os.path.abspath(name)) for name in path_entries()]  # noqa: PTH100 - links must stay
    for name in ("python3", "python"):
        for folder in dict.fromkeys([*front, *listed, *map(Path, _PATH)]):
            python = shutil.which(name, path=str(folder))
            if python is None:
                continue
            asked = None if _leads_into(Path(python), root) else _ask(Path(python), root)
            if asked is not None or folder in front or str(folder) in _PATH:
                return asked  # where it says nothing, and is there inside, the next one is not what runs
    return None


def _leads_into(program: Path, root: Path) -> bool:
    """Whether a program lies in the project, or is a link that leads there."""
    return any(Path(os.path.realpath(hop.parent)).is_relative_to(root) for hop in _hops(program))


def _ask(python: Path, root: Path) -> dict[str, Any] | None:
    # Not from within the project: launchers take orders from files that lie there (`.tool-versions`, `mise.toml`).
    version = _pyenv_version(root)
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _ASK],
            cwd="/",
            env={**os.environ, **({"PYENV_VERSION": version} if version else {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return answer if isinstance(answer, dict) and answer.get("executable") else None


def _pyenv_version(root: Path) -> str | None:
    """The version that `.python-version` names, when it is a plain name: some launchers obey a path there."""
    with contextlib.suppress(SandboxError, UnicodeDecodeError):
        data = read_regular(root / ".python-version", limit=1000, within=root, error=SandboxError)
        named = (data or b"").decode("ascii").split()
        if named and all(
            re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+-]*(\.[A-Za-z0-9_+-]+)*", name) for name in named
        ):
            return ":".join(named)
    return None


def _base_of(environment: Path) -> list[Path]:
    """Where a virtual environment's own Python lies, as its `pyvenv.cfg` says; only where a Python is there."""
    home = Path(settings_of(environment).get("home", ""))
    named = home.is_absolute() and home.name in _BINARIES
    return [home.parent] if named and any(_PYTHON.fullmatch(entry.name) for entry in _listed(home)) else []


def _files(found: Path, root: Path, environment: Path | None, asked: dict[str, Any] | None) -> str | None:
    """What stands in for all files of the environment that a program is started from; None for too many.

    An environment of its own counts whole, wherever a program may read in it. Of an interpreter that belongs to no
    environment it is its modules and what is installed for it: the folder that it lies in may be the system's.
    """
    whole = [environment] if environment else []
    libraries: list[Path] = []
    if environment:
        for base in _base_of(environment):
            modules = sorted(base.glob("lib/python*"))
            shared = settings_of(environment).get("include-system-site-packages", "").lower() == "true"
            whole += modules if shared else []
            libraries += modules
    elif not found.is_relative_to(root) and (outside := environment_of(found)):
        whole.append(outside)
    if asked:
        whole += [Path(name) for name in (asked["environment"], *asked["sites"]) if name]
        libraries += [Path(name) for name in asked["libraries"]]
    return fingerprint([*filter(Path.is_dir, whole)], [*filter(Path.is_dir, libraries)], without=root)


def _installed(environment: Path) -> list[str]:
    """The distributions of an environment, by the names of their folders: nothing of it is started."""
    found = [path.name for path in environment.glob("lib/python*/site-packages/*-info")]
    data = (environment / "pyvenv.cfg").read_bytes()
    return sorted([*found, sha256_bytes(data)])


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _asked_folders(asked: dict[str, Any], root: Path) -> list[Path]:
    prefixes = [Path(prefix) for prefix in asked["prefixes"]]
    return [*_python_folders(prefixes, root), *_program_folders(Path(asked["executable"]), root)]


def _python_folders(prefixes: Sequence[Path], root: Path) -> list[Path]:
    real = [Path(os.path.realpath(prefix)) for prefix in prefixes]
    return [folder for folder in (*prefixes, *real) if not _is_system(folder) and not _too_wide(folder, root)]


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
