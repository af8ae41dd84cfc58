"""Reads HTML as its reader sees it: no tags or scripts, cells apart, character references resolved."""

from __future__ import annotations

import re

from autoscirub.checks.numbers.prose import Prose, comment_end, entity

_TOKEN = re.compile(r"<!--|</?([A-Za-z][A-Za-z0-9]*)[^<>]*>|<![^<>]*>|&#?[A-Za-z0-9]{1,32};")
_CODE = {"code": "code span", "kbd": "code span", "samp": "code span", "tt": "code span", "pre": "code"}
_UNSEEN = {"script": "script", "style": "style", "template": "template", "annotation": "annotation"}
CELL = " | "
"""What stands between two cells of a table."""
_APART = frozenset({"td", "th"})
_BREAKS = frozenset(
    {"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "caption", "figcaption", "title", "text",
     "summary", "details", "option", "dt", "dd"}
)  # fmt: skip
_NAME = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*")
_VISIBLE_ATTRIBUTE = re.compile(
    r"""\s(?:alt|title|aria-label|aria-description|placeholder|label|summary|value)\s*=\s*"""
    r"""(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))""",
    re.IGNORECASE,
)
"""Attributes that a reader sees, or hears."""
_ELSEWHERE = frozenset({"iframe", "frame", "object", "embed"})
_MATHML = frozenset({"mn", "mi", "mtext", "ms"})
"""Leaves of a formula, which must not grow into one: a base and its exponent."""


def add_tag(prose: Prose, tag: str, name: str) -> None:
    """What a tag leaves behind in the text: what a reader sees of it, and never two numbers grown into one."""
    closing = tag.startswith("</")
    inside = _NAME.sub("", tag)  # of <h2> the 2 is no number
    if not closing and name in _ELSEWHERE:
        prose.away(tag)
    if name == "sup":
        prose.hide(inside, "tag")
        prose.add("}" if closing else "^{")
        return
    visible = [] if closing or "=" not in tag else list(_VISIBLE_ATTRIBUTE.finditer(tag))
    if not visible:
        breaks = CELL if name in _APART else "; " if name in _BREAKS else " " if name in _MATHML else ""
        prose.hide(inside, "tag", breaks)
        return
    rest = _VISIBLE_ATTRIBUTE.sub(lambda match: "\n" * match[0].count("\n"), inside)
    prose.hide(rest, "tag", CELL if name in _APART else "; ")
    for match in visible:
        text = match[1] or match[2] or match[3] or ""
        prose.add(" ".join(entity(text).split()) + "; ")


def from_html(text: str) -> Prose:
    """HTML as its reader sees it. Nothing here goes back over the text: time grows with its length."""
    prose = Prose()
    at = 0
    absent: set[str] = set()  # ends that do not come any more: looked for once
    while (match := _TOKEN.search(text, at)) is not None:
        prose.add(text[at : match.start()])
        piece, name = match[0], (match[1] or "").lower()
        at = match.end()
        if piece == "<!--":
            inside, end = (-1, -1) if "-->" in absent else comment_end(text, at, html=True)
            if end < 0:
                absent.add("-->")
                continue
            prose.comment(text[match.start() : end], text[at:inside])
            at = end
        elif piece[0] == "&":
            prose.add(entity(piece))
        elif (name in _CODE or name in _UNSEEN) and not piece.startswith("</") and name not in absent:
            found = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, at)
            if found is None:
                absent.add(name)
                continue
            prose.hide(piece, "tag")
            if name in _CODE:
                prose.take(_plain(text[at : found.start()], _CODE[name]))
            else:
                prose.hide(text[at : found.start()], _UNSEEN[name])
            prose.hide(found[0], "tag")
            at = found.end()
        else:
            add_tag(prose, piece, name)
    prose.add(text[at:])
    return prose


def _plain(text: str, reason: str) -> Prose:
    """What stands in an element of code: its text, without the tags that colour it."""
    prose = Prose()
    at = 0
    for match in _TOKEN.finditer(text):
        prose.quote(text[at : match.start()], reason, soft=reason != "code")
        if match[0][0] == "&":
            prose.quote(entity(match[0]), reason, soft=reason != "code")
        else:
            prose.hide(match[0], "tag")
        at = match.end()
    prose.quote(text[at:], reason, soft=reason != "code")
    return prose
