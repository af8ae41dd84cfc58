"""The bundled reviser of the Nile: it does what the plan asks for, leaves the rest alone, and may be killed."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from autoscirub.checks.artifacts import check_artifact
from autoscirub.models import Answer, ChangeSummary

SVG = "results/change_point.svg"
CHANGED = {"analyses.toml", "report.md", "results/results.json", SVG}


def _results(project: Path) -> dict[str, object]:
    return json.loads((project / "results" / "results.json").read_text(encoding="utf-8"))


def _volumes(project: Path) -> list[int]:
    with (project / "data" / "nile.csv").open(newline="", encoding="utf-8") as file:
        return [int(row["volume"]) for row in csv.DictReader(file)]


@pytest.fixture
def nile(ran: dict[str, Path], tmp_path: Path) -> Path:
    """The Nile after its first run, in a copy that may be written to."""
    return shutil.copytree(ran["nile"], tmp_path / "nile")


def test_only_the_settings_the_report_and_the_results_change(
    ran: dict[str, Path], revised: Path, files_of
) -> None:
    before, after = files_of(ran["nile"]), files_of(revised)
    assert {name for name in after if before.get(name) != after[name]} == CHANGED
    assert before.keys() - after.keys() == set()


def test_what_is_locked_and_what_the_verifier_keeps_stays_as_it_is(
    nile: Path, reviser_for, gaps: tuple[str, str], tmp_path: Path, files_of
) -> None:
    (nile / ".prereg.lock").write_text("{}\n", encoding="utf-8")
    (nile / ".autoscirub").mkdir()
    (nile / ".autoscirub" / "run_manifest.json").write_text("{}\n", encoding="utf-8")
    before = files_of(nile)
    assert reviser_for(tmp_path, *gaps).run(nile).returncode == 0
    after = files_of(nile)
    assert {name for name in after if before.get(name) != after[name]} == CHANGED
    locked = {
        "prereg.toml",
        ".prereg.lock",
        "rubric.toml",
        "autoscirub.toml",
        ".autoscirub/run_manifest.json",
    }
    assert {name: after[name] for name in locked} == {name: before[name] for name in locked}


def test_two_revisions_from_the_same_start_give_the_same_bytes(
    nile: Path, revised: Path, reviser_for, gaps: tuple[str, str], tmp_path: Path, files_of
) -> None:
    reviser = reviser_for(tmp_path, *gaps[::-1])
    assert reviser.run(nile).returncode == 0
    assert files_of(nile) == files_of(revised)


def test_a_revision_of_what_is_revised_changes_nothing(
    revised: Path, reviser_for, gaps: tuple[str, str], tmp_path: Path, files_of
) -> None:
    project = shutil.copytree(revised, tmp_path / "nile")
    reviser = reviser_for(tmp_path, *gaps)
    assert reviser.run(project).returncode == 0
    assert files_of(project) == files_of(revised)
    assert [change["artifacts_changed"] for change in reviser.changes()["changes"]] == [[], []]


@pytest.mark.parametrize(
    "line", ["asked for", "switched drop_interval", "running run.py", "reported the", f"put {SVG}"]
)
def test_killed_at_any_step_and_started_again_it_ends_with_the_same_files(
    line: str, nile: Path, revised: Path, reviser_for, gaps: tuple[str, str], tmp_path: Path, files_of
) -> None:
    reviser = reviser_for(tmp_path, *gaps)
    with subprocess.Popen(
        reviser.command,
        cwd=nile,
        env=reviser.environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the run.py it started is killed with it
    ) as process:
        assert process.stdout
        found = any(output_line.startswith(f"revise: {line}") for output_line in process.stdout)
        os.killpg(process.pid, signal.SIGKILL)
    assert found
    assert reviser.run(nile).returncode == 0
    assert files_of(nile) == files_of(revised)


def test_it_says_what_it_did_in_the_shape_of_a_change_summary(
    ran: dict[str, Path], nile: Path, reviser_for, gaps: tuple[str, str], tmp_path: Path, files_of
) -> None:
    reviser = reviser_for(tmp_path, *gaps)
    done = reviser.run(nile)
    assert len(done.stdout.splitlines()) >= 6
    assert all(line.startswith("revise: ") for line in done.stdout.splitlines())
    changes = reviser.changes()
    assert changes.keys() == {"changes", "infeasible"}
    summary = ChangeSummary.model_validate({**changes, "round": 1})
    assert [change.criterion_id for change in summary.changes] == list(gaps)
    assert all(change.actions_completed for change in summary.changes)
    assert summary.infeasible == []
    named = {name for change in summary.changes for name in change.artifacts_changed}
    before, after = files_of(ran["nile"]), files_of(nile)
    assert named == {name for name in after if before.get(name) != after[name]}


@pytest.mark.parametrize(
    ("target", "figure", "interval"),
    [("interval-of-the-drop", False, True), ("figure-of-the-step", True, False)],
)
def test_it_does_only_what_the_plan_asks_for(
    target: str, figure: bool, interval: bool, nile: Path, reviser_for, tmp_path: Path
) -> None:
    assert reviser_for(tmp_path, target).run(nile).returncode == 0
    report = (nile / "report.md").read_text(encoding="utf-8")
    assert (nile / SVG).exists() is figure
    assert ("drop_interval" in _results(nile)) is interval
    assert (f"]({SVG})" in report) is figure
    assert ("| interval of the drop |" in report) is interval
    assert ("The size of the drop comes without an interval" in report) is not interval


def test_results_that_are_gone_come_out_of_the_code_again(
    ran: dict[str, Path], nile: Path, reviser_for, tmp_path: Path, files_of
) -> None:
    shutil.rmtree(nile / "results")
    reviser = reviser_for(tmp_path, "whole-record", "table-of-candidates")
    assert reviser.run(nile).returncode == 0
    assert files_of(nile) == files_of(ran["nile"])
    assert [change["artifacts_changed"] for change in reviser.changes()["changes"]] == [
        ["results/results.json"],
        ["results/change_point.csv"],
    ]


def test_what_it_cannot_do_it_calls_infeasible_and_touches_nothing(
    ran: dict[str, Path], nile: Path, reviser_for, tmp_path: Path, files_of
) -> None:
    reviser = reviser_for(tmp_path, "write-up", "no-such-criterion")
    assert reviser.run(nile).returncode == 0
    assert files_of(nile) == files_of(ran["nile"])
    changes = reviser.changes()
    assert changes["changes"] == []
    assert [entry["criterion_id"] for entry in changes["infeasible"]] == ["write-up", "no-such-criterion"]


def test_when_the_code_fails_it_reports_nothing_and_says_so(
    nile: Path, reviser_for, gaps: tuple[str, str], tmp_path: Path
) -> None:
    (nile / "data" / "nile.csv").unlink()
    report = (nile / "report.md").read_bytes()
    reviser = reviser_for(tmp_path, *gaps)
    done = reviser.run(nile)
    assert done.returncode == 1
    assert "run.py failed" in done.stderr
    assert not reviser.changes_path.exists()
    assert (nile / "report.md").read_bytes() == report


def test_started_by_hand_it_says_what_starts_it(nile: Path, reviser_for, tmp_path: Path) -> None:
    reviser = reviser_for(tmp_path)
    del reviser.environment["AUTOSCIRUB_PLAN"]
    done = reviser.run(nile)
    assert done.returncode == 1
    assert "AUTOSCIRUB_PLAN is not set" in done.stderr


def test_the_interval_holds_the_drop_and_can_be_computed_again_from_the_data(revised: Path) -> None:
    results, volumes = _results(revised), _volumes(revised)
    interval = results["drop_interval"]
    assert (interval["percent"], interval["n_resamples"]) == (95, 4999)
    assert interval["low"] < results["drop"] < interval["high"]

    before, after = volumes[:28], volumes[28:]  # 1871 to 1898, 1899 to 1970
    rng = random.Random(1978)  # noqa: S311 - draws from data, guards no secret

    def drawn(part: list[int]) -> float:
        return sum(part[int(rng.random() * len(part))] for _ in part) / len(part)

    drops = [drawn(before) - drawn(after) for _ in range(4999)]
    cuts = statistics.quantiles(drops, n=40)  # each a fortieth, 2.5 percent
    assert (interval["low"], interval["high"]) == pytest.approx((cuts[0], cuts[-1]), rel=1e-12)

    # And near what no resampling gives: the normal interval of a difference of two means.
    error = sum(statistics.pvariance(part) / len(part) for part in (before, after)) ** 0.5
    normal = (results["drop"] - 1.96 * error, results["drop"] + 1.96 * error)
    assert (interval["low"], interval["high"]) == pytest.approx(normal, abs=5)


def test_the_report_gives_the_interval_as_it_was_computed(revised: Path) -> None:
    interval = _results(revised)["drop_interval"]
    low, high = f"{interval['low']:.1f}", f"{interval['high']:.1f}"
    report = (revised / "report.md").read_text(encoding="utf-8")
    assert f"| interval of the drop | {low} to {high} |" in report
    assert re.search(rf"In 95 % of these draws, the drop is between {low} and {high}\.", report)
    assert report.count(f"]({SVG})") == 1


def test_the_figure_draws_the_series_the_two_means_and_the_change(revised: Path) -> None:
    decision = check_artifact(revised, SVG)
    assert decision.answer is Answer.HOLDS
    assert [entry.note for entry in decision.evidence] == [None]

    root = ElementTree.parse(revised / SVG).getroot()
    drawn = {element.get("id"): element for element in root.iter() if element.get("id")}
    assert drawn.keys() == {"flow", "change", "mean-before", "mean-after"}
    annotations = [tuple(map(float, point.split(","))) for point in drawn["flow"].get("points").split()]
    volumes, results = _volumes(revised), _results(revised)
    assert len(annotations) == len(volumes) == 100

    # The upright scale, from the highest and the lowest year; everything else must lie on it.
    high, low = volumes.index(max(volumes)), volumes.index(min(volumes))
    slope = (annotations[low][1] - annotations[high][1]) / (volumes[low] - volumes[high])

    def height(volume: float) -> float:
        return annotations[high][1] + slope * (volume - volumes[high])

    assert slope < 0  # up is more
    assert [y for _, y in annotations] == pytest.approx([height(volume) for volume in volumes], abs=0.11)
    step = (annotations[-1][0] - annotations[0][0]) / 99
    assert [x for x, _ in annotations] == pytest.approx(
        [annotations[0][0] + step * n for n in range(100)], abs=0.11
    )

    ends = {
        name: {end: float(drawn[name].get(end)) for end in ("x1", "x2", "y1", "y2")}
        for name in drawn
        if name != "flow"
    }
    for name, value in (("mean-before", "mean_before"), ("mean-after", "mean_after")):
        assert ends[name]["y1"] == ends[name]["y2"] == pytest.approx(height(results[value]), abs=0.11)
    change = ends["change"]["x1"]
    assert change == ends["change"]["x2"] == ends["mean-before"]["x2"] == ends["mean-after"]["x1"]
    assert annotations[27][0] < change < annotations[28][0]  # after 1898, before 1899
    assert (ends["mean-before"]["x1"], ends["mean-after"]["x2"]) == (annotations[0][0], annotations[-1][0])
    width, height_ = float(root.get("width")), float(root.get("height"))
    assert all(0 <= x <= width and 0 <= y <= height_ for x, y in annotations)
