"""Finds, reads and searches the workspace files that a judge's citations refer to, within bounds.

Only what the manifest lists is read, from regular files, and only while its bytes are those that the judge was shown.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.errors import BlindingError
from autoscirub.judging.decoding import HEAD, UTF16_MARKS, decoded
from autoscirub.store import JsonFault, parse, read_regular, regular_chunks, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from autoscirub.models import WorkspaceFile, WorkspaceManifest

MAX_FILE = 8_000_000
"""Bytes of the largest file in which a citation is looked up."""
MAX_READ = 32_000_000
"""Bytes that are read for one verdict."""
MAX_SEARCHED = 512_000_000
"""Bytes of larger files that are searched for single words, for one verdict."""
_CHUNK = 1 << 20
_LONGEST = 2_000
"""Characters of a word that are searched for: a longer part would not make the search more certain."""

_MARKS = re.compile(r"[*_`#>|~\\]|\$(?!\d)")
_LINK = re.compile(r"!?\[([^\]\n]{0,500})\]\([^)\n]{0,1000}\)")
_LINE_NUMBER = re.compile(r"(?m)^\s*[0-9]{1,7}\|\s?")
_TAG = re.compile(r"<!--|-->|</?[A-Za-z][^<>\n]{0,300}>")
_ESCAPED = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_ELLIPSIS = re.compile(r"\s*[\[(]?(?:…|\.\.\.)[\])]?\s*")
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]*_]*\s+(?=[^\sa-z])")
_OWN_LINE = re.compile(r"\s*(?:[#|>]|[-*+•]\s|\d{1,3}[.)]\s|\\(?:item|section|subsection|caption)\b)")
_PROSE = (".md", ".markdown", ".qmd", ".rmd", ".tex", ".html", ".htm", ".txt", ".rst", ".ipynb")
_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " "})


@dataclass(frozen=True)
class Text:
    """A file's text, or why it cannot be searched."""

    text: str = ""
    fault: str | None = None
    binary: bool = False
    too_large: bool = False


class VisibleFiles:
    """The files of one workspace. Nothing outside the manifest is ever opened."""

    def __init__(self, root: Path, manifest: WorkspaceManifest) -> None:
        self._root = root
        self._files: dict[str, WorkspaceFile] = {file.path: file for file in manifest.files}
        self._left = MAX_READ
        self._left_to_search = MAX_SEARCHED
        self._read: dict[str, Text] = {}
        self._json: dict[str, Any] = {}
        self._sentences: dict[str, tuple[list[str], str, list[int]]] = {}

    @property
    def paths(self) -> list[str]:
        return list(self._files)

    def text(self, path: str) -> Text:
        """A file's text. Links and special files are not read, nor what is too large or has changed."""
        if path not in self._read:
            self._read[path] = self._read_text(path)
        return self._read[path]

    def json(self, path: str) -> Any:
        """A file's JSON value; None where it is none."""
        if path not in self._json:
            try:
                self._json[path] = parse(self.text(path).text.encode(), allow_nonfinite=True)
            except JsonFault:
                self._json[path] = None
        return self._json[path]

    def sentence(self, path: str, quotation: str) -> tuple[str, str] | None:
        """The whole sentences that a quotation stands in, and what of them it leaves out; None where it is not there.

        White space, case, markup and the form of quotation marks do not count; … stands for words left out.
        """
        pieces = [piece for piece in (flat(part) for part in _ELLIPSIS.split(quotation)) if piece]
        units, joined, starts = self._units(path)
        at, spans = 0, []
        for piece in pieces:
            # The plain search is many times faster, and its answer is mostly no.
            found = _piece(piece).search(joined, at) if piece in joined else None
            if found is None:
                return None
            spans.append(found.span())
            at = found.end()
        if not spans:
            return None
        first, last = bisect_right(starts, spans[0][0]) - 1, bisect_right(starts, spans[-1][1] - 1) - 1
        begin, end = starts[first], starts[last] + len(flat(units[last], ends=True))
        around = [begin, *(edge for span in spans for edge in span), end]
        rest = " … ".join(joined[a:b].strip() for a, b in zip(around[::2], around[1::2], strict=True))
        return " ".join(units[first : last + 1]), rest.strip(" …")

    def _units(self, path: str) -> tuple[list[str], str, list[int]]:
        """The sentences of a file, all of them joined as `flat` words, and where each begins there."""
        if path not in self._sentences:
            text = self.text(path).text
            units = list(sentences(text, by_line=not path.casefold().endswith(_PROSE)))
            if path.endswith((".json", ".ipynb")):
                units += [unit for inner in texts_in(self.json(path)) for unit in sentences(inner)]
            words = [(unit, flat(unit, ends=True)) for unit in units]
            full, starts, at = [(unit, plain) for unit, plain in words if plain], [], 0
            for _, plain in full:
                starts.append(at)
                at += len(plain) + 1
            self._sentences[path] = ([unit for unit, _ in full], " ".join(plain for _, plain in full), starts)
        return self._sentences[path]

    def may_hold(self, path: str, words: Iterable[str]) -> bool:
        """Whether a file may hold each of `words`. Only False is certain."""
        wanted, text = [word[:_LONGEST] for word in words], self.text(path)
        if text.fault is None:
            plain = _unescaped(text.text)
            return all(word in plain for word in wanted)
        listed = self._files[path]
        if not text.too_large or listed.size > self._left_to_search:
            return True
        self._left_to_search -= listed.size
        sha256, overlap, at = hashlib.sha256(), b"", 0
        left = {word.encode() for word in wanted if word}
        try:
            for chunk in regular_chunks(
                self._root / path, size=_CHUNK, within=self._root, error=BlindingError
            ):
                if not at and chunk.startswith(UTF16_MARKS):
                    return True  # UTF-16 encodes the words in other bytes than are searched for
                if not at and decoded(chunk[:HEAD]) is None:
                    return False  # not text, so a judge cannot have read a verdict there
                if (at := at + len(chunk)) > listed.size:
                    return True
                sha256.update(chunk)
                searched = _unescaped((overlap + chunk).decode("latin-1")).encode("latin-1")
                left = {word for word in left if word not in searched}
                overlap = (overlap + chunk)[-12 * _LONGEST :]
        except BlindingError:
            return True
        return not left or sha256.hexdigest() != listed.sha256

    def _read_text(self, path: str) -> Text:
        listed = self._files[path]
        if listed.size > min(MAX_FILE, self._left):
            return Text(fault=f"is too large to look into ({listed.size:,} bytes)", too_large=True)
        try:
            data = read_regular(self._root / path, limit=MAX_FILE, within=self._root, error=BlindingError)
        except BlindingError as error:
            return Text(fault=f"cannot be looked into: {error}")
        if data is None:
            return Text(fault="was shown, and is no longer there")
        self._left -= len(data)
        if sha256_bytes(data) != listed.sha256:
            return Text(fault="is no longer what was shown")
        text = decoded(data)
        if text is None:
            return Text(binary=True)
        return Text(text, binary=data.startswith(b"%PDF-"))


