"""The `list`, `glob` and `grep` tools: find files by name and lines by content, a page at a time."""

from __future__ import annotations

from contextlib import closing
from typing import IO, TYPE_CHECKING, Any

from autoscirub.errors import ToolRefused
from autoscirub.judging.tools.bounds import ToolReply
from autoscirub.judging.tools.globs import Pattern
from autoscirub.judging.tools.output import Page, count, harmless, named
from autoscirub.judging.tools.parser_process import run_worker
from autoscirub.judging.tools.text import HEAD_BYTES, kind_of
from autoscirub.judging.tools.walk import FolderWalk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autoscirub.judging.tools.bounds import Clock, ToolBounds
    from autoscirub.judging.tools.files import Folder, FolderEntry, Parts

_WIDTH = 300
"""Of a line that matches: characters shown, around the match."""

_BLOCK = 1 << 18


def list_folder(folder: Folder, asked: dict[str, Any], bounds: ToolBounds, clock: Clock) -> ToolReply:
    """What is in a folder, and with `depth` in the folders below."""
    parts = folder.parts(asked["path"])
    entry = folder.look(parts)
    if entry.kind != "folder":
        kind = "a file; read shows it" if entry.kind == "file" else entry.kind
        raise ToolRefused(f"{named(entry.path)}: {kind}; list takes a folder")
    walk = FolderWalk(folder, bounds, clock)
    page = Page(bounds)
    page.say(f"{named(entry.path or '.')}: what is in it, each name as read takes it")
    return _entries(page, walk.below(parts, asked["depth"]), walk, asked["start"], bounds)


def glob_files(folder: Folder, asked: dict[str, Any], bounds: ToolBounds, clock: Clock) -> ToolReply:
    """The files whose path matches a pattern."""
    pattern = Pattern(asked["pattern"], bounds)
    walk = FolderWalk(folder, bounds, clock)
    page = Page(bounds)
    page.say(f"files that match {named(pattern.text)}")
    answer = _entries(page, _matching(walk, (), pattern), walk, asked["start"], bounds)
    if answer.text.endswith("\n# none"):
        hint = 'none; "*" stays within one folder and "**/" goes through all of them; braces and ~ are plain characters'
        return ToolReply(answer.text.removesuffix("none") + hint)
    return answer


def _matching(walk: FolderWalk, top: Parts, pattern: Pattern) -> Iterator[FolderEntry]:
    """What matches below `top` and is not a folder. `pattern` applies to the path below `top`."""
    states = {top: pattern.begin()}

    def leads_on(entry: FolderEntry) -> bool:
        states[entry.parts] = pattern.step(states[entry.parts[:-1]], entry.parts[-1])
        return bool(states[entry.parts])

    for entry in walk.below(top, enter=leads_on):
        if entry.kind != "folder" and pattern.matched(
            pattern.step(states.get(entry.parts[:-1], frozenset()), entry.parts[-1])
        ):
            yield entry


def _entries(
    page: Page, found: Iterable[FolderEntry], walk: FolderWalk, start: int, bounds: ToolBounds
) -> ToolReply:
    total, displayed, full = 0, 0, False
    for entry in found:
        total += 1
        if total < start or full:
            continue
        if entry.kind == "folder":
            fits = page.name("folder ", entry.path + "/")
        elif entry.kind == "file":
            fits = page.name("file ", entry.path, f" {entry.size:,} bytes")
        else:
            fits = page.name("not read ", entry.path, f" {entry.kind}")
        full = not fits or displayed + 1 >= bounds.results
        displayed += fits
    for note in walk.notes():
        page.say(note)
    _say_range(page, start, displayed, total, "", "")
    return ToolReply(page.text())


def _say_range(page: Page, start: int, displayed: int, total: int, what: str, where: str) -> None:
    if not total:
        page.say(f"none{where}")
    elif not displayed:
        page.say(f"nothing from {start:,}: there are {total:,}{where}")
    else:
        last = start + displayed - 1
        more = f"; {total - last:,} more: the same call with start={last + 1}" if last < total else ""
        page.say(f"{what}{start:,}–{last:,} of {total:,}{where}{more}")


