"""The state directory: reading, and atomic, locked, validated writing."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from autoscirub.data import template
from autoscirub.errors import CorruptError, NewerVersionError, StateError
from autoscirub.models import SCHEMA_VERSION, StateModel, now, strict_json
from autoscirub.store.files import TEMPORARY_PREFIX, read_regular, refuse_unusable, write_atomic
from autoscirub.store.locks import state_lock
from autoscirub.store.strictjson import JsonFault, lines_of, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CORRUPT_MARK = ".corrupt-"
ASIDE_MARK = ".aside-"
_LIMIT = 64 * 1024 * 1024
_MODEL_LIMIT = 16 * 1024 * 1024
"""Bytes. A file of nothing but faults costs the validator some 250 times its size."""
_MAX_FAULTS = 20
_NOT_COMMITTED = ("jobs", "logs")

Model = TypeVar("Model", bound=StateModel)


class StateStore:
    """One state directory.

    Reading takes no lock and writes nothing. Writing happens inside `writing()`, which holds the lock;
    there, a file that cannot be read is moved aside and reported in `notices`, never overwritten.
    One store belongs to one thread; two stores of one directory, in any threads or processes, take turns.
    """

    def __init__(self, root: Path, *, lock_seconds: float = 60) -> None:
        self.root = root
        self.notices: list[str] = []
        self._lock_seconds = lock_seconds
        self._held = False

    def exists(self) -> bool:
        """Whether there is a state directory yet."""
        return self.root.is_dir()

    @contextlib.contextmanager
    def writing(self) -> Iterator[StateStore]:
        """Make the directory if need be and hold its lock. Raises BusyError and StateError."""
        if self._held:  # a step within a step: the lock is ours already
            yield self
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise StateError(
                f"{self.root}: cannot be created: {cause.strerror}; make its parent writable, or name another "
                "state directory with --state-dir or AUTOSCIRUB_STATE_DIR"
            ) from cause
        with state_lock(self.root, seconds=self._lock_seconds, notices=self.notices):
            self._held = True
            try:
                yield self
            finally:
                self._held = False

    def read_bytes(self, name: str, *, limit: int = _LIMIT) -> bytes | None:
        """A file's bytes; None when it is not there. Raises StateError for anything but a regular file."""
        return read_regular(self.root / name, limit=limit, within=self.root)

    def read(self, model: type[Model], name: str | None = None) -> Model | None:
        """The file `name` (default: the model's own name) as its model; None when it is not there.

        Raises NewerVersionError before anything else is checked, and CorruptError, except inside
        `writing()`, where a corrupt file is moved aside, reported, and read as not there.
        """
        name = name or model.file_name
        data = self.read_bytes(name, limit=_MODEL_LIMIT)
        if data is None:
            return None
        try:
            return decode(data, model, name)
        except CorruptError as error:
            if not self._held:
                raise
            aside = self.move_aside(name)
            self.notices.append(f"{error}; moved aside to {aside}")
            return None

    def write(self, value: StateModel, name: str | None = None) -> None:
        """Write a model to its file, atomically. Only inside `writing()`."""
        self.write_bytes(name or value.file_name, strict_json(value).encode("utf-8"))

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write bytes to a file, atomically. Only inside `writing()`."""
        self._require_lock(name)
        write_atomic(self.root / name, data, within=self.root)

    def remove(self, name: str) -> None:
        """Remove a file, where it is there. Only inside `writing()`."""
        self._require_lock(name)
        path = self.root / name
        refuse_unusable(path, self.root, StateError)
        try:
            path.unlink(missing_ok=True)
        except OSError as cause:
            raise StateError(f"{path}: cannot be removed: {cause.strerror}") from cause

    def update(self, model: type[Model], change: Callable[[Model], Model], name: str | None = None) -> Model:
        """Read, change and write back under one lock, so that no other write is lost."""
        with self.writing():
            changed = change(self.read(model, name) or model())
            self.write(changed, name)
        return changed

    def append_line(self, name: str, value: BaseModel | dict[str, Any]) -> None:
        """Add one line to a .jsonl file. A line that a kill cut off stays where it is, on its own line."""
        with self.writing():
            text = self.read_bytes(name) or b""
            if text and not text.endswith(b"\n"):
                text += b"\n"
            self.write_bytes(name, text + strict_json(value, indent=None).encode("utf-8"))

    def read_lines(self, name: str) -> tuple[list[dict[str, Any]], list[str]]:
        """The objects of a .jsonl file, and a fault for each line that is none (a cut-off one)."""
        values: list[dict[str, Any]] = []
        faults: list[str] = []
        for number, line in enumerate((self.read_bytes(name) or b"").split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                value = parse(line)
            except JsonFault as fault:
                faults.append(f"{name}: line {number} {fault.problem}; it is skipped, the others are read")
                continue
            if isinstance(value, dict):
                values.append(value)
            else:
                faults.append(
                    f"{name}: line {number} is {type(value).__name__}, expected an object; it is skipped"
                )
        return values, faults

    def move_aside(self, name: str, *, mark: str = CORRUPT_MARK) -> str:
        """Rename a file that cannot be read to `<name>.corrupt-<time>` (or another `mark`), and return the new name."""
        self._require_lock(name)
        stamp = now().replace(":", "").replace("-", "")
        aside = f"{name}{mark}{stamp}"
        number = 1
        while os.path.lexists(self.root / aside):
            number += 1
            aside = f"{name}{mark}{stamp}-{number}"
        try:
            (self.root / name).rename(self.root / aside)
        except OSError as cause:
            raise StateError(
                f"{self.root / name}: cannot be read, and cannot be moved aside: {cause.strerror}"
            ) from cause
        return aside

    def files(self) -> list[str]:
        """Every regular file that belongs to the record, sorted: no locks, logs, jobs or half-written files."""
        found: list[str] = []
        try:
            for folder, folders, names in os.walk(self.root, onerror=_refuse_unlisted):
                relative = os.path.relpath(folder, self.root)
                if relative == ".":
                    folders[:] = [name for name in folders if name not in _NOT_COMMITTED]
                for name in names:
                    path = os.path.normpath(os.path.join(relative, name))  # noqa: PTH118 - pure text, many files
                    if not _passing(name) and _is_regular(self.root / path):
                        found.append(path)
        except RecursionError:  # before Python 3.12, os.walk calls itself
            raise StateError(f"{self.root}: folders in it are nested too deeply to be listed") from None
        return sorted(found)

    def _require_lock(self, name: str) -> None:
        if not self._held:
            raise StateError(f"{self.root / name}: written without holding the state directory's lock")


def _refuse_unlisted(cause: OSError) -> None:
    # os.walk would leave out a folder that it may not list, and with it a part of the record.
    if not isinstance(cause, FileNotFoundError):
        raise StateError(f"{cause.filename}: cannot be listed: {cause.strerror}; make it readable") from cause


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:  # gone since it was listed
        return False


def _passing(name: str) -> bool:
    return name.startswith((TEMPORARY_PREFIX, ".lock", "history.bundle"))


def lay_gitignore(root: Path) -> None:
    """Write the `.gitignore` that keeps passing files out of git, unless there is one."""
    if not os.path.lexists(root / ".gitignore"):
        write_atomic(root / ".gitignore", template("gitignore").encode("utf-8"), within=root)


def decode(data: bytes, model: type[Model], name: str) -> Model:
    """`data` as `model`. Raises NewerVersionError first, then CorruptError with every fault, path and line."""
    try:
        raw = parse(data)
    except JsonFault as fault:
        raise CorruptError(f"{name}: {fault}") from None
    if isinstance(raw, dict):
        _refuse_newer(raw.get("schema_version", SCHEMA_VERSION), name)
    faults, value = model_faults(data, model, name)
    if value is None:
        raise CorruptError("\n".join(faults))
    return value


def model_faults(data: bytes, model: type[Model], name: str) -> tuple[list[str], Model | None]:
    """Every way in which `data` (JSON that parses) is not a `model`, each with its JSON path and line."""
    try:
        return [], model.model_validate_json(data.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        listed = error.errors(include_url=False, include_context=False)[:_MAX_FAULTS]
        lines = lines_of(data.decode("utf-8-sig"), [tuple(fault["loc"]) for fault in listed])
        faults = [_fault(name, lines, fault) for fault in listed]
        if (more := error.error_count() - len(listed)) > 0:
            faults.append(f"{name}: and {more:,} more faults")
        return faults, None


def json_path(path: tuple[str | int, ...]) -> str:
    """A path as people write it: $.criteria[2].priority."""
    return "$" + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" if re.fullmatch(r"\w+", part) else f"[{part!r}]"
        for part in path
    )


def _fault(name: str, lines: dict[tuple[str | int, ...], int | None], fault: Any) -> str:
    path = tuple(fault["loc"])
    line = lines[path]
    place = f" (line {line})" if line else ""
    message = fault["msg"].removeprefix("Value error, ")
    quoted = "" if fault["type"] in {"missing", "value_error"} else f" {_short(fault['input'])}:"
    return f"{name}: {json_path(path)}{place}:{quoted} {message[:1].lower()}{message[1:]}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse_newer(version: Any, name: str) -> None:
    if not isinstance(version, str) or not (match := re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})", version)):
        raise CorruptError(
            f"{name}: $.schema_version: {_short(version)}: expected text such as {SCHEMA_VERSION!r}"
        )
    ours = tuple(int(part) for part in SCHEMA_VERSION.split("."))
    if tuple(int(part) for part in match.groups()) > ours:
        raise NewerVersionError(
            f"{name}: schema_version {version} is newer than {SCHEMA_VERSION}, which this autoscirub reads; "
            "install a newer autoscirub. Nothing was changed"
        )
