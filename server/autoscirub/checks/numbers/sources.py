"""Where a report's numbers may come from: the results, cells of CSV files, and the predictions."""

from __future__ import annotations

import csv
import io
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from autoscirub.checks.cells import number_in
from autoscirub.checks.numbers.extract import find_numbers
from autoscirub.checks.numbers.parse import MAX_DIGITS
from autoscirub.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_VALUES = 100_000
"""Source values of one check. Among more, nearly every number would be found by chance."""

_WORD = re.compile(r"[A-Za-z]{1,40}")
_SMALL = "a an and at by for from in is it its n no of on or our per results s the to with"
_NO_WORDS = frozenset(_SMALL.split())


@dataclass(frozen=True)
class Source:
    """One value that a report may print."""

    key: str
    value: int | float
    origin: str = "results"
    """`results` (JSON), `csv` or `predictions`."""

    @cached_property
    def exact(self) -> Decimal:
        """The value as it is written, not as its binary expansion: 0.285 is 0.285."""
        return Decimal(repr(self.value))


def words_of(text: str) -> frozenset[str]:
    """The words of a text or of a key, in lower case, without the small ones."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    return frozenset(word.lower() for word in _WORD.findall(split)) - _NO_WORDS


def source_values(values: Any, name: str = "results", origin: str = "results") -> Iterator[Source]:
    """Every number in JSON data, with the key that leads to it: `results.model.fit.r2[0]`.

    No booleans, no infinities, and no number of more digits than a result has.
    """
    waiting = [(name, values)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            for inner in reversed(value):
                plain = isinstance(inner, str) and inner.isidentifier()
                waiting.append(
                    (f"{key}.{inner}" if plain else f"{key}[{inner!r}]"[: len(key) + 200], value[inner])
                )
        elif isinstance(value, list):
            waiting += [(f"{key}[{i}]", value[i]) for i in range(len(value) - 1, -1, -1)]
        elif _usable(value):
            yield Source(key, value, origin)


def _usable(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 10**MAX_DIGITS


def csv_values(data: bytes, name: str) -> Iterator[Source]:
    """Every number in a CSV (or, by its suffix, TSV) file, as `table.csv:3 column`, with the line it is on.

    Raises CheckError for a file that is no table.
    """
    text = data.decode("utf-8-sig", "replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if name.endswith(".tsv") else ",")
    header: list[str] = []
    try:
        for row in rows:
            if not header and not any(_number(cell) is not None for cell in row):
                header = [cell.strip()[:60] for cell in row]
                continue
            for column, cell in enumerate(row):
                if (value := _number(cell)) is not None:
                    title = (
                        header[column] if column < len(header) and header[column] else f"column {column + 1}"
                    )
                    yield Source(f"{name}:{rows.line_num} {title}", value, "csv")
    except csv.Error as error:
        raise CheckError(f"{name}: line {rows.line_num}: cannot be read as a table: {error}") from None


def _number(cell: str) -> int | float | None:
    if not cell or len(cell) > 60:
        return None
    value = number_in(cell)
    return value if _usable(value) else None


def prediction_values(table: dict[str, Any], name: str = "prereg.toml") -> Iterator[Source]:
    """Every number that the predictions state: their texts, and the texts and expressions of their checks."""
    for key in ("hypothesis", "predictions", "analysis_plan", "results_contract"):
        yield from _stated(table.get(key), f"{name} {key}")
    checks = table.get("checks")
    for check in checks if isinstance(checks, list) else []:
        if isinstance(check, dict):
            for part in ("expr", "description"):
                yield from _stated(check.get(part), f"{name} check {str(check.get('id'))[:60]} {part}")


def _stated(value: Any, key: str) -> Iterator[Source]:
    if isinstance(value, str):
        for number in find_numbers(value, "text"):
            if number.set_aside is None:
                for reading in number.interpretations[:1]:
                    exact = reading.value
                    whole = exact == exact.to_integral_value()
                    yield Source(key, int(exact) if whole else float(exact), "predictions")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _stated(item, f"{key}[{i}]")
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _stated(item, f"{key}.{inner}")


@dataclass
class SourceIndex:
    """Sources by value. Built in n log n; each look-up takes log n and what it returns."""

    sources: list[Source]
    distinct: list[float] = field(init=False)
    by_value: dict[float, list[Source]] = field(init=False, repr=False)
    counts: list[int] = field(init=False, repr=False)
    by_key: dict[str, Source] = field(init=False, repr=False)
    by_word: dict[str, list[Source]] = field(init=False, repr=False)
    """The sources in results that hold a word in their key."""
    words: dict[str, int] = field(init=False, repr=False)
    """How many words each of their keys holds."""
    memo: dict[Any, Any] = field(init=False, repr=False)
    """What was looked up before: for whoever looks up."""
    _ordered: dict[tuple[str, ...], list[Source]] = field(init=False, repr=False)

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = list(sources)
        self.by_value, self.by_key, self.by_word = defaultdict(list), {}, defaultdict(list)
        self.words, self.memo, self._ordered = {}, {}, {}
        for source in self.sources:
            self.by_value[float(source.value)].append(source)
            self.by_key.setdefault(source.key, source)
            if source.origin == "results":
                words = words_of(source.key)
                self.words[source.key] = len(words)
                for word in words:
                    self.by_word[word].append(source)
        self.distinct = sorted(self.by_value)
        self.counts = [0, *accumulate(len(self.by_value[value]) for value in self.distinct)]

    def ordered(self, words: tuple[str, ...]) -> list[Source]:
        """The sources in results whose key holds one of these words, by their value; sorted once."""
        if words not in self._ordered:
            named = {id(source): source for word in words for source in self.by_word.get(word, ())}
            self._ordered[words] = sorted(named.values(), key=lambda source: source.exact)
        return self._ordered[words]

    def between(self, low: float, high: float) -> tuple[int, int]:
        """The stretch of `distinct` with values from `low` to `high`, both included."""
        return bisect_left(self.distinct, low), bisect_right(self.distinct, high)
