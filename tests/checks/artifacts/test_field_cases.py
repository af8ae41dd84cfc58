"""The field cases on artifacts, as they are."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from autoscirub.checks.artifacts import check_artifact, path_faults, path_warnings
from autoscirub.errors import PathRefused
from autoscirub.models import Answer

if TYPE_CHECKING:
    from pathlib import Path


def checks(prereg: Path) -> dict[str, str]:
    return {each["id"]: each["path"] for each in tomllib.loads(prereg.read_text("utf-8"))["checks"]}


FIGURES = {
    "one-pixel.png": (Answer.HOLDS, "blank"),
    "all-white.png": (Answer.HOLDS, "blank"),
    "axes-only.png": (Answer.HOLDS, ""),
    "thin-line.png": (Answer.HOLDS, ""),
    "tiny-but-real.png": (Answer.HOLDS, ""),
    "error-page.png": (Answer.DOES_NOT_HOLD, "not a PNG: it is an HTML page"),
    "cut-off.png": (Answer.DOES_NOT_HOLD, "not a whole PNG: cut off"),
    "empty.png": (Answer.DOES_NOT_HOLD, "empty"),
    "placeholder.svg": (Answer.HOLDS, "blank"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_blank_figures_are_flagged_and_broken_ones_fail(field_cases: Path, name: str) -> None:
    project = field_cases / "16-blank-figures"
    decision = check_artifact(project, checks(project / "prereg.toml")[name])
    answer, note = FIGURES[name]
    assert decision.answer is answer
    found = decision.evidence[0].note or ""
    assert found.startswith(note)
    assert bool(found) is bool(note)


def test_every_path_of_the_escape_case_comes_out_as_expected(field_cases: Path) -> None:
    case = field_cases / "17-path-escapes"
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    paths = checks(case / "work" / "prereg.toml")
    assert paths.keys() == expected.keys()
    for name, path in paths.items():
        if expected[name] == "refused":
            assert path_faults(path) is not None, name
            with pytest.raises(PathRefused):
                check_artifact(case / "work", path)
            continue
        assert path_faults(path) is None, name
        decision = check_artifact(case / "work", path)
        if expected[name] == "pass-or-named-hint":
            assert path_warnings(path) is not None
            assert "results/figures/slope.png is there" in (decision.evidence[0].note or "")
        else:
            assert (decision.answer is Answer.HOLDS) is (expected[name] == "pass"), name


def test_binary_latin_and_accented_outputs_pass_without_their_bytes_in_a_message(field_cases: Path) -> None:
    outputs = field_cases / "14-encodings" / "outputs"
    names = [path.name for path in outputs.iterdir()]
    assert {"array.npy", "log.txt"} <= set(names)
    for name in names:
        assert check_artifact(outputs, name).answer is Answer.HOLDS, name
    wrong = check_artifact(outputs, "array.npy", "csv")
    assert wrong.answer is Answer.DOES_NOT_HOLD
    assert (wrong.evidence[0].note or "") == "not a CSV: line 1 is not UTF-8; it is a NumPy array"


def test_json_with_a_byte_order_mark_passes_and_utf16_is_refused_by_name(field_cases: Path) -> None:
    project = field_cases / "14-encodings"
    assert check_artifact(project, "rubric-bom.json").answer is Answer.HOLDS
    assert check_artifact(project, "rubric-crlf.json").answer is Answer.HOLDS
    assert "UTF-16" in (check_artifact(project, "results-utf16.json").evidence[0].note or "")


def test_the_links_case_refuses_what_leads_out_and_fails_what_dangles(
    field_cases: Path, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, str(field_cases / "19-symlinks" / "make.py"), str(tmp_path)], check=True)
    work = tmp_path / "work"
    dangling = check_artifact(work, "results/figures/slope.png")
    assert dangling.answer is Answer.DOES_NOT_HOLD
    assert "missing: results/figures/slope.png is a link to missing.png" in (dangling.evidence[0].note or "")
    for path in ("data/readings.csv", "results/k.txt"):
        with pytest.raises(PathRefused, match="outside"):
            check_artifact(work, path)
    assert check_artifact(work, "src/loop").answer is Answer.DOES_NOT_HOLD
    assert check_artifact(work, "results/figures/up").answer is Answer.DOES_NOT_HOLD
    assert check_artifact(work, "results/notes.md").answer is Answer.HOLDS
