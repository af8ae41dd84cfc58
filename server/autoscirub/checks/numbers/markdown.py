"""Reads Markdown as its reader sees it, line by line.

markdown-it, which is at hand, gives lines for blocks but no place for what is inside a line, and a number needs its
own. So the few constructs that matter to a number are read here: code, comments, links, emphasis, escapes, tags.
"""

from __future__ import annotations

import re
from collections import defaultdict

from autoscirub.checks.numbers.front_matter import FETCHES, computed, makes_output, read_front_matter
from autoscirub.checks.numbers.markup import add_tag
from autoscirub.checks.numbers.prose import MATH, Prose, comment_end, entity

_FENCE = re.compile(r"[ \t>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})([^\n]*)")
_INLINE = re.compile(
    r"""(?P<command>\\(?P<name>[A-Za-z]+|[,;:!\ ]))
      | (?P<escape>\\[!-/:-@\[-`{-~])
      | (?P<tick>`+)
      | (?P<comment><!--)
      | (?P<link><[a-z][a-z0-9+.-]{1,31}:[^<>\s]*>)
      | (?P<tag><(?P<element>[A-Za-z][A-Za-z0-9-]*)(?>(?:\s+[A-Za-z_:][\w.:-]*
          (?:\s*=\s*(?:[^\s"'=<>`]+|'[^'<>]{0,2000}'|"[^"<>]{0,2000}"))?)*)\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>)
      | (?P<target>\]\([^\[\]()\n]*\))
      | (?P<footnote>\[\^[^\[\]\s]{1,100}\]:?)
      | (?P<entity>&\#?[A-Za-z0-9]{1,32};)
      | (?P<star>\*+)
      | (?P<line>_+)
      | (?P<dollar>\$+|\{,\})""",
    re.VERBOSE,
)
_DEFINITION = re.compile(
    r" {0,3}\[[^\[\]\n]+\]:[ \t]*(?:<[^<>\n]*>|[^\s<][^\s]*)(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*"
)
"""Nothing but a target and its title: `[Result]: we found 99 TWh` is a sentence."""
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])\s")
_SHORTCODE = re.compile(r"\{\{<[^\n]{0,300}?>\}\}")
_RULE = re.compile(r"[-|:=+\s]+")
_PLAIN = re.compile(r"[-+−]?[\d.,\u00a0\u2009\u202f' ]*\d(?:e[-+]?\d+)?\s?(?:%|[A-Za-zµ°/²³]{0,6})")
"""A code span that is one number, with its unit: a way to set a number, not code."""


def from_markdown(text: str, *, executed: bool = False) -> Prose:
    """Markdown as its reader sees it. `executed`: by Quarto or knitr, which run code and put in what comes out."""
    prose = Prose()
    lines = text.split("\n")
    at = read_front_matter(prose, lines)
    block: list[str] = []
    listing = False
    last_end = next((i for i in range(len(lines) - 1, -1, -1) if "-->" in lines[i]), -1)
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        code = line.startswith(("    ", "\t")) and not listing and not block
        if fence and not code and not (fence[1][0] == "`" and "`" in fence[2]):
            _flush(prose, block, executed)
            at = _fenced(prose, lines, at, fence, executed)
            continue
        listing = _LIST_ITEM.match(line) is not None or (
            listing and (line[:1].isspace() or not line or bool(block))
        )
        if at < last_end and (opened := _opens_comment(line, inside=listing)) is not None:
            end = at + 1
            while "-->" not in lines[end]:
                end += 1
            cut = lines[end].index("-->") + 3
            block.append(line[:opened])
            _flush(prose, block, executed, ending="")
            inside = "\n".join([line[opened:], *lines[at + 1 : end], lines[end][:cut]])
            prose.comment(inside, inside[4:-3])
            lines[end] = lines[end][cut:]
            at = end
            continue
        block.append(line)
        if not line.strip() or line.lstrip().startswith("|") or _DEFINITION.fullmatch(line):
            _flush(prose, block, executed)
        at += 1
    _flush(prose, block, executed)
    return prose


def _fenced(prose: Prose, lines: list[str], at: int, opening: re.Match[str], executed: bool) -> int:
    """Quote the code block that begins at line `at`; gives the line after it."""
    fence, container = opening[1], opening[0][: opening.start(1)].strip()
    end, closed = at + 1, False
    while end < len(lines):
        line = lines[end]
        closing = line.strip(" \t>\r")
        closed = len(closing) >= len(fence) and not closing.strip(fence[0])
        left = (
            not line.lstrip().startswith(">") if ">" in container else line.strip() and not line[0].isspace()
        )
        if closed or (container and left):  # a block ends with the quotation or the list item that holds it
            break
        end += 1
    inside = "".join(line + "\n" for line in lines[at + 1 : end])
    if executed and makes_output(opening[2], inside):
        prose.away(f"what comes out of {opening[0].strip()}")
    prose.hide(opening[0], "code")
    prose.add("\n")
    prose.quote(inside, "code")
    prose.add("\n" if closed else "")
    return end + closed


def _opens_comment(line: str, *, inside: bool) -> int | None:
    """Where a comment begins that goes on below, across blank lines too: only one that begins its line.

    Indented by four it is code, unless it stands inside a list.
    """
    opened = len(line) - len(line.lstrip(" \t"))
    if (
        not line.startswith("<!--", opened)
        or "-->" in line
        or (line.expandtabs(4).find("<") >= 4 and not inside)
    ):
        return None
    return opened


def _flush(prose: Prose, block: list[str], executed: bool, *, ending: str = "\n") -> None:
    if not block:
        return
    text = "\n".join(block)
    if len(block) == 1 and _DEFINITION.fullmatch(text) and not text.lstrip().startswith("[^"):
        prose.quote(text, "link")
    elif len(block) == 1 and _RULE.fullmatch(text):
        prose.add(text)
    elif executed or "{{<" in text:
        at = 0
        for shortcode in _SHORTCODE.finditer(text):
            _inline(prose, text[at : shortcode.start()], executed)
            if FETCHES.match(shortcode[0]):
                prose.away(shortcode[0])
            prose.hide(shortcode[0], "shortcode")
            at = shortcode.end()
        _inline(prose, text[at:], executed)
    else:
        _inline(prose, text, executed)
    prose.add(ending)
    block.clear()


def _inline(prose: Prose, text: str, executed: bool) -> None:
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
            if executed and computed(inside):
                prose.away(inside)
            if len(inside) < 60 and _PLAIN.fullmatch(inside.strip()):
                prose.add(inside)
            else:
                prose.quote(inside, "code span", soft=True)
            at = starts[-1] + len(piece)
        elif kind == "comment":
            inside_end, end = (-1, -1) if no_end else comment_end(text, at)
            if end < 0:
                no_end = True
                continue
            prose.comment(text[match.start() : end], text[at:inside_end])
            at = end
        elif kind in ("link", "target"):
            prose.quote(re.sub(r"[\]()<>]", " ", piece), "link")
        elif kind == "footnote":
            prose.quote(piece, "footnote mark")
        elif kind == "tag":
            add_tag(prose, piece, (match["element"] or piece.strip("</> \t\n")).lower())
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
