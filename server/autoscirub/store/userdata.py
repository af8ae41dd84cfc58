"""The user's own data directory: what this machine remembers about projects, outside of them.

Small JSON files, each changed under a lock and replaced atomically. Without such a directory (a container,
a read-only home) everything here answers "nothing is remembered".
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import BusyError, CorruptError, StateError
from autoscirub.models import now, strict_json
from autoscirub.store.files import read_regular, write_atomic
from autoscirub.store.strictjson import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

DATA_DIR_VARIABLE = "AUTOSCIRUB_DATA_DIR"
_LIMIT = 16 * 1024 * 1024
_LOCK_SECONDS = 30.0


def user_data_path() -> Path | None:
    """Where the directory is or would be, absolute; None where there is no home to put it in. Makes nothing."""
    return _named_directory()


def user_data_dir(*, create: bool = True) -> Path | None:
    """The directory, absolute; None where it cannot be made or written.

    AUTOSCIRUB_DATA_DIR names it, else the platform's data directory does (XDG_DATA_HOME is honoured). An
    empty variable counts as unset. With `create` False nothing is made: None when it is not there.
    """
    directory = _named_directory()
    if directory is None:
        return None
    if not create:
        return directory if directory.is_dir() else None
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return directory if os.access(directory, os.W_OK | os.X_OK) else None


def read_user_json(name: str, directory: Path | None = None) -> dict[str, Any]:
    """The object in the file `name` of the data directory; {} when it is not there. Writes nothing.

    `directory` stands in for `user_data_dir(create=False)`. Raises CorruptError when the file is no JSON
    object, and StateError when it is no regular file.
    """
    directory = directory or user_data_dir(create=False)
    if directory is None:
        return {}
    data = read_regular(directory / name, limit=_LIMIT)
    if data is None:
        return {}
    try:
        value = parse(data)
    except JsonFault as fault:
        raise CorruptError(f"{directory / name}: {fault}; move it away or fix it") from None
    if not isinstance(value, dict):
        raise CorruptError(f"{directory / name}: is {type(value).__name__}, expected a JSON object")
    return value


def write_user_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace one file atomically: a reader sees the old object or the new. Raises StateError."""
    try:
        data = strict_json(dict(value)).encode("utf-8")
    except ValueError as error:
        raise StateError(f"{path}: not written: {error}") from None
    try:
        write_atomic(path, data)
    except StateError as error:  # its advice is about the state directory
        raise StateError(
            f"{path}: cannot be written ({error.__cause__}); make {path.parent} writable, or set "
            f"{DATA_DIR_VARIABLE} to a folder that is"
        ) from error


def update_user_json(
    name: str, change: Callable[[dict[str, Any]], dict[str, Any]], directory: Path | None = None
) -> None:
    """Read, change and replace the file `name` under a lock, so that no other process's change is lost.

    A file that cannot be read is moved aside to `<name>.corrupt-<time>` and started afresh. Raises StateError
    where there is no data directory or it cannot be written, and BusyError when its lock is held too long.
    """
    directory = directory or user_data_dir()
    if directory is None:
        raise StateError(
            f"you have no data directory to store {name} in: {_named_directory() or 'no home'} cannot "
            f"be created or written; set {DATA_DIR_VARIABLE} to a folder that can"
        )
    path = directory / name
    with held(path.with_name(f".{name}.lock")):
        try:
            value = read_user_json(name, directory)
        except CorruptError:
            stamp = now().replace(":", "").replace("-", "")
            path.replace(path.with_name(f"{name}.corrupt-{stamp}"))
            value = {}
        write_user_json(path, change(value))


@contextlib.contextmanager
def held(lock: Path, *, seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Hold the file lock `lock`, waiting at most `seconds`. Raises BusyError, or StateError without locks."""
    import filelock

    guard = filelock.FileLock(lock)
    try:
        guard.acquire(timeout=seconds)
    except filelock.Timeout:
        raise BusyError(
            f"{lock}: held by another process for {seconds:g} s; wait for it to end and run this again"
        ) from None
    except (OSError, NotImplementedError) as cause:
        raise StateError(
            f"{lock}: cannot be locked: {cause}; set {DATA_DIR_VARIABLE} to a local folder"
        ) from cause
    try:
        yield
    finally:
        guard.release()


def _named_directory() -> Path | None:
    named = os.environ.get(DATA_DIR_VARIABLE, "")
    if named:
        return Path(os.path.abspath(os.path.expanduser(named)))  # noqa: PTH100, PTH111 - `~` without a home must not raise
    from platformdirs import user_data_path

    directory = user_data_path("autoscirub", appauthor=False)
    # Without a home, `~` stays in it: that would be a folder named "~" in the working directory.
    return directory if directory.is_absolute() else None
