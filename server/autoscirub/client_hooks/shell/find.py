"""`find` that deletes, or runs something on what it finds: which guarded paths it would find."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from autoscirub.client_hooks.shell.words import show

if TYPE_CHECKING:
    from autoscirub.client_hooks.fence import Fence

_NAMES = {"-name": False, "-iname": False, "-path": True, "-ipath": True, "-wholename": True}


def run_by(arguments: list[str]) -> list[list[str]]:
    """The commands that it runs on what it finds, `{}` still in them; `rm {}` for `-delete`."""
    commands = [["rm", "-r", "{}"]] if "-delete" in arguments else []
    for position, word in enumerate(arguments):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = arguments[position + 1 :]
            ends = [at for at, each in enumerate(rest) if show(each) in (";", "+")]
            commands.append(rest[: ends[0]] if ends else rest)
    return commands


def found_by(arguments: list[str], cwd: str | None, fence: Fence) -> list[str]:
    """The guarded paths that it would find, as far as its names, paths and depth tell."""
    if "-empty" in arguments:
        return []
    starts: list[str] = []
    for word in arguments:
        if word.startswith(("-", "(", "!")) or show(word) in ("(", "!"):
            break
        starts.append(word)
    candidates = [path for path, _ in fence.guarded] + fence.state_files
    found: list[str] = []
    for start in starts or ["."]:
        base = os.path.realpath(os.path.join(cwd or "", show(start)))
        for path in candidates:
            below = os.path.relpath(path, base)
            if below == ".." or below.startswith("../"):
                continue
            spelled = os.path.normpath(path) if start.startswith("/") else os.path.join(start, below)
            if _selected(arguments, spelled, 0 if below == "." else below.count("/") + 1):
                found.append(path)
    return found[:20]


def _selected(arguments: list[str], path: str, depth: int) -> bool:
    negated = False
    for position, word in enumerate(arguments):
        value = show(arguments[position + 1]) if position + 1 < len(arguments) else ""
        if word in ("!", "-not") or show(word) == "!":
            negated = True
            continue
        if word == "-maxdepth" and value.isdigit() and depth > int(value):
            return False
        if word == "-prune" and any(f"{name}/" in f"{path}/" for name in _pruned(arguments[:position])):
            return False
        if word == "-type" and (value == "d") != os.path.isdir(path) and value in ("d", "f"):
            return False
        if word in _NAMES and "-prune" not in arguments[position:]:
            matched = fnmatch(path if _NAMES[word] else path.rsplit("/", 1)[-1], value)
            if matched is negated and "-o" not in arguments:
                return False
        negated = False
    return True


def _pruned(arguments: list[str]) -> list[str]:
    return [
        show(arguments[position + 1]).strip("./*") or "\0"
        for position, word in enumerate(arguments[:-1])
        if word in _NAMES
    ]
