"""`selftest`, through the real command line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autoscirub.models import Answer, Decision, now
from autoscirub.report.selftest import render_selftest
from autoscirub.setup.selftest.test_bed import processes_of

SERVER = Path(__file__).resolve().parents[2] / "server"


@pytest.mark.slow
def test_it_says_what_held_in_one_line_each_and_leaves_nothing(cli, tmp_path, tree) -> None:
    place, project = tmp_path / "temporary", tmp_path / "mine"
    place.mkdir()
    project.mkdir()
    before = tree(project)
    ran = cli("selftest", cwd=project, env={"TMPDIR": str(place)})
    assert ran.status in (0, 2), ran.out
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert re.fullmatch(
        r"\d+ held, 0 did not hold, \d+ inconclusive or not enforceable on this machine", lines[-1]
    )
    assert (ran.status == 0) is (" 0 inconclusive" in lines[-1])
    assert any(line.endswith("a planted FIFO: 15 calls of list, glob, grep and read") for line in lines)
    assert list(place.iterdir()) == []
    assert tree(project) == before
    assert not processes_of(str(place))


@pytest.mark.slow
def test_as_json_it_is_one_document_of_decisions(cli) -> None:
    ran = cli("selftest", "--json")
    answers = {part["answer"] for group in ran.json["decisions"] for part in group["parts"]}
    assert ran.json["ok"] is (answers == {"holds"})
    assert {group["subject"] for group in ran.json["decisions"]} == {
        *("blinding", "tools", "replies", "verdicts", "programs", "sandbox", "state", "afterwards")
    }


@pytest.mark.slow
def test_broken_off_it_leaves_nothing_either(tmp_path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "autoscirub", "selftest"],
        env={**os.environ, "PYTHONPATH": str(SERVER), "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 30
    while not [*tmp_path.glob("*/places/program-*")] and time.monotonic() < until:
        pass
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130
    assert list(tmp_path.iterdir()) == []
    assert not processes_of(str(tmp_path))


def test_what_got_through_and_what_helps_are_shown_below_their_attack(capsys) -> None:
    import sys

    from autoscirub.cli.showing import worst_of

    def part(subject: str, answer: Answer, notes: list[str], *open_: str) -> Decision:
        return Decision(
            subject=subject,
            question="?",
            answer=answer,
            word=answer.value,
            evidence=[{"note": note} for note in notes],
            open=list(open_),
            at=now(),
        )

    parts = [
        part("one", Answer.DOES_NOT_HOLD, ["tried", "got through: \x1b[2Jthe write-up"]),
        part("two", Answer.INCONCLUSIVE, ["tried"], "cannot be enforced here", "apt-get install x"),
        part("three", Answer.INCONCLUSIVE, ["tried"], "neither can this", "apt-get install x"),
    ]
    group = part("sandbox", Answer.DOES_NOT_HOLD, []).model_copy(update={"parts": parts})
    output = render_selftest([group], sys.stdout)
    assert "\x1b" not in output
    assert "the write-up" in output
    assert output.count("apt-get install x") == 1
    assert output.endswith("0 held, 1 did not hold, 2 inconclusive or not enforceable on this machine")
    assert worst_of([group]) == 1
