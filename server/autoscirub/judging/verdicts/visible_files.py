"""The files of a workspace as a judge's citations are looked up in them: found, read within bounds, and compared.

Only what the manifest lists is read, from regular files, and only while its bytes are those that the judge was shown.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from autoscirub.errors import BlindingError
from autoscirub.judging.decoding import HEAD, UTF16_MARKS, decoded
from autoscirub.store import JsonFault, parse, read_regular, regular_chunks, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoscirub.models import WorkspaceFile, WorkspaceManifest

MAX_FILE = 8_000_000
"""Bytes of a file in which a citation is looked up."""
MAX_READ = 32_000_000
"""Bytes that are read for one verdict."""
MAX_SEARCHED = 512_000_000
"""Bytes of larger files that are searched for single words, for one verdict."""
_CHUNK = 1 << 20
_LONGEST = 2_000
"""Characters of a word that is searched for: more of it tells no more."""

_MARKS = re.compile(r"[*_`#>|~\\]|\$(?!\d)")
_LINK = re.compile(r"!?\[([^\]\n]{0,500})\]\([^)\n]{0,1000}\)")
_LINE_NUMBER = re.compile(r"(?m)^\s*[0-9]{1,7}\|\s?")
_TAG = re.compile(r"<!--|-->|</?[A-Za-z][^<>\n]{0,300}>")
_ESCAPED = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_ELLIPSIS = re.compile(r"\s*[\[(]?(?:…|\.\.\.)[\])]?\s*")
_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " "})


@dataclass(frozen=True)
class Text:
    """A file's text, or why there is none to look into."""

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
        self._plain: dict[str, str] = {}

    @property
    def paths(self) -> list[str]:
        return list(self._files)

    def find(self, cited: str) -> list[str] | None:
        """The files that a cited path may mean, none for one that is not there; None for a path that leads out."""
        path = cited.replace("\\", "/")
        root = os.fspath(self._root).rstrip("/") + "/"
        if path.startswith(root):
            path = path[len(root) :]
        if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
            return None
        parts: list[str] = []
        for part in path.split("/"):
            if part == ".." and not parts:
                return None
            if part == "..":
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        path = "/".join(parts)
        if path in self._files:
            return [path]
        inside = [name for name in self._files if name.startswith(f"{path}/")] if path else self.paths
        ending = [name for name in self._files if name.endswith(f"/{path}")]
        folded = [name for name in self._files if name.casefold() == path.casefold()]
        return ending or folded or inside

    def results(self) -> list[str]:
        """The files that `results.key` may mean."""
        named = [name for name in self._files if PurePosixPath(name).name == "results.json"]
        return named or [name for name in self._files if name.endswith(".json")][:20]

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

    def plain(self, path: str) -> str:
        """A file's words as `says` compares them; of JSON and notebooks also the texts inside."""
        if path not in self._plain:
            text = self.text(path).text
            if path.endswith((".json", ".ipynb")):
                text = "\n".join([text, *texts_in(self.json(path))])
            self._plain[path] = flat(text)
        return self._plain[path]

    def may_hold(self, path: str, words: Iterable[str]) -> bool:
        """Whether a file may hold each of `words`. Only that it does not is certain."""
        wanted, text = [word[:_LONGEST] for word in words], self.text(path)
        if text.fault is None:
            plain = _unescaped(text.text)
            return all(word in plain for word in wanted)
        listed = self._files[path]
        if not text.too_large or listed.size > self._left_to_search:
            return True
        self._left_to_search -= listed.size
        sha256, kept, at = hashlib.sha256(), b"", 0
        left = {word.encode() for word in wanted if word}
        try:
            for chunk in regular_chunks(
                self._root / path, size=_CHUNK, within=self._root, error=BlindingError
            ):
                if not at and chunk.startswith(UTF16_MARKS):
                    return True  # its words stand there in other bytes than are searched for
                if not at and decoded(chunk[:HEAD]) is None:
                    return False  # no text: it is not shown as one
                if (at := at + len(chunk)) > listed.size:
                    return True
                sha256.update(chunk)
                searched = _unescaped((kept + chunk).decode("latin-1")).encode("latin-1")
                left = {word for word in left if word not in searched}
                kept = (kept + chunk)[-12 * _LONGEST :]
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


def says(plain: str, quotation: str) -> bool:
    """Whether `plain` (see `ShownFiles.plain`) says what is quoted, case, space and markup aside."""
    at = 0
    pieces = [piece for piece in (flat(part) for part in _ELLIPSIS.split(quotation)) if piece]
    for piece in pieces:
        # The plain search is many times faster, and mostly says no.
        found = _piece(piece).search(plain, at) if piece in plain else None
        if found is None:
            return False
        at = found.end()
    return bool(pieces)


def _unescaped(text: str) -> str:
    """A text with the letters that JSON may write as escapes, at whatever depth, written out."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "u00" in text else text


@functools.lru_cache(maxsize=64)
def _piece(piece: str) -> re.Pattern[str]:
    # Whole words and whole numbers: "is 0.5" is not what "is 0.51" says, nor "0.5" what "-0.5" says.
    before = r"(?<![\w.-])" if piece[0].isdigit() else r"(?<!\w)"
    after = r"(?!\w|[.,][0-9])" if piece[-1].isalnum() else ""
    return re.compile(before + re.escape(piece) + after)


def flat(text: str) -> str:
    """Words alone: no markup, no line numbers of ours, one space between them, all in one case."""
    text = unicodedata.normalize("NFKC", _LINE_NUMBER.sub("", text).translate(_SAME)).translate(_SAME)
    text = _MARKS.sub(" ", _TAG.sub(" ", _LINK.sub(r"\1", text)))
    text = re.sub(r"\s+([,.;:!?)%])", r"\1", re.sub(r"\s+", " ", text))
    return text.strip().strip(".,;:!?").casefold()


def texts_in(value: Any) -> list[str]:
    """Every text in JSON data; neighbours in a list together, as a notebook keeps its lines."""
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
