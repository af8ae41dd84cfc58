"""Finds a quotation in a text, and the whole sentences that it was taken from.

White space, case, markup and the form of quotation marks do not count; … stands for words left out.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PROSE = (".md", ".markdown", ".qmd", ".rmd", ".tex", ".html", ".htm", ".txt", ".rst", ".ipynb")
_CJK = "\u2e80-\u2fdf\u3005-\u3007\u3041-\u9fff\uff66-\uff9f"
"""Letters of scripts without spaces between words."""
_DENSE = re.compile(f"[{_CJK}\u3000-\u303f]")
"""Those, and their punctuation: a space on either side means nothing."""
_MATH = re.compile(r"\$(?=\S)([^$\n]{1,200}?)(?<=\S)\$(?!\d)")
_MARKS = re.compile(r"\\[,;:!]|[*_`#>|~\\]|\$(?!\d)")
_LINK = re.compile(r"!?\[([^\]\n]{0,500})\]\([^)\n]{0,1000}\)")
_LINE_NUMBER = re.compile(r"(?m)^\s*[0-9]{1,7}\|\s?")
_TAG = re.compile(r"<!--|-->|</?[A-Za-z][^<>\n]{0,300}>")
_BLOCK_TAG = re.compile(
    r"</?(?:address|article|aside|blockquote|body|br|caption|center|d[dlt]|div|fieldset|figcaption|figure|footer|form|h[1-6r]"
    r"|head|header|html|li|main|nav|ol|p|pre|section|table|tbody|tfoot|thead|title|ul)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
_ROW_TAG = re.compile(r"<tr\b[^<>]{0,300}>", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\s*[\[(]?(?:…|\.\.\.)[\])]?\s*")
_SENTENCE = re.compile(
    r"(?<=[.!?])[\"'”’)\]*_]*\s+(?=[^\sa-z])|(?<=[。！？])[\"'”’)\]*_」』）]*\s*(?=[^\s\"'”’)\]*_」』）])"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|[^\W\d_]\.\s?[^\W\d_]|cf|vs|al|fig|figs|eq|eqs|no|nos|nr|sec|ref|refs|tab|abb|kap|vol|pp|approx|ca|resp"
    r"|incl|dr|prof|mr|mrs|ms|st|vgl|bzw|bspw|usw|etc|núm|pág|ej|env|chap)\.$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|\\item\b|<li\b)")
_OWN_LINE = re.compile(r"\s*(?:[#|>]|[-*+•]\s|\d{1,3}[.)]\s|\\(?:item|section|subsection|caption)\b)")
_ROW_ENDS = re.compile(r"\\\\(?:\[[^\]]{0,20}\])?(?:\s*\\[a-z]{1,20}(?:\{[^{}]{0,40}\})?){0,4}\s*$")
_LATEX_STYLE = re.compile(r"\\(?:text(?:bf|it|rm|tt)|mathbf|mathrm|emph|num)\{([^{}]{0,200})\}")
_UNSEEN = re.compile(r"~~|<(?:del|s|strike)\b|\\sout\b|<!--|-->", re.IGNORECASE)
_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " "})
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


class Passage(NamedTuple):
    """The whole sentences that a quotation stands in, and what of them it leaves out."""

    sentence: str
    rest: str
    introduction: str = ""
    """Of an item of a list: the line or heading that introduces the list, such as *It is not true that:*."""
    doubt: str = ""
    """Why the words may not say there what they say alone."""


class Passages:
    """The sentences of one file, to find quotations in."""

    def __init__(self, path: str, text: str, strings: Iterable[str] = ()) -> None:
        """`strings`: those of a JSON file, which are read as texts too."""
        low = path.casefold()
        self._latex, self._table = low.endswith(".tex"), low.endswith((".csv", ".tsv"))
        if low.endswith((".html", ".htm")):
            text = _BLOCK_TAG.sub("\n\n", _ROW_TAG.sub("\n\n| ", text))
        units = list(sentences(text, by_line=not low.endswith(_PROSE), latex=self._latex))
        units += [unit for inner in strings for unit in sentences(inner)]
        self._units = [(unit, words) for unit in units if (words := flat(unit, ends=True))]
        parts: list[str] = []
        self._starts, at = [], 0
        for _, words in self._units:
            if parts and not (_DENSE.match(parts[-1][-1]) or _DENSE.match(words[0])):
                parts.append(" ")
                at += 1
            self._starts.append(at)
            parts.append(words)
            at += len(words)
        self._joined = "".join(parts)

    def find(self, quotation: str) -> Passage | None:
        """Where a quotation stands; None where it is not there, or runs over parts of several rows of a table."""
        pieces, at, spans = pieces_of(quotation), 0, list[tuple[int, int]]()
        for piece in pieces:
            # The plain search is many times faster, and its answer is mostly no.
            found = _piece(piece).search(self._joined, at) if piece in self._joined else None
            if found is None:
                return None
            spans.append(found.span())
            at = found.end()
        if not spans:
            return None
        first, last = self._unit(spans[0][0]), self._unit(spans[-1][1] - 1)
        end = self._starts[last] + len(self._units[last][1])
        edges = [self._starts[first], *(edge for span in spans for edge in span), end]
        around = [self._joined[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True)]
        raw = [unit for unit, _ in self._units[first : last + 1]]
        if (
            len(raw) > 1
            and (_WORD.search(around[0]) or _WORD.search(around[-1]))
            and any(map(self._row, raw))
        ):
            return None
        rest = " … ".join(around)
        rest = rest if _WORD.search(rest) else ""
        return Passage(" ".join(raw), rest, self._introduction(first), self._doubt(raw, spans))

    def _unit(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def _row(self, unit: str) -> bool:
        return self._table or unit.startswith("|") or _latex_row(unit) is not None

    def _introduction(self, number: int) -> str:
        at = number
        while at > 0 and _ITEM.match(self._units[at][0]):
            at -= 1
        raw, words = self._units[at]
        return words if at < number and (words.endswith(":") or raw.startswith("#")) else ""

    def _doubt(self, raw: list[str], spans: list[tuple[int, int]]) -> str:
        if any(_UNSEEN.search(unit) or (self._latex and unit.startswith("%")) for unit in raw):
            return "is struck out there, or stands in a comment"
        for (_, end), (start, _) in pairwise(spans):
            before, after = self._unit(end - 1), self._unit(start)
            cut = self._joined[end : self._starts[min(before + 1, len(self._starts) - 1)]]
            cut += self._joined[self._starts[after] : start]
            if before != after and _WORD.search(cut):
                return "joins parts of several sentences"
        return ""


def sentences(text: str, *, by_line: bool = False, latex: bool = False) -> Iterator[str]:
    """The sentences of a text. Headings, list items, rows of tables and, `by_line`, all lines are one each."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if latex and line.lstrip().startswith("%"):
            yield line.strip()  # a comment, around which the sentence goes on
            continue
        own = by_line or line.lstrip().startswith(("#", "|")) or _latex_row(line) is not None
        if own or not line.strip() or _OWN_LINE.match(line):
            yield from _split(" ".join(block)) if block else ()
            block = []
        if own:
            yield line.strip()
        elif line.strip():
            block.append(line.strip())


