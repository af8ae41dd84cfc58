"""When did the annual flow of the Nile at Aswan fall, and by how much?

Reads data/nile.csv and analyses.toml, writes results/results.json and results/change_point.csv.
What analyses.toml switches on comes on top: the interval of the drop, as one more key of the results, and
results/change_point.svg. Nothing else changes with it.
Standard library only, and no randomness but the fixed seed below. Volumes are in 10^8 m^3 per year.
"""

from __future__ import annotations

import csv
import json
import math
import random
import tomllib
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path("data/nile.csv")
ANALYSES = Path("analyses.toml")
RESULTS = Path("results")

SHORTEST_PART = 5  # years on either side of a change, so that a mean is over more than a handful
PERMUTATIONS = 9999
RESAMPLES = 4999
INTERVAL_PERCENT = 95
SEED = 1978

WIDTH, HEIGHT = 720, 360  # of the figure, pixels
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 40  # its margins
HALO = 'stroke="#ffffff" stroke-width="4" paint-order="stroke"'  # keeps words legible across lines
TICK = 200  # between two marks of its upright axis, 10^8 m^3


def read_flow(path: Path) -> tuple[list[int], list[int]]:
    """Years and volumes, in the order of the file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [int(row["year"]) for row in rows], [int(row["volume"]) for row in rows]


def mean(values: list[int]) -> float:
    return math.fsum(values) / len(values)


def squared_error(values: list[int]) -> float:
    """Sum of squared distances from the mean."""
    centre = mean(values)
    return math.fsum((value - centre) * (value - centre) for value in values)


def scan_splits(years: list[int], volumes: list[int]) -> list[dict[str, float]]:
    """One step in the mean, tried after every year that leaves SHORTEST_PART years on both sides."""
    splits = []
    for size in range(SHORTEST_PART, len(volumes) - SHORTEST_PART + 1):
        before, after = volumes[:size], volumes[size:]
        splits.append(
            {
                "last_year_before": years[size - 1],
                "mean_before": mean(before),
                "mean_after": mean(after),
                "squared_error": squared_error(before) + squared_error(after),
            }
        )
    return splits


def best_split(splits: list[dict[str, float]]) -> dict[str, float]:
    """The least-squares change point; the earliest, should two be equally good."""
    return min(splits, key=lambda split: split["squared_error"])


def largest_gain(volumes: list[int]) -> float:
    """How much squared error the best single step takes away: scan_splits in one pass, for shuffling.

    With S the sum of the first k of n values and T the sum of all, a step after k takes away
    (n S - k T)^2 / (n k (n - k)).
    """
    n, total = len(volumes), sum(volumes)
    sums = list(accumulate(volumes))
    gains = (
        (n * sums[k - 1] - k * total) ** 2 / (n * k * (n - k))
        for k in range(SHORTEST_PART, n - SHORTEST_PART + 1)
    )
    return max(gains)


def permutation_p_value(volumes: list[int]) -> float:
    """Share of shuffled series in which the best step is at least as good as in the real order.

    The real order counts as one of them, so that the value is never 0.
    """
    rng = random.Random(SEED)  # noqa: S311 - shuffles data, guards no secret
    observed = largest_gain(volumes)
    shuffled = list(volumes)
    as_good = 0
    for _ in range(PERMUTATIONS):
        rng.shuffle(shuffled)
        as_good += largest_gain(shuffled) >= observed
    return (as_good + 1) / (PERMUTATIONS + 1)


def autocorrelation(values: Sequence[float]) -> float:
    """Correlation of each year with the year before (lag 1)."""
    centre = math.fsum(values) / len(values)
    distances = [value - centre for value in values]
    products = math.fsum(a * b for a, b in pairwise(distances))
    return products / math.fsum(d * d for d in distances)


def residuals(years: list[int], volumes: list[int], split: dict[str, float]) -> list[float]:
    """What is left of each year when the step is taken out."""
    return [
        volume - (split["mean_before"] if year <= split["last_year_before"] else split["mean_after"])
        for year, volume in zip(years, volumes, strict=True)
    ]


def analyse(years: list[int], volumes: list[int]) -> dict[str, float]:
    """Everything that goes into results.json."""
    best = best_split(scan_splits(years, volumes))
    no_first = best_split(scan_splits(years[10:], volumes[10:]))
    no_last = best_split(scan_splits(years[:-10], volumes[:-10]))
    drop = best["mean_before"] - best["mean_after"]
    return {
        "n_years": len(years),
        "first_year": years[0],
        "last_year": years[-1],
        "change_year": best["last_year_before"],
        "mean_before": best["mean_before"],
        "mean_after": best["mean_after"],
        "drop": drop,
        "drop_percent": 100 * drop / best["mean_before"],
        "n_permutations": PERMUTATIONS,
        "p_value": permutation_p_value(volumes),
        "change_year_without_first_decade": no_first["last_year_before"],
        "drop_without_first_decade": no_first["mean_before"] - no_first["mean_after"],
        "change_year_without_last_decade": no_last["last_year_before"],
        "drop_without_last_decade": no_last["mean_before"] - no_last["mean_after"],
        "autocorrelation": autocorrelation(volumes),
        "residual_autocorrelation": autocorrelation(residuals(years, volumes, best)),
    }


def drop_interval(before: list[int], after: list[int]) -> dict[str, float]:
    """Percentile bootstrap of the drop: the years of each part are drawn anew, with replacement.

    The change year is held fixed and years count as independent, which makes it rather too narrow.
    """
    rng = random.Random(SEED)  # noqa: S311 - draws from data, guards no secret
    drops = sorted(
        mean(rng.choices(before, k=len(before))) - mean(rng.choices(after, k=len(after)))
        for _ in range(RESAMPLES)
    )
    outside = round((RESAMPLES + 1) * (100 - INTERVAL_PERCENT) / 200)  # on either side
    return {
        "low": drops[outside - 1],
        "high": drops[-outside],
        "percent": INTERVAL_PERCENT,
        "n_resamples": RESAMPLES,
    }


def draw_step(years: list[int], volumes: list[int], split: dict[str, float]) -> str:
    """The series, the mean before and after, and the change between two years, as SVG."""
    change = split["last_year_before"] + 0.5
    lowest, highest = TICK * (min(volumes) // TICK), TICK * math.ceil(max(volumes) / TICK)

    def x(year: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * (year - years[0]) / (years[-1] - years[0]):.1f}"

    def y(volume: float) -> str:
        return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (volume - lowest) / (highest - lowest):.1f}"

    def level(name: str, start: float, end: float, value: float) -> list[str]:
        place = f'x1="{x(start)}" y1="{y(value)}" x2="{x(end)}" y2="{y(value)}"'
        return [
            f'<line id="{name}" {place} stroke="#b3202c" stroke-width="3"/>',
            f'<text x="{x(end - 1)}" y="{y(value)}" dy="-6" fill="#b3202c" text-anchor="end" {HALO}>'
            f"mean {value:.1f}</text>",
        ]

    points = " ".join(f"{x(year)},{y(volume)}" for year, volume in zip(years, volumes, strict=True))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        "<title>Annual flow of the Nile at Aswan, and the step in its mean</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="{TOP - 20}" font-size="14">'
        "Annual flow of the Nile at Aswan, hundred million cubic metres</text>",
    ]
    for volume in range(lowest, highest + 1, TICK):
        grid = f'x1="{LEFT}" y1="{y(volume)}" x2="{WIDTH - RIGHT}" y2="{y(volume)}"'
        lines.append(f'<line {grid} stroke="#dddddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(volume)}" dy="4" text-anchor="end">{volume}</text>')
    for year in range(years[0] + -years[0] % 10, years[-1] + 1, 10):
        lines.append(f'<text x="{x(year)}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{year}</text>')
    lines += [
        f'<polyline id="flow" points="{points}" fill="none" stroke="#4a6a8a" stroke-width="1.5"/>',
        f'<line id="change" x1="{x(change)}" y1="{TOP}" x2="{x(change)}" y2="{HEIGHT - BOTTOM}" '
        'stroke="#333333" stroke-dasharray="5 4"/>',
        f'<text x="{x(change + 1)}" y="{TOP + 14}" {HALO}>after {split["last_year_before"]}</text>',
        *level("mean-before", years[0], change, split["mean_before"]),
        *level("mean-after", change, years[-1], split["mean_after"]),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def write_results(results: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8", newline="\n")


def write_splits(splits: list[dict[str, float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(splits[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(splits)


def main() -> None:
    years, volumes = read_flow(DATA)
    wanted = tomllib.loads(ANALYSES.read_text(encoding="utf-8"))
    splits = scan_splits(years, volumes)
    best = best_split(splits)
    results: dict[str, Any] = dict(analyse(years, volumes))
    RESULTS.mkdir(exist_ok=True)
    write_splits(splits, RESULTS / "change_point.csv")
    if wanted["drop_interval"]:
        size = years.index(int(best["last_year_before"])) + 1
        results["drop_interval"] = drop_interval(volumes[:size], volumes[size:])
    if wanted["figure"]:
        drawing = draw_step(years, volumes, best)
        (RESULTS / "change_point.svg").write_text(drawing, encoding="utf-8", newline="\n")
    write_results(results, RESULTS / "results.json")


if __name__ == "__main__":
    main()
