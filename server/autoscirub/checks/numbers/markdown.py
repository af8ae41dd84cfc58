"""Markdown as prose, line by line.

markdown-it, which is at hand, gives lines for blocks but no place for what is inside a line, and a number needs its
own. So the few constructs that matter to a number are read here: code, comments, links, emphasis, escapes, tags.
"""

from __future__ import annotations

import re
from collections import defaultdict

from autoscirub.checks.numbers.markup import add_tag
from autoscirub.checks.numbers.prose import MATH, Prose, entity

__all__ = ["from_markdown"]

_FENCE = re.compile(r"[ \t>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})([^\n]*)")
_INLINE = re.compile(
    r"""(?P<command>\\(?P<name>[A-Za-z]+|[,;:!\ ]))
      | (?P<escape>\\[!-/:-@\[-`{-~])
      | (?P<tick>`+)
      | (?P<comment><!--)
      | (?P<link><[a-z][a-z0-9+.-]{1,31}:[^<>\s]*>)
      | (?P<tag></?(?P<element>[A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*|/)?>)
      | (?P<target>\]\([^\[\]()\n]*\))
      | (?P<footnote>\[\^[^\[\]\n]*\]:?)
      | (?P<entity>&\#?[A-Za-z0-9]{1,32};)
      | (?P<star>\*+)
      | (?P<line>_+)
      | (?P<dollar>\$+|\{,\})""",
    re.VERBOSE,
)
_DEFINITION = re.compile(r" {0,3}\[[^\[\]\n]+\]:\s")
_RULE = re.compile(r"[-|:=+\s]+")
_PLAIN = re.compile(r"[-+−]?[\d.,\u00a0\u2009\u202f' ]*\d(?:e[-+]?\d+)?\s?(?:%|[A-Za-zµ°/²³]{0,6})")
"""A code span that is one number, with its unit: a way to set a number, not code."""


def from_markdown(text: str) -> Prose:
    """Markdown as its reader sees it."""
    prose = Prose()
    lines = text.split("\n")
    at = _front_matter(prose, lines)
    block: list[str] = []
    last_end = next((i for i in range(len(lines) - 1, -1, -1) if "-->" in lines[i]), -1)
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            _flush(prose, block)
            at = _fenced(prose, lines, at, fence[1])
            continue
        if (opened := _opens_comment(line)) is not None and at < last_end:
            end = at + 1
            while "-->" not in lines[end]:
                end += 1
            cut = lines[end].index("-->") + 3
            block.append(line[:opened])
            _flush(prose, block)
            inside = "\n".join([line[opened:], *lines[at + 1 : end], lines[end][:cut]])
            prose.comment(inside, inside[4:-3])
            prose.parts[-1:] = [prose.parts[-1][1:]]  # _flush has ended the first line already
            prose.length -= 1
            lines[end] = lines[end][cut:]
            at = end
            continue
        block.append(line)
        if not line.strip() or line.lstrip().startswith("|") or _DEFINITION.match(line):
            _flush(prose, block)
        at += 1
    _flush(prose, block)
    return prose


def _front_matter(prose: Prose, lines: list[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    for end in range(1, min(len(lines), 1000)):
        if lines[end].rstrip() in ("---", "..."):
            prose.add("\n" * (end + 1))
            return end + 1
    return 0


def _fenced(prose: Prose, lines: list[str], at: int, fence: str) -> int:
    """Quote the code block that begins at line `at`; gives the line after it."""
    end = at + 1
    while end < len(lines):
        closing = lines[end].strip(" \t>\r")
        if len(closing) >= len(fence) and not closing.strip(fence[0]):
            break
        end += 1
    prose.add("\n")
    inside = "".join(line + "\n" for line in lines[at + 1 : end])
    prose.quote(inside, "code")
    prose.add("\n")
    return end + 1


def _opens_comment(line: str) -> int | None:
    """Where a comment begins that does not end on its line, and that is not in a code span."""
    opened = line.rfind("<!--")
    if opened < 0 or line.find("-->", opened) >= 0 or line.count("`", 0, opened) % 2:
        return None
    return opened


def _flush(prose: Prose, block: list[str]) -> None:
    if not block:
        return
    text = "\n".join(block)
    if len(block) == 1 and _DEFINITION.match(text) and not text.lstrip().startswith("[^"):
        prose.quote(text, "link")
    elif len(block) == 1 and _RULE.fullmatch(text):
        prose.add(text)
    else:
        _inline(prose, text)
    prose.add("\n")
    block.clear()


def _inline(prose: Prose, text: str) -> None:
    runs: dict[int, list[int]] = defaultdict(list)  # code spans end at the next run of as many ticks
    for run in re.finditer(r"`+", text):
        runs[len(run[0])].append(run.start())
    for starts in runs.values():
        starts.reverse()
    at, no_end = 0, False
    while (match := _INLINE.search(text, at)) is not None:
        prose.add(text[at : match.start()])
        piece, kind = match[0], match.lastgroup
        kind = {"name": "command", "element": "tag"}.get(kind or "", kind)
        at = match.end()
        if kind == "command":
            name = match["name"]
            prose.add(MATH.get(name, "" if name.isalpha() else "\u2009"))
        elif kind == "escape":
            prose.add(piece[1])
        elif kind == "tick":
            starts = runs[len(piece)]
            while starts and starts[-1] < at:
                starts.pop()
            if not starts:
                continue
            inside = text[at : starts[-1]]
            if len(inside) < 60 and _PLAIN.fullmatch(inside.strip()):
                prose.add(inside)
            else:
                prose.quote(inside, "code")
            at = starts[-1] + len(piece)
        elif kind == "comment":
            end = -1 if no_end else text.find("-->", at)
            if end < 0:
                no_end = True
                continue
            prose.comment(text[match.start() : end + 3], text[at:end])
            at = end + 3
        elif kind in ("link", "target"):
            prose.quote(re.sub(r"[\]()<>]", " ", piece), "link")
        elif kind == "footnote":
            prose.quote(piece, "footnote mark")
        elif kind == "tag":
            add_tag(prose, piece, match["element"].lower())
        elif kind == "entity":
            prose.add(entity(piece))
        elif kind == "dollar":
            prose.add("," if piece == "{,}" else "")
        elif kind == "line":
            inner = text[match.start() - 1 : match.start()].isalnum() and text[at : at + 1].isalnum()
            keep = inner or text[at : at + 1] in ("{", "")  # a name such as n_12, or a subscript
            prose.add(piece if keep else "")
        elif kind == "star":
            between = text[match.start() - 1 : match.start()].isdigit() and text[at : at + 1].isdigit()
            prose.add("×" if between else "")
    prose.add(text[at:])
