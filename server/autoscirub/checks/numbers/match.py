"""Is a printed number a correct rounding of a source's value, and of how many?"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from autoscirub.checks.numbers.sources import words_of

if TYPE_CHECKING:
    from autoscirub.checks.numbers.sources import Source, SourceIndex
    from autoscirub.checks.numbers.spot import Spotted

__all__ = ["CROWD", "Match", "agrees", "is_rounding", "match", "nearest_by_words"]

_EXACT = Context(prec=80)
CROWD = 20
"""Different values that one printed number may round before finding it among them says nothing."""
_SHOWN = 8
"""Sources of an ambiguous number that are listed."""
_LIKE_P = frozenset({"p", "pvalue", "pval", "pvals"})
_FOR_NAMES = 200
"""Sources of one word that are looked at, for a bound or a hint."""


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


def agrees(number: Spotted, source: Source) -> bool:
    """Whether a number is right about one source: a rounding of it, or a bound that it keeps."""
    if number.compared and any(_keeps(number, value, source) for value in _values(number)):
        return True
    if number.compared:
        return False
    return any(is_rounding(v, u, source) for reading in number.readings for v, u in reading.alternatives())


def _values(number: Spotted) -> list[Decimal]:
    return [value for reading in number.readings for value, _ in reading.alternatives()]


def _keeps(number: Spotted, bound: Decimal, source: Source) -> bool:
    order = _EXACT.compare(source.exact, bound)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[number.compared or "<"]


def match(number: Spotted, index: SourceIndex) -> Match:
    """All sources of one index that a number may come from."""
    if number.compared and (named := _named(number, index)):
        kept = [source for source in named if agrees(number, source)]
        return Match(len(kept), len({source.value for source in kept}), tuple(kept[:_SHOWN]))
    found: dict[float, None] = {}
    count = 0
    shown: list[Source] = []
    for value, unit in [pair for reading in number.readings for pair in reading.alternatives()]:
        low, high = _window(index, value, unit)
        for at in range(low, min(high, low + CROWD + 1)):
            if (distinct := index.distinct[at]) in found:
                continue
            found[distinct] = None
            here = index.by_value[distinct]
            count += len(here)
            shown += here[: _SHOWN - len(shown)]
        if high - low > CROWD + 1:  # no need to see them all to know that they are many
            count += index.counts[high] - index.counts[low + CROWD + 1]
            return Match(count, high - low, tuple(shown))
    return Match(count, len(found), tuple(shown))


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


def _named(number: Spotted, index: SourceIndex) -> list[Source]:
    """The results whose key says what the number is compared with: p < 0.001 is about p_value."""
    name = re.sub(r"[^a-z]", "", (number.name or "").lower())
    if name in _LIKE_P or name == "value":
        return [s for word in sorted(_LIKE_P) for s in index.by_word.get(word, [])[:_FOR_NAMES]]
    return index.by_word.get(name, [])[:_FOR_NAMES] if name else []


def nearest_by_words(number: Spotted, index: SourceIndex) -> tuple[Source | None, bool]:
    """The result whose key shares most words with the number's line, and whether that is most of the key.

    The number's own unit counts as a word, so that TWh points at available_wind_twh.
    """
    words = words_of(number.context)
    shared: dict[str, int] = {}
    for word in words:
        holders = index.by_word.get(word, ())
        if len(holders) <= _FOR_NAMES:
            for source in holders:
                shared[source.key] = shared.get(source.key, 0) + 1
    if not shared:
        return None, False
    best = max(shared, key=lambda key: (shared[key] / len(words_of(key)), shared[key], key))
    return index.by_key[best], shared[best] >= 2 and shared[best] * 3 >= 2 * len(words_of(best))
