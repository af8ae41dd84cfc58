"""The two example projects: their data are what they say, and their predictions come out as they must."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autoscirub.models import Prereg, ProjectConfig

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROJECTS = ("nile", "sunspots")

EXPECTED = {
    "nile": {
        "enough-years": True,
        "change-year": True,
        "drop": True,
        "not-chance": True,
        "ends-do-not-decide": True,
        "little-memory-left": True,
        "change-point-table": True,
    },
    "sunspots": {
        "enough-years": True,
        "enough-cycles": True,
        "mean-length": True,
        "every-cycle": False,
        "smoothing-does-not-decide": True,
        "cycle-table": True,
    },
}

NILE_RIGHT = {
    "n_years": 100,
    "first_year": 1871,
    "last_year": 1970,
    "change_year": 1898,
    "mean_before": 30737 / 28,
    "mean_after": 61198 / 72,
    "drop": 247.7777778,
    "drop_percent": 22.5714213,
    "n_permutations": 9999,
    "p_value": 0.0001,
    "change_year_without_first_decade": 1898,
    "drop_without_first_decade": 228.4166667,
    "change_year_without_last_decade": 1898,
    "drop_without_last_decade": 251.75,
    "autocorrelation": 0.4984082,
    "residual_autocorrelation": 0.1598562,
}

# Where the monthly numbers put the minima before cycles 1 to 23 (SILSO's table). Yearly numbers may differ by one.
PUBLISHED_MINIMA = [1755, 1766, 1775, 1784, 1798, 1810, 1823, 1833, 1843, 1855, 1867, 1878]
PUBLISHED_MINIMA += [1890, 1902, 1913, 1923, 1933, 1944, 1954, 1964, 1976, 1986, 1996]

SUNSPOT_LENGTHS = [11, 10, 11, 11, 11, 9, 9, 14, 12, 13, 10, 10, 13]
SUNSPOT_LENGTHS += [11, 11, 11, 12, 11, 11, 10, 11, 10, 10, 12, 10, 10]


# What the first run of the Nile leaves out, and its revision brings.
WITH_THE_REVISION = {"nile": {"drop_interval"}, "sunspots": set()}
FIGURES = {"nile": {"results/change_point.svg"}, "sunspots": set()}


def _results(project: Path) -> dict[str, Any]:
    return json.loads((project / "results" / "results.json").read_text(encoding="utf-8"))


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _prereg(project: Path) -> Prereg:
    return Prereg.model_validate(tomllib.loads((project / "prereg.toml").read_text(encoding="utf-8")))


def _config(project: Path) -> ProjectConfig:
    return ProjectConfig.model_validate(
        tomllib.loads((project / "autoscirub.toml").read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize(
    ("file", "column", "first", "last", "facts"),
    [
        (
            "nile/data/nile.csv",
            ("year", "volume"),
            1871,
            1970,
            {1871: 1120, 1879: 1370, 1913: 456, 1970: 740},
        ),
        (
            "sunspots/data/sunspots.csv",
            ("YEAR", "SUNACTIVITY"),
            1700,
            2008,
            {1700: 5, 1810: 0, 1957: 190.2, 2008: 2.9},
        ),
    ],
)
def test_the_data_are_the_known_record_without_a_gap(
    file: str, column: tuple[str, str], first: int, last: int, facts: dict[int, float]
) -> None:
    year, value = column
    record = {int(row[year]): float(row[value]) for row in _table(EXAMPLES / file)}
    assert list(record) == list(range(first, last + 1))
    assert {y: record[y] for y in facts} == facts


def test_the_records_have_100_and_309_rows_and_known_extremes() -> None:
    nile = {int(r["year"]): int(r["volume"]) for r in _table(EXAMPLES / "nile/data/nile.csv")}
    sun = {int(r["YEAR"]): float(r["SUNACTIVITY"]) for r in _table(EXAMPLES / "sunspots/data/sunspots.csv")}
    assert (len(nile), sum(nile.values())) == (100, 91935)
    assert (min(nile, key=nile.__getitem__), max(nile, key=nile.__getitem__)) == (1913, 1879)
    assert (len(sun), max(sun, key=sun.__getitem__)) == (309, 1957)


@pytest.mark.parametrize("name", PROJECTS)
def test_the_source_page_names_the_checksum_of_the_data(name: str) -> None:
    digest = hashlib.sha256((EXAMPLES / name / "data" / f"{name}.csv").read_bytes()).hexdigest()
    assert digest in (EXAMPLES / name / "data" / "SOURCE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROJECTS)
def test_two_runs_write_the_same_bytes(name: str, ran: dict[str, Path], copy_and_run, tmp_path: Path) -> None:
    again = copy_and_run(name, tmp_path)
    for output in set(_config(again).run.outputs) - FIGURES[name]:
        assert (again / output).read_bytes() == (ran[name] / output).read_bytes()


@pytest.mark.parametrize("name", PROJECTS)
def test_a_run_writes_the_declared_outputs_but_for_the_figure_of_the_revision(
    name: str, ran: dict[str, Path], revised: Path, files_of
) -> None:
    before = {path for path in files_of(EXAMPLES / name) if not path.startswith("results/")}
    config = _config(ran[name])
    assert files_of(ran[name]).keys() - before == set(config.run.outputs) - FIGURES[name]
    if name == "nile":
        assert files_of(revised).keys() - before == set(config.run.outputs)
    assert config.results in config.run.outputs
    assert set(config.run.inputs) | {config.report} <= before


@pytest.mark.parametrize("name", PROJECTS)
def test_results_and_contract_have_the_same_keys_but_for_those_of_the_revision(
    name: str, ran: dict[str, Path], revised: Path
) -> None:
    contract = set(_prereg(ran[name]).results_contract)
    assert set(_results(ran[name])) == contract - WITH_THE_REVISION[name]
    if name == "nile":
        assert set(_results(revised)) == contract


def test_a_revision_changes_no_value_that_was_there(ran: dict[str, Path], revised: Path) -> None:
    first, then = _results(ran["nile"]), _results(revised)
    assert {key: json.dumps(then[key]) for key in first} == {key: json.dumps(first[key]) for key in first}


@pytest.mark.parametrize("name", [*PROJECTS, "nile revised"])
def test_every_check_comes_out_as_it_must(name: str, ran: dict[str, Path], revised: Path) -> None:
    project = revised if name == "nile revised" else ran[name]
    helpers = {f.__name__: f for f in (abs, all, any, len, max, min, round, sum)}
    names = {"__builtins__": helpers, "results": SimpleNamespace(**_results(project))}
    outcome = {}
    for check in _prereg(project).checks:
        if check.kind == "expr":
            # CPython's own answer, so that the example does not lean on the evaluator it is an example for.
            outcome[check.id] = eval(check.expr, dict(names))  # noqa: S307 - our own file
        else:
            outcome[check.id] = len(_table(project / check.path)) > 0
    assert outcome == EXPECTED[project.name]


def test_the_nile_results_are_the_right_values(ran: dict[str, Path]) -> None:
    assert _results(ran["nile"]) == pytest.approx(NILE_RIGHT, rel=1e-6)


def test_the_nile_table_has_its_least_squared_error_at_the_change_year(ran: dict[str, Path]) -> None:
    rows = _table(ran["nile"] / "results" / "change_point.csv")
    assert [int(row["last_year_before"]) for row in rows] == list(range(1875, 1966))
    best = min(rows, key=lambda row: float(row["squared_error"]))
    assert best["last_year_before"] == "1898"
    assert float(best["squared_error"]) == pytest.approx(1597457.194, abs=1e-3)


def test_the_sunspot_results_are_the_right_values(ran: dict[str, Path]) -> None:
    results = _results(ran["sunspots"])
    assert results["cycle_lengths"] == SUNSPOT_LENGTHS
    assert results["minima"][0] + sum(SUNSPOT_LENGTHS) == results["minima"][-1] == 1996
    assert results["n_cycles"] == 26
    assert results["mean_length"] == pytest.approx(284 / 26)
    assert results["sd_length"] == pytest.approx(1.1974332, abs=1e-6)
    assert (results["shortest_cycle"], results["longest_cycle"]) == (9, 14)
    assert results["n_off_the_clock"] == 5
    assert results["mean_length_unsmoothed"] == pytest.approx(285 / 26)
    assert (results["shortest_cycle_unsmoothed"], results["longest_cycle_unsmoothed"]) == (9, 14)


def test_the_sunspot_minima_are_within_a_year_of_the_published_ones(ran: dict[str, Path]) -> None:
    minima = [year for year in _results(ran["sunspots"])["minima"] if year >= 1750]
    assert len(minima) == len(PUBLISHED_MINIMA)
    assert all(abs(ours - theirs) <= 1 for ours, theirs in zip(minima, PUBLISHED_MINIMA, strict=True))


def test_the_sunspot_table_bears_out_what_the_report_says_of_single_cycles(ran: dict[str, Path]) -> None:
    rows = [{k: int(v) for k, v in row.items()} for row in _table(ran["sunspots"] / "results" / "cycles.csv")]
    off = {(row["start"], row["end"]) for row in rows if abs(row["off_by"]) > 1.5}
    assert off == {(1766, 1775), (1775, 1784), (1784, 1798), (1810, 1823), (1843, 1856)}
    assert all(row["length"] == row["end"] - row["start"] == 11 + row["off_by"] for row in rows)


@pytest.mark.parametrize("name", [*PROJECTS, "nile revised"])
def test_every_number_in_the_report_is_a_rounding_of_a_result_or_stands_in_a_prediction(
    name: str, ran: dict[str, Path], revised: Path
) -> None:
    project = revised if name == "nile revised" else ran[name]
    report = (project / "report.md").read_text(encoding="utf-8")
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)", report)
    results: list[float] = []
    for value in _results(project).values():
        if not isinstance(value, list):
            results += value.values() if isinstance(value, dict) else [value]
    predicted = set(re.findall(r"\d+(?:\.\d+)?", " ".join(_prereg(project).predictions)))

    def has_source(text: str) -> bool:
        places = len(text.partition(".")[2])
        return text in predicted or any(f"{value:.{places}f}" == text for value in results)

    years = re.compile(r"1[789]\d\d|20\d\d")
    assert len(numbers) > 10
    assert [text for text in numbers if not has_source(text) and not years.fullmatch(text)] == []


def test_the_sunspot_report_says_plainly_that_the_prediction_does_not_hold() -> None:
    report = (EXAMPLES / "sunspots" / "report.md").read_text(encoding="utf-8")
    assert "The hypothesis is refuted" in report
    assert "**does not hold**" in report
