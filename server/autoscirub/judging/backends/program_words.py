"""Works out what the command line of a `command` judge starts: a script, inline code, or a module.

The judge is started in the blinded workspace, so a relative path would mean a file under judgement, which whoever is
judged may have put there. How each interpreter reads its command line is a table. Where a word is ambiguous, it
counts as a file: a needless refusal costs an edit; a judge that the judged party wrote decides what it likes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

PROJECT = "{project}"
"""In `judge.command`: the project's folder."""


class _Takes(NamedTuple):
    """The options of an interpreter that come before its script."""

    inline: str = ""
    """Letters after which the code, or a module's name, follows on the command line: there is no script."""
    valued: str = ""
    """Letters whose value is the rest of their word, or else the next one."""
    attached: str = ""
    """Letters whose value is the rest of their word, even where that is empty."""
    long_inline: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    """Whose value is the next word; `--name=value` is one word for all."""
    subcommand: str | None = None
    """A first word that is no file."""


_NODE = _Takes("ep", "rC", long_inline=("--eval", "--print"), long_valued=("--require", "--import"))
_INTERPRETERS: dict[str, _Takes] = {
    "python": _Takes("cm", "WX", long_valued=("--check-hash-based-pycs",)),
    "pypy": _Takes("cm", "WX"),
    "bash": _Takes("c", "oO", long_valued=("--rcfile", "--init-file")),
    "dash": _Takes("c", "o"),
    "sh": _Takes("c", "o"),
    "zsh": _Takes("c", "o"),
    "ksh": _Takes("c", "o"),
    "fish": _Takes("c", long_inline=("--command",)),
    "node": _NODE,
    "nodejs": _NODE,
    "deno": _Takes(long_inline=("eval",), subcommand="run"),
    "bun": _Takes("ep", "r", long_inline=("--eval", "--print"), subcommand="run"),
    "perl": _Takes("eE", "I", attached="CDFMVdimx"),
    "ruby": _Takes("e", "rIEC", attached="FKTWix"),
    "php": _Takes("r", "dczBRE", long_inline=("--run",)),
    "lua": _Takes("", "e", attached="l"),  # its -e goes on with the script that follows
    "julia": _Takes("eE", "tpJHC", attached="Og", long_inline=("--eval", "--print")),
    "Rscript": _Takes("e"),
    "tclsh": _Takes(),
}
_PYTHONS = ("python", "pypy")

_LAUNCHERS = frozenset({
    "asdf", "bundle", "bunx", "busybox", "chrt", "conda", "direnv", "doas", "env", "hatch", "ionice", "mamba",
    "micromamba", "mise", "nice", "nohup", "npx", "pdm", "pipenv", "pipx", "pixi", "pnpm", "poetry",
    "prlimit", "pyenv", "rye", "setsid", "stdbuf", "strace", "sudo", "taskset", "time", "timeout", "unbuffer",
    "uv", "uvx", "xargs", "yarn",
})  # fmt: skip
"""Programs that start the one named on their command line."""
_FORGETS = ("-", "-i", "--ignore-environment", "sudo", "doas")
"""Words with which a launcher does not pass on the environment."""

_SCRIPTS = (".py", ".sh", ".js", ".mjs", ".ts", ".R", ".r", ".jl", ".pl", ".rb", ".php", ".lua")


class Started(NamedTuple):
    """What a command starts besides its first word."""

    script: str | None = None
    """A file by a relative path: it would be looked for in the folder that is judged."""
    modules: bool = False
    """Whether Python is started such that it looks for modules in the folder where it is started."""
    deaf: str | None = None
    """The word that makes it ignore `PYTHONSAFEPATH`, which would keep those modules out."""
    guessed: bool = False
    """Whether `script` may be no file: what a launcher's words mean is not known."""


def started(command: Sequence[str], root: Path) -> Started:
    """What `command` starts. Of a program that nobody knows, only words that name files of the project `root` count."""
    if (kind := _kind(command[0])) is not None:
        return _of_interpreter(kind, command[1:])
    if Path(command[0]).name in _LAUNCHERS:
        return _of_launcher(command)
    scripts = (word for word in command[1:] if word.endswith(_SCRIPTS) and not _is_ours(word))
    inner = [
        _of_interpreter(kind, command[place:])
        for place, word in enumerate(command, 1)
        if (kind := _kind(word)) is not None
    ]
    return Started(
        next((word for word in scripts if (root / word).is_file()), None),
        any(found.modules for found in inner),
        next((found.deaf for found in inner if found.deaf), None),
    )


def _kind(word: str) -> str | None:
    """The interpreter that a word names, whatever its version."""
    name = re.fullmatch(r"([A-Za-z]+?)(-?\d[\d.]*t?)?", Path(word).name)
    return name[1] if name and name[1] in _INTERPRETERS else None


def _is_ours(word: str) -> bool:
    return word.startswith(PROJECT) or Path(word).is_absolute()


def _of_interpreter(kind: str, words: Sequence[str]) -> Started:
    """What an interpreter starts with `words` after it: the first that is not an option, or inline code."""
    takes, flags = _INTERPRETERS[kind], ""
    rest = list(words)
    first = True
    while rest:
        word = rest.pop(0)
        if word in takes.long_inline and (first or word.startswith("-")):
            return Started()
        if first and word == takes.subcommand:
            first = False
            continue
        first = False
        if word == "--" or not word.startswith("-"):
            script = next(iter(rest), None) if word == "--" else word
            return Started(None if script is None or _is_ours(script) else script)
        if word.startswith("--"):
            value, wants = word.partition("=")[2], word in takes.long_valued
        else:
            plain, letter, value = _read_letters(word[1:], takes)
            flags += plain
            if letter and letter in takes.inline:
                looks = kind in _PYTHONS and not set(flags) & set("IP")
                return Started(None, looks, word if looks and "E" in flags else None)
            wants = bool(letter) and letter in takes.valued and not value
        value = rest.pop(0) if wants and rest else value
        if re.match(r"\.{1,2}(/|$)", value):
            return Started(value)  # what is loaded before the script runs just like a script
    return Started()


def _read_letters(word: str, takes: _Takes) -> tuple[str, str, str]:
    """The plain letters of a word of options, the first letter that takes a value, and what follows it."""
    place = next(
        (at for at, letter in enumerate(word) if letter in takes.inline + takes.valued + takes.attached), None
    )
    return (word, "", "") if place is None else (word[:place], word[place], word[place + 1 :])


def _forgets(word: str) -> bool:
    """Whether a launcher's word takes from the environment what we put into it: all of it, or this one variable."""
    return Path(word).name in _FORGETS or "PYTHONSAFEPATH" in word


def _of_launcher(command: Sequence[str]) -> Started:
    for place, word in enumerate(command[1:], 1):
        if (kind := _kind(word)) is not None and ("/" not in word or _is_ours(word)):
            found = _of_interpreter(kind, command[place + 1 :])
            forgets = next((each for each in command[:place] if _forgets(each)), None)
            return found._replace(deaf=found.deaf or forgets) if found.modules else found
        # An assignment, or where a package is fetched from, is no path.
        if word.startswith("-") or re.match(r"\w+=", word) or "://" in word or _is_ours(word):
            continue
        if "/" in word or word.endswith(_SCRIPTS):
            return Started(word, guessed=True)
    # `uv run -m judge` and the like start Python by themselves.
    return Started(None, any(re.fullmatch(r"-[A-Za-z]*[cm]|--module", word) for word in command[1:]))
