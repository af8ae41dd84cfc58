"""Strict JSON parsing: one UTF-8 document, no duplicate keys, bounded depth and digits, faults with their line.

`json.loads` alone accepts duplicate keys (the last one wins, silently), NaN tokens and UTF-16; each of
those has made a tool read a value that its author did not write.
"""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_DEPTH = 200
"""Levels of nesting. Results are shallow; what is deeper only serves to exhaust a stack."""

MAX_DIGITS = 4300
"""Digits in one number: Python's own default for turning text into an integer."""

_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
_MAYBE_HUGE = re.compile(rb"[0-9]{200}|[eE]\+?[0-9]{3}")
"""Without one of these no number is too large for a float; most documents need no check of each number."""
_MAYBE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in a JSON string, a surrogate pair as one; group 1 is half a pair on its own."""
_UTF_16_32 = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Possessive (`*+`), because a string of five million characters would otherwise cost the matcher 600 MB.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+'
_BRACKET = re.compile(_STRING + r'"?|[\[\]{}]', re.DOTALL)
_TOKEN = re.compile(_STRING + r'"?|[\[\]{},:]|[^\s\[\]{},:"]+|\n', re.DOTALL)
_CUT_TOKEN = re.compile(r"-|\.|[eE][-+]?|-?I(n(f(i(n(it?)?)?)?)?)?|t(ru?)?|f(a(ls?)?)?|n(ul?)?|Na?")
"""What is left over where a number or a word was cut off before its end."""


class JsonFault(ValueError):  # noqa: N818 - it becomes an error of the caller's
    """Raised by `parse`; callers turn it into an error of their own that names the file.

    `line` counts from 1; None where the fault has no place in the text.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f"{problem} (line {line})" if line else problem)
        self.problem = problem
        self.line = line


def parse(data: bytes, *, allow_nonfinite: bool = False, allow_overflow: bool = True) -> Any:
    """The one JSON document in `data`; a byte-order mark and CRLF line ends are read as if not there.

    With `allow_nonfinite` the tokens NaN, Infinity and -Infinity are read as floats, and numbers too large for a float
    as infinities, but for `allow_overflow` False, for whoever compares: as infinities all of them are the same.
    Otherwise they are faults. Raises JsonFault, and nothing else.
    """
    text = _decode(data)
    _refuse_depth(data, text)
    hooks: dict[str, Any] = {"object_pairs_hook": _unique}
    if not allow_nonfinite:
        hooks["parse_constant"] = _no_constant
    overflows = allow_nonfinite and allow_overflow
    if not allow_nonfinite or (not overflows and _MAYBE_HUGE.search(data)):
        hooks["parse_float"] = _finite
    if _LONG_NUMBER.search(data):  # perhaps inside a string, so let the parser say
        hooks["parse_int"] = _bounded(int)
        hooks["parse_float"] = _bounded(float if overflows else _finite)
    try:
        value = json.loads(text, **hooks)
    except _FaultAt as found:
        raise JsonFault(found.problem, found.line_in(text)) from None
    except json.JSONDecodeError as error:
        raise _syntax_fault(error, text) from None
    except RecursionError:
        raise JsonFault(f"nested deeper than {MAX_DEPTH} levels") from None
    if _MAYBE_SURROGATE.search(data):
        _refuse_lone_surrogates(text)
    return value


def line_of(text: str, path: tuple[str | int, ...]) -> int | None:
    """The line (from 1) at which the value at `path` begins, or its nearest parent that exists."""
    return lines_of(text, [path])[path]


def lines_of(text: str, paths: Iterable[tuple[str | int, ...]]) -> dict[tuple[str | int, ...], int | None]:
    """`line_of` for several paths, reading the text once."""
    wanted = list(paths)
    missing = {path[:length] for path in wanted for length in range(len(path) + 1)}
    found: dict[tuple[str | int, ...], int] = {}
    for place, line in _places(text):
        if place in missing:
            missing.discard(place)
            found[place] = line
            if not missing:
                break
    return {
        path: next((found[path[:n]] for n in range(len(path), -1, -1) if path[:n] in found), None)
        for path in wanted
    }


