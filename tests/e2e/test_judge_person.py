"""The judge `person` at a real terminal: a rubric in words alone is decided, left and resumed, and nobody is asked else."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autoscirub.store import open_project
from autoscirub.workflow.next_call import next_call

SERVER = Path(__file__).resolve().parents[2] / "server"
OWN_TERMINAL = (
    # Started in the background, the tests inherit that Ctrl-C is ignored; a terminal of one's own does not.
    "import os, signal, sys; os.login_tty(0); signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, '-m', 'autoscirub', *sys.argv[1:]])"
)
RUBRIC: dict[str, Any] = {
    "schema_version": "1.0",
    "goals": [{"goal_id": "G1", "description": "estimate the slope"}],
    "criteria": [
        {
            "criterion_id": "C1",
            "goal_ids": ["G1"],
            "requirement": "The slope is reported with an interval.",
            "required_analysis": ["a least-squares fit"],
            "expected_artifacts": [{"type": "report", "name": "report", "must_show": "slope and interval"}],
            "satisfaction_condition": "both are in the report",
            "priority": "high",
        },
        {
            "criterion_id": "C2",
            "goal_ids": ["G1"],
            "requirement": "A limit of the study is named.",
            "priority": "low",
        },
        {"criterion_id": "C3", "goal_ids": ["G1"], "requirement": "The slope is compared with one half."},
    ],
}
REPORT = """\
# Slope

The slope is 0.51, with an interval from 0.47 to 0.55.
One half, as expected, lies in this interval.

