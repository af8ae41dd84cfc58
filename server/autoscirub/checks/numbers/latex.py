"""Reads LaTeX as its reader sees it: without commands, but with what they say about a number."""

from __future__ import annotations

import re

from autoscirub.checks.numbers.latex_commands import (
    CODE,
    DEFINES,
    ELSEWHERE,
    LAYOUT,
    OPTIONED,
    PLACED,
    POINTS,
    SETTINGS,
    SHAPED,
    points_as,
)
from autoscirub.checks.numbers.prose import MATH, Prose

_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*)|\\(?P<name>[A-Za-z]+)\*?"
    r"|(?P<newline>\\\\(?:\*?\[\s*-?[0-9.]*\s*(?:pt|em|ex|[cm]m|in|bp|pc|sp|\\[a-z]+)\s*\])?)"
    r"|\\(?P<sign>[^A-Za-z])|(?P<group>\{,\})|(?P<open>[\^_]\{)|(?P<brace>[{}])|(?P<dash>-{2,3})|(?P<other>[$&~])"
    r"|(?P<parameter>#{1,4}[1-9])"
)
_DEFINED = re.compile(r"\s{0,9}\{?\s{0,9}\\([A-Za-z@]+)\s{0,9}\}?\s{0,9}(?:\[[0-9]\])?(?:#[1-9]){0,9}")
_OPTION = re.compile(r"\s{0,9}\[[^\[\]\n{}]{0,200}\]")
_BEGINS = re.compile(
    r"(?P<skipped>%[^\n]*|\\[^A-Za-z])"
    r"|\\begin\s*+(?>(?:%[^\n]*\n\s*+)*)\{document\}|\\document(?![A-Za-z])"
)
"""Where a preamble ends; comments and escaped signs are passed over."""
_MAX_DEPTH = 4


_TITLES = re.compile(r"(?:sub|short|running)?title|titlehead|date|abstract|keywords|subject", re.IGNORECASE)


def from_latex(text: str) -> Prose:
    """LaTeX as its reader sees it.

    A preamble is what stands between the \\documentclass and the beginning of its document, both of them in no comment;
    one that is shown as code begins none. Of it the macros and the title are text; what else it holds is mostly the
    settings of packages, and is a claim only with a unit.
    """
    reader = _LatexReader(text)
    reader.read()
    return reader.prose


