"""Several real processes on one state directory, and processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.forking import Forking

PROCESSES = 8


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "autoscirub", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.mark.slow
def test_eight_processes_verifying_at_once_all_finish_and_the_record_holds_each(
    slope_project, write_results, cli
) -> None:
    assert cli("freeze", "--project", slope_project).status == 0
    write_results(slope_project, slope=0.51)
    state = slope_project / ".autoscirub"
    running = [start("verify", "--project", str(slope_project), "--json") for _ in range(PROCESSES)]
    while any(process.poll() is None for process in running):
        for name in ("run_manifest.json", "verification.json"):
            if (state / name).exists():
                json.loads((state / name).read_text("utf-8"))
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert json.loads(out)["outcome"] == "verified"
    from autoscirub.store.history import History

    with History.open_for_reading(state) as history:
        events = [commit.event for commit in history.commits()]
    assert events == ["verify"] * PROCESSES + ["freeze"]
    assert cli("status", "--project", slope_project).status == 0


@pytest.mark.slow
def test_eight_processes_freezing_at_once_freeze_once(slope_project) -> None:
    running = [start("freeze", "--project", str(slope_project), "--json") for _ in range(PROCESSES)]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in running]
    assert sum(answer["ok"] for answer in answers) == 1
    for answer in answers:
        assert answer["ok"] or "nothing new to lock" in answer["error"]["message"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["freeze", "verify"])
def test_killed_at_any_write_the_same_command_again_ends_as_an_uninterrupted_one(
    slope_project, write_results, tmp_path, command
) -> None:
    with Forking(tmp_path) as forking:
        if command == "verify":
            assert forking.run("freeze", cwd=slope_project).status == 0
            write_results(slope_project, slope=0.51)
        kills = 0
        for step in range(1, 41):
            copy = tmp_path / f"{command}-{step}"
            subprocess.run(["cp", "-a", str(slope_project), str(copy)], check=True)
            environment = {**os.environ, "AUTOSCIRUB_DATA_DIR": str(tmp_path / f"data-{command}-{step}")}
            done = forking.run(command, cwd=copy, environment=environment, kill_at=step)
            if done.status == 0:
                break
            assert done.status == -signal.SIGKILL
            kills += 1
            again = forking.run(command, cwd=copy, environment=environment)
            # A freeze that was whole before the kill says so, and is not made twice.
            assert again.status == 0 or "nothing new to lock" in again.err, again.err
            write_results(copy, slope=0.51)
            after = forking.run("verify", cwd=copy, environment=environment)
            assert after.status == 0, after.err
            assert after.out.startswith("✓ verified"), after.out
            status = forking.run("status", cwd=copy, environment=environment)
            assert "\nfault" not in status.out, status.out
        assert kills >= 10
    assert Path(copy / ".autoscirub" / "history.bundle").exists()
