"""Extracts every number from a report, with what each may be read as."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Literal

from autoscirub.checks.numbers.latex import from_latex
from autoscirub.checks.numbers.markdown import from_markdown
from autoscirub.checks.numbers.markup import from_html
from autoscirub.checks.numbers.notebook import from_notebook
from autoscirub.checks.numbers.occurrence import Lines, Occurrence, Sweep
from autoscirub.checks.numbers.parse import digits_as_ascii, read_number
from autoscirub.checks.numbers.prose import Prose
from autoscirub.checks.numbers.set_aside import is_year, part_of_a_name, set_aside_regions
from autoscirub.checks.numbers.units import SCALES, UNIT, claim_of
from autoscirub.checks.numbers.words import NUMBER_WORD, written_numbers
from autoscirub.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Iterator


Format = Literal["markdown", "quarto", "latex", "html", "notebook", "text"]
MAX_NUMBERS = 100_000
"""Numbers of one report, so that its time has a bound whatever it holds."""
_SEP = "[.,'’\u00a0\u2009\u202f\u2008]"
_NUMBER = re.compile(
    rf"(?P<sign>[-+\u2212\u2013]?)"
    rf"(?P<core>[0-9]++(?>(?:{_SEP}[0-9]++|\ [0-9]{{3}}(?![0-9]))*)|(?<![0-9])\.[0-9]++)"
    r"(?>(?:(?P<e>[eE][-+\u2212]?[0-9]{1,3}(?![0-9A-Za-z]))"
    r"|(?P<power>\s?[×xX·∙⋅]\s?10\s?(?:\^\s?\{?\s?[-+\u2212]?[0-9]{1,3}\}?|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))"
    r"|(?P<own>\^\s?\{?\s?[-+\u2212]?[0-9]{1,3}\}?|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?)"
)
# Atomic, and not `*+` on a group: before Python 3.11.5 that keeps what a last, failed repetition had consumed.
_GROUPED = re.compile(
    rf"[1-9][0-9]{{0,2}}(?:(?:(?:{_SEP}|\ )[0-9]{{3}})+(?:\.[0-9]+)?"
    rf"|(?:(?:(?!,){_SEP}|\ )[0-9]{{3}})+,[0-9]+)"
)
"""Digits in well-formed groups of three, with decimals or without."""
_LINKED = re.compile(r"\s?(?:[–−-]|to|±|\+/-|and|;)\s?")
_NAMED = re.compile(
    r"(?P<name>[A-Za-zα-ωΑ-Ω][\w-]{0,40})(?:\([^()\n]{0,20}\))?[\s\u00a0\u2009]*(?P<sign><=|>=|[<>≤≥])\s*$"
)
_BOUNDS = ("<", ">", "≤", "≥")
_SIGNS = (*_BOUNDS, "=")


@dataclass(frozen=True)
class Occurrences:
    """All numbers of a report, in its order, and the markers that have no number before them."""

    text: str = field(repr=False)
    numbers: list[Occurrence]
    loose: list[tuple[int, str]]
    elsewhere: list[tuple[str, str]] = field(default_factory=list)
    """(place, words) of what a reader sees and this file does not hold."""


def read_prose(text: str, format: Format) -> Prose:  # noqa: A002 - the word the user writes
    """The report as its reader sees it. Raises CheckError for a notebook that is none."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if format in ("markdown", "quarto"):
        return from_markdown(text, executed=format == "quarto")
    if format == "latex":
        return from_latex(text)
    if format == "html":
        return from_html(text)
    if format == "notebook":
        return from_notebook(text)
    prose = Prose()
    prose.add(text)
    return prose


def find_numbers(text: str, format: Format = "markdown") -> list[Occurrence]:  # noqa: A002
    """Every number of a report, set aside ones too.

    Raises CheckError for a notebook that is none, and for more than MAX_NUMBERS.
    """
    return extract_numbers(read_prose(text, format)).numbers


