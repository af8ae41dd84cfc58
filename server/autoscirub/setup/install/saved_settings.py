"""Saves the user's settings files before `install`, so that `uninstall` can restore them.

A client adds and removes its own keys, and may leave empty ones and another layout behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from autoscirub.errors import StateError
from autoscirub.models import strict_json
from autoscirub.store import read_regular, sha256_bytes

_RECORD = "before.json"
_LIMIT = 16 * 1024 * 1024
_LEFT_EMPTY = ("enabledPlugins", "extraKnownMarketplaces")
"""What Claude Code leaves in its settings when the last entry goes."""


def keep_settings(place: Path, files: list[Path]) -> None:
    """Copy each of `files` to `place`, once: a copy that exists is from before the first install.

    Raises StateError where one cannot be read, or the copy cannot be written.
    """
    record = _record(place)
    for path in files:
        if str(path) in record:
            continue
        data = _read(path)
        copy = None
        if data is not None:
            copy = f"before-{sha256_bytes(os.fsencode(path))[:8]}-{path.name}"
            _write(place / copy, data, 0o600)
        record[str(path)] = {"copy": copy, "folder": path.parent.exists()}
    _write(place / _RECORD, strict_json(record).encode("utf-8"), 0o600)


def saved_settings(place: Path) -> list[Path]:
    """The settings files of which a copy is saved there."""
    return [Path(name) for name in _record(place)]


def put_back(place: Path) -> list[str]:
    """Restore each saved JSON file whose content is the same as before, and drop the copies. Returns what was done.

    A file that has other changes since stays as it is, without the plugin's entries, which the client has removed.
    So does TOML: Codex edits it in place, and a comment added since must not be lost.
    """
    done: list[str] = []
    for name, facts in _record(place).items():
        path = Path(name)
        before = _read(place / facts["copy"]) if facts.get("copy") else None
        now = _read(path)
        if now == before or now is None or _meaning(now) != _meaning(before):
            continue
        if before is not None:
            target = Path(os.path.realpath(path))  # a link, as people with dotfiles have, stays one
            _write(target, before, stat.S_IMODE(target.stat().st_mode))
            done.append(f"{path}: as it was before")
        else:
            path.unlink()
            if not facts.get("folder"):
                with contextlib.suppress(OSError):
                    path.parent.rmdir()
            done.append(f"{path}: removed; it was not there before")
    for facts in _record(place).values():
        if facts.get("copy"):
            (place / facts["copy"]).unlink(missing_ok=True)
    (place / _RECORD).unlink(missing_ok=True)
    return done


def _meaning(data: bytes | None) -> Any:
    """What a JSON settings file says, without keys that a client left empty; of any other file the bytes themselves."""
    if data is None or not data.strip():
        return {}
    try:
        value = json.loads(data)
    except ValueError:
        return data
    if not isinstance(value, dict):
        return data
    return {key: entry for key, entry in value.items() if not (key in _LEFT_EMPTY and entry == {})}


def _record(place: Path) -> dict[str, dict[str, Any]]:
    data = _read(place / _RECORD)
    if data is None:
        return {}
    try:
        record = json.loads(data)
    except ValueError:
        raise StateError(f"{place / _RECORD}: is no JSON; move it away") from None
    return record if isinstance(record, dict) else {}


def _read(path: Path) -> bytes | None:
    return read_regular(Path(os.path.realpath(path)), limit=_LIMIT)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace a file atomically; it may hold keys, so it is never more open than `mode`."""
    temporary = path.with_name(f".tmp-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as cause:
        temporary.unlink(missing_ok=True)
        raise StateError(f"{path}: cannot be written: {cause.strerror}") from cause
