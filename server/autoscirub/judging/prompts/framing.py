"""Frames file contents as data in a prompt, between random marks that no file can imitate.

A judge reads whatever a project's files say. Three things keep a file's text from passing for ours: the marks around it
carry a random code that nobody could know when the file was written; every line begins with a number and a bar, so
that none can begin like a mark; and anything that still looks like a mark is broken up.
"""

from __future__ import annotations

import json
import re
import unicodedata

_NONCE = re.compile(r"[0-9a-zA-Z]{16,128}")
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LOOKS_LIKE_A_MARK = re.compile(r"[<＜‹«〈《](?=[^\n\w]{0,10}(?:end\W{0,10})?judged)", re.IGNORECASE)
# Characters that hide text from a person but not from a model: controls, direction marks, tags. Joiners stay: emoji
# and several scripts need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_LONGEST_LINE = 10_000
_TAIL = 3
"""A text that is too long is shown from its beginning; one part in so many comes from its end."""


def plain(text: str) -> str:
    """`text` with every invisible character written out, such as `\\u{200b}`; tabs and line feeds stay."""
    return _HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def quoted_path(path: str) -> str:
    """A path as one quoted word: whatever a file is called, its name stays on one line and ends where it ends."""
    short = path if len(path) <= 300 else f"{path[:200]}…{path[-90:]}"
    return json.dumps(_broken(plain(short)), ensure_ascii=False)


def frame(text: str, nonce: str, *, limit: int, numbered: bool = True) -> str:
    """`text` between marks with `nonce`, its lines numbered; past `limit` characters the middle is left out, and noted.

    Raises ValueError for a nonce that is not 16 to 128 letters and digits.
    """
    if not _NONCE.fullmatch(nonce):
        raise ValueError(f"the nonce {nonce[:40]!r} is not 16 to 128 ASCII letters and digits")
    lines = [_line(line) for line in _LINE_END.split(text)]
    if lines and not lines[-1]:
        lines.pop()
    width = len(str(len(lines)))
    if numbered:
        lines = [f"{number:>{width}}| {line}" for number, line in enumerate(lines, 1)]
    body = "\n".join(_within(lines, limit))
    body = re.sub(re.escape(nonce), "(the code, removed)", body, flags=re.IGNORECASE)
    return f"<<judged {nonce}>>\n{body}\n<<end judged {nonce}>>"


def _line(line: str) -> str:
    line = _broken(plain(line))
    if len(line) > _LONGEST_LINE:
        more = len(line) - _LONGEST_LINE
        return f"{line[:_LONGEST_LINE]} … (the line goes on for {more:,} characters that are not shown here)"
    return line


def _broken(text: str) -> str:
    """Break up what looks like one of our marks, even when it is written with look-alike letters."""
    if text.isascii():
        return _LOOKS_LIKE_A_MARK.sub("(", text)
    folded = unicodedata.normalize("NFKC", text)
    if _LOOKS_LIKE_A_MARK.search(folded) and not _LOOKS_LIKE_A_MARK.search(text):
        text = folded
    return _LOOKS_LIKE_A_MARK.sub("(", text)


def _within(lines: list[str], limit: int) -> list[str]:
    if sum(map(len, lines)) + len(lines) <= limit:
        return lines
    tail = limit // _TAIL
    first = _how_many(lines, limit - tail)
    last = _how_many(lines[:first:-1], tail)
    left = lines[first : len(lines) - last]
    omission = (
        f"… lines {first + 1:,} to {first + len(left):,} of {len(lines):,} are not shown here "
        f"({sum(map(len, left)):,} characters); read them in the file …"
    )
    return [*lines[:first], omission, *lines[len(lines) - last :]]


def _how_many(lines: list[str], room: int) -> int:
    """How many whole lines fit into `room` characters."""
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return count
    return len(lines)
