"""Recognises a unit, percent sign or currency next to a number, which makes the number a claim."""

from __future__ import annotations

import re
from typing import Literal

Claim = Literal["", "close", "apart"]
"""`close`: a unit follows. `apart`: so that it is prose, and no code: after a space, or with decimals."""

UNIT = re.compile(
    r"[\s\u00a0\u2009\u202f]?(?P<percent>%|‰|per\s?cent\b|percent(?:age points?)?\b|pp\b)"
    r"|\s?(?P<scale>thousand|million|billion|trillion)\b|(?P<letter>[kKMB]|bn)(?![A-Za-z0-9/])"
    r"|[\s\u00a0\u2009\u202f]?(?P<unit>[fpnuµmcdhkMGTPE]?(?:Wh?|Hz|eV|J|Pa|V|A|g|m|s|L|l|t|bar|mol|K|N|B|Ω|b)"
    r"(?:[²³]|\^[23])?|°[CF]?|€|\$|£)(?![A-Za-z0-9])"
)
SCALES = {"thousand": 3, "k": 3, "K": 3, "million": 6, "M": 6, "billion": 9, "bn": 9, "B": 9, "trillion": 12}

_LETTERS = frozenset({*"ABKLNMTPEk", "l", "b", "m", "s", "t", "g", "V", "J"})
"""Units that may be a letter of a name too, as in Figure 3 B: alone they make no claim after a mark."""
_COUNTED = re.compile(
    r"[\s\u00a0\u2009](?:hours?|minutes?|seconds?|days?|weeks?|months?|years?|met(?:er|re)s?|kilomet(?:er|re)s?"
    r"|tonnes?|tons|degrees?|euros?|dollars?|times|(?:kilo|mega|giga|tera)?watts?(?:[ -]hours?)?)\b"
)
_REMAINDER = re.compile(r"\s?(?:[0-9_(]|[a-z]\b)")
"""After a percent sign: it may be 7 % 2."""
_COINS = re.compile(r"(?:[€$£¥]|\b(?:EUR|USD|GBP|CHF|JPY|CNY|AUD|CAD|SEK|NOK|DKK|INR|Rs\.))[\s\u00a0]?\Z")


def claim_of(text: str, start: int, end: int, *, decimal: bool) -> Claim:
    """Whether the number at `start` states a quantity, whatever its place and its form look like."""
    if _COINS.search(text, max(0, start - 6), start):
        return "apart"
    unit = UNIT.match(text, end)
    if unit is None:
        return "apart" if _COUNTED.match(text, end) else ""
    letters = (unit["unit"] or unit["letter"] or "").strip()
    if letters in _LETTERS and not decimal:
        return ""
    if unit["percent"] == "%" and not decimal and _REMAINDER.match(text, unit.end()):
        return "close"
    return "apart" if unit[0][:1].isspace() or unit["scale"] or decimal else "close"


def claims_after(text: str, end: int) -> bool:
    """Whether a unit or a percent sign follows at `end`, as in [99] percent."""
    return bool(claim_of(text, end, end, decimal=False))
