"""The numbers check: its time grows with the report's length, and with the number of source values.

Each doubling is measured against the step before it in the same run: 2 is linear, 4 would be quadratic.

    python benchmarks/run.py report_numbers
"""

from __future__ import annotations

import random
from time import perf_counter
from typing import TYPE_CHECKING

from table import Row

from autoscirub.checks.numbers import Source, classify
from autoscirub.checks.numbers.extract import extract_numbers, read_prose

if TYPE_CHECKING:
    from collections.abc import Callable

AT_MOST = 2.8
"""Times as long for twice as much: 2, and what caches and the sort take."""
REPEATS = 3
SIZES = (250_000, 500_000, 1_000_000)
COUNTS = (25_000, 50_000, 100_000)

_LINE = (
    "In {year} the *drop* of run {run} was {drop} TWh, or {share} % of all ([12]; see Figure {run}).\n"
    "| run {run} | {drop} | {share} ± 0.4 | p < 0.001 |\n\n"
)


def make_report(size: int) -> str:
    """Markdown of `size` characters with four numbers and some set-aside ones a line."""
    chance = random.Random(size)  # noqa: S311 - data, not a secret
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(
            _LINE.format(
                year=chance.randint(1900, 2020),
                run=chance.randint(1, 99),
                drop=f"{chance.uniform(0, 1e4):,.2f}",
                share=f"{chance.uniform(0, 100):.1f}",
            )
        )
        length += len(lines[-1])
    return "".join(lines)[:size]


def make_sources(count: int) -> list[Source]:
    """`count` values, as the keys of a results file have them."""
    chance = random.Random(count)  # noqa: S311 - data, not a secret
    return [Source(f"results.runs[{i}].drop_{i % 50}", chance.uniform(0, 1e4)) for i in range(count)]


def best(run: Callable[[], object]) -> float:
    """Seconds, the best of some repeats."""
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def main() -> list[Row]:
    """One row for each doubling: of the report with 1,000 sources, of the sources with a short report."""
    few = make_sources(1_000)
    texts = [make_report(size) for size in SIZES]
    by_size = [
        best(lambda text=text: classify(extract_numbers(read_prose(text, "markdown")), few)) for text in texts
    ]
    short = extract_numbers(read_prose(make_report(10_000), "markdown"))
    values = {count: make_sources(count) for count in COUNTS}
    by_count = [best(lambda count=count: classify(short, values[count])) for count in COUNTS]
    rows = []
    for what, steps, times in (("report, MB", SIZES, by_size), ("source values", COUNTS, by_count)):
        for i in (1, 2):
            scale = 1e6 if what == "report, MB" else 1
            name = f"{what}: {steps[i - 1] / scale:g} to {steps[i] / scale:g}"
            rows.append(
                Row(name, times[i] / times[i - 1], AT_MOST, f"{times[i - 1]:.2f} s, {times[i]:.2f} s")
            )
    return rows
