"""How regular is the solar cycle in the yearly sunspot numbers?

Reads data/sunspots.csv, writes results/results.json and results/cycles.csv.
Standard library only, no randomness.

A minimum is a year whose smoothed sunspot number is the lowest of all years within HALF_WINDOW years
of it. A cycle lasts from one minimum to the next.
"""

from __future__ import annotations

import csv
import json
import math
from itertools import pairwise
from pathlib import Path

DATA = Path("data/sunspots.csv")
RESULTS = Path("results")

HALF_WINDOW = 4  # years; two minima are therefore at least five years apart
CLOCK = 11  # years; what a regular clock would show
TOLERANCE = 1.5  # years


def read_sunspots(path: Path) -> tuple[list[int], list[float]]:
    """Years and yearly sunspot numbers, in the order of the file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [int(row["YEAR"]) for row in rows], [float(row["SUNACTIVITY"]) for row in rows]


def smooth(years: list[int], numbers: list[float]) -> tuple[list[int], list[float]]:
    """Each year averaged with its neighbours, weights 1-2-1; the first and the last year are lost."""
    triples = zip(numbers, numbers[1:], numbers[2:], strict=False)
    return years[1:-1], [math.fsum((before, 2 * this, after)) / 4 for before, this, after in triples]


def find_minima(years: list[int], numbers: list[float]) -> list[int]:
    """Years lowest within HALF_WINDOW years on both sides; the first year of a tie counts.

    Years too near an end to have the whole window are left out: there, nobody can tell.
    """
    minima = []
    for i in range(HALF_WINDOW, len(numbers) - HALF_WINDOW):
        earlier = numbers[i - HALF_WINDOW : i]
        later = numbers[i + 1 : i + HALF_WINDOW + 1]
        if numbers[i] < min(earlier) and numbers[i] <= min(later):
            minima.append(years[i])
    return minima


def cycle_lengths(minima: list[int]) -> list[int]:
    """Years from each minimum to the next."""
    return [end - start for start, end in pairwise(minima)]


def mean(values: list[int]) -> float:
    return math.fsum(values) / len(values)


def standard_deviation(values: list[int]) -> float:
    """Of a sample (n - 1)."""
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) * (value - centre) for value in values) / (len(values) - 1))


def analyse(years: list[int], numbers: list[float]) -> dict[str, object]:
    """Everything that goes into results.json."""
    minima = find_minima(*smooth(years, numbers))
    lengths = cycle_lengths(minima)
    unsmoothed = cycle_lengths(find_minima(years, numbers))
    return {
        "n_years": len(years),
        "first_year": years[0],
        "last_year": years[-1],
        "n_cycles": len(lengths),
        "mean_length": mean(lengths),
        "sd_length": standard_deviation(lengths),
        "shortest_cycle": min(lengths),
        "longest_cycle": max(lengths),
        "n_off_the_clock": sum(abs(length - CLOCK) > TOLERANCE for length in lengths),
        "mean_length_unsmoothed": mean(unsmoothed),
        "shortest_cycle_unsmoothed": min(unsmoothed),
        "longest_cycle_unsmoothed": max(unsmoothed),
        "minima": minima,
        "cycle_lengths": lengths,
    }


def write_results(results: dict[str, object], path: Path) -> None:
    """As JSON, one key a line, so that a list stays on one."""
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in results.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def write_cycles(minima: list[int], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["start", "end", "length", "off_by"])
        for start, end in pairwise(minima):
            writer.writerow([start, end, end - start, end - start - CLOCK])


def main() -> None:
    years, numbers = read_sunspots(DATA)
    RESULTS.mkdir(exist_ok=True)
    write_cycles(find_minima(*smooth(years, numbers)), RESULTS / "cycles.csv")
    write_results(analyse(years, numbers), RESULTS / "results.json")


if __name__ == "__main__":
    main()
