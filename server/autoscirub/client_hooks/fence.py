"""Knows what an agent may not write to, and whether a path leads there: via links, `..`, another case, a glob."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from autoscirub.client_hooks.files import read_json
from autoscirub.client_hooks.location import DEFAULT, find_place, nearest_root
from autoscirub.client_hooks.shell import HIDDEN, hide, show
from autoscirub.errors import AutoscirubError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCK_NAME = ".prereg.lock"
MANIFEST_LIMIT = 4 * 1024 * 1024
UNKNOWN = "\ue090"
"""In a path: text that is not known before the command runs."""
ELSEWHERE = "\ue091"
"""At the head of a path: a fresh folder outside of any project, such as mktemp makes."""

_TELLING = 4
"""How many characters of a name must be known for the rest to be guessed."""
_MOST_FILES = 2000

How = Literal["write", "remove"]
"""`remove` also takes what lies below: a folder that holds what is guarded is guarded too."""

_STATE_MOVE = (
    "autoscirub alone writes there. The allowed move: write_state writes the drafts and, before its freeze, the "
    "rubric; check and plan_round (autoscirub check, autoscirub round) write reports, plans and summaries. Reading "
    "and git add are fine"
)
_MOVES = {
    "state": _STATE_MOVE,
    "lock": "only a freeze writes it. The allowed move: a person takes the freeze off on the record: "
    "autoscirub unfreeze --reason '…'",
    "rubric": "it is frozen. The allowed move: write_state writes the rubric before its freeze; after it, a person "
    "changes the scope: autoscirub scope --reason '…'. Say why it needs changing, and stop",
    "predictions": "they are frozen. The allowed move: a person takes the freeze off on the record: "
    "autoscirub unfreeze --reason '…'. Say why it needs changing, and stop",
}


@dataclass(frozen=True)
class Hit:
    """A guarded path that would be written to, and what may be done instead."""

    path: str
    kind: str

    @property
    def reason(self) -> str:
        """For the agent: what was refused, and the allowed move."""
        what = {
            "state": "the state directory",
            "lock": "the lock of the predictions",
            "rubric": "the rubric",
            "predictions": "the predictions",
        }[self.kind]
        return (
            f"autoscirub: {self.path} ({what}) is not written, moved or deleted by hand: {_MOVES[self.kind]}."
        )


@dataclass(frozen=True)
class Fence:
    """What is guarded in one project. There are two state directories where a configuration now names another."""

    root: str
    states: tuple[str, ...]

    @cached_property
    def guarded(self) -> list[tuple[str, str]]:
        """Path and kind of each guarded file, both as named and with its links followed."""
        named = [*((state, "state") for state in self.states), (f"{self.root}/{LOCK_NAME}", "lock")]
        for locks in map(_locks, self.states):
            rubric, predictions = locks.get("rubric"), locks.get("predictions")
            if rubric is not None:
                named.append((f"{self.root}/{_name(rubric, 'source', 'rubric.toml')}", "rubric"))
            if predictions is not None or os.path.lexists(f"{self.root}/{LOCK_NAME}"):
                named.append((f"{self.root}/{_name(predictions, 'path', 'prereg.toml')}", "predictions"))
        both = [
            (path, kind) for name, kind in named for path in (os.path.normpath(name), os.path.realpath(name))
        ]
        return list(dict.fromkeys(both))

    def hit(self, path: str, how: How) -> Hit | None:
        """The guarded file that `path` leads to. `path` is absolute; it may contain globs and unknown parts."""
        for spelled in {os.path.normpath(path), _followed(path)}:
            parts = _parts(spelled)
            for guarded, kind in self.guarded:
                if _reaches(parts, _parts(guarded), how, folder=kind == "state"):
                    return Hit(_relative(guarded, self.root), kind)
        return None

    @cached_property
    def state_files(self) -> list[str]:
        """Files below the state directory, up to a number of them, from the project's root; for name filters."""
        found: list[str] = []
        for base, _, names in (step for state in self.states for step in os.walk(state)):
            found += [f"{base}/{name}" for name in names]
            if len(found) > _MOST_FILES:
                break
        return found


