"""LaTeX as prose: commands out, what they say about a number in."""

from __future__ import annotations

import re

from autoscirub.checks.numbers.prose import MATH, Prose

__all__ = ["from_latex"]

_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*)|\\(?P<name>[A-Za-z]+)\*?(?P<option>\[[^\[\]\n]*\])?|(?P<newline>\\\\(?:\*?\[[^\[\]\n]*\])?)"
    r"|\\(?P<sign>[^A-Za-z])|(?P<group>\{,\})|(?P<open>[\^_]\{)|(?P<brace>[{}])|(?P<dash>-{2,3})|(?P<other>[$&~])"
)
_CODE = frozenset({"verbatim", "lstlisting", "minted", "Verbatim", "alltt", "comment", "filecontents"})
_POINTS = re.compile(
    r"(?:no|[A-Za-z]?)cite[a-z]*|(?:auto|eq|page|name|v|c|C|sub)?ref|label|url|path|bibitem|input|include|usepackage"
    r"|documentclass|includegraphics|bibliography|bibliographystyle|hypertarget|hyperlink|tag|href|begin|end"
    r"|pagestyle|thispagestyle|geometry|hypersetup|graphicspath|addbibresource|color|textcolor|definecolor",
    re.IGNORECASE,
)
"""Commands whose first argument points somewhere, and says nothing."""
_LAYOUT = {
    "vspace": 1, "hspace": 1, "vskip": 0, "setlength": 2, "addtolength": 2, "setcounter": 2, "addtocounter": 2,
    "multicolumn": 2, "multirow": 2, "resizebox": 2, "scalebox": 1, "cline": 1, "cmidrule": 1, "fontsize": 2,
    "rule": 2, "parbox": 1, "definecolor": 3, "raisebox": 1, "columnwidth": 0, "linespread": 1,
    "renewcommand": 1, "newcommand": 1, "providecommand": 1,
}  # fmt: skip
"""Commands that lay out, and how many of their arguments are measures or names."""
_SHAPED = frozenset({"tabular", "tabularx", "tabular*", "array", "longtable", "minipage", "wrapfigure", "multicols",
                     "thebibliography"})  # fmt: skip
_MACRO = re.compile(r"\\(?:re)?(?:newcommand|providecommand)\*?\{?\\[A-Za-z]+\}?\{([^{}\n]*[0-9][^{}\n]*)\}")
_MAX_DEPTH = 4


def from_latex(text: str) -> Prose:
    """LaTeX as its reader sees it. Of the preamble only the texts of macros count."""
    prose = Prose()
    at = text.find(r"\begin{document}")
    if at > 0:
        _preamble(prose, text[:at])
    at = max(at, 0)
    unclosed: set[str] = set()
    while (match := _TOKEN.search(text, at)) is not None:
        prose.add(text[at : match.start()])
        at = match.end()
        name = match["name"]
        if match["comment"]:
            prose.comment(match[0], match[0][1:])
        elif name is not None:
            at = _command(prose, text, match, unclosed)
        elif match["newline"]:
            prose.add(" | ")
        elif match["sign"]:
            sign = match["sign"]
            prose.add(sign if sign in "%&#_\n" else "" if sign in "()[]{}" else "\u2009")
        elif match["group"]:
            prose.add(",")
        elif match["open"]:
            prose.add(match[0])
        elif match["brace"]:
            _brace(prose, text, match)
        elif match["dash"]:
            prose.add("–" if len(match[0]) == 2 else "—")
        else:
            prose.add({"&": " | ", "~": "\u00a0"}.get(match[0], ""))
    prose.add(text[at:])
    return prose


def _preamble(prose: Prose, text: str) -> None:
    at = 0
    for macro in _MACRO.finditer(text):
        prose.skip(text[at : macro.start(1)])
        prose.add(macro[1])
        at = macro.end(1)
    prose.skip(text[at:])


def _brace(prose: Prose, text: str, match: re.Match[str]) -> None:
    """A closing brace ends an exponent, or keeps two arguments apart; any other leaves nothing."""
    if match[0] == "}":
        tail = prose.parts[-2] if len(prose.parts) > 1 else ""
        exponent = tail in ("^{", "_{") or (prose.parts and prose.parts[-1] in ("^{", "_{"))
        prose.add("}" if exponent else "; " if text[match.end() : match.end() + 1] == "{" else "")


def _command(prose: Prose, text: str, match: re.Match[str], unclosed: set[str]) -> int:
    """What a command leaves in the text; gives where to go on."""
    name, at = match["name"], match.end()
    if name == "verb" and at < len(text):
        line_end = text.find("\n", at, at + 1000)
        end = text.find(text[at], at + 1, line_end if line_end > 0 else at + 1000)
        if end > 0:
            prose.quote(text[at + 1 : end], "code")
            return end + 1
        return at
    if name in ("begin", "end"):
        end, argument = _argument(text, at)
        environment = argument.strip("{}*")
        if name == "begin" and environment in _CODE and environment not in unclosed:
            close = text.find(rf"\end{{{argument.strip('{}')}}}", end)
            if close < 0:
                unclosed.add(environment)
                return end
            prose.quote(text[end:close], "code")
            return close
        prose.add("; ")
        if name == "begin" and environment in _SHAPED:
            return _drop(prose, text, end, 2 if environment in ("tabularx", "wrapfigure") else 1)
        return end
    if name in MATH:
        prose.add(MATH[name] + (match["option"] or ""))
        return at
    if _POINTS.fullmatch(name):
        return _drop(prose, text, at, 1)
    prose.skip("", "; " if name in ("par", "item", "hline", "midrule") else "")
    return _drop(prose, text, at, _LAYOUT.get(name, 0))


def _drop(prose: Prose, text: str, at: int, arguments: int) -> int:
    for _ in range(arguments):
        end, argument = _argument(text, at)
        prose.skip(argument)
        at = end
    return at


def _argument(text: str, at: int) -> tuple[int, str]:
    """The braced (or, before it, bracketed) argument at `at`; nothing when there is none or it is too deep."""
    start = at
    option = re.compile(r"\s{0,9}\[[^\[\]\n{}]{0,200}\]").match(text, at)
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