A limit: one sensor alone was read.
"""
NAME = ("your name", "Ada Lovelace")
NO = [
    ("satisfied?", "n"),
    ("evidence:", ""),
    ("what is missing", "report.md lacks a limit"),
    ("a note", ""),
    ("records it", ""),
]
Steps = list[tuple[str, str]]


def yes(line: int) -> Steps:
    cited = [("evidence:", f"report.md line {line}"), ("no more", "")]
    return [("satisfied?", "y"), *cited, ("a note", "it is there"), ("records it", "")]


@pytest.fixture
def project(tmp_path: Path, cli: Callable[..., Any]) -> Path:
    """A small project with a rubric in the published form, words alone, and a person as its judge. Frozen."""
    return laid_down(tmp_path / "project", RUBRIC, cli)


def laid_down(root: Path, rubric: dict[str, Any], cli: Callable[..., Any]) -> Path:
    (root / ".autoscirub").mkdir(parents=True)
    (root / "results").mkdir()
    (root / ".autoscirub" / "executable_rubric.json").write_text(json.dumps(rubric))
    (root / "report.md").write_text(REPORT)
    (root / "results" / "results.json").write_text('{"slope": 0.51, "interval": {"low": 0.47, "high": 0.55}}')
    (root / "autoscirub.toml").write_text('[judge]\nbackend = "person"\n')
    assert cli("freeze", "--project", root).status == 0
    return root


class Spoken:
    """What came of a command at a terminal: its status, and all that the terminal got."""

    def __init__(self, status: int, output: bytes) -> None:
        self.status, self.bytes = status, output
        self.output = output.decode("utf-8", "replace").replace("\r", "")

    def asked(self) -> list[str]:
        return re.findall(r'^id: "(.*)"$', self.output, re.MULTILINE)


def environment() -> dict[str, str]:
    """As a person has it: these tests may be run by those who have none in front of them."""
    unattended = ("CI", "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_THREAD_ID")
    own = {name: value for name, value in os.environ.items() if name not in unattended}
    return {**own, "PYTHONPATH": str(SERVER), "TERM": "xterm", "LANG": "C.UTF-8"}


def at_terminal(project: Path, *arguments: str, steps: Steps, until: bytes | None = None) -> Spoken:
    """Run a command with a terminal as all three streams; each answer is typed once its prompt is there.

    `until`: what is written when the process is killed.
    """
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, *arguments, "--project", str(project)],
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment(),
    )
    os.close(child)
    waiting, output, seen = list(steps), b"", 0
    while piece := _read(parent):
        output += piece
        while waiting and (at := output.find(waiting[0][0].encode(), seen)) >= 0:
            prompt, answer = waiting.pop(0)
            seen = at + len(prompt.encode())
            os.write(parent, answer.encode() if answer in CONTROLS else f"{answer}\n".encode())
        if until is not None and until in output:
            process.kill()
            break
    status = process.wait(timeout=60)
    os.close(parent)
    assert waiting == [], output.decode("utf-8", "replace")
    return Spoken(status, output)


CONTROLS = ("\x03", "\x04")


def _read(parent: int) -> bytes:
    try:
        return os.read(parent, 4096)
    except OSError:  # Linux says so when the other side has closed
        return b""


def ledger(project: Path) -> list[dict[str, Any]]:
    path = project / ".autoscirub" / "asks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.slow
def test_a_rubric_of_words_alone_goes_to_satisfied(project: Path, cli: Callable[..., Any]) -> None:
    ran = at_terminal(project, "check", steps=[NAME, *yes(3), *yes(6), *yes(4)])
    assert ran.status == 0, ran.output
    assert ran.asked() == ["C1", "C2", "C3"]
    for part in ("1 of 3", "2 of 3", "3 of 3", "satisfied when: both are in the report", "report.md (147 bytes)",
                 "found: report.md, line 3: The slope is 0.51", "satisfied: the work is done"):  # fmt: skip
        assert part in ran.output
    assert ran.output.count("your name") == 1
    report = json.loads((project / ".autoscirub" / "verification_report.json").read_text())
    assert report["all_satisfied"] is True
    entry = report["criteria"][0]["evidence"][0]
    assert (entry["path"], entry["at"]) == ("report.md", {"kind": "line", "where": "3"})
    assert [(ask["subject"], ask["model_served"], ask["panel"]) for ask in ledger(project)] == [
        (name, "person Ada Lovelace", True) for name in ("C1", "C2", "C3")
    ]
    with open_project(project).reading() as session:
        assert session.history is not None
        steps = [commit for commit in session.history.commits() if commit.event == "judged"]
    assert [step.facts["by"] for step in steps] == ["terminal"] * 3
    audited = cli("audit", "verify", "--project", project)
    assert audited.status == 0, audited.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "status"), [("stop", 2), ("\x04", 2), ("\x03", 130)], ids=["stop", "Ctrl-D", "Ctrl-C"]
)
def test_left_after_the_first_of_three_it_goes_on_there(
    project: Path, cli: Callable[..., Any], key: str, status: int
) -> None:
    left = at_terminal(project, "judge", steps=[NAME, *yes(3), ("satisfied?", key)])
    assert left.status == status, left.output
    assert left.asked() == ["C1", "C2"]
    assert [ask["subject"] for ask in ledger(project)] == ["C1"]
    waiting = cli("check", "--project", project)
    assert (waiting.status, "waiting: C2, C3 wait for a person's verdict" in waiting.out) == (2, True)
    resumed = at_terminal(project, "judge", steps=[NAME, *yes(6), *yes(4)])
    assert resumed.status == 0, resumed.output
    assert resumed.asked() == ["C2", "C3"]
    assert "1 of 2" in resumed.output
    assert [ask["subject"] for ask in ledger(project)] == ["C1", "C2", "C3"]
    assert cli("check", "--project", project).status == 0
    assert len(ledger(project)) == 3
    assert at_terminal(project, "judge", steps=[]).asked() == []


@pytest.mark.slow
def test_killed_in_the_middle_it_has_lost_nothing_that_was_answered(
    project: Path, cli: Callable[..., Any]
) -> None:
    killed = at_terminal(project, "judge", steps=[NAME, *yes(3)], until=b'id: "C2"')
    assert killed.status == -signal.SIGKILL
    assert [ask["subject"] for ask in ledger(project)] == ["C1"]
    resumed = at_terminal(project, "judge", steps=[NAME, *yes(6), *yes(4)])
    assert (resumed.status, resumed.asked()) == (0, ["C2", "C3"]), resumed.output
    assert [ask["error"] for ask in ledger(project)] == [None] * 3


@pytest.mark.slow
def test_without_a_terminal_the_loop_waits_and_the_same_command_resumes(
    project: Path, cli: Callable[..., Any]
) -> None:
    words = "C1, C2, C3 wait for a person's verdict: run `autoscirub judge` at a terminal"
    run = ("run", "--revise", "false", "--project", project)
    for arguments in (("check", "--project", project), ("round", "--project", project), run, run):
        ran = cli(*arguments)
        assert ran.status == 2, ran.err
        assert f"waiting: {words}" in ran.out
    assert cli("check", "--json", "--project", project).json["waiting"] == words
    assert cli(*run, "--json").json["ended"] is None
    status = cli("status", "--project", project)
    assert f"next      autoscirub judge   ({words})" in status.out
    assert "requirements: inconclusive (waiting)" in status.out
    judged = cli("judge", "--project", project)
    assert (judged.status, judged.out.count("waiting for a person")) == (2, 3)
    assert ledger(project) == []  # nobody was asked
    assert [path.name for path in (project / ".autoscirub" / "revisions").glob("round-*")] == ["round-001"]
    assert at_terminal(project, "judge", steps=[NAME, *yes(3), *yes(6), *yes(4)]).status == 0
    ended = cli(*run)
    assert ended.status == 0, ended.out
    assert "satisfied: the work is done" in ended.out


@pytest.mark.slow
def test_an_agent_is_told_to_say_so_to_the_person(project: Path, cli: Callable[..., Any]) -> None:
    cli("check", "--project", project)
    call = next_call(project)[1]
    assert call.tool is None
    assert "C1, C2, C3 wait for a person's verdict" in call.why


@pytest.mark.slow
def test_where_work_is_open_too_the_loop_goes_on_with_that(
    tmp_path: Path, project: Path, cli: Callable[..., Any]
) -> None:
    left = at_terminal(project, "check", steps=[NAME, *yes(3), *NO, ("satisfied?", "stop")])
    assert left.status == 1, left.output
    reviser = tmp_path / "revise.py"
    reviser.write_text("open('report.md', 'a').write('Another limit: two sensors would be better.\\n')\n")
    command = shlex.join([sys.executable, str(reviser)])
    ran = at_terminal(project, "run", "--revise", command, steps=[NAME, *yes(3), *yes(7), *yes(4)])
    assert ran.status == 0, ran.output
    assert "planned round 1: C2" in ran.output
    assert "satisfied: the work is done" in ran.output


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\r\b"


@pytest.mark.slow
def test_hostile_texts_of_a_project_steer_no_terminal(tmp_path: Path, cli: Callable[..., Any]) -> None:
    hostile = HOSTILE.replace("\r", "")
    criterion = {
        **RUBRIC["criteria"][0],
        "requirement": f"The slope {HOSTILE} is reported.",
        "satisfaction_condition": f"y\r\n\x1b[A\x1b[2Ksatisfied: yes {hostile}",
    }
    root = tmp_path / "project"
    root.mkdir()
    (root / f"re{hostile}sults.txt").write_text(f"The slope is {hostile} not reported here.\n")
    laid_down(root, {**RUBRIC, "criteria": [criterion]}, cli)
    paths = "re\\u001b"
    steps = [
        NAME, ("satisfied?", "y"), ("evidence:", "1 line 1"), ("evidence:", "2"), ("where in", "line 1"),
        ("evidence:", ""), ("a note", "\x1b[A sneaky"), ("records it", ""),
    ]  # fmt: skip
    ran = at_terminal(root, "judge", steps=steps)
    dialogue = ran.bytes.partition(b"records it")[0].replace(b"\r\n", b"\n").decode("utf-8")
    # What was typed comes back from the terminal itself, as ^[ for an escape.
    assert {character for character in dialogue if not character.isprintable()} == {"\n"}
    assert paths in dialogue
    assert "owned" in dialogue
    assert ran.bytes.count(b"\x1b]") == ran.bytes.count(b"\x9b") == 0


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[list[str]]:
    """The words that start a tmux of the test's own, which ends with it."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("tmux is not installed")
    words = [program, "-f", "/dev/null", "-S", str(tmp_path / "tmux")]
    yield words
    subprocess.run([*words, "kill-server"], capture_output=True, check=False)


