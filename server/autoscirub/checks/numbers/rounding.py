"""Is a printed number a correct rounding of a source's value, and of how many?"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from autoscirub.checks.numbers.sources import words_of

if TYPE_CHECKING:
    from autoscirub.checks.numbers.occurrence import Occurrence
    from autoscirub.checks.numbers.sources import Source, SourceIndex

_EXACT = Context(prec=80)
CROWD = 20
"""Different values that one printed number may round before finding it among them says nothing."""
_LISTED = 8
"""Sources of an ambiguous number that are listed."""
_LIKE_P = frozenset({"p", "pvalue", "pval", "pvals"})
_FOR_HINTS = 200
"""Sources of one word that are looked at for a hint."""
_HINTS = 300
"""Hints that are looked for in one report: each costs the words of a line times their sources, and a few are read."""


@dataclass(frozen=True)
class Match:
    """The sources that a number may come from: how many, how many different values, and the first of them."""

    count: int = 0
    distinct: int = 0
    sources: tuple[Source, ...] = ()


def is_rounding(value: Decimal, unit: Decimal, source: Source) -> bool:
    """Whether `value`, printed to `unit`, is the source's value rounded; a tie may go either way.

    What a prediction states is a constant, and is printed as it is.
    """
    distance = abs(_EXACT.subtract(value, source.exact))
    return not distance if source.origin == "predictions" else distance * 2 <= unit


def agrees(number: Occurrence, source: Source) -> bool:
    """Whether a number is right about one source: a rounding of it, or a bound that it keeps."""
    if number.compared and any(_keeps(number, value, source) for value in _values(number)):
        return True
    if number.compared:
        return False
    return any(
        is_rounding(v, u, source) for reading in number.interpretations for v, u in reading.alternatives()
    )


def _values(number: Occurrence) -> list[Decimal]:
    return [value for reading in number.interpretations for value, _ in reading.alternatives()]


def _keeps(number: Occurrence, bound: Decimal, source: Source) -> bool:
    order = _EXACT.compare(source.exact, bound)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[number.compared or "<"]


def match(number: Occurrence, index: SourceIndex) -> Match:
    """All sources of one index that a number may come from. What was asked before is remembered."""
    asked = (number.interpretations, number.compared, _name(number))
    if (known := index.memo.get(asked)) is None:
        known = index.memo[asked] = _match(number, index)
    return known


def _match(number: Occurrence, index: SourceIndex) -> Match:
    if number.compared and (bounded := _within_bound(number, index)) is not None:
        return bounded
    found: dict[float, None] = {}
    count = 0
    listed: list[Source] = []
    for value, unit in [pair for reading in number.interpretations for pair in reading.alternatives()]:
        low, high = _window(index, value, unit)
        for at in range(low, min(high, low + CROWD + 1)):
            if (distinct := index.distinct[at]) in found:
                continue
            found[distinct] = None
            here = index.by_value[distinct]
            count += len(here)
            listed += here[: _LISTED - len(listed)]
        if high - low > CROWD + 1:  # no need to see them all to know that they are many
            count += index.counts[high] - index.counts[low + CROWD + 1]
            return Match(count, high - low, tuple(listed))
    return Match(count, len(found), tuple(listed))


def _window(index: SourceIndex, value: Decimal, unit: Decimal) -> tuple[int, int]:
    """The stretch of different values that round to `value`: found by float, its ends settled exactly."""
    half = unit / 2
    low, high = float(_EXACT.subtract(value, half)), float(_EXACT.add(value, half))
    start, end = index.between(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))

    def out(at: int) -> bool:
        return not any(is_rounding(value, unit, source) for source in index.by_value[index.distinct[at]][:1])

    while start < end and out(start):
        start += 1
    while start < end and out(end - 1):
        end -= 1
    return start, end


def _name(number: Occurrence) -> str:
    return re.sub(r"[^a-z]", "", (number.name or "").lower()) if number.compared else ""


def _within_bound(number: Occurrence, index: SourceIndex) -> Match | None:
    """The results whose key says what the number is compared with, and that keep it: p < 0.001 is about p_value.

    None when no key says so. They are in the order of their values, so that those that keep a bound are at one end.
    """
    name = _name(number)
    words = tuple(sorted(_LIKE_P)) if name in _LIKE_P or name == "value" else (name,)
    named = index.ordered(words)
    values = _values(number)
    if not named or not values:
        return None
    first, last = 0, len(named)
    if number.compared in ("<", "<="):
        cut = bisect_left if number.compared == "<" else bisect_right
        last = cut(named, max(values), key=_exact)
    else:
        cut = bisect_right if number.compared == ">" else bisect_left
        first = cut(named, min(values), key=_exact)
    if first >= last:
        return Match()
    low, high = (bisect_left(index.distinct, float(named[at].value)) for at in (first, last - 1))
    return Match(
        last - first, min(high - low + 1, last - first), tuple(named[first : min(last, first + _LISTED)])
    )


def _exact(source: Source) -> Decimal:
    return source.exact


@dataclass
class Hints:
    """For numbers without a source the result that their line speaks of; for so many of them."""

    index: SourceIndex
    _searched: int = 0
    _known: dict[frozenset[str], Source | None] = field(default_factory=dict)

    def nearest(self, number: Occurrence) -> Source | None:
        """The result whose key shares most words with the number's line.

        The number's own unit counts as a word, so that TWh points at available_wind_twh.
        """
        if self._searched >= _HINTS:
            return None
        words = words_of(number.context)
        if words not in self._known:
            self._searched += 1
            self._known[words] = self._look(words)
        return self._known[words]

    def _look(self, words: frozenset[str]) -> Source | None:
        shared: dict[str, int] = {}
        for word in sorted(words):
            holders = self.index.by_word.get(word, ())
            if len(holders) <= _FOR_HINTS:
                for source in holders:
                    shared[source.key] = shared.get(source.key, 0) + 1
        if not shared:
            return None
        best = max(shared, key=lambda key: (shared[key] / self.index.words[key], shared[key], key))
        return self.index.by_key[best]
