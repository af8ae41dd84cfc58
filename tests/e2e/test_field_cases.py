"""The field inputs through the whole of freeze and verify: each right outcome."""

from __future__ import annotations

import json

import pytest


def without_faults(project) -> None:
    """Rewrite a predictions file so that only checks that a freeze accepts are left."""
    import tomllib

    from autoscirub.checks.predictions import lint_predictions

    data = (project / "prereg.toml").read_bytes()
    table = tomllib.loads(data.decode())
    faulty = {fault.split('"')[1] for fault in lint_predictions(data).faults if '"' in fault}
    lines = [f"hypothesis = {json.dumps(table['hypothesis'])}", "[results_contract]"]
    lines += [f'{key} = "{meaning}"' for key, meaning in table["results_contract"].items()]
    for check in table["checks"]:
        if check["id"] not in faulty:
            lines += ["[[checks]]", *(f"{key} = {json.dumps(value)}" for key, value in check.items())]
    (project / "prereg.toml").write_text("\n".join(lines), "utf-8")


def test_case_09_only_the_finite_check_passes_and_all_that_is_written_is_strict_json(field_case, cli) -> None:
    project = field_case("09")
    assert cli("freeze", "--project", project).status == 0
    ran = cli("verify", "--json", "--project", project)
    assert ran.status == 2
    assert ran.json["outcome"] == "failed"
    assert {check["id"]: check["passed"] for check in ran.json["checks"]} == {
        "p": None,
        "loss": None,
        "auc": None,
        "max": None,
        "order": None,
        "big": None,
        "slope": True,
    }

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is not JSON")

    written = list((project / ".autoscirub").rglob("*.json"))
    assert len(written) >= 2
    for text in (ran.out, *(path.read_text("utf-8") for path in written)):
        json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("case", ["07-always-true", "07-artifact-only", "07-no-checks", "12", "16", "17"])
def test_freeze_refuses_and_nothing_is_written(field_case, cli, case, tree) -> None:
    folder = field_case(case[:2])
    project = folder / "work" if case == "17" else folder
    if case.startswith("07"):
        (project / f"prereg-{case[3:]}.toml").rename(project / "prereg.toml")
    for arguments in (["--dry-run"], []):
        before = tree(project)
        ran = cli("freeze", "--project", project, *arguments)
        assert ran.status == 3, ran.out
        assert "fault" in ran.err
        assert not (project / ".prereg.lock").exists()
        if "--dry-run" in arguments:
            assert tree(project) == before


def test_case_07_lists_every_fault_and_warning_at_once(field_case, cli) -> None:
    project = field_case("07")
    (project / "prereg-always-true.toml").rename(project / "prereg.toml")
    error = cli("freeze", "--project", project, "--json").json["error"]
    assert any("results.items, which [results_contract] does not name" in fault for fault in error["faults"])
    assert len([warning for warning in error["warnings"] if "does not count" in warning]) == 3


def test_case_12_what_is_left_after_the_freeze_s_refusals_has_its_right_outcome(field_case, cli) -> None:
    project = field_case("12")
    without_faults(project)
    assert cli("freeze", "--project", project).status == 0
    expected = json.loads((project / "expected.json").read_text())
    words = {True: "pass", False: "fail", None: "error"}
    ran = cli("verify", "--json", "--project", project)
    assert ran.status == 2
    found = {check["id"]: words[check["passed"]] for check in ran.json["checks"]}
    assert {"e05", "e06", "e07", "e08", "e09", "e10", "e11", "e14", "e15"} <= found.keys()
    for identity, word in found.items():
        assert word in expected[identity].split("-or-"), identity


def test_case_14_the_crlf_twin_of_frozen_predictions_is_refused_as_line_endings_only(field_case, cli) -> None:
    project = field_case("14")
    (project / "prereg.toml").write_bytes((project / "prereg-lf.toml").read_bytes())
    frozen = cli("freeze", "--project", project, "--json")
    assert frozen.status == 0
    assert frozen.json["locks"]["predictions"]["sha256"] == (project / "prereg-lf.sha256").read_text().strip()
    (project / "prereg.toml").write_bytes((project / "prereg-crlf.toml").read_bytes())
    ran = cli("verify", "--project", project)
    assert ran.status == 3
    assert "line endings only" in ran.err
    assert "tamper" not in ran.err.lower()


def test_case_14_utf_16_results_are_refused_by_name_and_no_check_passes(field_case, cli) -> None:
    project = field_case("14")
    (project / "prereg.toml").write_bytes((project / "prereg-lf.toml").read_bytes())
    assert cli("freeze", "--project", project).status == 0
    (project / "results").mkdir()
    (project / "results" / "results.json").write_bytes((project / "results-utf16.json").read_bytes())
    ran = cli("verify", "--project", project)
    assert ran.status == 2
    assert "results/results.json: is UTF-16, not UTF-8" in ran.out
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["rubric-bom.json", "rubric-crlf.json"])
def test_case_14_a_rubric_with_a_mark_or_crlf_is_valid_like_its_plain_twin(field_case, cli, name) -> None:
    project = field_case("14")
    (project / ".autoscirub").mkdir()
    target = project / ".autoscirub" / "executable_rubric.json"
    target.write_bytes((project / name).read_bytes())
    ran = cli("validate", target, "--project", project)
    assert (ran.status, ran.err) == (0, "")


def test_case_16_each_figure_has_its_right_outcome_in_a_verification(field_case, cli) -> None:
    project = field_case("16")
    with (project / "prereg.toml").open("a") as file:
        file.write('\n[[checks]]\nid = "slope"\nkind = "expr"\nexpr = "results.slope > 0"\n')
    assert cli("freeze", "--project", project).status == 0
    ran = cli("verify", "--json", "--project", project)
    assert ran.status == 2
    checks = {check["id"]: check for check in ran.json["checks"]}
    failed = {identity for identity, check in checks.items() if check["passed"] is not True}
    assert failed == {"empty.png", "error-page.png", "cut-off.png"}
    for identity in ("one-pixel.png", "all-white.png", "placeholder.svg"):
        assert "blank" in checks[identity]["message"]
    for identity in ("thin-line.png", "tiny-but-real.png"):
        assert "blank" not in checks[identity]["message"]


def test_case_17_the_paths_that_stay_inside_have_their_right_outcome(field_case, cli) -> None:
    folder = field_case("17")
    project = folder / "work"
    with (project / "prereg.toml").open("a") as file:
        file.write('\n[[checks]]\nid = "slope"\nkind = "expr"\nexpr = "results.slope > 0"\n')
    without_faults(project)
    assert cli("freeze", "--project", project).status == 0
    expected = json.loads((folder / "expected.json").read_text())
    checks = {check["id"]: check for check in cli("verify", "--json", "--project", project).json["checks"]}
    for identity, word in expected.items():
        if word in {"pass", "fail"}:
            assert checks[identity]["passed"] is (word == "pass"), identity
    assert "results/figures/slope.png" in checks["a03"]["message"]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (5 * 200 << 20, 5 * 200 << 20))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
from autoscirub.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_case_12_as_a_whole_stays_within_five_times_200_megabytes_and_2_seconds(field_case) -> None:
    import subprocess
    import sys

    project = field_case("12")

    def limited(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", LIMITED, *arguments, "--project", str(project)],
            capture_output=True,
            encoding="utf-8",
        )

    refused = limited("freeze")
    assert refused.returncode == 3, refused.stderr
    without_faults(project)
    assert limited("freeze").returncode == 0
    assert limited("verify").returncode == 2