def extract_numbers(prose: Prose) -> Occurrences:
    """Every number of a text, in time that grows with its length. Raises CheckError for more than MAX_NUMBERS."""
    text = digits_as_ascii(prose.text)
    comma = _decimal_comma(text)
    lines = Lines(text, prose.cells)
    digits = [_one(text, match, comma, lines) for match in islice(_NUMBER.finditer(text), MAX_NUMBERS + 1)]
    _share_units(text, digits)
    words = list(islice(_written(text, lines), MAX_NUMBERS + 1))
    hidden = [lines.hidden(piece) for piece in prose.hidden[: MAX_NUMBERS + 1]]
    if len(digits) + len(words) + len(hidden) > MAX_NUMBERS:
        raise CheckError(f"more than {MAX_NUMBERS:,} numbers: give the tables as files of their own")
    mixed = {word.start for word in words if text[word.start].isdigit()}  # of 3¾ the 3 is a part
    found = [n for n in digits if not mixed.intersection((n.start, n.start + 1))]
    found = sorted([*found, *words], key=lambda number: number.start)
    _set_aside_numbers(found, text, prose)
    loose = _bind(text, found, prose.markers, lines)
    found = sorted([*hidden, *found], key=lambda number: number.start)
    elsewhere = [(lines.occurrence(at, at).place, snippet) for at, snippet in prose.elsewhere[:MAX_NUMBERS]]
    return Occurrences(text, found, loose, elsewhere)


def _written(text: str, lines: Lines) -> Iterator[Occurrence]:
    for written in written_numbers(text):
        word = lines.occurrence(written.start, written.end)
        word.interpretations, word.claim = (written.reading,), "apart" if written.claim else ""
        word.soft = None if written.claim else NUMBER_WORD
        yield word


def _set_aside_numbers(numbers: list[Occurrence], text: str, prose: Prose) -> None:
    """Say of each number why it is, or may be, no claim."""
    hard, soft = set_aside_regions(text, citations=prose.citations)
    hard = sorted([*hard, *(r for r in prose.regions if not r.soft)], key=lambda region: region.start)
    soft = sorted([*soft, *(r for r in prose.regions if r.soft)], key=lambda region: region.start)
    in_hard, in_soft = Sweep(hard), Sweep(soft)
    for number in numbers:
        number.set_aside_for(in_hard.reason(number.start), hard=True)
        number.set_aside_for(in_soft.reason(number.start), hard=False)


def _decimal_comma(text: str) -> bool | None:
    """Whether the text writes 1,5 for one and a half; None when it does both, or neither."""
    dots = len(
        re.findall(r"(?<![0-9.,])[0-9]{1,9}\.(?:[0-9]{1,2}|[0-9]{4,9})(?![0-9.,])|,[0-9]{3}\.[0-9]", text)
    )
    commas = len(
        re.findall(r"(?<![0-9.,])[0-9]{1,9},(?:[0-9]{1,2}|[0-9]{4,9})(?![0-9.,])|\.[0-9]{3},[0-9]", text)
    )
    return (
        None
        if (dots and commas and min(dots, commas) * 10 > max(dots, commas)) or dots == commas
        else commas > dots
    )


def _one(text: str, match: re.Match[str], comma: bool | None, lines: Lines) -> Occurrence:
    core, sign = match["core"], match["sign"]
    start, end = match.start("core"), match.end()
    if sign:
        if _is_sign(text, match.start(), sign):
            start = match.start()
        else:
            sign = ""
    power = match["power"] or match["e"]
    base_ten = match["own"] if core == "10" else None
    if match["own"] and not base_ten:
        end = match.start("own")
    decimal = "." in core
    unit = UNIT.match(text, end)
    if unit and unit[0] == "s" and len(core) == 4:
        unit = None  # the 1790s are no seconds
    occurrence = lines.occurrence(start, unit.end() if unit else end)
    broken = decimal or "," in core
    occurrence.claim = (
        claim_of(text, start, end, decimal=broken) if unit or not text[end : end + 1].isalnum() else ""
    )
    if part_of_a_name(text, start, end, decimal=decimal, claim=occurrence.claim):
        occurrence.set_aside = "part of a name"
        return occurrence
    exponent = SCALES.get((unit["scale"] or unit["letter"] or "") if unit else "", 0)
    percent = unit["percent"] if unit else None
    kind = "" if not percent else "‰" if percent == "‰" else "%"
    interpretations = read_number(
        core, power, base_ten, negative=sign in ("-", "\u2212", "\u2013"), comma=comma
    )
    occurrence.interpretations = tuple(r.scaled(exponent).as_share(kind) for r in interpretations)
    if (
        not (power or base_ten or unit)
        and len(core) == 4
        and "1500" <= core < "2200"
        and is_year(text, start, end)
    ):
        occurrence.soft = "year"
    near = text[max(0, start - 3) : start].rstrip()
    if near[-1:] in _SIGNS and (comparison := _NAMED.search(text, max(0, start - 70), start)):
        occurrence.name = comparison["name"]
        occurrence.compared = {"≤": "<=", "≥": ">="}.get(comparison["sign"], comparison["sign"])
    # A unit, a sign and a comparison are said of one number: each piece alone would be looked up without them.
    one = power or base_ten or sign or occurrence.claim or near[-1:] in _BOUNDS
    if re.search(r"[ ,]", core) and not one and not _is_one_number(core, comma):
        occurrence.parts = tuple(_parts(match, comma, lines))
    return occurrence


