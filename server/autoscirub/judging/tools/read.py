"""The `read` tool: lines of a text, the head of a table, a notebook's cells, a picture, or what a file is."""

from __future__ import annotations

import hashlib
import posixpath
from typing import TYPE_CHECKING, BinaryIO

from autoscirub.judging.tools.bounds import ToolImage, ToolReply
from autoscirub.judging.tools.output import Page, count, harmless, named
from autoscirub.judging.tools.parser_process import run_worker
from autoscirub.judging.tools.text import HEAD_BYTES, as_utf8, kind_of, window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from autoscirub.judging.tools.bounds import Clock, ToolBounds
    from autoscirub.judging.tools.files import Parts

_BLOCK = 1 << 20
_COLUMNS = 50  # of a Parquet file, in one answer
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


class FileView:
    """One call of `read`, on a file that is open."""

    def __init__(
        self,
        parts: Parts,
        source: BinaryIO,
        size: int,
        asked: dict[str, Any],
        bounds: ToolBounds,
        clock: Clock,
    ) -> None:
        self._path, self._source, self._size = "/".join(parts), source, size
        self._bounds, self._clock = bounds, clock
        self._start, self._column = asked["start"], asked["column"]
        # What lies before the column is read too, so one line at a time.
        self._lines: int | None = 1 if self._column > 1 else asked["lines"]
        self._page = Page(bounds)
        self._name = named(self._path)
        self._escaped = 0
        self._suffix = posixpath.splitext(self._path)[1].lower()

    def answer(self) -> ToolReply:
        self._source.seek(0)
        head = self._source.read(HEAD_BYTES) or b""
        kind, words = kind_of(head)
        if self._size == 0:
            self._page.say(f"{self._name}: empty, 0 bytes")
        elif kind == "picture":
            return self._picture(words)
        elif kind == "parquet":
            self._parquet(words)
        elif kind == "binary" or (text := as_utf8(self._source, self._size, head, self._bounds)) is None:
            self._nothing_of_it(words)
        elif self._suffix != ".ipynb" or not self._notebook():
            self._text(text, words)
        return ToolReply(self._page.text())

    def _nothing_of_it(self, words: str, why: str = "") -> None:
        if self._size > self._bounds.scan_bytes:
            digest = f"no sha256 of more than {self._bounds.scan_bytes:,} bytes"
        else:
            digest = self._digest()
        because = f"; {why}" if why else ""
        self._page.say(
            f"{self._name}: {words}, {self._size:,} bytes, {digest}; nothing of it is shown{because}"
        )

    def _digest(self) -> str:
        self._source.seek(0)
        total, left = hashlib.sha256(), self._size
        while left > 0 and (block := self._source.read(min(left, _BLOCK))):
            if self._clock.over():
                return f"no sha256 within {self._bounds.seconds:g} s"
            total.update(block)
            left -= len(block)
        return f"sha256 {total.hexdigest()}"

    def _picture(self, words: str) -> ToolReply:
        if self._size > self._bounds.picture_bytes:
            why = f"pictures of more than {self._bounds.picture_bytes:,} bytes are not decoded"
            self._nothing_of_it(words, why)
            return ToolReply(self._page.text())
        bounds = self._bounds
        job = {"pixels": bounds.pixels, "side": bounds.image_side, "bytes": bounds.image_bytes}
        reply = run_worker("picture", job, bounds, self._clock, source=self._source)
        size = " × ".join(f"{side:,}" for side in reply.fields.get("size", ()))
        words = f"{words}, {size} pixels" if size else words
        if reply.problem:
            self._nothing_of_it(words, reply.problem)
            return ToolReply(self._page.text())
        drawn = reply.fields["drawn"]
        scaled = (
            f"; scaled down to {drawn[0]:,} × {drawn[1]:,}" if max(reply.fields["size"]) > max(drawn) else ""
        )
        several = "; the first of several frames" if reply.fields["several"] else ""
        self._page.say(
            f"{self._name}: {words}, {self._size:,} bytes; shown as its pixels alone, redrawn{scaled}{several}"
        )
        return ToolReply(self._page.text(), ToolImage(reply.body, reply.fields["mime"]))

    def _parquet(self, words: str) -> None:
        asked = self._asked(self._lines or self._bounds.table_lines) | {"columns": _COLUMNS}
        reply = run_worker("parquet", asked, self._bounds, self._clock, source=self._source)
        if reply.problem:
            self._nothing_of_it(words, reply.problem)
            return
        rows, columns = reply.fields["rows"], reply.fields["columns"]
        first = f"; the first {_COLUMNS} columns are shown" if columns > _COLUMNS else ""
        self._page.say(
            f"{self._name}: {words}, {count(rows, 'row')} × {count(columns, 'column')}, {self._size:,} bytes{first}"
        )
        displayed = self._labelled(reply.fields["lines"])
        self._end("row", max(0, displayed - 1), rows)

    def _notebook(self) -> bool:
        if self._size > self._bounds.parse_bytes:
            self._page.say(
                f"{self._name}: a notebook of more than {self._bounds.parse_bytes:,} bytes is shown as it is"
            )
            return False
        asked = self._asked(self._lines or self._bounds.lines)
        reply = run_worker("notebook", asked, self._bounds, self._clock, source=self._source)
        if reply.problem:
            self._page.say(f"{self._name}: {reply.problem}; it is shown as it is")
            return False
        total = reply.fields["total"]
        self._page.say(f"{self._name}: a notebook, the text of its cells and outputs, {self._size:,} bytes")
        displayed = self._labelled(
            [f"{self._start + at} {label}", *rest] for at, (label, *rest) in enumerate(reply.fields["lines"])
        )
        self._end("line", displayed, total)
        return True

    def _asked(self, lines: int) -> dict[str, Any]:
        return {
            "start": self._start,
            "column": self._column,
            "lines": lines,
            "width": self._bounds.line_chars,
            "chars": self._bounds.answer_chars,
        }

    def _labelled(self, lines: Iterable[list[Any]]) -> int:
        """Add the child's lines, each after its label; return how many there was room for."""
        displayed = 0
        for label, text, length in lines:
            if not self._line(label, text, length > self._column - 1 + len(text), f"{length:,} characters"):
                break
            displayed += 1
        return displayed

    def _text(self, text: BinaryIO, words: str) -> None:
        table = self._suffix in (".csv", ".tsv")
        lines = self._lines or (self._bounds.table_lines if table else self._bounds.lines)
        size = self._size if text is self._source else text.seek(0, 2)
        found = window(text, size, self._start, lines, self._column, self._bounds, self._clock)
        shape = self._table() if table else self._document() if self._suffix == ".json" else ""
        total = f"{'' if found.whole else 'at least '}{count(found.total, 'line')}"
        invalid = next((line.number for line in found.lines if not line.valid), None)
        bad = (
            ""
            if invalid is None
            else f"; line {invalid:,} is not UTF-8: what is not is shown as \N{REPLACEMENT CHARACTER}"
        )
        self._page.say(f"{self._name}: {shape or words}, {total}, {self._size:,} bytes{bad}")
        displayed = 0
        for line in found.lines:
            if not self._line(f"{line.number}", line.text, line.cut, f"{line.size:,} bytes"):
                break
            displayed += 1
        self._end("line", displayed, found.total, whole=found.whole)

    def _line(self, label: str, text: str, cut: bool, length: str) -> bool:
        """Add one line of the file; where it is cut, the label says which part of how much is shown."""
        out, taken, escaped = harmless(text, self._bounds.line_chars)
        if not taken and self._column > 1:
            label += f" (nothing from character {self._column:,}; of {length})"
        elif cut or taken < len(text):
            label += f" (cut: characters {self._column:,}–{self._column + taken - 1:,}, of {length})"
        elif self._column > 1:
            label += f" (from character {self._column:,})"
        self._escaped += escaped
        return self._page.content(label, out)

    def _end(self, what: str, displayed: int, total: int, *, whole: bool = True) -> None:
        """What was shown and what was not, with the call that shows more."""
        least = "" if whole else "at least "
        if not displayed:
            self._page.say(f"no {what} {self._start:,}: there are {least}{total:,}")
            return
        last = self._start + displayed - 1
        left = total - last
        more = f"; {least}{left:,} more: read({self._name}, start={last + 1})" if left > 0 else ""
        if not whole and left <= 0:
            more = f"; the rest was not counted: read({self._name}, start={last + 1})"
        self._page.say(f"{what}s {self._start:,}–{last:,} of {least}{total:,}{more}")
        if self._escaped:
            self._page.say(f"{count(self._escaped, 'control character')} shown as escapes, such as \\x1b")

    def _table(self) -> str:
        if self._size > self._bounds.parse_bytes:
            return f"a table whose shape is not counted above {self._bounds.parse_bytes:,} bytes"
        job = {"tabs": self._suffix == ".tsv"}
        reply = run_worker("table", job, self._bounds, self._clock, source=self._source)
        if reply.problem:
            return f"text named as a table: {reply.problem}"
        fields = reply.fields
        rows = f"{count(fields['rows'], 'row')} (with its header, if it has one)"
        columns = f"{count(fields['columns'], 'column')} by {_DELIMITERS[fields['delimiter']]}"
        ragged = f", {count(fields['ragged'], 'row')} of another length" if fields["ragged"] else ""
        return f"a table, {rows} × {columns}{ragged}"

    def _document(self) -> str:
        if self._size > self._bounds.parse_bytes:
            return ""
        reply = run_worker("document", {}, self._bounds, self._clock, source=self._source)
        if reply.problem:
            return f"text named as JSON: {reply.problem}"
        kind, number, inner = reply.fields["shape"]
        if kind == "value":
            return "JSON, a single value"
        parts = count(number, "item") if kind == "array" else count(number, "key")
        return f"JSON, an {kind} of {parts}{', ' + inner if inner else ''}"