@dataclass
class Fences:
    """The fences of every project that a path may lie in: of the working directory's, and of its own."""

    environment: Mapping[str, str]
    cached: dict[str, Fence | None] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """Of configurations that could not be used."""

    def at(self, folder: str) -> Fence | None:
        """The fence of the project that `folder` lies in.

        An agent may write the configuration. So one that cannot be used, or that names another place, does not open
        the default state directory.
        """
        if folder not in self.cached:
            try:
                place = find_place(folder, self.environment)
            except AutoscirubError as error:
                place = None
                self.faults.append(str(error))
            root = place.root if place else nearest_root(os.path.realpath(folder))
            states = [place.state] if place else []
            if root and os.path.lexists(f"{root}/{DEFAULT}/run_manifest.json"):
                states.append(f"{root}/{DEFAULT}")
            self.cached[folder] = Fence(root, tuple(dict.fromkeys(states))) if root and states else None
        return self.cached[folder]

    def hit(self, path: str, cwd: str | None, how: How) -> Hit | None:
        """What `path`, as it is named from `cwd`, leads to that is guarded. `cwd` None: not known."""
        if path.startswith(ELSEWHERE) or "\0" in path:
            return None
        whole = path if path.startswith(("/", UNKNOWN)) else f"{hide(cwd) if cwd else UNKNOWN}/{path}"
        if whole.startswith(UNKNOWN):
            return self._by_name(whole)
        for fence in self._around(whole, cwd):
            if hit := fence.hit(whole, how):
                return hit
        return None

    def literal_hit(self, path: str, cwd: str) -> Hit | None:
        """The same for a path that no shell sees, about to be written."""
        return self.hit(hide(path), cwd, "write")

    def _around(self, path: str, cwd: str | None) -> Iterator[Fence]:
        known = _known_part(path)
        starts = [known] if os.path.isdir(known) else [os.path.dirname(known)]
        seen: list[Fence] = []
        for start in [*starts, os.path.dirname(known), *([cwd] if cwd else [])]:
            fence = self.at(_existing(start))
            if fence is not None and fence not in seen:
                seen.append(fence)
                yield fence

    def _by_name(self, path: str) -> Hit | None:
        """For a path whose beginning is unknown: recognised by the names that only autoscirub uses."""
        for part in _parts(show(path)):
            if part == ".autoscirub":
                return Hit(".autoscirub", "state")
        return Hit(LOCK_NAME, "lock") if _parts(path)[-1:] == [LOCK_NAME] else None


def _existing(folder: str) -> str:
    while not os.path.isdir(folder) and folder not in ("/", ""):
        folder = os.path.dirname(folder)
    return folder or "/"


def _locks(state: str) -> dict[str, Any]:
    """What is locked there. If the manifest cannot be read, everything counts as locked."""
    try:
        manifest = read_json(f"{state}/run_manifest.json", MANIFEST_LIMIT)
    except StateError:
        return {"rubric": {}, "predictions": {}}
    locks = (manifest or {}).get("locks")
    return locks if isinstance(locks, dict) else {}


def _name(lock: Any, key: str, default: str) -> str:
    value = lock.get(key) if isinstance(lock, dict) else None
    return value if isinstance(value, str) and value else default


def _known_part(path: str) -> str:
    """The folders at the head of a path that hold no glob and nothing unknown."""
    parts = path.split("/")
    for index, part in enumerate(parts):
        if _is_pattern(part):
            return show("/".join(parts[:index])) or "/"
    return show(path)


def _followed(path: str) -> str:
    """The path with the links of its known part followed. `rest` may go up: that is taken word by word."""
    known = _known_part(path)
    if len(known) == len(path):
        return hide(os.path.realpath(known))
    return os.path.normpath(hide(os.path.realpath(known)) + path[len(known) :])


def _is_pattern(part: str) -> bool:
    return any(mark in part for mark in f"*?[{UNKNOWN}")


def _fold(text: str) -> str:
    # Some file systems take another case, and another composition of an accent, for the same name.
    return unicodedata.normalize("NFC", text).casefold()


def _parts(path: str) -> list[str]:
    return [_fold(part) for part in path.split("/") if part not in ("", ".")]


def _matches(pattern: str, name: str) -> bool:
    """Whether the shell would expand `pattern` to `name`. A leading dot must be written out."""
    if not _is_pattern(pattern):
        return show(pattern) == name
    if name.startswith(".") and pattern[0] in "*?[":
        return False
    if UNKNOWN in pattern and len(pattern.replace(UNKNOWN, "")) < _TELLING:
        return False  # anything could stand there, and mostly something else does
    plain = re.sub(rf"[{HIDDEN['*']}{HIDDEN['?']}{HIDDEN['[']}]", lambda mark: f"[{show(mark[0])}]", pattern)
    return fnmatchcase(name, show(plain.replace(UNKNOWN, "*")).replace("[^", "[!"))


def _reaches(parts: list[str], guarded: list[str], how: How, *, folder: bool) -> bool:
    if not all(_matches(part, name) for part, name in zip(parts, guarded, strict=False)):
        return False
    return how == "remove" if len(parts) < len(guarded) else len(parts) == len(guarded) or folder


def _relative(path: str, root: str) -> str:
    relative = os.path.relpath(path, root)
    return path if relative.startswith("..") else relative
