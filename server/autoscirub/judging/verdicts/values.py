"""Compares a value that a judge cites with the one in a file, by the grammar and rounding of a report's numbers."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from autoscirub.checks.numbers import find_numbers
from autoscirub.judging.verdicts.consistency import limits
from autoscirub.judging.verdicts.passages import flat

_WORDS = {True: ("true", "yes"), False: ("false", "no"), None: ("null", "none")}
_LONGEST = 2_000
_BEFORE = re.compile(
    r"[\s=:≈~$€£¥*_`(\[\"']*(?:(?:about|approx(?:imately|\.)?|circa|ca\.|etwa|rund|environ|unos|aprox\.|约|約)\s*)?",
    re.IGNORECASE,
)
"""What may stand before a cited number: nothing that could change it, such as *minus*, *not* or *more than*."""
_UNIT = re.compile(r"[\s*_`°$€£¥%]*[^\W\d_]{0,3}[\s*_`.]*")


def same_value(actual: Any, cited: Any) -> bool:
    """Whether a cited value is the one in the file: a correct rounding of a number, the words of a text."""
    text = cited.strip() if isinstance(cited, str) else cited
    if isinstance(actual, bool) or actual is None:
        return text is actual or (isinstance(text, str) and text.casefold() in _WORDS[actual])
    if isinstance(actual, str):
        if isinstance(text, str) and flat(text) and flat(text.strip("\"'")) == flat(actual):
            return True
        own = _number_in(actual)
        return own is not None and _rounds_to(own, cited)
    if isinstance(actual, list):
        numbers, rest = _numerals(cited)
        same = len(numbers) == len(actual) > 0 and not limits(rest)
        return same and all(same_value(a, number.text) for a, number in zip(actual, numbers, strict=True))
    if not isinstance(actual, int | float) or isinstance(cited, bool):
        return False
    if actual == cited:
        return True
    if not math.isfinite(actual):
        return isinstance(text, str) and text.casefold().lstrip("+") in {str(actual), f"{actual}inity"}
    return _rounds_to(Decimal(repr(actual)), cited)


def _numerals(cited: Any) -> tuple[list[Any], str]:
    """The numbers of a cited value, and the text around them."""
    if isinstance(cited, bool) or cited is None:
        return [], ""
    text = cited[:_LONGEST] if isinstance(cited, str) else repr(cited)
    numbers = [number for number in find_numbers(text, "text") if number.interpretations]
    edges = [0, *(edge for number in numbers for edge in (number.start, number.end)), len(text)]
    return numbers, " … ".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def _rounds_to(actual: Decimal, cited: Any) -> bool:
    """Whether a cited value is this one number, and nothing around it says otherwise."""
    numbers, around = _numerals(cited)
    if len(numbers) != 1:
        return False
    [number], (before, after) = numbers, around.split(" … ", 1)
    pairs = [pair for reading in number.interpretations for pair in reading.alternatives()]
    # By more than a third it is no rounding of this value: 0 of 0.003, 1 of 0.51.
    right = any(2 * (off := abs(actual - value)) <= unit and 3 * off <= abs(actual) for value, unit in pairs)
    return right and _BEFORE.fullmatch(before) is not None and not limits(after)


def _number_in(text: str) -> Decimal | None:
    """The number that a text is, with its unit; None where it holds other things, or may be read in two ways."""
    numbers, around = _numerals(text)
    if len(numbers) != 1 or len(numbers[0].interpretations) != 1 or numbers[0].compared:
        return None
    before, after = around.split(" … ", 1)
    alone = _BEFORE.fullmatch(before) is not None and _UNIT.fullmatch(after) is not None
    found = numbers[0].interpretations[0]
    return found.alternatives()[-1][0] if alone and found.kind in ("", "%", "‰") else None
