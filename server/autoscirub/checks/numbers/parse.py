"""Parses a printed number: the values that it may stand for, and the unit of its last printed place."""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

MAX_DIGITS = 30
"""More are in no result: a float has 17."""
_MAX_EXPONENT = 330

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


@dataclass(frozen=True)
class ParsedNumber:
    """A value, and the unit of its last printed place: 45.85 is (45.85, 0.01)."""

    value: Decimal
    unit: Decimal
    kind: str = ""
    """`%` or `‰` of a share, which may be stored as a share of one too; `words` of a number word; `fraction` of
    a third or a half, which may be stored as a percentage."""
    shift: int = 0
    """The power of ten that is printed next to it."""

    def scaled(self, exponent: int) -> ParsedNumber:
        """The same times a power of ten, in value and in unit."""
        if not exponent:
            return self
        value, unit = self.value.scaleb(exponent), self.unit.scaleb(exponent)
        return replace(self, value=value, unit=unit, shift=self.shift + exponent)

    def as_share(self, kind: str) -> ParsedNumber:
        """The same as a share, when `kind` says so."""
        return replace(self, kind=kind) if kind else self

    def alternatives(self) -> list[tuple[Decimal, Decimal]]:
        """(value, unit) as printed, and for a share as a part of one."""
        exponent = {"%": -2, "‰": -3}.get(self.kind)
        if self.kind == "words":  # who writes "two" does not mean 1.5
            return [(self.value, Decimal(0))]
        if self.kind == "fraction":
            return [(self.value, self.unit), (self.value * 100, self.unit * 100)]
        plain = [(self.value, self.unit)]
        return [*plain, (self.value.scaleb(exponent), self.unit.scaleb(exponent))] if exponent else plain


@cache
def _digit_table() -> dict[int, str]:
    digits = (chr(point) for point in range(128, sys.maxunicode + 1))
    return {ord(c): str(unicodedata.decimal(c)) for c in digits if unicodedata.decimal(c, None) is not None}


def digits_as_ascii(text: str) -> str:
    """`text` with the decimal digits of every script as 0 to 9, so that none goes unseen."""
    return text if text.isascii() else text.translate(_digit_table())


def read_number(
    core: str, power: str | None, base_ten: str | None, *, negative: bool, comma: bool | None
) -> tuple[ParsedNumber, ...]:
    """What digits with separators, and a power of ten next to them, may stand for.

    `base_ten` is the exponent of a number that is 10 alone. `comma` says how this report writes decimals; None: both
    ways are tried. Nothing for more digits than any result has.
    """
    if len(core) > 2 * MAX_DIGITS:
        return ()
    shift = _exponent(power or base_ten)
    if abs(shift) > _MAX_EXPONENT:
        return ()
    if base_ten:
        exact = Decimal(1).scaleb(shift)
        return (ParsedNumber(-exact if negative else exact, min(exact, Decimal(1)), shift=shift),)
    interpretations = []
    for whole, decimals in _split(core, comma):
        if len(whole) + len(decimals) > MAX_DIGITS:
            continue
        value = Decimal(f"{'-' if negative else ''}{whole or '0'}.{decimals or '0'}")
        interpretations.append(ParsedNumber(value, Decimal(1).scaleb(-len(decimals))).scaled(shift))
    return tuple(interpretations)


def _exponent(text: str | None) -> int:
    if not text:
        return 0
    plain = re.sub(r"[\s{}]", "", text.translate(_SUPERSCRIPTS).replace("\u2212", "-"))
    found = re.search(r"(?:[eE^]|10)?([-+]?[0-9]{1,3})$", plain)
    return int(found[1]) if found else 0


def _split(core: str, comma: bool | None) -> list[tuple[str, str]]:
    """(whole digits, decimal digits) of each way to read the separators."""
    plain = re.sub(r"[ '’\u00a0\u2009\u202f\u2008]", "", core)
    dots, commas = plain.count("."), plain.count(",")
    if dots and commas:  # the last kind of separator is the decimal one
        decimal = "," if plain.rfind(",") > plain.rfind(".") else "."
        if plain.count(decimal) > 1:
            return []
        whole, _, decimals = plain.partition(decimal)
        return (
            [(re.sub(r"[.,]", "", whole), decimals)]
            if re.fullmatch(r"[0-9]{1,3}([.,][0-9]{3})+", whole)
            else []
        )
    if not dots and not commas:
        return [(plain, "")]
    mark = "." if dots else ","
    thousands = re.fullmatch(r"[1-9][0-9]{0,2}(?:[.,][0-9]{3})+", plain) is not None
    joined = (plain.replace(mark, ""), "")
    if max(dots, commas) > 1:
        return [joined] if thousands else []
    whole, _, decimals = plain.partition(mark)
    as_decimal = (whole, decimals)
    if not thousands:
        return [as_decimal]
    if comma is None:
        return [as_decimal, joined] if mark == "." else [joined, as_decimal]
    return [as_decimal] if comma == (mark == ",") else [joined]
