"""Strict JSON in: one document, UTF-8, no duplicate keys, bounded depth and digits, faults with their line.

`json.loads` alone accepts duplicate keys (the last one wins, silently), NaN tokens and UTF-16; each of
those has made a tool read another value than the person who wrote the file.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "JsonFault", "line_of", "parse"]

MAX_DEPTH = 200
"""Levels of nesting. Results are shallow; what is deeper only serves to exhaust a stack."""

MAX_DIGITS = 4300
"""Digits in one number: Python's own default for turning text into an integer."""

_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_UTF_16_32 = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},:]|[^\s\[\]{},:"]+|\n', re.DOTALL)


class JsonFault(ValueError):  # noqa: N818 - it becomes an error of the caller's
    """Raised by `parse`; callers turn it into an error of their own that names the file.

    `line` counts from 1; None where the fault has no place in the text.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f"{problem} (line {line})" if line else problem)
        self.problem = problem
        self.line = line


def parse(data: bytes, *, allow_nonfinite: bool = False) -> Any:
    """The one JSON document in `data`; a byte-order mark and CRLF line ends are read as if not there.

    With `allow_nonfinite` the tokens NaN, Infinity and -Infinity, and numbers too large for a float, are
    read as floats; otherwise they are faults. Raises JsonFault, and nothing else.
    """
    text = _decode(data)
    _refuse_depth(data, text)
    hooks: dict[str, Any] = {"object_pairs_hook": _unique}
    if not allow_nonfinite:
        hooks["parse_constant"] = _no_constant
        hooks["parse_float"] = _finite
    if _LONG_NUMBER.search(data):  # perhaps inside a string, so let the parser say
        hooks["parse_int"] = _bounded(int)
        hooks["parse_float"] = _bounded(_finite if not allow_nonfinite else float)
    try:
        value = json.loads(text, **hooks)
    except _Found as found:
        raise JsonFault(found.problem, found.line_in(text)) from None
    except json.JSONDecodeError as error:
        raise _syntax_fault(error, text) from None
    except RecursionError:
        raise JsonFault(f"nested deeper than {MAX_DEPTH} levels") from None
    if _SURROGATE_ESCAPE.search(data):
        _refuse_lone_surrogates(value)
    return value


def line_of(text: str, path: tuple[str | int, ...]) -> int | None:
    """The line (from 1) at which the value at `path` begins, or its nearest parent that exists."""
    best: tuple[int, int] | None = None
    for place, line in _places(text):
        if place == path[: len(place)] and (best is None or len(place) > best[0]):
            best = (len(place), line)
            if len(place) == len(path):
                break
    return best[1] if best else None


class _Found(ValueError):  # noqa: N818 - a fault found inside a parser hook, which knows no position
    def __init__(self, problem: str, key: str | None = None, pattern: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self._key, self._pattern = problem, key, pattern

    def line_in(self, text: str) -> int | None:
        if self._key is not None:
            return _duplicate_line(text, self._key)
        if self._pattern is not None and (match := re.search(self._pattern, text)):
            return text.count("\n", 0, match.start()) + 1
        return None


def _decode(data: bytes) -> str:
    for mark, name in _UTF_16_32.items():
        if data.startswith(mark):
            raise JsonFault(f"is {name}, not UTF-8; save it as UTF-8")
    if data[:4].count(0) >= 2:
        raise JsonFault("is UTF-16 or UTF-32 without a mark, not UTF-8; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JsonFault(
            f"is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}", line
        ) from None


def _refuse_depth(data: bytes, text: str) -> None:
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonFault(
                    f"nested deeper than {MAX_DEPTH} levels", text.count("\n", 0, match.start()) + 1
                )
        elif token in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Found(f"the key {key!r} stands twice in one object", key=key)
            seen.add(key)
    return value


def _no_constant(token: str) -> float:
    raise _Found(f"the token {token} is not JSON", pattern=rf"(?<![\w\"]){re.escape(token)}\b")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Found(f"the number {digits[:40]} is too large", pattern=re.escape(digits))
    return number


def _bounded(convert: Any) -> Any:
    def convert_bounded(digits: str) -> Any:
        if sum(map(str.isdigit, digits)) > MAX_DIGITS:
            raise _Found(
                f"a number of more than {MAX_DIGITS:,} digits", pattern=rf"[0-9]{{{MAX_DIGITS + 1}}}"
            )
        return convert(digits)

    return convert_bounded


def _syntax_fault(error: json.JSONDecodeError, text: str) -> JsonFault:
    if not text.strip():
        return JsonFault("is empty")
    if error.msg.startswith("Extra data"):
        return JsonFault("holds more than one document: there is text after the first", error.lineno)
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return JsonFault("is cut off: the document does not end", error.lineno)
    return JsonFault(
        f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}, column {error.colno}", error.lineno
    )


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise JsonFault(
            r"a string holds half of a surrogate pair (such as \ud800), which is no text"
        ) from None


def _places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Each value's path and line, in the text's order; repeats a path where a key is repeated."""
    line = 1
    path: list[str | int] = []
    containers: list[str] = []
    key_next = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token in "[{":
            yield tuple(path), line
            containers.append(token)
            path.append("" if token == "{" else 0)
            key_next = token == "{"
        elif token in "]}":
            if containers:
                containers.pop()
                path.pop()
            key_next = False
        elif token == ",":
            if containers and containers[-1] == "[":
                path[-1] = int(path[-1]) + 1
            key_next = bool(containers) and containers[-1] == "{"
        elif token == ":":
            key_next = False
        elif key_next and token.startswith('"'):
            try:
                path[-1] = json.loads(token)
            except json.JSONDecodeError:
                return
            line += token.count("\n")
        else:
            yield tuple(path), line
            line += token.count("\n")


def _duplicate_line(text: str, key: str) -> int | None:
    seen: set[tuple[str | int, ...]] = set()
    for place, line in _places(text):
        if place and place[-1] == key:
            if place in seen:
                return line
            seen.add(place)
    return None
