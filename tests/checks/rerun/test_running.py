"""A rerun from the project to its Decision."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.rerun import Rerun, ValueStatus, rerun, rerun_basis
from autoscirub.errors import ConfigError, PathRefused, TrustError
from autoscirub.models import Answer, DecidedBy
from autoscirub.store import open_project

REPOSITORY = Path(__file__).resolve().parents[3]
VALUES = {"slope": 0.5, "n": 40, "fit": {"r2": [0.9, 0.8]}}
HONEST = f"import json; json.dump({VALUES!r}, open('results.json', 'w'))\n"

Scripted = Callable[..., Path]
Again = Callable[..., Rerun]


def _keys(found: Rerun, status: ValueStatus) -> list[str | None]:
    return [one.key for one in found.comparisons if one.status is status]


def _evidence(found: Rerun, key: str) -> str:
    return next(entry.note or "" for entry in found.decision.evidence if entry.key == key)


def test_results_that_come_out_again_are_reproduced_and_never_called_computed(
    scripted: Scripted, run_again: Again
) -> None:
    found = run_again(scripted(HONEST, VALUES))
    decision = found.decision
    assert (decision.answer, decision.word, decision.decided_by) == (
        Answer.HOLDS,
        "reproduced",
        DecidedBy.RERUN,
    )
    assert _keys(found, ValueStatus.EQUAL) == ["slope", "n", "fit.r2[0]", "fit.r2[1]"]
    assert any("reproduced is not computed" in note for note in decision.open)
    assert found.basis is not None
    assert decision.inputs_digest == found.basis.digest
    assert found.isolation.startswith("isolation: ")


def test_a_moved_value_is_named_with_both_values(scripted: Scripted, run_again: Again) -> None:
    found = run_again(scripted(HONEST, {**VALUES, "slope": 0.6}))
    assert (found.decision.answer, found.decision.word) == (Answer.DOES_NOT_HOLD, "moved")
    assert _keys(found, ValueStatus.MOVED) == ["slope"]
    assert _evidence(found, "slope") == "moved: 0.6 before, 0.5 after"


def test_a_key_that_does_not_come_out_does_not_hold_and_a_new_one_is_open(
    scripted: Scripted, run_again: Again
) -> None:
    missing = run_again(scripted(HONEST, {**VALUES, "p": 0.01}, name="one"))
    assert missing.decision.answer is Answer.DOES_NOT_HOLD
    assert _keys(missing, ValueStatus.MISSING) == ["p"]
    new = run_again(scripted(HONEST, {"slope": 0.5}, name="two"))
    assert new.decision.answer is Answer.HOLDS
    assert any(
        note.startswith("2 new, with nothing to compare with: results.json: n") for note in new.decision.open
    )


def test_an_ignored_key_is_not_compared_and_ignoring_all_tells_nothing(
    scripted: Scripted, run_again: Again
) -> None:
    one = scripted(HONEST, {**VALUES, "slope": 9}, 'ignore = ["slope"]', name="one")
    assert run_again(one).decision.answer is Answer.HOLDS
    everything = scripted(HONEST, VALUES, 'ignore = ["*"]', name="two")
    assert run_again(everything).decision.answer is Answer.INCONCLUSIVE


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("raise ValueError('no data')", "ended with exit status 1"),
        ("import os; os.abort()", "ended with exit status 134 (signal 6)"),
        ("syntax error here", "ended with exit status 1"),
    ],
)
def test_a_run_that_fails_is_inconclusive_and_its_last_words_are_displayed(
    scripted: Scripted, run_again: Again, script: str, failure: str
) -> None:
    found = run_again(scripted(script + "\n", VALUES))
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert failure in found.decision.open[0]
    if "ValueError" in script:
        assert "ValueError: no data" in _evidence(found, "last output")


def test_an_output_that_is_missing_after_a_clean_end_does_not_hold(
    scripted: Scripted, run_again: Again
) -> None:
    found = run_again(scripted("pass\n", VALUES))
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    assert [(one.path, one.status) for one in found.comparisons] == [("results.json", ValueStatus.MISSING)]


def test_without_results_there_is_nothing_to_run_for(scripted: Scripted, run_again: Again) -> None:
    project = scripted(HONEST, VALUES)
    (project / "results.json").unlink()
    found = run_again(project)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.ran is None
    assert "run the project's code first" in found.decision.open[0]


def test_not_trusted_is_said_and_nothing_runs(scripted: Scripted, tmp_path: Path) -> None:
    project = scripted(f"open({str(tmp_path / 'ran')!r}, 'w')\n", VALUES)
    with pytest.raises(TrustError, match="not rerun: not trusted"):
        rerun(open_project(project), trusted=False, isolation="process")
    assert not (tmp_path / "ran").exists()


def test_without_a_command_it_says_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "autoscirub.toml").write_text("")
    with pytest.raises(ConfigError, match=r"not rerun: .*\[run\] command"):
        rerun(open_project(tmp_path), trusted=True)


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "a/../../b", ""])
def test_outputs_outside_the_project_are_refused(scripted: Scripted, path: str) -> None:
    project = scripted(HONEST, VALUES, f"outputs = {json.dumps([path])}")
    with pytest.raises(PathRefused, match="expected a path inside the project"):
        rerun(open_project(project), trusted=True)


def test_a_program_that_is_nowhere_is_inconclusive(scripted: Scripted, run_again: Again) -> None:
    found = run_again(scripted(HONEST, VALUES, 'command = ["no-such-program-anywhere"]'))
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.decision.open[0].startswith("no-such-program-anywhere: no such program on PATH")


def test_a_script_of_the_project_is_started_from_the_copy(scripted: Scripted, run_again: Again) -> None:
    project = scripted(HONEST, VALUES, 'command = ["./run.sh"]')
    (project / "run.sh").write_text("#!/bin/sh\nprintf '%s' '{\"slope\": 0.5}' > results.json\n")
    (project / "run.sh").chmod(0o755)
    (project / "results.json").write_text('{"slope": 0.5}')
    assert run_again(project).decision.answer is Answer.HOLDS


def test_a_shell_script_finds_python(scripted: Scripted, run_again: Again) -> None:
    project = scripted(HONEST, VALUES, 'command = ["sh", "all.sh"]')
    (project / "all.sh").write_text("python3 run.py\n")
    assert run_again(project).decision.answer is Answer.HOLDS


def test_an_output_folder_that_the_code_does_not_make_is_there(scripted: Scripted, run_again: Again) -> None:
    project = scripted(HONEST.replace("results.json", "out/deep/r.json"), VALUES, 'outputs = ["out/"]')
    (project / "results.json").unlink()
    (project / "out" / "deep").mkdir(parents=True)
    (project / "out" / "deep" / "r.json").write_text(json.dumps(VALUES))
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS
    assert {one.path for one in found.comparisons} == {"out/deep/r.json"}


def test_only_declared_results_are_compared(scripted: Scripted, run_again: Again) -> None:
    lines = ('outputs = ["results.json", "log.txt"]', 'results = ["results.json"]')
    project = scripted(HONEST + "open('log.txt', 'w').write('another')\n", VALUES, *lines)
    (project / "log.txt").write_text("one run")
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS
    assert {one.path for one in found.comparisons} == {"results.json"}


def test_a_named_variable_comes_through_and_no_other(
    scripted: Scripted, run_again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN_SCALE", "2")
    monkeypatch.setenv("RUN_OTHER", "3")
    script = "import json, os; json.dump({'s': os.environ.get('RUN_SCALE'), 'o': os.environ.get('RUN_OTHER')}, open('results.json', 'w'))\n"
    found = run_again(scripted(script, {"s": "2", "o": None}, 'env = ["RUN_SCALE"]'))
    assert found.decision.answer is Answer.HOLDS


def test_the_source_tree_is_not_touched(scripted: Scripted, run_again: Again) -> None:
    project = scripted(HONEST + "open('extra', 'w').write('x')\n", VALUES)
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    run_again(project)
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


def test_a_virtual_environment_in_the_project_is_used_and_not_copied(
    scripted: Scripted, run_again: Again
) -> None:
    project = scripted(
        HONEST + "import sys; assert sys.prefix.endswith('.venv'), sys.prefix\n",
        VALUES,
        'command = [".venv/bin/python", "run.py"]',
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS, found.decision
    assert found.left_out[".venv"] == "a virtual environment"


def test_results_hidden_in_an_environment_of_the_project_are_named_and_nothing_runs(
    scripted: Scripted, run_again: Again
) -> None:
    script = "import shutil, sys; shutil.copyfile(sys.prefix + '/share/kept', 'results.json')\n"
    project = scripted(script, VALUES, 'command = [".venv/bin/python", "run.py"]')
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
    (project / ".venv" / "share").mkdir(exist_ok=True)
    shutil.copy(project / "results.json", project / ".venv" / "share" / "kept")
    found = run_again(project)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert ".venv/share/kept: holds the same bytes as an output" in found.decision.open[0]
    assert found.ran is None


def test_an_input_that_is_nowhere_is_said(scripted: Scripted, run_again: Again) -> None:
    found = run_again(scripted(HONEST, VALUES, 'inputs = ["data/none.csv"]'))
    assert "data/none.csv: a declared input, and no file of the copy" in found.decision.open


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda project: (project / "run.py").write_text(HONEST + "# edited\n"), "code"),
        (lambda project: (project / "new.py").write_text("x = 1\n"), "code"),
        (lambda project: (project / "data" / "in.csv").write_text("a\n2\n"), "inputs"),
        (lambda project: (project / "results.json").write_text("{}"), "results"),
    ],
    ids=["code-edited", "code-added", "input-edited", "results-edited"],
)
def test_the_basis_moves_with_what_it_is_of_and_with_nothing_else(
    scripted: Scripted, change: Callable[[Path], Any], part: str
) -> None:
    project = scripted(HONEST, VALUES, 'inputs = ["data"]')
    (project / "data").mkdir()
    (project / "data" / "in.csv").write_text("a\n1\n")
    before = rerun_basis(open_project(project), ask=True)
    assert rerun_basis(open_project(project), ask=True) == before
    change(project)
    after = rerun_basis(open_project(project), ask=True)
    assert after.changed_since(before) == [part]
    assert before.digest != after.digest
    unasked = rerun_basis(open_project(project), ask=False)
    assert unasked.environment is None
    assert unasked.changed_since(after) == []


def test_a_freeze_changes_nothing_that_a_rerun_rests_on(scripted: Scripted) -> None:
    project = scripted(HONEST, VALUES)
    before = rerun_basis(open_project(project), ask=False)
    (project / ".prereg.lock").write_text("{}")
    (project / ".autoscirub").mkdir()
    (project / ".autoscirub" / "rerun.json").write_text("{}")
    assert rerun_basis(open_project(project), ask=False) == before


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["best", "process"])
def test_the_grid_reproduces_all_nine_values_and_a_changed_digit_is_named(
    field_case: Callable[[str], Path], isolation: Any
) -> None:
    pytest.importorskip("scipy", reason="the field project needs scipy")
    project = field_case("gb-grid")
    command = json.dumps([sys.executable, "run.py"])
    (project / "autoscirub.toml").write_text(
        f'[run]\ncommand = {command}\ninputs = ["data"]\noutputs = ["results/results.json"]\nrtol = 1e-6\nseconds = 120\n'
    )
    found = rerun(open_project(project), trusted=True, isolation=isolation)
    assert found.decision.answer is Answer.HOLDS, found.decision
    assert found.counts[ValueStatus.EQUAL] + found.counts[ValueStatus.WITHIN_TOLERANCE] == 9
    results = project / "results" / "results.json"
    results.write_text(results.read_text().replace("45.85194560034489", "45.95194560034489"))
    moved = rerun(open_project(project), trusted=True, isolation=isolation)
    assert moved.decision.answer is Answer.DOES_NOT_HOLD
    [one] = [one for one in moved.comparisons if one.status is ValueStatus.MOVED]
    assert (one.path, one.key, one.before) == ("results/results.json", "curtailment_pct", 45.95194560034489)
    assert one.after == pytest.approx(45.85194560034489, rel=1e-6)


def test_the_example_of_the_nile_reproduces(tmp_path: Path) -> None:
    project = tmp_path / "nile"
    shutil.copytree(
        REPOSITORY / "examples" / "nile", project, ignore=shutil.ignore_patterns("results", ".autoscirub")
    )
    subprocess.run([sys.executable, "run.py"], cwd=project, check=True, capture_output=True)
    found = rerun(open_project(project), trusted=True)
    assert found.decision.answer is Answer.HOLDS, found.decision
