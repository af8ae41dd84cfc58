"""What git would write of the work tree. Looking, adding and committing are free."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from autoscirub.client_hooks.shell.rules import Touched, operands, option, spares_state
from autoscirub.client_hooks.shell.words import show

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERYTHING = {"", ".", "./", "*", ":/", ":/."}
_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")
_TO_OTHER_BRANCHES = {"-b", "-B", "--orphan", "--detach", "-d", "--track", "-t"}
_NOT_WRITING = {"list", "show", "drop", "clear", "branch", "create", "store", "pop", "apply"}


def git_touched(arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    """What a git command writes to, moves or deletes in the work tree; paths as they are named from `cwd`."""
    folder = ""
    while arguments and arguments[0].startswith("-"):
        if arguments[0] == "-C":
            folder = os.path.join(folder, *arguments[1:2])
        arguments = arguments[2 if arguments[0] in _VALUED else 1 :]
    if not arguments:
        return
    for path, how in _by_command(arguments[0], arguments[1:], os.path.join(cwd or "", show(folder))):
        # Git has globs of its own, whether or not the shell sees them.
        yield Touched(os.path.join(folder, show(path)) if folder else show(path), how)


def _by_command(name: str, rest: list[str], cwd: str) -> Iterator[Touched]:
    before, paths = _split(rest)
    if name == "rm" and "--cached" not in rest and not {"-n", "--dry-run"} & set(rest):
        yield from _removed(operands(before) + paths)
    elif name == "mv":
        yield from _removed(operands(rest)[:-1])
        yield from _removed(operands(rest)[-1:], "write")
    elif name in ("checkout", "restore"):
        yield from _checked_out(name, before, paths, cwd)
    elif name == "reset" and ("--hard" in before or "--merge" in before):
        yield Touched(".", "remove")
    elif name == "clean" and any("f" in word[1:] for word in before if word[:1] == "-") and not _dry(before):
        if not spares_state(option(before, "-e", "--exclude")):
            yield from _removed(operands(before, "e", ("--exclude",)) + paths or ["."])
    elif name == "stash" and (operands(before)[:1] or ["push"])[0] not in _NOT_WRITING:
        named = operands(before, "m", ("--message",))
        yield from _removed(paths or (named[1:] if named[:1] == ["push"] else []) or ["."])
    elif name in ("diff", "log", "show", "format-patch", "archive"):
        for path in option(before, "--output", "-o" if name in ("archive", "format-patch") else "--output"):
            yield Touched(path, "write")


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _dry(words: list[str]) -> bool:
    return "--dry-run" in words or any(word[:1] == "-" and word[:2] != "--" and "n" in word for word in words)


def _checked_out(name: str, before: list[str], paths: list[str], cwd: str) -> Iterator[Touched]:
    words = operands(before, "sbB" if name == "restore" else "bB", ("--source", "--conflict"))
    if name == "restore":
        only_index = {"--staged", "-S"} & set(before) and not {"--worktree", "-W"} & set(before)
        yield from [] if only_index else _removed(words + paths)
    elif paths:
        yield from _removed(paths)
    elif not _TO_OTHER_BRANCHES & set(before):
        if {"-f", "--force"} & set(before):
            yield Touched(".", "remove")
        # One word may be a branch or a path; a path it is where there is one of that name.
        named = [word for word in words if os.path.lexists(os.path.join(cwd, show(word))) or "*" in word]
        yield from _removed(named)


def _removed(paths: list[str], how: str = "remove") -> Iterator[Touched]:
    left_out = [path for path in paths if path.startswith((":!", ":^", ":(exclude"))]
    spared = spares_state([re.sub(r"^:(?:[!^]|\([^)]*\))", "", path) for path in left_out])
    for path in paths:
        # An exclusion applies to a command on the whole tree; a file that is named as well is still touched.
        if path not in left_out and not (spared and path in _EVERYTHING):
            plain = path.removeprefix(":/") if path.startswith(":/") else path
            yield Touched(plain or ".", "remove" if how == "remove" else "write")