def _is_one_number(core: str, comma: bool | None) -> bool:
    """Whether digits with a comma or a space are no list: groups of three, or decimals as this text writes them."""
    return bool(_GROUPED.fullmatch(core) or (comma and re.fullmatch(r"[0-9]+,[0-9]+", core)))


def _parts(match: re.Match[str], comma: bool | None, lines: Lines) -> Iterator[Occurrence]:
    pieces = list(re.finditer(r"[^ ,]+", match["core"]))
    if len(pieces) > 20:
        return
    for piece in pieces:
        part = lines.occurrence(match.start("core") + piece.start(), match.start("core") + piece.end())
        part.interpretations = read_number(piece[0].strip(".,'’"), None, None, negative=False, comma=comma)
        yield part


def _is_sign(text: str, at: int, sign: str) -> bool:
    before = text[at - 1 : at]
    if before.isalnum() or before in ("_", ")", "]", "}", "%", "°"):
        return False
    if sign == "\u2013" or before in (" ", "\u00a0", "\u2009"):
        earlier = text[max(0, at - 3) : at].strip()
        return not (earlier and earlier[-1].isdigit() and sign == "\u2013")
    return True


def _share_units(text: str, numbers: list[Occurrence]) -> None:
    """A unit said once for a range or an interval belongs to both its numbers: 3–5 %, (12.3 ± 0.4) × 10³."""
    for i in range(len(numbers) - 2, -1, -1):
        left, right = numbers[i], numbers[i + 1]
        between = text[left.end : right.start]
        if len(between) > 7 or not left.interpretations or not right.interpretations:
            continue
        shift = max((reading.shift for reading in right.interpretations), default=0)
        kind = right.interpretations[0].kind
        if re.fullmatch(r"\s?\)\s?[×·x]\s?", between) and right.text.startswith("10") and shift:
            right.set_aside, right.soft = "the power of ten of the number before it", None
        elif not _LINKED.fullmatch(between):
            continue
        if kind in ("%", "‰") and not left.interpretations[0].kind:
            left.interpretations = tuple(reading.as_share(kind) for reading in left.interpretations)
        left.claim = left.claim or right.claim
        left.parts = () if left.claim else left.parts
        if shift and not any(reading.shift for reading in left.interpretations):
            left.interpretations += tuple(reading.scaled(shift) for reading in left.interpretations)


def _bind(
    text: str, numbers: list[Occurrence], markers: list[tuple[int, str]], lines: Lines
) -> list[tuple[int, str]]:
    """Give each marker's key to the number before it on its line; returns the markers that have none."""
    ends = [number.end for number in numbers]
    loose = []
    for offset, key in markers:
        at = bisect_left(ends, offset + 1) - 1
        gap = text[ends[at] : min(offset, ends[at] + 100)] if at >= 0 else "\n"
        if (
            at < 0
            or len(gap) > 60
            or "\n" in gap.rstrip("\n")
            or "|" in gap
            or numbers[at].bound_to is not None
        ):
            loose.append((lines.occurrence(offset, offset).line, key))
        else:
            numbers[at].bound_to = key
    return loose