class _FaultAt(ValueError):  # noqa: N818 - a fault found inside a parser hook, which knows no position
    def __init__(self, problem: str, line_in: Callable[[str], int | None]) -> None:
        super().__init__(problem)
        self.problem, self.line_in = problem, line_in


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
        if error.reason == "unexpected end of data":
            raise JsonFault("is cut off in the middle of a character", line) from None
        raise JsonFault(
            f"is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}", line
        ) from None


def _refuse_depth(data: bytes, text: str) -> None:
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET.finditer(text):
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
                raise _FaultAt(
                    f"the key {_short(key)} appears twice in one object", partial(_duplicate_line, key=key)
                )
            seen.add(key)
    return value


def _short(key: str) -> str:
    return repr(key) if len(key) <= 60 else f"{key[:57]!r}..."


def _no_constant(token: str) -> float:
    raise _FaultAt(f"the token {token} is not JSON", partial(_bare_line, token=token))


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _FaultAt(f"the number {digits[:40]} is too large", partial(_bare_line, token=digits))
    return number


def _bounded(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    def convert_bounded(digits: str) -> Any:
        if _LONG_NUMBER.search(digits.encode()):
            raise _FaultAt(f"a number of more than {MAX_DIGITS:,} digits", partial(_bare_line, token=digits))
        return convert(digits)

    return convert_bounded


def _syntax_fault(error: json.JSONDecodeError, text: str) -> JsonFault:
    if not text.strip():
        return JsonFault("is empty")
    if error.msg.startswith("Extra data"):
        return JsonFault("holds more than one document: there is text after the first", error.lineno)
    if _is_cut_off(error, text):
        return JsonFault("is cut off: the document does not end", error.lineno)
    return JsonFault(
        f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}, column {error.colno}", error.lineno
    )


def _is_cut_off(error: json.JSONDecodeError, text: str) -> bool:
    rest = text[error.pos :].rstrip()
    return (
        not rest
        or error.msg.startswith("Unterminated string")
        or (error.msg.startswith("Invalid \\u") and len(rest) < 6 and '"' not in rest)
        or _CUT_TOKEN.fullmatch(rest) is not None
    )


def _refuse_lone_surrogates(text: str) -> None:
    for escape in _ESCAPE.finditer(text):
        if half := escape.group(1):
            raise JsonFault(
                rf"a string holds half of a surrogate pair, \u{half}, which is not valid text",
                text.count("\n", 0, escape.start()) + 1,
            )


def _places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Each value's path and line, in the text's order. Stops where the text is no JSON."""
    path: list[str | int] = []
    containers: list[str] = []
    key_next = False
    for token, line in _tokens(text):
        if token in "[{":
            yield tuple(path), line
            containers.append(token)
            path.append("" if token == "{" else 0)
            key_next = token == "{"
        elif token in "]}":
            if not containers:
                return
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
        else:
            yield tuple(path), line


def _duplicate_line(text: str, key: str) -> int | None:
    """The line of the first key that equals `key` and an earlier key of its own object."""
    objects: list[bool | None] = []  # for each open container: was the key seen; None in a list
    key_next = False
    for token, line in _tokens(text):
        if token in "[{":
            objects.append(False if token == "{" else None)
        elif token in "]}":
            objects.pop()
        elif key_next and token.startswith('"') and json.loads(token) == key:
            if objects[-1]:
                return line
            objects[-1] = True
        key_next = token in "{," and bool(objects) and objects[-1] is not None
    return None


def _bare_line(text: str, token: str) -> int | None:
    """The line of the first token outside strings that is written `token`."""
    return next((line for found, line in _tokens(text) if found == token), None)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        else:
            yield token, line
            line += token.count("\n")
