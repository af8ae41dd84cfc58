"""What the shell would make of a word: variables as far as they are known, braces, the home folder."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass, field

from autoscirub.client_hooks.fence import ELSEWHERE, UNKNOWN
from autoscirub.client_hooks.shell.words import VARIABLE, show

_MARKED = re.compile(f"{VARIABLE[0]}([^{VARIABLE[0]}{VARIABLE[1]}]*){VARIABLE[1]}")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST = 64
_LONGEST = 4096
"""Characters of a word that is still put together: no path is longer, and variables can double at every step."""
_TEMPORARY = re.compile(r"mktemp\b|python\d? -c .*mkdtemp")


@dataclass
class Surroundings:
    """Where a command runs: the working directory (None: not known) and the variables that are known."""

    cwd: str | None
    variables: dict[str, list[str]] = field(default_factory=dict)

    def enter(self, folder: str) -> None:
        """`cd folder`."""
        if folder == "-" or UNKNOWN in folder or (self.cwd is None and not folder.startswith("/")):
            self.cwd = None
        elif folder.startswith(ELSEWHERE):
            self.cwd = f"/{ELSEWHERE}"
        else:
            self.cwd = os.path.normpath(os.path.join(self.cwd or "/", show(folder)))

    def copy(self) -> Surroundings:
        """For a subshell, which changes nothing outside of it."""
        return Surroundings(self.cwd, dict(self.variables))


def expand(word: str, here: Surroundings) -> list[str]:
    """The words that the shell would make of `word`, up to a number of them. Globs stay as they are written."""
    found: list[str] = []
    for spelled in itertools.islice(_braces(word), _MOST):
        for text in itertools.islice(_values(spelled, here), _MOST):
            found.append(_home(text, here))
            if len(found) >= _MOST:
                return found
    return found


def _braces(word: str) -> itertools.chain[str] | list[str]:
    match = _BRACES.search(word)
    if match is None:
        return [word]
    head, tail = word[: match.start()], word[match.end() :]
    return itertools.chain.from_iterable(_braces(f"{head}{part}{tail}") for part in match[1].split(","))


def _values(word: str, here: Surroundings) -> itertools.chain[str] | list[str]:
    match = _MARKED.search(word)
    if match is None:
        return [word]
    if len(word) > _LONGEST:
        return [UNKNOWN]
    head, tail = word[: match.start()], word[match.end() :]
    return itertools.chain.from_iterable(
        _values(f"{head}{value}{tail}", here) for value in _value(match[1], here)
    )


def _value(name: str, here: Surroundings) -> list[str]:
    if name.startswith("("):
        command = " ".join(name[1:].split())
        if command in ("pwd", "pwd -P", "git rev-parse --show-toplevel"):
            return [here.cwd or UNKNOWN]
        return [ELSEWHERE if _TEMPORARY.match(command) else UNKNOWN]
    if name == "PWD":
        return [here.cwd or UNKNOWN]
    if name in here.variables:
        return here.variables[name]
    outside = os.environ.get(name) if name in ("HOME", "CLAUDE_PROJECT_DIR", "TMPDIR", "USER") else None
    return [outside or UNKNOWN]


def _home(word: str, here: Surroundings) -> str:
    for sign, name in (("~+", "PWD"), ("~", "HOME")):
        if word == sign or word.startswith(f"{sign}/"):
            return f"{_value(name, here)[0]}{word[len(sign) :]}"
    return word
