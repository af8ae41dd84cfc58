"""Finds numbers that are written out: thirteen, ninety-nine point nine percent, a third, half, ¾."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from autoscirub.checks.numbers.parse import ParsedNumber
from autoscirub.checks.numbers.units import SCALES, UNIT

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBER_WORD = "a number word"
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
         "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: n for n, word in enumerate(_ONES, 1)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_VALUES |= {"zero": 0, "dozen": 12, "hundred": 100}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}

_ONE = "|".join(sorted(_ONES[:9], key=len, reverse=True))
_UNDER = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{_ONE})\b)?|{'|'.join(sorted(_ONES, key=len, reverse=True))}|zero)\b"
)
_FRACTIONS = "\u00bc-\u00be\u2150-\u215e"
_WRITTEN = re.compile(
    rf"(?P<sign>[0-9]{{0,9}}[{_FRACTIONS}])"
    r"|(?<![\w-])(?:"
    rf"(?P<dozen>(?:(?:an?|two|three|half\ a)[ -])?dozen)\b"
    rf"|(?P<of>(?:(?:an?|one|two|three|four|five|seven|nine)[- ])(?:{'|'.join(_PARTS)}|halve)s?\b(?!-)|half\b(?!-))"
    rf"|(?P<hundreds>an?|{_ONE})[ -](?P<hundred>hundred)\b(?:\ and)?(?:[ -](?P<rest>{_UNDER}))?"
    rf"|(?P<plain>{_UNDER})(?P<point>\ point(?:[ -](?:{_ONE}|zero|oh)\b){{1,9}})?"
    r")",
    re.IGNORECASE,
)
_OF_A_UNIT = re.compile(r"(?:-|\ of\ an?\ |\ an?\ )(?=[\w%])")
_SINGLE_LETTERS = frozenset("ABKLNVJlbmstg")


@dataclass(frozen=True)
class NumberInWords:
    """A number in words, with its unit where it has one."""

    start: int
    end: int
    reading: ParsedNumber
    claim: bool
    """A percent sign, a scale or a unit follows: it is a quantity, and no turn of phrase."""


def written_numbers(text: str) -> Iterator[NumberInWords]:
    """Every number in words. `one` and `zero` only with a unit: "one of them" counts nothing."""
    for match in _WRITTEN.finditer(text):
        value, fine = _value(match)
        end = match.end()
        between = _OF_A_UNIT.match(text, end)
        unit = UNIT.match(text, between.end() if between else end)
        if unit and (unit["unit"] or unit["letter"] or "").strip() in _SINGLE_LETTERS:
            unit = None
        if unit is None:
            if match[0].lower() in ("one", "zero"):
                continue
            kind = "fraction" if match["of"] or match["sign"] else "words"
            yield NumberInWords(match.start(), end, ParsedNumber(value, fine, kind), claim=False)
            continue
        percent = unit["percent"]
        kind = "" if not percent else "‰" if percent == "‰" else "%"
        reading = ParsedNumber(value, fine).scaled(SCALES.get(unit["scale"] or "", 0)).as_share(kind)
        yield NumberInWords(match.start(), unit.end(), reading, claim=True)


def _value(match: re.Match[str]) -> tuple[Decimal, Decimal]:
    """The value, and how fine it is."""
    if match["sign"]:
        whole = match["sign"][:-1] or "0"
        return Decimal(whole) + Decimal(str(unicodedata.numeric(match["sign"][-1]))), Decimal("0.01")
    if match["of"]:
        words = re.split(r"[- ]", match["of"].lower())
        name = "half" if words[-1].startswith("hal") else words[-1].removesuffix("s")
        times = _VALUES.get(words[0], 1) if len(words) > 1 else 1
        return Decimal(times) / _PARTS[name], Decimal("0.01")
    if match["hundred"]:
        hundreds = _VALUES.get((match["hundreds"] or "a").lower(), 1)
        return Decimal(100 * hundreds + _sum(match["rest"])), Decimal(1)
    if match["dozen"]:
        first = match["dozen"].lower().split()[0]
        return Decimal(
            6 if first == "half" else 12 if first == "dozen" else 12 * _VALUES.get(first, 1)
        ), Decimal(1)
    digits = "".join(str(_VALUES.get(word, 0)) for word in re.split(r"[- ]", match["point"] or "")[2:])
    value = Decimal(f"{_sum(match['plain'])}.{digits or '0'}")
    return value, Decimal(1).scaleb(-len(digits))


def _sum(words: str | None) -> int:
    return sum(_VALUES[word] for word in re.split(r"[- ]", words.lower())) if words else 0