class _LatexReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.prose = Prose(citations=False)
        self._body = -1
        """Where the preamble ends that the reader is in or was in; 0: there is none; -1: none has begun."""
        self._depth = 0
        self._reading: int | None = None
        """In the preamble the depth of braces at which a text began that a reader may see."""
        self._unclosed: set[str] = set()

    def read(self) -> None:
        """Token by token, from left to right."""
        at = 0
        while (match := _TOKEN.search(self.text, at)) is not None:
            self._plain(at, match.start())
            at = self._token(match)
        self._plain(at, len(self.text))

    def _plain(self, start: int, end: int) -> None:
        if start < self._body and self._reading is None:
            self.prose.quote(self.text[start:end], "preamble", soft=True)
        else:
            self.prose.add(self.text[start:end])

    def _token(self, match: re.Match[str]) -> int:
        """What a token leaves in the text; gives where to go on."""
        prose, name = self.prose, match["name"]
        if match["comment"]:
            prose.comment(match[0], match[0][1:])
        elif name is not None:
            return self._named(match, name)
        elif match["newline"]:
            prose.hide(match[0], "layout", " | ")
        elif match["sign"]:
            sign = match["sign"]
            visible = sign in "%&#_\n" or sign.isdigit()
            prose.add(sign if visible else "" if sign in "()[]{}" else "\u2009")
        elif match["group"]:
            prose.add(",")
        elif match["open"]:
            self._depth += 1
            prose.add(match[0])
        elif match["brace"]:
            self._brace(match)
        elif match["dash"]:
            prose.add("–" if len(match[0]) == 2 else "—")
        elif not match["parameter"]:
            prose.add({"&": " | ", "~": "\u00a0"}.get(match[0], ""))
        return match.end()

    def _brace(self, match: re.Match[str]) -> None:
        """A closing brace ends an exponent, or keeps two arguments apart; any other leaves nothing."""
        if match[0] == "{":
            self._depth += 1
            return
        self._depth = max(0, self._depth - 1)
        prose = self.prose
        tail = prose.parts[-2] if len(prose.parts) > 1 else ""
        exponent = tail in ("^{", "_{") or (prose.parts and prose.parts[-1] in ("^{", "_{"))
        apart = self.text[match.end() : match.end() + 1] == "{" or match.end() < self._body
        prose.add("}" if exponent else "; " if apart else "")

    def _named(self, match: re.Match[str], name: str) -> int:
        """A command by its name."""
        at = match.end()
        if self._reading is not None and self._depth <= self._reading:
            self._reading = None
        if DEFINES.fullmatch(name) and (defined := _DEFINED.match(self.text, at)) is not None:
            self._reading = self._depth
            if defined[1] in SETTINGS:
                return self._drop(defined.end(), 1, "layout")
            self.prose.hide(defined[0], "layout", "; ")
            return defined.end()
        if name == "documentclass" and self._body < 0:
            self._body = self._end_of_preamble(at)
        if at < self._body and _TITLES.fullmatch(name):
            self._reading = self._depth
        if name == "verb" and at < len(self.text):
            return self._verb(at)
        if name in ("begin", "end"):
            return self._environment(name, at)
        if ELSEWHERE.fullmatch(name):
            end = self._drop(at, 1, "layout")
            self.prose.away(self.text[match.start() : max(end, at + 40)].split("\n")[0])
            return end
        if name in MATH:
            self.prose.add(MATH[name])
            return at
        if OPTIONED.fullmatch(name) and (option := _OPTION.match(self.text, at)) is not None:
            self.prose.hide(option[0], "layout")
            at = option.end()
        if name in LAYOUT:
            return self._drop(at, LAYOUT[name], "layout")
        if POINTS.fullmatch(name):
            return self._drop(at, 1, points_as(name))
        self.prose.add("; " if name in ("par", "item", "hline", "midrule") else "")
        return at

    def _end_of_preamble(self, at: int) -> int:
        """Where the document begins that is of the class named at `at`; 0 when it begins nowhere."""
        begins = (found.start() for found in _BEGINS.finditer(self.text, at) if found["skipped"] is None)
        return next(begins, 0)

    def _verb(self, at: int) -> int:
        line_end = self.text.find("\n", at, at + 1000)
        end = self.text.find(self.text[at], at + 1, line_end if line_end > 0 else at + 1000)
        if end < 0:
            return at
        self.prose.quote(self.text[at + 1 : end], "code span", soft=True)
        return end + 1

    def _environment(self, name: str, at: int) -> int:
        end, argument = _argument(self.text, at)
        environment = argument.strip("{}")
        self._reading = None if environment == "document" else self._reading
        reason = CODE.get(environment.rstrip("*"))
        if name == "begin" and reason and environment not in self._unclosed:
            close = self.text.find(rf"\end{{{environment}}}", end)
            if close >= 0:
                self.prose.quote(self.text[end:close], reason)
                return close
            self._unclosed.add(environment)
            return end
        self.prose.hide(argument, "layout", "; ")
        if (
            name == "begin"
            and environment in PLACED
            and (option := _OPTION.match(self.text, end)) is not None
        ):
            self.prose.hide(option[0], "layout")
            end = option.end()
        if name == "begin" and environment in SHAPED:
            return self._drop(end, 2 if environment in ("tabularx", "wrapfigure") else 1, "layout")
        return end

    def _drop(self, at: int, arguments: int, reason: str) -> int:
        for _ in range(arguments):
            end, argument = _argument(self.text, at)
            self.prose.hide(argument, reason)
            at = end
        return at


def _argument(text: str, at: int) -> tuple[int, str]:
    """The braced (or, before it, bracketed) argument at `at`; nothing when there is none or it is too deep."""
    start = at
    option = _OPTION.match(text, at)
    at = option.end() if option else at
    if text[at : at + 1] != "{":
        return start, ""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, at, at + 2000):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end(), text[start : brace.end()]
        if depth > _MAX_DEPTH:
            break
    return start, ""
