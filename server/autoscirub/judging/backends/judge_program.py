"""Locates the program of a `command` judge, fills in its arguments, and computes digests of the files it starts.

It is started in the blinded workspace, so a relative path would mean a file under judgement. `{project}/judge.py` means
the project's own file, and so does a first word with a slash. The digests show when one of them was edited: trust
covers only the words, and another program gives another verdict.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError, JudgeError
from autoscirub.judging.backends.program_words import PROJECT, started
from autoscirub.programs import on_path
from autoscirub.store import sha256_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.judging.backends.program_words import Started
    from autoscirub.models import JudgeConfig


class JudgeProgram:
    """`judge.command`, and the files that it starts."""

    def __init__(self, command: Sequence[str], root: Path) -> None:
        """Raises ConfigError for words that would start a file under judgement."""
        self.command, self._root = list(command), root
        self._known: dict[Path, tuple[tuple[int, ...], str]] = {}
        self._started = _refuse_script(self.command, root)

    def words(self) -> list[str]:
        """The command line to run. Raises JudgeError where there is no such program."""
        first, *rest = self.command
        found = self._place(first)
        if found is None or not found.is_file():
            where = f"at {found}" if found else "on PATH (its absolute entries)"
            raise JudgeError(
                f"judge command: unreachable: {first}: no such program {where}; "
                "install it, or correct judge.command"
            )
        if not os.access(found, os.X_OK):
            raise JudgeError(
                f"judge command: {found} cannot be executed; make it executable, or name what runs it first"
            )
        return [str(found), *(self._filled(word) for word in rest)]

    def environment(self) -> dict[str, str]:
        """Extra environment variables. `python -m` and `-c` import modules from the folder where they are started.

        There, a `json.py` under judgement would run in place of Python's own.
        """
        return {"PYTHONSAFEPATH": "1"} if self._started.modules else {}

    def digests(self) -> dict[str, str | None]:
        """The sha256 of the program and of each file that a word names, by that word; null: not there.

        A word names a file when it begins with `{project}`, or is the absolute path of one: a script.
        """
        named = [(self.command[0], self._place(self.command[0])), *self._named()]
        return {word: self._digest(path) if path else None for word, path in named}

    def own_digests(self) -> dict[str, str | None]:
        """The same for the project's own files alone: whoever may change those could change the judge."""
        return {word: self._digest(path) for word, path in self._own()}

    def own_files(self) -> list[str]:
        """The project's own files that it starts, by their paths from its root."""
        return [path.relative_to(self._root).as_posix() for _, path in self._own()]

    def _own(self) -> list[tuple[str, Path]]:
        named = [(self.command[0], self._place(self.command[0])), *self._named()]
        return [(word, path) for word, path in named if path is not None and path.is_relative_to(self._root)]

    def _named(self) -> list[tuple[str, Path]]:
        return [
            (word, path)
            for word in self.command[1:]
            if (word.startswith(PROJECT) or (path := Path(word)).is_absolute())
            and ((path := Path(self._filled(word))).is_file() or word.startswith(PROJECT))
        ]

    def _place(self, first: str) -> Path | None:
        if first.startswith(PROJECT) or os.sep in first:
            return Path(os.path.abspath(self._root / self._filled(first)))  # noqa: PTH100 - links must stay
        found = on_path(first)
        return Path(found) if found else None

    def _filled(self, word: str) -> str:
        return f"{self._root}{word[len(PROJECT) :]}" if word.startswith(PROJECT) else word

    def _digest(self, path: Path) -> str | None:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return None
            # A client may be hundreds of megabytes: read again only where the file was touched.
            sign = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if (known := self._known.get(path)) is None or known[0] != sign:
                known = self._known[path] = (sign, sha256_file(path))
        except (OSError, ValueError):
            return None
        return known[1]


def _refuse_script(command: Sequence[str], root: Path) -> Started:
    if any("\0" in word for word in command) or not command[0]:
        raise ConfigError(
            "judge.command: an empty program, or a NUL character; expected program and arguments"
        )
    found = started(command, root)
    if found.deaf is not None:
        raise ConfigError(
            f"judge.command: with {found.deaf}, Python ignores PYTHONSAFEPATH and would import modules from the "
            "folder that is judged; give it -P or -I"
        )
    if (script := found.script) is None:
        return found
    hint = "" if (root / script).is_file() else f"; there is no {script} in the project now"
    if found.guessed:
        hint += f"; where it is no file, write it and its option as one word: --name={script}"
    raise ConfigError(
        f"judge.command: {command[0]} would start {script} from the folder that is judged, where others could put it; "
        f'write "{PROJECT}/{script}" for the project\'s own file, or an absolute path{hint}'
    )


def own_digests(judge: JudgeConfig, root: Path) -> dict[str, str | None]:
    """The project's own files that its judge starts, each with its digest: whoever changes them changes the judge."""
    program = _program(judge, root)
    return program.own_digests() if program else {}


def own_files(judge: JudgeConfig, root: Path) -> list[str]:
    """The same files, by their paths from the project's root."""
    program = _program(judge, root)
    return program.own_files() if program else []


def _program(judge: JudgeConfig, root: Path) -> JudgeProgram | None:
    return JudgeProgram(judge.command, root) if judge.backend == "command" and judge.command else None