def grep_files(folder: Folder, asked: dict[str, Any], bounds: ToolBounds, clock: Clock) -> ToolReply:
    """The lines that match a regular expression. It is matched in a child, which can be ended."""
    expression = asked["pattern"]
    if not expression or len(expression) > bounds.pattern_chars:
        raise ToolRefused(
            f"the pattern has {len(expression):,} characters; it must have 1 to {bounds.pattern_chars:,}"
        )
    files = Pattern(asked["files"], bounds)
    top = folder.parts(asked["path"])
    feeding = _Feeding(folder, bounds, clock)
    walk = FolderWalk(folder, bounds, clock)
    entry = folder.look(top)
    if entry.kind == "folder":
        feeding.entries = _matching(walk, top, files)
    else:
        folder.open(top)[0].close()  # refuses what is not a file, with its own message
        feeding.entries = iter([entry])
    job = {key: asked[key] for key in ("pattern", "literal", "ignore_case", "start")}
    job |= {"results": bounds.results, "width": _WIDTH}
    reply = run_worker("search", job, bounds, clock, feed=feeding)
    if refused := reply.fields.get("refused"):
        why = harmless(str(refused), 100)[0]
        raise ToolRefused(
            f"{named(expression)}: no regular expression that can be read: {why}; "
            "with literal=true it is searched for as it is"
        )
    if reply.problem:
        raise ToolRefused(
            f"{named(expression)}: the search gave no answer: {reply.problem}; search fewer files (path, files), or "
            "write the pattern without repeats in repeats, such as (a+)+"
        )
    page = Page(bounds)
    page.say(f"lines that match {named(expression)} in {named(entry.path or '.')}")
    displayed = 0
    for index, number, first, length, text in reply.fields["matches"]:
        out, taken, _ = harmless(text, _WIDTH)
        cut = f" (characters {first + 1:,}–{first + taken:,} of {length:,})" if taken < length else ""
        if not page.content(f"{named(feeding.names[index], 500)}:{number}{cut}", out):
            break
        displayed += 1
    if stopped := reply.fields["stopped"]:
        where = f" in line {stopped[1]:,} of {named(feeding.names[stopped[0]])}" if stopped[0] >= 0 else ""
        page.say(
            f"stopped after {bounds.seconds:g} s{where}: what comes later was not searched; search fewer files, or "
            "write the pattern without repeats in repeats, such as (a+)+"
        )
    for note in [*walk.notes(), *feeding.notes()]:
        page.say(note)
    matched = f" in {count(reply.fields['files'], 'file')}" if reply.fields["total"] else ""
    where = f"{matched}; {count(len(feeding.names), 'file')} searched{' until then' if stopped else ''}"
    _say_range(page, asked["start"], displayed, reply.fields["total"], "matching lines ", where)
    return ToolReply(page.text())


class _Feeding:
    """Writes the files to be searched to the child, each freshly opened, and remembers what was left out."""

    def __init__(self, folder: Folder, bounds: ToolBounds, clock: Clock) -> None:
        self._folder, self._bounds, self._clock = folder, bounds, clock
        self.entries: Iterable[FolderEntry] = ()
        self.names: list[str] = []
        self._left = bounds.search_bytes
        self._out = {"no text": 0, "links, special or unreadable files": 0, "beyond the limit of bytes": 0}
        self._cut = 0

    def __call__(self, pipe: IO[bytes]) -> None:
        for entry in self.entries:
            if self._clock.over():
                return
            try:
                source, size = self._folder.open(entry.parts)
            except (ToolRefused, OSError):
                self._out["links, special or unreadable files"] += 1
                continue
            with closing(source):
                kind, _ = kind_of(source.read(HEAD_BYTES) or b"")
                if size and kind != "text":
                    self._out["no text"] += 1
                elif self._left <= 0:
                    self._out["beyond the limit of bytes"] += 1
                else:
                    source.seek(0)
                    self._send(pipe, entry, source, size)

    def _send(self, pipe: IO[bytes], entry: FolderEntry, source: IO[bytes], size: int) -> None:
        take = min(size, self._left, self._bounds.search_bytes // 4)
        self._cut += take < size
        self._left -= take
        whole = entry.path.lower().endswith(".ipynb") and take == size
        self.names.append(entry.path)
        pipe.write(b"%s %d\n" % (b"notebook" if whole else b"text", take))
        while take > 0:
            # A file that shrinks while it is read is filled up, so that the next one begins where it is looked for.
            block = source.read(min(take, _BLOCK)) or bytes(min(take, _BLOCK))
            pipe.write(block)
            take -= len(block)

    def notes(self) -> list[str]:
        """What was not searched, in words."""
        notes = [
            f"not searched, {why}: {count(number, 'file')}" for why, number in self._out.items() if number
        ]
        if self._cut:
            notes.append(f"searched in their first part alone: {count(self._cut, 'large file')}")
        return notes
