"""`criterion`, `round`, `run`, `scope` and `check` with requirements, as people and programs meet them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

RUBRIC = (Path(__file__).parents[1] / "attacks" / "rubric.toml").read_text("utf-8")


@pytest.fixture
def ruled(slope_project, write_results, cli):
    (slope_project / "rubric.toml").write_text(RUBRIC, "utf-8")
    ran = cli("freeze", "--project", slope_project)
    assert ran.status == 0
    assert "✓ rubric.toml: holds (frozen)" in ran.out
    write_results(slope_project, slope=0.51)
    return slope_project


def test_check_shows_predictions_and_requirements_together(cli, ruled) -> None:
    ran = cli("check", "--project", ruled)
    assert ran.status == 1
    assert "✓ verified: 1 of 1 predictions held" in ran.out
    assert "✗ requirements: 1 of 3 criteria satisfied · round 1 · decided by code, no judge" in ran.out
    [gap] = [line for line in ran.out.splitlines() if "out/table.csv" in line]
    assert "is not there" in gap


def test_check_json_holds_the_report_and_a_decision_for_each_criterion(cli, ruled) -> None:
    answer = cli("check", "--project", ruled, "--json").json
    assert answer["ok"] is False
    assert answer["report"]["summary"] == {
        "passed": 1,
        "failed": 2,
        "highest_priority_gaps": answer["report"]["summary"]["highest_priority_gaps"],
    }
    assert [decision["subject"] for decision in answer["decisions"]] == ["predictions", "C1", "C2", "C3"]


@pytest.mark.parametrize(("name", "status"), [("C1", 0), ("C2", 1), ("C3", 1), ("C9", 3)])
def test_criterion_has_the_exit_status_of_its_answer(cli, ruled, name, status) -> None:
    ran = cli("criterion", name, "--project", ruled)
    assert ran.status == status
    if name == "C3":
        assert "missing" in ran.out
        assert "to do" in ran.out
    if name == "C9":
        assert "it has C1, C2, C3" in ran.err


def test_round_says_what_it_did_and_what_is_next(cli, ruled) -> None:
    first = cli("round", "--project", ruled)
    assert first.status == 1
    assert "verified round 1: 1 of 3 criteria satisfied" in first.out
    second = cli("round", "--project", ruled)
    assert second.status == 1
    assert "planned round 1: C2, C3" in second.out
    assert "next: revise the work, then: autoscirub round" in second.out
    third = cli("round", "--project", ruled, "--json")
    assert third.json["ended"]["state"] == "stalled"
    fourth = cli("round", "--project", ruled)
    assert fourth.status == 1
    assert "--continue goes on" in fourth.out


def test_run_tells_each_step_and_ends_satisfied(cli, ruled, tmp_path) -> None:
    reviser = tmp_path / "revise.py"
    reviser.write_text(
        "import pathlib\n"
        'pathlib.Path(\'results/results.json\').write_text(\'{"slope": 0.51, "low": 0.4, "high": 0.6}\')\n'
        "pathlib.Path('out').mkdir(exist_ok=True)\n"
        "pathlib.Path('out/table.csv').write_text('x,y\\n1,2\\n')\n"
        "print('\\x1b[31mdone')\n"
    )
    ran = cli("run", "--revise", f"{sys.executable} {reviser}", "--project", ruled)
    assert ran.status == 0, ran.err
    assert "✓ satisfied: the work is done" in ran.out
    assert "verified: the predictions held" in ran.out
    assert "· planned round 1: C2, C3" in ran.err
    assert "| done" in ran.err
    assert "\x1b" not in ran.err
    again = cli("run", "--revise", "false", "--project", ruled)
    assert again.status == 0
    assert "the loop has ended, satisfied" in again.out or "satisfied" in again.out


def test_satisfied_and_refuted_stand_together_in_those_words(cli, ruled, write_results) -> None:
    write_results(ruled, slope=9.9, low=0.0, high=20.0)
    (ruled / "out").mkdir()
    (ruled / "out" / "table.csv").write_text("x,y\n1,2\n")
    ran = cli("check", "--project", ruled)
    assert ran.status == 1
    assert "satisfied: the work is done" in ran.out
    assert "refuted: the hypothesis did not hold, which is a result" in ran.out
    assert cli("round", "--project", ruled).status == 0


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "--revise", "'unclosed"], ["run", "--revise", "no-such-program-here"]]
)
def test_run_without_a_usable_reviser_is_a_wrong_request(cli, ruled, arguments) -> None:
    ran = cli(*arguments, "--project", ruled)
    assert ran.status == 3
    assert ran.err.strip().splitlines()[-1].startswith("! ")


def test_round_and_run_need_a_frozen_rubric(cli, slope_project) -> None:
    for arguments in (["round"], ["run", "--revise", "true"], ["criterion", "C1"]):
        ran = cli(*arguments, "--project", slope_project)
        assert ran.status == 3
    (slope_project / "rubric.toml").write_text(RUBRIC)
    ran = cli("round", "--project", slope_project)
    assert ran.status == 3
    assert "autoscirub freeze" in ran.err
    assert cli("criterion", "C1", "--project", slope_project).status == 2  # looked at, without results


def test_scope_needs_a_person_or_an_exact_digest_and_shows_what_differs(cli, ruled) -> None:
    cli("check", "--project", ruled)
    text = (ruled / "rubric.toml").read_text()
    (ruled / "rubric.toml").write_text(text.replace("There is a table.", "There is a table of two columns."))
    assert "changed or weakened C3" in cli("check", "--project", ruled).err
    refused = cli("scope", "--reason", "clearer", "--project", ruled)
    assert refused.status == 3
    digest = refused.err.split("--digest ")[1].split(";")[0]
    assert cli("scope", "--reason", "clearer", "--digest", "0" * 64, "--project", ruled).status == 3
    accepted = cli("scope", "--reason", "clearer", "--digest", digest, "--project", ruled)
    assert accepted.status == 0
    assert "criteria changed: C3" in accepted.out
    assert cli("check", "--project", ruled).status == 1
    rubric = json.loads((ruled / ".autoscirub" / "executable_rubric.json").read_text("utf-8"))
    assert [(change["by"], change["criteria"]) for change in rubric["scope_changes"]] == [("ci", ["C3"])]


def test_scope_at_a_real_terminal_is_recorded_as_such(cli, ruled) -> None:
    text = (ruled / "rubric.toml").read_text()
    (ruled / "rubric.toml").write_text(text.replace("There is a table.", "There is a table of two columns."))
    parent, child = pty.openpty()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "autoscirub",
            "scope",
            "--reason",
            "clearer",
            "--project",
            str(ruled),
            "--json",
        ],
        stdin=child,
        capture_output=True,
        timeout=60,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "server")},
    )
    os.close(parent)
    os.close(child)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["change"]["by"] == "terminal"


def test_status_leads_from_the_rubric_to_the_ending(cli, slope_project, write_results) -> None:
    def next_of() -> str:
        return cli("status", "--project", slope_project, "--json").json["next"]["command"]

    (slope_project / "rubric.toml").write_text(RUBRIC)
    assert next_of() == "autoscirub freeze"
    cli("freeze", "--project", slope_project)
    write_results(slope_project, slope=0.51)
    assert next_of() == "autoscirub check"
    cli("check", "--project", slope_project)
    assert next_of() == "autoscirub round"
    cli("round", "--project", slope_project)
    assert next_of() == "autoscirub round"
    write_results(slope_project, slope=0.51, low=0.0, high=1.0)
    (slope_project / "out").mkdir()
    (slope_project / "out" / "table.csv").write_text("x,y\n1,2\n")
    cli("round", "--project", slope_project)
    assert next_of() == "autoscirub audit"
    write_results(slope_project, slope=0.51)
    assert "stale" in cli("status", "--project", slope_project).out
