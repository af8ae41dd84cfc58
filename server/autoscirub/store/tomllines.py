"""Finding the line of each string in a TOML text, which `tomllib` does not report."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# Strings first, so that nothing inside one passes for a key, a table or a comment. Possessive, so that a string of a
# million characters costs no more than reading it.
_TOKEN = re.compile(
    r'"""(?>(?:[^"\\]++|\\.|"{1,2}(?!"))*)"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|[\n\[\]{},=.]"
    r"|[A-Za-z0-9_-]++",
    re.DOTALL,
)
_MOST_OPEN = 200
"""Brackets open at once; what is deeper only serves to exhaust memory."""


def toml_strings(text: str, paths: Collection[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """Each string at one of `paths`, with its line (from 1), in the text's order.

    A path names tables and keys without the places in lists: `("checks", "id")` is the id of every `[[checks]]`, and
    of every inline table in `checks = [...]`. Raises nothing: where the text is no TOML it finds less.
    """
    scan = _Scan()
    for token, line in _tokens(text):
        found = scan.take(token)
        if found is not None and found in paths:
            value = _value(token)
            if value is not None:
                yield found, value, line


class _Scan:
    """What the next token is: part of a key, of a table's name, of a value, or what follows one."""

    def __init__(self) -> None:
        self.table: tuple[str, ...] = ()
        self.open: list[tuple[str, tuple[str, ...]]] = []
        self.parts: list[str] = []
        self.path: tuple[str, ...] = ()
        self.expects = "key"

    def take(self, token: str) -> tuple[str, ...] | None:
        """Go on by one token; the path of a string value when it is one."""
        if token.startswith("#"):
            return None
        if token == "\n":
            if not self.open:
                self.parts, self.expects = [], "key"
            return None
        return getattr(self, f"_{self.expects}")(token)  # type: ignore[no-any-return]

    def _key(self, token: str) -> None:
        if token == "=":
            base = self.open[-1][1] if self.open else self.table
            self.path, self.parts, self.expects = (*base, *self.parts), [], "value"
        elif token == "[" and not self.open and not self.parts:
            self.expects = "header"
        elif token in "}]":
            self._close()
        elif token not in "[{,.":
            self.parts.append(_value(token) or "" if token[0] in "\"'" else token)

    def _header(self, token: str) -> None:
        if token == "]":
            self.table, self.parts, self.expects = tuple(self.parts), [], "rest"
        elif token not in "[{}=,.":
            self.parts.append(_value(token) or "" if token[0] in "\"'" else token)

    def _value(self, token: str) -> tuple[str, ...] | None:
        if token in "[{":
            if len(self.open) < _MOST_OPEN:
                self.open.append((token, self.path))
            self.expects = "key" if token == "{" else "value"
            return None
        if token in "]}":
            self._close()
            return None
        self.expects = "rest"
        return self.path if token[0] in "\"'" else None

    def _rest(self, token: str) -> None:
        if token in "]}":
            self._close()
        elif token == "," and self.open:
            kind, self.path = self.open[-1]
            self.parts, self.expects = [], "key" if kind == "{" else "value"

    def _close(self) -> None:
        if self.open:
            self.open.pop()
        self.parts, self.expects = [], "rest"


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        yield token, line
        line += token.count("\n")


def _value(token: str) -> str | None:
    """What a string token says; None where it is no TOML string."""
    if len(token) > 1 and token[0] == token[-1] and "\\" not in token and token[:3] not in {'"""', "'''"}:
        return token[1:-1]
    try:
        value = tomllib.loads(f"x = {token}")["x"]
    except (tomllib.TOMLDecodeError, ValueError):
        return None
    return value if isinstance(value, str) else None
