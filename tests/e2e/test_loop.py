"""The demo's loop in real processes: killed at every step of the store, and eight at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.forking import Forked, Forking

from autoscirub.data import data_dir
from autoscirub.store import load_config, trust_view

VOLATILE = re.compile(
    r'"(at|frozen_at|started_at|created_at)": ?"[^"]*"'
    r'|"spent_seconds": ?[0-9.e+-]+'
    r'|"history_id": ?"[0-9a-f]{32}"'
)
"""Times, durations and object ids: what may differ between two runs that are otherwise the same."""


def normalised(project: Path) -> dict[str, str]:
    """Everything of the project and its state that must be alike, as text."""
    found: dict[str, str] = {}
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project).as_posix()
        if (
            not path.is_file()
            or name.endswith("history.bundle")
            or "/.lock" in name
            or "__pycache__" in name
            or "/jobs/" in name
        ):
            continue
        found[name] = VOLATILE.sub(lambda match: match.group().split(":")[0], path.read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def start(tmp_path_factory, forking):
    """The first example, frozen and run once, and the environment of its machine."""
    folder = tmp_path_factory.mktemp("loop")
    project = folder / "nile"
    shutil.copytree(data_dir("examples") / "nile", project)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "AUTOSCIRUB_"))},
        "PYTHONPATH": str(Path(__file__).parents[2] / "server"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return project, forking, environment


SHARES = 4
"""The steps are dealt out, so that processes that run the tests side by side take some each."""

LOOP = ["run", "--max-rounds", "4", "--revise", f"{sys.executable} revise.py"]


def prepare(start, folder: Path, *, reruns: bool = False) -> tuple[Path, dict[str, str]]:
    """A copy that is frozen and run. Without `reruns` its code is not run again: a rerun takes no step of the store
    of its own, and would take most of the time of a test that kills at every one."""
    project, forking, environment = start
    copy = folder / "nile"
    shutil.copytree(project, copy)
    if not reruns:
        config, rubric = copy / "autoscirub.toml", copy / "rubric.toml"
        config.write_text(config.read_text("utf-8").split("\n[run]\n")[0], encoding="utf-8")
        before, _, after = rubric.read_text("utf-8").rpartition("\n[[criteria]]\n")
        assert after.startswith('id = "comes-out-again"')
        rubric.write_text(before, encoding="utf-8")
    environment = {**environment, "AUTOSCIRUB_DATA_DIR": str(folder / "data")}
    assert forking.run("freeze", cwd=copy, environment=environment).status == 0
    subprocess.run([sys.executable, "run.py"], cwd=copy, env=environment, check=True, capture_output=True)
    if reruns:
        allow(forking, copy, environment)
    return copy, environment


def allow(forking: Forking, copy: Path, environment: dict[str, str]) -> None:
    """Let the project's command be run again there: one criterion asks for it."""
    digest = trust_view(load_config(copy).values).digest
    assert forking.run("trust", "--digest", str(digest), cwd=copy, environment=environment).status == 0


def drive(start, copy: Path, environment: dict[str, str], kill_at: int = 0) -> Forked:
    _, forking, _ = start
    return forking.run(*LOOP, cwd=copy, environment=environment, kill_at=kill_at)


def events(project: Path) -> list[str]:
    lines = (project / ".autoscirub" / "revisions" / "events.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_killed_at_every_step_the_loop_started_again_ends_as_an_uninterrupted_one(
    start, tmp_path, share
) -> None:
    whole, environment = prepare(start, tmp_path / "whole")
    done = drive(start, whole, environment)
    assert done.status == 0
    assert done.steps is not None
    steps = done.steps
    assert steps >= 20
    expected = normalised(whole)
    assert '"all_satisfied": true' in expected[".autoscirub/verification_report.json"]
    prepared, environment = prepare(start, tmp_path / "prepared")
    for number in range(1 + share, steps + 1, SHARES):
        folder = tmp_path / f"killed-{number}"
        shutil.copytree(tmp_path / "prepared", folder, symlinks=True)
        copy = folder / "nile"
        environment["AUTOSCIRUB_DATA_DIR"] = str(folder / "data")
        assert drive(start, copy, environment, number).status == -signal.SIGKILL, number
        assert drive(start, copy, environment).status == 0, number
        assert normalised(copy) == expected, number
        assert events(copy) == events(whole), number
        shutil.rmtree(folder)
    assert prepared.exists()


@pytest.mark.slow
def test_killed_beside_a_rerun_the_loop_started_again_ends_as_an_uninterrupted_one(start, tmp_path) -> None:
    whole, environment = prepare(start, tmp_path / "whole", reruns=True)
    done = drive(start, whole, environment)
    assert done.status == 0
    assert done.steps is not None
    steps = done.steps
    expected = normalised(whole)
    assert '"reproduced"' in expected[".autoscirub/rerun.json"]
    for number in (1, steps // 3, 2 * steps // 3, steps):
        copy, environment = prepare(start, tmp_path / f"killed-{number}", reruns=True)
        assert drive(start, copy, environment, number).status == -signal.SIGKILL, number
        assert drive(start, copy, environment).status == 0, number
        assert normalised(copy) == expected, number


@pytest.mark.slow
def test_eight_processes_taking_rounds_at_once_leave_a_whole_record(start, tmp_path) -> None:
    copy, environment = prepare(start, tmp_path)
    commands = [
        [sys.executable, "-m", "autoscirub", "round", "--json", "--project", str(copy)] for _ in range(8)
    ]
    running = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )
        for command in commands
    ]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode in {1, 3}, err
        json.loads(out)
    names = sorted(path.name for path in (copy / ".autoscirub" / "revisions").iterdir() if path.is_dir())
    assert names == [f"round-{number:03}" for number in range(1, len(names) + 1)]
    from autoscirub.store.history import History

    with History.open_for_reading(copy / ".autoscirub") as history:
        commits = history.commits()
    rounds = [commit.facts["round"] for commit in reversed(commits) if commit.event == "check"]
    assert rounds == sorted(rounds)
    assert all(commit.problem is None and not commit.notices for commit in commits)
    status = subprocess.run(
        [sys.executable, "-m", "autoscirub", "status", "--json", "--project", str(copy)],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert json.loads(status.stdout)["faults"] == []
