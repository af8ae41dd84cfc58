"""What a recorded rerun is worth: its isolation, what is recorded of it, and what a freeze warns of."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.rerun import environment
from autoscirub.errors import SandboxError
from autoscirub.models import Answer, RerunRecord
from autoscirub.sandbox import available
from autoscirub.setup import look_at_trust, record_trust
from autoscirub.workflow import check, rerun, verify
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.status import status

SCRIPT = """\
import json, pathlib
pathlib.Path("results").mkdir(exist_ok=True)
pathlib.Path("results/results.json").write_text(json.dumps({"slope": 0.51, "n": 3}))
"""
RUBRIC = """\
[[criteria]]
id = "AGAIN"
requirement = "The results come out of the code again."
judge = "never"
checks = [{ id = "again", kind = "rerun" }]
"""
WEAK = "plain process: it could read the earlier results"


@pytest.fixture
def project(slope_project: Path) -> Path:
    """A trusted project whose script gives the results that are there, with a frozen rubric that asks for that."""
    command = json.dumps([sys.executable, "run.py"])
    (slope_project / "autoscirub.toml").write_text(f"[run]\ncommand = {command}\nseconds = 60\n")
    (slope_project / "run.py").write_text(SCRIPT)
    (slope_project / "rubric.toml").write_text(RUBRIC)
    freeze(slope_project)
    subprocess.run([sys.executable, "run.py"], cwd=slope_project, check=True)
    digest = look_at_trust(slope_project).digest
    assert digest is not None
    record_trust(digest, by="ci", project=slope_project)
    return slope_project


@pytest.fixture
def bubblewrap() -> None:
    """Skips where this machine has none that works."""
    try:
        available("bubblewrap")
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """A machine whose bubblewrap is not there, or is there and refuses: None for none."""

    def make(problem: str | None) -> None:
        missing = ["bwrap"] if problem is None else []
        isolation = import_module("autoscirub.sandbox.isolation")
        monkeypatch.setattr(isolation, "bubblewrap_problem", lambda _: problem or "bwrap: not installed")
        for name in ("checks.rerun.running", "workflow.rerunning"):
            monkeypatch.setattr(import_module(f"autoscirub.{name}"), "bubblewrap_missing", lambda: missing)

    return make


def _record(project: Path) -> RerunRecord:
    return RerunRecord.model_validate_json((project / ".autoscirub" / "rerun.json").read_text())


def _everything_recorded(project: Path) -> str:
    """Every file of the state directory, and every object of the history, as text."""
    state = project / ".autoscirub"
    texts = [path.read_text("utf-8", "replace") for path in state.rglob("*") if path.is_file()]
    bare = project.parent / "looked-at"
    subprocess.run(["git", "clone", "-q", "--bare", state / "history.bundle", bare], check=True)
    log = subprocess.run(["git", "-C", bare, "log", "-p", "--all"], capture_output=True, check=True).stdout
    return "\n".join([*texts, log.decode("utf-8", "replace")])


@pytest.mark.usefixtures("bubblewrap")
def test_an_answer_of_a_plain_process_does_not_stand_where_bubblewrap_is(project: Path) -> None:
    assert rerun(project, isolation="process").decision.answer is Answer.HOLDS
    assert (_record(project).level, _record(project).refused) == ("process", False)
    assert verify(project).verification.headline.endswith("not rerun")
    checked = check(project)
    assert checked.rerun is not None
    assert checked.rerun.ran
    assert _record(project).level == "bubblewrap"
    assert not check(project).rerun.ran


@pytest.mark.usefixtures("bubblewrap")
def test_a_look_says_that_the_isolation_changed_and_starts_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rerun(project, isolation="process")
    monkeypatch.setattr("autoscirub.workflow.rerunning.is_trusted", lambda *_: False)

    def started(*_: object, **__: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr("autoscirub.workflow.rerunning.available", started)
    monkeypatch.setattr("autoscirub.workflow.rerunning.run_again", started)
    reasons = check(project, read_only=True).rerun.decision.open
    assert any("is out of date: isolation changed since" in line for line in reasons)


@pytest.mark.usefixtures("bubblewrap")
def test_a_record_that_does_not_say_what_it_ran_in_counts_as_the_weaker(project: Path) -> None:
    check(project)
    record = _record(project).model_dump(mode="json")
    del record["level"]
    assert RerunRecord.model_validate_json(json.dumps(record)).level == "process"


@pytest.mark.parametrize("problem", [None, "bwrap refuses: no user namespaces"], ids=["none", "refuses"])
def test_where_there_is_no_better_isolation_a_plain_process_stands_and_is_said(
    project: Path, without_bubblewrap: Callable[[str | None], None], problem: str | None
) -> None:
    without_bubblewrap(problem)
    checked = check(project)
    assert checked.rerun.ran
    assert (_record(project).level, _record(project).refused) == ("process", problem is not None)
    assert not check(project).rerun.ran
    assert not any("stale" in decision.word for decision in status(project).decisions)
    [result] = checked.report.criteria
    assert result.status == "satisfied"
    assert WEAK in json.dumps(result.model_dump(mode="json"))


def test_a_plain_process_is_said_in_the_line_of_a_check(
    project: Path, without_bubblewrap: Callable[[str | None], None]
) -> None:
    from autoscirub.cli.showing import render_check

    without_bubblewrap(None)
    line = next(
        line for line in render_check(check(project), sys.stdout).splitlines() if "rerun: holds" in line
    )
    assert line.endswith(f" · {WEAK}")


@pytest.mark.usefixtures("bubblewrap")
def test_the_better_isolation_is_not_remarked_on(project: Path) -> None:
    from autoscirub.cli.showing import render_check

    assert WEAK not in render_check(check(project), sys.stdout)


def test_what_a_failed_command_printed_is_shown_and_kept_nowhere(
    project: Path, cli: Callable[..., Any]
) -> None:
    secret = "hunter2" + "-token"
    (project / "run.py").write_text(
        f"import os\nprint({secret[:7]!r} + {secret[7:]!r}, os.getcwd())\nraise SystemExit(3)\n"
    )
    checked = check(project)
    assert checked.rerun.decision.answer is Answer.INCONCLUSIVE
    assert any(secret in line for line in checked.rerun.output)
    run = cli("check", "--project", project)
    assert secret in run.out
    assert "exit status 3" in run.out
    assert secret in cli("rerun", "--project", project).out
    recorded = _everything_recorded(project)
    assert '"last output"' not in recorded
    assert secret not in recorded


def test_no_place_of_this_machine_is_kept_with_or_without_a_slash(project: Path) -> None:
    from autoscirub.checks.rerun.recorded import _without

    root = "/home/me/project"
    assert _without(root, f"in {root}: {root}/a.csv, and {root}.") == "in .: a.csv, and .."
    assert _without(root, f"{root}-other {root}.bak") == f"{root}-other {root}.bak"


def test_an_environment_too_large_to_be_told_is_run_again_each_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "MAX_FILES", 2)
    assert check(project).rerun.ran
    assert check(project).rerun.ran
    assert verify(project).verification.headline.endswith("not rerun")


WARNED = {
    "run.rtol = 0.5": "rtol = 0.5",
    "run.atol = 0.5": "atol = 0.5",
    "run.atol = 1e+09": "atol = 1e9",
    "run.ignore '*'": 'ignore = ["*"]',
    "run.ignore '**'": 'ignore = ["**"]',
    "run.ignore '*.*'": 'ignore = ["*.*"]',
    "run.ignore '*e*'": 'ignore = ["*e*"]',
    "numbers.set_aside 'T'": '[numbers]\nset_aside = ["T"]',
    "numbers.set_aside ' '": '[numbers]\nset_aside = [" "]',
}


@pytest.mark.parametrize("expected", WARNED)
def test_a_freeze_warns_of_settings_that_ask_for_little(slope_project: Path, expected: str) -> None:
    (slope_project / "autoscirub.toml").write_text(
        f'[run]\ncommand = ["python", "run.py"]\n{WARNED[expected]}\n'
    )
    for dry_run in (True, False):
        assert any(
            warning.startswith(expected) for warning in freeze(slope_project, dry_run=dry_run).warnings
        )


def test_a_freeze_does_not_warn_of_settings_that_ask_for_something(slope_project: Path) -> None:
    (slope_project / "autoscirub.toml").write_text(
        '[run]\ncommand = ["python", "run.py"]\nrtol = 0.1\natol = 0.1\nignore = ["seconds", "time.*", "n"]\n'
        '[numbers]\nset_aside = ["Table 2"]\n'
    )
    assert not any(warning.startswith(("run.", "numbers.")) for warning in freeze(slope_project).warnings)
