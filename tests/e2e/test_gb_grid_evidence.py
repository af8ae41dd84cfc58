"""The grid project with a report written for it: each of its numbers in its class, and its results from the code again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPORT = """\
# Wind in a week of 2023

The week has 168 hours. The farms could have given 4.192662004779861 TWh, that is 4.19 TWh of available wind [3];
2.27 TWh were dispatched, so that 45.85 % of it was curtailed. A volume of 3.45 TWh had been predicted.
Curtailed: 1.92 TWh. Demand was 1.59e1 TWh; the span from unserved to demand is 11.9–15.9 TWh.

| quantity | value |
|---|---|
| available wind, TWh | 3.45 <!-- =results.available_wind_twh --> |
| available wind, once more | 4.19 <!-- =results.available_wind_twh --> |
| curtailed without limits, % | 0.0 |

A battery of 7.31 GWh would help, and 45.95 % is wrong.
See Section 4, Figure 2 and doi:10.1000/182; run of 2026-11-30, version 1.2.3.
"""
NUMBERS = [
    # line, class, text, key of the source
    (1, "set_aside", "2023", None),
    (3, "matched", "168", "results.n_hours"),
    (3, "matched", "4.192662004779861 TWh", "results.available_wind_twh"),
    (3, "matched", "4.19 TWh", "results.available_wind_twh"),
    (3, "set_aside", "3", None),
    (4, "matched", "2.27 TWh", "results.dispatched_wind_twh"),
    (4, "matched", "45.85 %", "results.curtailment_pct"),
    (4, "matched", "3.45 TWh", "prereg.toml predictions[2]"),
    (5, "matched", "1.92 TWh", "results.curtailed_wind_twh"),
    (5, "matched", "1.59e1 TWh", "results.demand_twh"),
    (5, "matched", "11.9", "results.unserved_twh"),
    (5, "matched", "15.9 TWh", "results.demand_twh"),
    (9, "bound_wrong", "3.45", "results.available_wind_twh"),
    (10, "bound", "4.19", "results.available_wind_twh"),
    (11, "matched", "0.0", "results.unconstrained_curtailment_pct"),
    (13, "without_source", "7.31 GWh", None),
    (13, "without_source", "45.95 %", None),
    (14, "set_aside", "4", None),
    (14, "set_aside", "2", None),
    (14, "set_aside", "10.1000", None),
    (14, "set_aside", "182", None),
    (14, "set_aside", "2026", None),
    (14, "set_aside", "11", None),
    (14, "set_aside", "30", None),
    (14, "set_aside", "1.2.3", None),
]


def test_each_number_of_a_report_on_the_grid_is_in_its_class(
    field_case: Callable[[str], Path], cli: Callable[..., Any]
) -> None:
    project = field_case("gb-grid")
    (project / "report.md").write_text(REPORT, encoding="utf-8")
    done = cli("check", "--json", "--project", project)
    assert done.status == 1
    found = [
        (
            number["line"],
            number["class"],
            number["text"],
            number["sources"][0]["key"] if number["class"] not in ("set_aside", "without_source") else None,
        )
        for number in done.json["numbers"]
    ]
    assert found == NUMBERS
    result = cli("check", "--project", project)
    assert (
        'report.md:9 "3.45"  results.available_wind_twh = 4.192662004779861; bound to it, and not a rounding of it'
        in result.out
    )
    assert 'report.md:13 "7.31 GWh"  no source' in result.out


@pytest.mark.slow
def test_the_grid_comes_out_of_the_code_again_and_a_changed_digit_is_named_with_both_values(
    field_case: Callable[[str], Path], cli: Callable[..., Any]
) -> None:
    pytest.importorskip("scipy", reason="the field project needs scipy")
    project = field_case("gb-grid")
    command = json.dumps([sys.executable, "run.py"])
    (project / "autoscirub.toml").write_text(
        f'[run]\ncommand = {command}\ninputs = ["data"]\nrtol = 1e-6\nseconds = 120\n', encoding="utf-8"
    )
    assert cli("rerun", "--project", project).status == 3
    digest = cli("trust", "--json", "--project", project).json["digest"]
    assert cli("trust", "--digest", digest, "--project", project).status == 0
    again = cli("rerun", "--json", "--project", project)
    assert again.status == 0
    assert again.json["counts"]["equal"] + again.json["counts"]["within_tolerance"] == 9
    assert again.json["counts"]["moved"] == again.json["counts"]["missing"] == 0
    results = project / "results" / "results.json"
    results.write_text(results.read_text().replace("45.85194560034489", "45.95194560034489"))
    moved = cli("check", "--json", "--project", project)
    assert moved.status == 1
    [rerun] = [decision for decision in moved.json["decisions"] if decision["subject"] == "rerun"]
    [named] = [entry for entry in rerun["evidence"] if entry["note"].startswith("moved")]
    assert (named["path"], named["key"]) == ("results/results.json", "curtailment_pct")
    assert named["value"] == 45.95194560034489
    assert "45.95194560034489 before, 45.8519456" in named["note"]