def sentences(text: str, *, by_line: bool = False) -> Iterator[str]:
    """The sentences of a text. Headings, list items, rows of tables and, `by_line`, all lines are one each."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if by_line or not line.strip() or _OWN_LINE.match(line):
            yield from _SENTENCE.split(" ".join(block)) if block else ()
            block = []
        if by_line or line.lstrip().startswith(("#", "|")):
            yield line.strip()
        elif line.strip():
            block.append(line.strip())


def _unescaped(text: str) -> str:
    """A text with the letters that JSON may write as escapes, at whatever depth, written out."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "u00" in text else text


@functools.lru_cache(maxsize=64)
def _piece(piece: str) -> re.Pattern[str]:
    # Whole words and whole numbers: "is 0.5" is not what "is 0.51" says, nor "0.5" what "-0.5" says.
    before = r"(?<![\w.-])" if piece[0].isdigit() else r"(?<!\w)"
    after = r"(?!\w|[.,][0-9])" if piece[-1].isalnum() else ""
    return re.compile(before + re.escape(piece) + after)


def flat(text: str, *, ends: bool = False) -> str:
    """The words alone, lower case, single spaces: no markup, no line numbers as our tools print them.

    `ends`: with the punctuation at both ends.
    """
    text = unicodedata.normalize("NFKC", _LINE_NUMBER.sub("", text).translate(_SAME)).translate(_SAME)
    text = _MARKS.sub(" ", _TAG.sub(" ", _LINK.sub(r"\1", text)))
    text = re.sub(r"\s+([,.;:!?)%])", r"\1", re.sub(r"\s+", " ", text))
    return text.strip().casefold() if ends else text.strip().strip(".,;:!?").casefold()


def texts_in(value: Any) -> list[str]:
    """Every string in JSON data; strings of one list also joined, because a notebook stores its lines that way."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting += reversed(item.values())
        elif isinstance(item, list):
            if item and all(isinstance(inner, str) for inner in item):
                found.append("".join(item))
                found.append(" ".join(item))
            else:
                waiting += reversed(item)
    return found
