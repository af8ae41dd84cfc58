"""Guesses from a script's text, line by line, which files it names and writes. Nothing is parsed as code, or run.

A wrong guess costs only a line in a list of candidates. So only the usual forms are recognised: quoted paths, names
that stand for one, `/` and join between them, and a call on the same line that writes.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

_MAX_LINES = 5_000
_MAX_LINE = 1_000

_LITERAL = re.compile(r"""(["'])((?:(?!\1)[^\n\\]){1,200})\1""")
_ASSIGNED = re.compile(r"^\s{0,80}([A-Za-z_][\w.]{0,60})\s{0,20}(?::[^=\n]{0,60})?(?:=(?!=)|<-)\s{0,20}(.*)$")
_IS_PATH = re.compile(r"""(?:(?:pathlib\.)?Path\(|os\.path\.join\(|file\.path\(|[\w.]{1,60}\s{0,4}/|[("'])""")
_JOINED = re.compile(r"\)?\s{0,8}/\s{0,8}")
_NAME_BEFORE = re.compile(
    r"([A-Za-z_]\w{0,60})\s{0,8}/\s{0,8}$|(?:join|file\.path|Path)\(\s{0,8}([A-Za-z_]\w{0,60}),\s{0,8}$"
)
_OWN_FOLDER = re.compile(r"__file__\W[\w.()\[\]]{0,80}")
_WRITES = re.compile(
    r"""\.write_text\(|\.write_bytes\(|\bto_(?:json|csv|parquet)\(|savefig\(|json\.dump\(|write_json\(|toJSON"""
    r"""|write[._]csv\(|\bfopen\(|open\([^\n]{0,200}["'][wax]b?t?\+?["']|mode=["'][wax]|np\.savez?\("""
)
_REDIRECTS = re.compile(r"""(?<![<=>-])>\s{0,4}["']?\w|--?o(?:ut(?:put)?)?[ =]""")
_READS = re.compile(r"read_|\.read|json\.loads?\(|fromJSON|loadtxt|genfromtxt|open\(")
_BARE = re.compile(r"(?<![\w./-])[\w.-]{1,80}(?:/[\w.-]{1,80}){0,6}\.json\b")
_WORD = re.compile(r"[A-Za-z_]\w{0,60}")


@dataclass
class Code:
    """The paths that a script names, those that it plainly writes, and those that it plainly only reads."""

    names: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)


def read_code(text: str, path: str) -> Code:
    """What the script `path` names. Its own folder stands for `__file__`, the project's for the working directory."""
    lines = [line for line in text.splitlines()[:_MAX_LINES] if len(line) <= _MAX_LINE]
    lines = [line for line in lines if not line.lstrip().startswith(("#", "//"))]
    here = posixpath.dirname(path)
    known: dict[str, str] = {}
    on_line: list[list[str]] = []
    for line in lines:
        paths = _paths(line, known, here)
        if (match := _ASSIGNED.match(line)) and (value := _assigned(match[2], paths, here)) is not None:
            known.setdefault(match[1], value)
        on_line.append(paths)
    code = Code()
    for line, paths in zip(lines, on_line, strict=True):
        named = [*paths, *(known[word] for word in _WORD.findall(line) if word in known)]
        named = [name for name in named if posixpath.splitext(name)[1]]
        writes = _WRITES.search(line)
        if not path.endswith((".py", ".R", ".r")):
            named += _BARE.findall(line)
            writes = writes or _REDIRECTS.search(line)
        code.names.update(named)
        if writes:
            code.writes.update(named)
        elif _READS.search(line):
            code.reads.update(named)
    code.reads -= code.writes
    return code


def _paths(line: str, known: dict[str, str], here: str) -> list[str]:
    """The paths that a line spells out, each joined with what stands before it."""
    found: list[str] = []
    last: tuple[int, str] | None = None
    for match in _LITERAL.finditer(line):
        literal = match[2]
        base: str | None = ""
        between = line[last[0] : match.start()] if last else None
        before = line[max(0, match.start() - 160) : match.start()]
        if last and between is not None and (_JOINED.fullmatch(between) or _is_join(line, last, between)):
            base = last[1]
        elif own := _own_folder(before, here):
            base = own
        elif name := _NAME_BEFORE.search(before):
            base = known.get(name[1] or name[2])
        elif before.rstrip().endswith("/"):  # joined to what only running it could tell
            base = None
        path = _inside(base, literal) if base is not None else None
        last = (match.end(), path) if path is not None else None
        if path:
            if found and base and found[-1] == base:
                found.pop()
            found.append(path)
    return found


def _is_join(line: str, last: tuple[int, str], between: str) -> bool:
    return between.strip() == "," and re.search(r"join\(|file\.path\(|Path\(", line[: last[0]]) is not None


def _own_folder(before: str, here: str) -> str | None:
    match = _OWN_FOLDER.search(before)
    if match is None or before[match.end() :].strip() != "/":
        return None
    return _up(match[0], here)


def _assigned(right: str, paths: list[str], here: str) -> str | None:
    if (own := _OWN_FOLDER.search(right)) and not paths:
        return _up(own[0], here)
    return paths[-1] if paths and (own or _IS_PATH.match(right)) else None


def _up(text: str, here: str) -> str | None:
    """The folder that `.parent`s of `__file__` lead to; None outside of the project. "." is the project's own."""
    steps = re.search(r"parents\[(\d)\]", text)
    ups = int(steps[1]) if steps else text.count(".parent") - 1
    parts = [part for part in here.split("/") if part]
    if not 0 <= ups <= len(parts):
        return None
    return "/".join(parts[: len(parts) - ups]) or "."


def _inside(base: str, literal: str) -> str | None:
    """A path in the project, tidied; None for what is none."""
    if literal.startswith(("/", "~")) or not re.fullmatch(
        r"[\w .+@()%,=~-]+(?:/[\w .+@()%,=~-]+)*/?", literal
    ):
        return None
    path = posixpath.normpath(posixpath.join(base, literal))
    return None if path.startswith("..") else path
