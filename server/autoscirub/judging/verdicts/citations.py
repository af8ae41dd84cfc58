"""What in a judge's words counts as a citation. Pure: nothing is looked up here.

| it reads | it cites |
|---|---|
| a path with a known suffix, or one between backticks with a `/` | a file |
| `report.md:41`, `report.md, lines 41-45` | lines of a file |
| `results.fit.slope`, with or without a value | a key of the results file |
| `PATH: KEY = VALUE`, `PATH KEY=VALUE`, `KEY = VALUE in PATH`, `PATH: KEY VALUE` | a key and its value |
| `PATH: the KEY is VALUE` | the value, where the file has that key |
| at least four words between quotation marks | words of a file; of the one that its sentence names |

Everything else is the judge's own words, and no citation.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

QUOTED_WORDS = 4
"""Fewer words between quotation marks are a term, not a quotation."""

_SUFFIXES = (
    "bib|bz2|cfg|cpp|csv|dat|docx|eps|feather|gif|gz|h5|hdf5|html?|ini|ipynb|java|jl|jpe?g|json|jsonl|js|lock|log|"
    "mat|md|nc|npy|npz|ods|parquet|pdf|pkl|png|pptx|pt|pth|py|rds|rmd|rst|rs|sh|sql|svg|tar|tex|tiff?|toml|ts|tsv|txt|"
    "webp|xlsx?|xml|ya?ml|zip"
)
_LONGEST = 4_000
_NEAR = 25
"""Characters between a quotation and the file that is named after it."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_LINES = (
    r"(?::(?P<colon>[0-9]{1,30})(?![0-9]*\.?[0-9])(?:[-–][0-9]{1,9})?"
    r"|[,\s(]{0,3}\b(?:lines?|L)\.?\s?(?P<line>[0-9]{1,30})(?:\s?[-–]\s?L?(?P<last>[0-9]{1,9}))?)?"
)
_PATH = re.compile(
    r"(?<![\w@/\\.~+-])(?P<path>(?:[A-Za-z]:[\\/]|~/|/|(?:\.{1,2}[\\/])+)?(?:[\w.+@-]{1,200}[\\/]){0,40}"
    rf"\.?[\w+@-][\w.+@-]{{0,200}}?\.(?:{_SUFFIXES}))(?![\w(/\\]|\.\w)[`*\"”]?" + _LINES,
    re.IGNORECASE,
)
_OUTSIDE = re.compile(
    r"(?<![\w@/\\.~<-])(?P<path>(?:~/|/(?=[\w.-]+/)|\.\.[\\/])[\w.+@=\\/-]{2,400}|[A-Za-z]:\\[\w.+@=\\-]{2,400})"
)
_TICKED = re.compile(r"`(?P<path>[^`\s:()]{1,300}/[^`\s:()]{0,300})`")
_QUOTED = re.compile(
    r"“(?P<a>[^“”]{1,4000})”|«(?P<b>[^«»]{1,4000})»|„(?P<c>[^„“”]{1,4000})[“”]"
    r"|(?<![\w\"])\"(?=[^\s\"])(?P<d>[^\"]{1,4000})(?<=[^\s\"])\"(?!\w)"
    r"|‘(?P<e>[^‘\n]{1,2000}?)’(?!\w)|(?<![\w'])'(?=[^\s'])(?P<f>(?:[^'\n]|(?<=\w)'(?=\w)){1,2000})(?<=[^\s'])'(?!\w)"
)
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)(?<!vs\.)(?<!al\.)(?<!Fig\.)[\"”)`]*\s+(?=[A-Z\"“`(\[])|\n+|;\s+"
)
_NUMBER = (
    r"[-+−]?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:\s?[×x]\s?10\^?[-−⁻⁰¹²³⁴⁵⁶⁷⁸⁹0-9]{1,5}|[eE][-+]?[0-9]{1,3})?(?:\s?%)?"
)
_COMPARES = (
    r"\s?-?(?:times|fold|out of|of the|orders?|standard|sigma|σ|decimal|significant|digits|larger|smaller|higher|lower|"
    r"greater|more|less|above|below|percent (?:more|less|higher|lower))\b"
)
_VALUE = (
    rf"(?P<value>{_NUMBER}(?!\w)(?!{_COMPARES})|(?:true|false|null|none|nan)\b|\[[^\[\]\n]{{0,300}}\]"
    r"|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
)
_KEY = r"(?P<key>[A-Za-z_](?:[\w.-]|\[[^\]\s]{1,80}\]){0,300})"
_OP = r"[`*\"']{0,3}\s{0,3}(?P<op>==?|[<>]=?|[:≈~≤≥]|\b(?:is|was|of)\b)\s{0,3}[`*]{0,3}"
_SAID = re.compile(rf"(?<![\w.\[-])[`*\"']{{0,3}}{_KEY}{_OP}{_VALUE}", re.IGNORECASE)
_RESULTS = re.compile(
    rf"(?<![\w./\[])results(?P<key>(?:\.[A-Za-z_]\w{{0,200}}|\[[^\]\n]{{1,200}}\]){{1,20}})(?![\w(])(?:{_OP}{_VALUE})?",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"\s*[:,]?\s*[`*\"']{{0,2}}{_KEY}[`*\"']{{0,2}}\s+{_VALUE}", re.IGNORECASE)
