"""HTML as prose: tags and scripts out, cells apart, character references as what they stand for."""

from __future__ import annotations

import re

from autoscirub.checks.numbers.prose import Prose, entity

__all__ = ["CELL", "add_tag", "from_html"]

_TOKEN = re.compile(r"<!--|</?([A-Za-z][A-Za-z0-9]*)[^<>]*>|<![^<>]*>|&#?[A-Za-z0-9]{1,32};")
_CODE = frozenset({"code", "pre", "kbd", "samp", "tt"})
_UNSEEN = frozenset({"script", "style", "svg", "template", "head", "math"})
CELL = " | "
"""What stands between two cells of a table."""
_APART = frozenset({"td", "th"})
_BREAKS = frozenset(
    {"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "caption", "figcaption"}
)


def add_tag(prose: Prose, tag: str, name: str) -> None:
    """What a tag leaves behind in the text: little, and never two numbers grown into one."""
    closing = tag.startswith("</")
    if name == "sup":
        prose.add("}" if closing else "^{")
    elif name in _APART:
        prose.skip(tag, CELL)
    else:
        prose.skip(tag, "; " if name in _BREAKS else "")


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
            end = -1 if "-->" in absent else text.find("-->", at)
            if end < 0:
                absent.add("-->")
                continue
            prose.comment(text[match.start() : end + 3], text[at:end])
            at = end + 3
        elif piece[0] == "&":
            prose.add(entity(piece))
        elif (name in _CODE or name in _UNSEEN) and not piece.startswith("</") and name not in absent:
            found = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, at)
            if found is None:
                absent.add(name)
                continue
            inside = text[at : found.start()]
            prose.skip(piece)
            if name in _CODE:
                prose.quote(inside, "code")
            else:
                prose.skip(inside)
            prose.skip(found[0])
            at = found.end()
        else:
            add_tag(prose, piece, name)
    prose.add(text[at:])
    return prose
