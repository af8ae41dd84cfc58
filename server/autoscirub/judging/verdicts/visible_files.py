"""Finds, reads and searches the workspace files that a judge's citations refer to, within bounds.

Only what the manifest lists is read, from regular files, and only while its bytes are those that the judge was shown.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.errors import BlindingError
from autoscirub.judging.decoding import HEAD, UTF16_MARKS, decoded
from autoscirub.judging.injection import addresses
from autoscirub.judging.verdicts.passages import Passages, flat
from autoscirub.store import JsonFault, parse, read_regular, regular_chunks, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
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

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ESCAPED = re.compile(r"\\+u00([2-7][0-9a-fA-F])")


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
        self._passages: dict[str, Passages] = {}
        self._addressing: dict[str, list[str]] = {}

    @property
    def paths(self) -> list[str]:
        return list(self._files)

    def path_of(self, cited: str) -> str:
        """A path as the manifest has it; a judge's tools may show it with that of the workspace."""
        return cited.strip().strip("`").removeprefix(f"{self._root}/").removeprefix("./")

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

    def passages(self, path: str) -> Passages:
        """The sentences of a file."""
        if path not in self._passages:
            strings = texts_in(self.json(path)) if path.endswith((".json", ".ipynb")) else []
            self._passages[path] = Passages(path, self.text(path).text, strings)
        return self._passages[path]

    def addressing(self, path: str) -> list[str]:
        """The lines and comments of a file that address a judge, as `flat` words."""
        if path not in self._addressing:
            text = self.text(path).text
            parts = [*text.splitlines(), *_COMMENT.findall(text)] if addresses(text) else []
            self._addressing[path] = [flat(part) for part in parts if addresses(part)]
        return self._addressing[path]

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


def _unescaped(text: str) -> str:
    """A text with the letters that JSON may write as escapes, at whatever depth, written out."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "u00" in text else text


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