_ALONE = re.compile(rf"(?:#|\s*:\s*)[`\"']?{_KEY}[`\"']?\s*\.?\s*")
_DENIES = re.compile(
    r"\b(?:no|not|none|nothing|nowhere|never|neither|nor|without|missing|absent|lacks?|lacking|cannot|fails?|empty|"
    r"withheld|expected|expects|should|would|could|must|needs?|instead|rather)\b|n['’]t\b",
    re.IGNORECASE,
)
_DENIES_IT_IS_THERE = re.compile(
    r"\b(?:missing|absent|nonexistent|without)\b|\bdoes(?: not|n['’]t) exist\b|\bno (?:file|such)\b"
    r"|\b(?:not|n['’]t) (?:there|present|provided|needed|required|available|in the workspace)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Citation:
    """One thing that is said to be in a file."""

    kind: Literal["file", "value", "quotation"]
    text: str
    """As it is written."""
    path: str | None = None
    """The file that is named; None for the results file, or for any file that was shown."""
    line: int | None = None
    key: str | None = None
    op: str = ""
    value: str | None = None
    sure: bool = True
    """False: it is a citation only where the file has that key."""
    denied: bool = False
    """Its sentence denies, expects or proposes something."""
    denied_there: bool = False
    """Its sentence says that something is not there."""


def citations(text: str, known: Collection[str] = ()) -> Iterator[Citation]:
    """Every citation in `text`. `known` are the paths of the files, for names that no pattern finds."""
    text = _blank(_URL, text)
    odd = [path for path in known if not _PATH.fullmatch(path) and path in text]
    folders = {path.split("/")[0] for path in known if "/" in path}
    quotes = [match for match in _QUOTED.finditer(text) if len(_quoted(match).split()) >= QUOTED_WORDS]
    hidden = _without(quotes, text)
    start = at = 0
    for end, following in _sentences(hidden):
        sentence = hidden[start:end]
        files = _files(sentence, odd, folders)
        in_it = list(_of_sentence(sentence, files))
        while at < len(quotes) and quotes[at].start() < end:
            in_it.append(_quotation(quotes[at], start, files))
            at += 1
        denied, there = bool(_DENIES.search(sentence)), bool(_DENIES_IT_IS_THERE.search(sentence))
        for citation in in_it:
            yield replace(citation, denied=denied, denied_there=there)
        start = following


def _without(quotes: list[re.Match[str]], text: str) -> str:
    """`text` with dots for what is quoted. The end stays: a sentence that ends with a quotation ends there."""
    parts, at = [], 0
    for match in quotes:
        parts += [text[at : match.start()], "·" * (match.end() - 2 - match.start())]
        at = match.end() - 2
    return "".join([*parts, text[at:]])


def _quotation(match: re.Match[str], start: int, files: list[tuple[Citation, int]]) -> Citation:
    """A quotation, of the last file that its sentence names before it, or the only one, right after it."""
    named = {citation.path for citation, _ in files}
    before = [citation.path for citation, end in files if end <= match.start() - start]
    at = match.end() - start
    after = [c.path for c, end in files if at <= end <= at + len(c.text) + _NEAR] if len(named) == 1 else []
    path = before[-1] if before else after[0] if after else None
    return Citation("quotation", _quoted(match), path)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """(end, beginning of the next) of each sentence."""
    at = 0
    for end, following in [*((m.start(), m.end()) for m in _SENTENCE.finditer(text)), (len(text), len(text))]:
        while end - at > _LONGEST:  # no sentence is that long, and work grows with its square
            space = text.rfind(" ", at + 1, at + _LONGEST)
            at = space if space != -1 else at + _LONGEST
            yield at, at
        yield end, following
        at = following


def _quoted(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def _covered(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _files(sentence: str, odd: list[str], folders: set[str]) -> list[tuple[Citation, int]]:
    """The files that a sentence names, with the place where each name ends, in order."""
    found: list[tuple[Citation, int]] = []
    for path in odd:
        for match in list(_odd(path).finditer(sentence)):
            sentence = _covered(sentence, match.start("path"), match.end("path"))
            found.append((Citation("file", path, path), match.end("path")))
    for pattern in (_PATH, _OUTSIDE, _TICKED):
        for match in pattern.finditer(sentence):
            path = match["path"].rstrip(".")
            if pattern is _TICKED and not path.endswith("/") and path.split("/")[0] not in folders:
                continue  # `km/h`
            groups = match.groupdict()
            line = groups.get("last") or groups.get("line") or groups.get("colon")
            text = f"{path}:{line}" if line else path
            found.append((Citation("file", text, path, line=int(line) if line else None), match.end()))
        sentence = _blank(pattern, sentence)
    return sorted(found, key=lambda pair: pair[1])


@functools.lru_cache(maxsize=512)
def _odd(path: str) -> re.Pattern[str]:
    """A file's name that no pattern finds, as a name of its own: a file that is called `the`, or `=`, is no word of a
    sentence, and takes nothing away from one."""
    name = rf"(?P<path>{re.escape(path)})"
    if "/" in path or "." in path.strip("."):
        return re.compile(rf"(?<![\w./:=-]){name}(?![\w/=-])")
    return re.compile(rf"(?<=[`\"']){name}(?=[`\"'])")


def _of_sentence(sentence: str, files: list[tuple[Citation, int]]) -> Iterator[Citation]:
    yield from (citation for citation, _ in files)
    rest = _blank(_OUTSIDE, _blank(_PATH, sentence))
    for match in _RESULTS.finditer(rest):
        if match["value"] or not match["key"][1:2].isupper():  # "in the results.The slope" is no key
            yield _value(match, None, sure=True)
    rest = _blank(_RESULTS, rest)
    for index, (file, end) in enumerate(files):
        stop = files[index + 1][1] if index + 1 < len(files) else len(rest)
        yield from _after(rest, end, stop, file.path or "", alone=index == 0)
    if files and len({citation.path for citation, _ in files}) == 1:
        # `slope = 0.51 in results.json`
        for match in _SAID.finditer(rest, 0, files[0][1]):
            between = rest[match.end() : files[0][1]].strip(" `*(,")
            yield _value(match, files[0][0].path, sure=between in ("in", "from", "of", "at", ""))


def _after(rest: str, start: int, stop: int, path: str, *, alone: bool) -> Iterator[Citation]:
    """The keys and values that are said after a file's name. Those that follow it at once are sure."""
    tail = rest[start:stop]
    if alone and not rest[:start].strip(" `*\"'-") and (only := _ALONE.fullmatch(tail)):
        yield Citation("value", f"{path}{tail}", path, key=only["key"], sure=tail[0] == "#")
        return
    spaced = _AFTER.match(tail)
    if spaced and not spaced["key"].isdigit():
        ends_there = not tail[spaced.end() :].strip(" .`*)")
        yield _value(spaced, path, sure=ends_there and tail.lstrip(" `*").startswith(":"))
    at = start
    for match in _SAID.finditer(rest, start, stop):
        joined = rest[at : match.start()].strip(' `*:,("')
        yield _value(match, path, sure=joined in ("", "and", "has", "with"))
        at = match.end() if joined in ("", "and", "has", "with") else -1
        if at == -1:
            at = start  # what comes later no longer follows the name at once


# fmt: off
_FILLERS = frozenset({
    "a", "about", "all", "an", "and", "approximately", "are", "around", "at", "contains", "for", "from",
    "gives", "has", "have", "holds", "in", "is", "it", "its", "line", "lines", "lists", "of", "on",
    "only", "over", "records", "reports", "rows", "says", "section", "shows", "table", "than", "that",
    "the", "to", "value", "values", "was", "with",
})
# fmt: on
"""Words before a number that are no keys, unless a file has such a key."""


def _value(match: re.Match[str], path: str | None, *, sure: bool) -> Citation:
    op, value = (match.groupdict().get("op") or "").lower(), match["value"]
    if op.isalpha():
        sure = sure and path is None
        if value and not value[0].isdigit() and value[0] not in "-+−.":
            value = None  # "is none of", "is true of"
    sure = sure and match["key"].lower() not in _FILLERS
    return Citation("value", match[0].strip(" ,:`"), path, key=match["key"], op=op, value=value, sure=sure)
