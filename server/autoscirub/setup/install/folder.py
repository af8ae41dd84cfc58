"""Builds the clean copy of the plugin that a client loads: from package data, with absolute commands.

A checkout holds a `.git` and a `.venv`, and both clients copy the whole folder that holds the plugin. And `autoscirub`
need not be on a client's PATH, so the copy names the interpreter that this runs in.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from autoscirub.data import PLUGIN_PARTS, data_dir
from autoscirub.errors import ClientError, StateError
from autoscirub.setup.clients import passed_on
from autoscirub.version import __version__

_PROGRAM = "autoscirub"
_SECONDS = 30.0


def server_command() -> tuple[str, ...]:
    """Program and arguments that start the MCP server, wherever it is started.

    With `-P`, since the working directory is a project's: a file `autoscirub.py` or `json.py` there must not be run.
    """
    return (*_started(), "serve")


def _started() -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", _PROGRAM)


def refuse_unstartable() -> None:
    """Raise ClientError where that interpreter does not find this package without our environment.

    Codex passes HOME, LANG, PATH and TMPDIR alone, so a PYTHONPATH that helped us will not help there.
    """
    command = [*_started(), "--version"]
    try:
        done = subprocess.run(
            command,
            cwd=tempfile.gettempdir(),
            env=passed_on(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.TimeoutExpired) as cause:
        output = f"{type(cause).__name__}"
    if output != f"autoscirub {__version__}":
        raise ClientError(
            f"{shlex.join(command)}: does not say autoscirub {__version__} by itself, so a client could not start "
            "the server; install the package for that interpreter (pip install, not PYTHONPATH), and run this again"
        )


def passing_interpreter() -> str | None:
    """A warning where this interpreter lies in a cache that a tool may empty at any time; None elsewhere."""
    if {"archive-v0", "builds-v0", "environments-v2"} & {*Path(sys.executable).parts}:
        return (
            f"{sys.executable} lies in a cache that uv may empty, and the server is gone with it; "
            "for good: uv tool install autoscirub, and then autoscirub install again"
        )
    return None


def plugin_files() -> dict[str, bytes]:
    """Every file of the copy: its path with forward slashes, and its bytes. Raises StateError where data is missing."""
    found: dict[str, bytes] = {}
    root = data_dir("plugin")
    for part in PLUGIN_PARTS:
        found |= _files(root / part, part)
    for kind in ("skills", "hooks"):
        found |= _files(data_dir(kind), kind)
    for name in (".mcp.json", "hooks/hooks.json"):
        found[name] = _absolute(name, found[name])
    return found


def _files(path: Path, name: str) -> dict[str, bytes]:
    try:
        if path.is_file():
            return {name: path.read_bytes()}
        inner = [
            each for each in sorted(path.rglob("*")) if each.is_file() and "__pycache__" not in each.parts
        ]
        found = {f"{name}/{each.relative_to(path).as_posix()}": each.read_bytes() for each in inner}
    except OSError as cause:
        raise StateError(f"{path}: cannot be read: {cause.strerror}; install the package again") from cause
    if not found:
        raise StateError(f"{path}: is missing; it ships with autoscirub, so install the package again")
    return found


def _absolute(name: str, data: bytes) -> bytes:
    """The file with each command that begins with `autoscirub` made absolute. Raises StateError for any other."""
    content = json.loads(data)
    _rewrite(name, content)
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _rewrite(name: str, value: Any) -> None:
    if isinstance(value, list):
        for entry in value:
            _rewrite(name, entry)
    elif isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, str):
            words = [command] if "args" in value else shlex.split(command)
            if not words or words[0] != _PROGRAM:
                raise StateError(
                    f"{name}: starts {command!r}, expected {_PROGRAM}; install the package again"
                )
            if "args" in value:
                first, *before = _started()
                value["command"], value["args"] = first, [*before, *value["args"]]
            else:
                value["command"] = shlex.join([*_started(), *words[1:]])
        for entry in value.values():
            _rewrite(name, entry)


def same_files(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether `folder` holds exactly these files."""
    try:
        there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
        return there.keys() == files.keys() and all(
            path.is_file() and path.stat().st_size == len(files[name]) and path.read_bytes() == files[name]
            for name, path in there.items()
        )
    except OSError:
        return False


def lay_folder(folder: Path, files: dict[str, bytes]) -> Path | None:
    """Replace `folder` by one with these files; returns where the old one was put aside, if there was one.

    Raises ClientError, with everything as it was, where that cannot be done.
    """
    aside = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
        try:
            for name, data in files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            made.chmod(0o755)
            if folder.exists():
                aside = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent)) / folder.name
                folder.rename(aside)
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            if aside is not None and aside.exists() and not folder.exists():
                aside.rename(folder)
            raise
    except OSError as cause:
        raise ClientError(
            f"{folder}: cannot be written: {cause.strerror}; make {folder.parent} writable"
        ) from cause
    return aside
