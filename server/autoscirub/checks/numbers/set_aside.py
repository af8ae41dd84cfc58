"""The rules for which numbers are set aside: those that are no claim about the results, such as dates.

*Hard* ones are never looked up. *Soft* ones, and marks, are looked up first, and set aside when nothing in the
sources is like them. A unit or a percent sign after the number makes it a claim in most of these places: `FIRM` lists
the others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoscirub.checks.numbers.line_marks import heading_numbers, list_markers, listed_references
from autoscirub.checks.numbers.prose import Region
from autoscirub.checks.numbers.units import claims_after
from autoscirub.checks.numbers.words import NUMBER_WORD

if TYPE_CHECKING:
    from autoscirub.checks.numbers.units import Claim

LABEL = "in a name that the results hold"
PLACES = frozenset({"heading number", "list marker", "reference", "citation", "list of references"})
"""Reasons of what counts the places of a text."""
MARKS = PLACES | frozenset({"code span", "front matter", "preamble", LABEL, NUMBER_WORD})
"""Reasons of form alone: found among the results by chance, such a number grounds nothing."""
FIRM = frozenset({"URL", "DOI", "time", "year", "confidence level", "critical value", "ordinal", "code", "link",
                  "footnote mark", "comment"})  # fmt: skip
"""Reasons that a unit after the number does not lift: 14:30 h, within 95 % intervals, a block of code."""
LIKE_CODE = frozenset({"code span", "front matter", "preamble"})
"""Where a unit right at the digits, as in width: 6cm, is no prose: it lifts only after a space or with decimals."""

_MONTH = (
    r"(?:Jan(?:uar[yi]?)?|Feb(?:ruar[yi]?)?|Mar(?:ch)?|Apr(?:il)?|May|Jun[ei]?|Jul[yi]?|Aug(?:ust)?|Sept?(?:ember|embre)?"
    r"|O[ck]t(?:ober|obre)?|Nov(?:ember|embre)?|De[cz](?:ember|embre)?)\b\.?"
)
"""Whole names only: a loss must not hide as a date in "Decreased 12"."""
_COUNT = r"(?:[A-Z]\.?)?[0-9]{1,4}(?:\.[0-9]{1,3}){0,4}[a-z]?"
_AND = r"\s?(?:,|,?\s?and|&|to|[-–])\s?"

_HARD: tuple[tuple[str, str], ...] = (
    ("URL", r"\b(?:https?|ftp|file)://[^\s<>\"|]+|\bwww\.[^\s<>\"|]+"),
    ("DOI", r"\b(?:doi:\s?)?10\.[0-9]{4,9}/[^\s<>\"|]+"),
    ("identifier", r"\b(?:arXiv|PMID|PMC|ISBN|ISSN|RRID|NCT|CAS)(?:[:\s-]\s?|(?=[0-9]))[0-9][0-9Xxv.-]*"),
    ("date", r"\b[0-9]{4}-[01][0-9]-[0-3][0-9](?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)?"
             r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![0-9])"),
    ("date", rf"\b[0-3]?[0-9](?:st|nd|rd|th)?\.?\s(?:of\s)?{_MONTH}(?:,?\s[12][0-9]{{3}})?\b"),
    ("date", rf"\b{_MONTH}\s[0-3]?[0-9](?:st|nd|rd|th)?(?:,\s[12][0-9]{{3}})?(?![0-9.])"),
    ("date", r"(?<![0-9./])[0-3]?[0-9]([./])[0-3]?[0-9]\1[12][0-9]{3}(?![0-9])"),
    ("time", r"(?<![0-9:.])[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?![0-9:])"),
    ("version", r"\b[vV][0-9]+(?:\.[0-9]+)+(?:[-+.]?[a-z]+[0-9]*)?"),
    ("version", r"\b(?:[Vv]ersion|[Rr]elease|Python|CUDA|Ubuntu|NumPy|SciPy|PyTorch|TensorFlow|Java|Julia"
                r"|Apache|[AL]?GPL|MPL|CC[ -]BY(?:-[A-Z]{2}){0,2})\s?v?[0-9]+(?:\.[0-9]+)*"),
    ("version", r"(?<![0-9.,])(?![0-9]{1,3}(?:\.[0-9]{3})+(?![0-9.]))[0-9]{1,4}(?:\.[0-9]{1,5}){2,5}"
                r"(?:[-+]?[a-z]+[0-9]*)?(?![0-9])"),
    ("reference", rf"\b(?:Sections|Secs\.|Figures|Figs\.|Tables|Equations|Eqs\.|Chapters|Appendices|Steps|Refs\."
                  rf"|Experiments|Algorithms|Notes|Lines|Pages|pp\.)\s?\(?{_COUNT}\)?(?:{_AND}\(?{_COUNT}\)?)*"),
    ("reference", rf"(?:\b(?:[Ss]ection|[Ss]ec\.|[Ff]igure|[Ff]ig\.|[Tt]able|[Tt]ab\.|[Ee]quation|[Ee]q\.|[Cc]hapter"
                  rf"|[Aa]ppendix|[Aa]lgorithm|[Tt]heorem|[Ll]emma|[Ff]ootnote|[Nn]ote|Ref\.|[Pp]age|p\.|[Ll]isting"
                  rf"|Supplementary [A-Z][a-z]+|No\.|Box|Panel|[Ss]tep)|§)\s?\(?{_COUNT}(?![0-9.]*[0-9%])\)?"),
    ("identifier", r"(?<![A-Za-z0-9])#[0-9]{1,9}\b"),
    ("footnote mark", r"\[\^[^\]\s]{1,40}\]"),
    ("identifier", r"\b(?=[0-9a-f]{0,39}[a-f])(?=[a-f]{0,39}[0-9])[0-9a-f]{7,64}\b(?![.,][0-9])"),
)  # fmt: skip
_CITATION = re.compile(r"\[(?:[0-9]{1,3}(?:[,;\s–-]{1,3}[0-9]{1,3}){0,30}|@[^\[\]\n]{1,200})\]")
_INTERVAL = re.compile(r"(?:\bCI|interval|range|between|within|∈|=|:|%|\()\s*$", re.IGNORECASE)
_SOFT: tuple[tuple[str, str], ...] = (
    ("confidence level", r"\b[0-9]{2}(?:\.[0-9])?\s?-?%\s?(?:CI|HDI|intervals?|(?:bootstrap\s)?(?:confidence|credible"
                         r"|prediction)\s(?:interval|level|band|limit)s?)\b"),
    ("confidence level", r"\b(?:CI|HDI|IC)\s?[0-9]{2}(?:[.,][0-9])?\s?%"),
    # Only in the idiom: in 4.2 TWh ± 1.96 it is a spread, and z > 1.96 speaks of a result.
    ("critical value", r"(?:\b(?:within|inside|outside|beyond|dentro)\s±\s?|\|z\|\s?[<>≤≥]\s?)"
                       r"(?:1[.,]64(?:5)?|1[.,]96|2[.,]58|2[.,]576)(?![0-9]|[.,][0-9])"),
    ("date", rf"\b{_MONTH}\s(?:1[5-9]|2[01])[0-9]{{2}}(?![0-9]|[.,][0-9])"),
    ("ordinal", r"\b[0-9]+(?:st|nd|rd|th)\b"),
)  # fmt: skip

_NAMES = [(name, re.compile(pattern)) for name, pattern in _HARD]
_SOFT_NAMES = [(name, re.compile(pattern)) for name, pattern in _SOFT]

_SEASON = re.compile(r"\b(?:1[5-9]|2[01])([0-9]{2})[/–-]([0-9]{2})\b(?![./–-]?[0-9])")
"""A season or a business year, when the second year follows the first: 2015/16."""


def set_aside_regions(text: str, *, citations: bool = True) -> tuple[list[Region], list[Region]]:
    """(hard, soft) stretches of `text` by the tables above, each sorted by its start."""
    hard = [Region(m.start(), m.end(), name) for name, pattern in _NAMES for m in pattern.finditer(text)]
    for match in _CITATION.finditer(text) if citations else ():
        interval = _INTERVAL.search(text, max(0, match.start() - 12), match.start())
        if not interval and not claims_after(text, match.end()):
            hard.append(Region(match.start(), match.end(), "citation"))
    hard += [*heading_numbers(text), *list_markers(text)]
    soft = [Region(m.start(), m.end(), name) for name, pattern in _SOFT_NAMES for m in pattern.finditer(text)]
    for match in _SEASON.finditer(text):
        if (int(match[2]) - int(match[1])) % 100 == 1:
            soft.append(Region(match.start(), match.end(), "year"))
    soft += listed_references(text)
    return sorted(hard, key=_start), sorted(soft, key=_start)


def _start(region: Region) -> int:
    return region.start


_NAME_END = re.compile(r"(?:(?!\W)[A-Za-z\u00aa-\u1fff_]|[A-Za-z][-@]|[\^_]\{?[-+−]?)\Z")
"""Letters, and not the signs among them: in 12.3 ±0.4 and ×2.5 there is no name."""
_CURRENCY = re.compile(r"(?<![A-Za-z])(?:EUR|USD|GBP|CHF|JPY|CNY|AUD|CAD|SEK|NOK|DKK|INR|Rs\.?)\Z")
_SMALL = (
    "a about after all also although an and are as at be been before began begins but by came come "
    "down during each edition ended every fell followed for from had has have he if in into is it "
    "its marks may most no nor not of off on once one only onwards or over rose saw season she shows "
    "since so some that the their then there these they this those through to together too under "
    "until up was were when where whether which while who with within would year years "
)
_FUNCTION = frozenset(_SMALL.split())
"""Words that may follow a year; any other lower-case word is what the number counts."""
_WORD_AFTER = re.compile(r"[ \u00a0\n]([A-Za-zµ°%]+)")
_COMPARED = re.compile(r"[=<>≤≥≈~:]\s*$")


def part_of_a_name(text: str, start: int, end: int, *, decimal: bool, claim: Claim = "") -> bool:
    """Whether the number at `start` belongs to a name, as in Bus12, COVID-19, hit@5, H2O, m^2, 3D or 3fa9.

    Not with a currency before it, or a unit after decimals (EUR99.9 million), or a hyphen and a unit (AUC-99 %).
    """
    before = text[max(0, start - 4) : start]
    if _CURRENCY.search(before) or (claim and decimal and not before.endswith("PM")):
        return False
    if (match := _NAME_END.search(before)) and not (match[0][-1] == "-" and (decimal or claim)):
        return True
    after = text[end : end + 2]
    if after[:1] == "D" and not after[1:].isalnum():
        return not decimal
    return after[:1].isascii() and after[:1].isalpha() and after[1:].isdigit() and after[0] not in "xX"


def is_year(text: str, start: int, end: int) -> bool:
    """Whether four digits read as a year: 1500 to 2199, compared with nothing, and no noun counted by them."""
    if _COMPARED.search(text, max(0, start - 4), start):
        return False
    if text[end : end + 1] == "s" and not text[end + 1 : end + 2].isalnum():
        return True  # the 1790s
    if text[end : end + 1].isalpha() or text[end : end + 2].strip() in ("%", "°"):
        return False
    after = _WORD_AFTER.match(text, end)
    return after is None or after[1] in _FUNCTION or (after[1][0].isupper() and len(after[1]) > 4)