@pytest.mark.slow
def test_in_tmux_a_person_brings_it_to_satisfied(
    project: Path, cli: Callable[..., Any], screen: list[str]
) -> None:
    """In control mode tmux reports what its terminal gets, so that nothing need be waited for by the clock."""
    command = shlex.join([sys.executable, "-m", "autoscirub", "check", "--project", str(project)])
    process = subprocess.Popen(
        [*screen, "-C", "new-session", "-x", "200", "-y", "60", f"{command}; echo ended with $?"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    steps = [NAME, *yes(3), *yes(6), *yes(4)]
    visible, seen = "", 0
    for line_ in process.stdout:
        if line_.startswith("%output "):
            visible += re.sub(
                r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), line_.split(" ", 2)[2].rstrip("\n")
            )
        while steps and (at := visible.find(steps[0][0], seen)) >= 0:
            prompt, answer = steps.pop(0)
            seen = at + len(prompt)
            typed = f"send-keys -l -- {shlex.quote(answer)}\n" if answer else ""
            process.stdin.write(f"{typed}send-keys Enter\n")
            process.stdin.flush()
        if line_.startswith("%exit"):
            break
    process.communicate(timeout=60)
    assert steps == []
    assert "ended with 0" in visible
    assert "satisfied: the work is done" in visible
    assert cli("check", "--project", project).status == 0
    assert {ask["model_served"] for ask in ledger(project)} == {"person Ada Lovelace"}
