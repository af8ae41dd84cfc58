"""Which files a command writes to, moves or deletes: the table of commands, and one rule for each kind of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from typing import Literal, NamedTuple

from autoscirub.client_hooks.location import DEFAULT
from autoscirub.client_hooks.shell.words import hide, show

_MOST_ENTRIES = 2000
_MODE = re.compile(r"[0-7]{3,4}|[ugoa]*[-+=][rwxXst,ugoa+=-]*")


class Touched(NamedTuple):
    """A path as it is written, and what happens to it."""

    path: str
    how: Literal["write", "remove"]


Rule = Callable[[list[str], str | None], Iterator[Touched]]
"""Arguments and working directory -> what is touched."""


def operands(arguments: list[str], valued: str = "", long: tuple[str, ...] = ()) -> list[str]:
    """The arguments that are no options. `valued`: the letters of options that take a word, `long`: their names."""
    found: list[str] = []
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if word == "--":
            return found + arguments[position:]
        if word.startswith("--"):
            position += word in long
        elif word.startswith("-") and len(word) > 1:
            position += word[-1] in valued and not any(letter in valued for letter in word[1:-1])
        else:
            found.append(word)
    return found


def spares_state(values: list[str]) -> bool:
    """Whether what is left out of a command on a whole tree is the state directory itself, and not one named alike."""
    return any(show(value).strip("/") == DEFAULT for value in values)


def option(arguments: list[str], *names: str) -> list[str]:
    """The values of an option: `-o x`, `-ox`, `--output x`, `--output=x`."""
    found: list[str] = []
    for position, word in enumerate(arguments):
        for name in names:
            if word == name:
                found += arguments[position + 1 : position + 2]
            elif name.startswith("--") and word.startswith(f"{name}="):
                found.append(word[len(name) + 1 :])
            elif not name.startswith("--") and word.startswith(name) and not word.startswith("--"):
                found.append(word[len(name) :])
    return found


def _all(
    how: Literal["write", "remove"], valued: str = "", long: tuple[str, ...] = (), skip: int = 0
) -> Rule:
    def rule(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
        for path in operands(arguments, valued, long)[skip:]:
            yield Touched(path, how)

    return rule


def _mode(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    for path in operands(arguments, long=("--reference",)):
        if not _MODE.fullmatch(path):
            yield Touched(path, "write")


def _packed(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    if (
        not any(_letter(word, letter) for word in arguments for letter in "clt")
        and "--stdout" not in arguments
    ):
        for path in operands(arguments, "S"):
            yield Touched(path, "remove")


def _copy(arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    yield from _into(operands(arguments, "tSZ", ("--target-directory", "--suffix")), arguments, cwd)


def _move(arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    paths = operands(arguments, "tS", ("--target-directory", "--suffix"))
    sources = paths if option(arguments, "-t", "--target-directory") else paths[:-1]
    for path in sources:
        yield Touched(path, "remove")
    yield from _into(paths, arguments, cwd)


def _link(arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    paths = operands(arguments, "tS", ("--target-directory", "--suffix"))
    for path in paths[:-1] or paths:
        yield Touched(path, "write")  # another name for it would be a way in
    yield from _into(paths, arguments, cwd)


def _into(paths: list[str], arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    targets = option(arguments, "-t", "--target-directory")
    sources, target = (paths, targets[0]) if targets else (paths[:-1], paths[-1] if len(paths) > 1 else None)
    if target is None:
        return
    yield Touched(target, "write")
    whole = os.path.join(cwd or "", show(target))
    if targets or target.endswith("/") or os.path.isdir(whole):
        for source in sources:
            yield from _merged(source, target, cwd)


def _merged(source: str, target: str, cwd: str | None) -> Iterator[Touched]:
    """What is laid down in the folder `target`: under its own name, or with a glob or `x/.` whatever is there now."""
    above, _, name = source.rstrip("/").rpartition("/")
    if name == "..":
        yield Touched(target, "write")
    elif name not in (".", "") and not any(mark in name for mark in "*?["):
        yield Touched(f"{target.rstrip('/')}/{name}", "write")
    else:
        folder = os.path.join(cwd or "", show(above) or ("/" if source.startswith("/") else "."))
        inner = sorted(os.listdir(folder))[:_MOST_ENTRIES] if os.path.isdir(folder) else []
        for each in inner:
            if name in (".", "") or (fnmatch(each, show(name)) and not each.startswith(".")):
                yield Touched(f"{target.rstrip('/')}/{hide(each)}", "write")


def _rsync(arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    paths = operands(arguments, "efT", ("--exclude", "--include", "--filter", "--rsh", "--files-from"))
    spared = spares_state(option(arguments, "--exclude"))
    if any(word.startswith(("-n", "--dry-run")) for word in arguments) or len(paths) < 2 or ":" in paths[-1]:
        return
    yield Touched(paths[-1], "write")
    deletes = any(word.startswith("--delete") for word in arguments)
    if deletes and not spared:
        yield Touched(paths[-1], "remove")
    for source in paths[:-1]:
        if source.endswith("/") and not spared:
            yield from _merged(f"{source}.", paths[-1], cwd)


def _sed(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    if any(word.startswith(("-i", "--in-place")) or _letter(word, "i") for word in arguments):
        scripted = option(arguments, "-e", "-f", "--expression", "--file")
        for path in operands(arguments, "ef", ("--expression", "--file"))[0 if scripted else 1 :]:
            yield Touched(path, "write")


def _perl(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    if any(_letter(word, "i") for word in arguments):
        for path in operands(arguments, "eEI"):
            yield Touched(path, "write")


def _awk(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    if "inplace" in option(arguments, "-i", "--include"):
        for path in operands(arguments, "iFvf", ("--include",))[1:]:
            yield Touched(path, "write")


def _letter(word: str, letter: str) -> bool:
    """Whether a bundle of short options, such as -pi or -ni.bak, holds the letter."""
    return word.startswith("-") and not word.startswith("--") and letter in word[1:4]


def _dd(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    for word in arguments:
        if word.startswith("of="):
            yield Touched(word[3:], "write")


def _outputs(*names: str) -> Rule:
    def rule(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
        for path in option(arguments, *names):
            yield Touched(path, "write")

    return rule


def _tar(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    first = arguments[0] if arguments else ""
    letters = first if not first.startswith("--") else ""
    extracts = "x" in letters or "--extract" in arguments or "--get" in arguments
    for folder in option(arguments, "-C", "--directory"):
        if extracts:
            yield Touched(folder, "write")
    if not extracts:
        files = option(arguments, "-f", "--file") or (arguments[1:2] if "f" in letters else [])
        for path in files if "c" in letters or "--create" in arguments else ():
            yield Touched(path, "write")
        if "--remove-files" in arguments:
            for path in operands(arguments[1:], "fC"):
                yield Touched(path, "remove")
    members = operands(arguments[1:], "fC")[1 if "f" in letters else 0 :]
    for path in members if extracts else ():
        yield Touched(path, "write")  # members by name are laid down where they are named


def _second(arguments: list[str], _cwd: str | None) -> Iterator[Touched]:
    for path in operands(arguments, "abClnfswN")[1:2]:
        yield Touched(path, "write")


TABLE: dict[str, Rule] = {
    "rm": _all("remove"),
    "rmdir": _all("remove"),
    "unlink": _all("remove"),
    "shred": _all("remove", "ns", ("--iterations", "--size")),
    "trash": _all("remove"),
    "trash-put": _all("remove"),
    "srm": _all("remove"),
    "mv": _move,
    "cp": _copy,
    "install": _copy,
    "scp": _copy,
    "ln": _link,
    "rsync": _rsync,
    "tee": _all("write"),
    "touch": _all("write", "drt", ("--date", "--reference")),
    "truncate": _all("write", "sr", ("--size", "--reference")),
    "sponge": _all("write"),
    "mkdir": _all("write", "m", ("--mode",)),
    "mkfifo": _all("write", "m", ("--mode",)),
    "chmod": _mode,
    "chown": _all("write", skip=1),
    "chgrp": _all("write", skip=1),
    "chattr": _mode,
    "setfacl": _all("write", "mxMX"),
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "awk": _awk,
    "gawk": _awk,
    "yq": lambda words, cwd: _all("write")(words[1:], cwd) if {"-i", "--inplace"} & set(words) else iter(()),
    "dd": _dd,
    "ed": _all("write"),
    "ex": _all("write", "c"),
    "vi": _all("write", "c"),
    "vim": _all("write", "cS"),
    "nano": _all("write"),
    "emacs": _all("write"),
    "gzip": _packed,
    "gunzip": _packed,
    "bzip2": _packed,
    "xz": _packed,
    "zstd": lambda words, cwd: _all("remove")(words, cwd) if "--rm" in words else iter(()),
    "patch": _all("write", "pidoBrDzY"),
    "tar": _tar,
    "unzip": _outputs("-d"),
    "curl": _outputs("-o", "--output"),
    "wget": _outputs("-O", "--output-document"),
    "sort": _outputs("-o", "--output"),
    "uniq": _second,
    "split": _second,
    "pandoc": _outputs("-o", "--output"),
    "sqlite3": lambda words, _cwd: (
        Touched(path, "write") for path in operands(words)[:1] if "-readonly" not in words
    ),
}
"""Command -> what it touches. A command that is not listed only reads, or its effect is unknown."""


def touched(name: str, arguments: list[str], cwd: str | None) -> Iterator[Touched]:
    """What a command writes to, moves or deletes."""
    rule = TABLE.get(name)
    if rule is not None:
        yield from rule(arguments, cwd)
    elif name not in ("git", "autoscirub"):
        for path in option(arguments, "--output", "--out-file", "--output-file"):
            yield Touched(path, "write")