def _split(text: str) -> Iterator[str]:
    """The sentences of a paragraph; an abbreviation ends none, so that no negation before it is lost."""
    parts: list[str] = []
    for part in _SENTENCE.split(text):
        parts.append(part)
        if not _ABBREVIATED.search(part[-12:]):
            yield " ".join(parts)
            parts = []
    if parts:
        yield " ".join(parts)


def _latex_row(line: str) -> str | None:
    """A row of a LaTeX table without its end."""
    line = line.rstrip()
    end = _ROW_ENDS.search(line[-200:])
    row = line[: len(line) - len(line[-200:]) + end.start()] if end is not None else ""
    return row if re.search(r"(?<!\\)&", row) else None


def row_of(line: str) -> list[str] | None:
    """The cells of a line that is a row of a pipe table or of a LaTeX table; None for any other."""
    if (latex := _latex_row(line)) is not None:
        return [cell.strip(" $") for cell in re.split(r"(?<!\\)&", _LATEX_STYLE.sub(r"\1", latex))]
    if "|" not in line:
        return None
    return [cell.strip(" *_`") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def pieces_of(quotation: str) -> list[str]:
    """What a quotation says between its …, as `flat` words."""
    return [piece for piece in (flat(part) for part in _ELLIPSIS.split(quotation)) if piece]


def size(text: str) -> float:
    """How many words a text has; of scripts without spaces two letters are one."""
    return sum(0.5 if _is_cjk(word[0]) else 1 for word in _WORD.findall(text))


def _is_cjk(letter: str) -> bool:
    return re.match(f"[{_CJK}]", letter) is not None


@functools.lru_cache(maxsize=64)
def _piece(piece: str) -> re.Pattern[str]:
    # Whole words and whole numbers: "is 0.5" is not what "is 0.51" says, nor "0.5" what "-0.5" says.
    inside = rf"[^\W{_CJK}]"
    before = rf"(?<!{inside})" if not _is_cjk(piece[0]) else ""
    before += r"(?<![.-])" if piece[0].isdigit() else ""
    after = rf"(?!{inside}|[.,][0-9])" if piece[-1].isalnum() and not _is_cjk(piece[-1]) else ""
    return re.compile(before + re.escape(piece) + after)


def flat(text: str, *, ends: bool = False) -> str:
    """The words alone, lower case, single spaces: no markup, no line numbers as our tools print them.

    `ends`: with the punctuation at both ends.
    """
    text = html.unescape(_TAG.sub(" ", _LINK.sub(r"\1", _LINE_NUMBER.sub("", text))))
    text = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME)
    # What no reader sees must not hide a word: a joiner in "n-ot".
    text = _INVISIBLE.sub("", text)
    text = re.sub(r"-{2,3}", "-", _MARKS.sub(" ", _MATH.sub(r"\1", text)))
    text = re.sub(r"\s+([,.;:!?)%])", r"\1", re.sub(r"\s+", " ", text))
    text = re.sub(rf" (?={_DENSE.pattern})|(?<={_DENSE.pattern}) ", "", text)
    return text.strip().casefold() if ends else text.strip().strip(".,;:!?。、").casefold()
