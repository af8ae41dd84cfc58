"""`init` on the command line: asked at a real terminal, and taking what is plain without one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

SERVER = Path(__file__).resolve().parents[2] / "server"
PROMPT = b", or none"
# So that the terminal is the process's own, and Ctrl-C on it is a signal.
OWN_TERMINAL = (
    # Started in the background, the tests inherit that Ctrl-C is ignored; a terminal of one's own does not.
    "import os, signal, sys; os.login_tty(0); signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, '-m', 'autoscirub', *sys.argv[1:]])"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two reports, results, and one script that writes them."""
    root = tmp_path / "project"
    (root / "results").mkdir(parents=True)
    (root / "run.py").write_text('open("results/results.json", "w").write(x)\n')
    (root / "paper.md").write_text("The slope is 0.51.\n")
    (root / "paper.tex").write_text("The slope is 0.51.\n")
    (root / "results" / "results.json").write_text('{"slope": 0.51}')
    return root


@dataclass(frozen=True)
class Dialogue:
    status: int
    output: str


def at_terminal(project: Path, *answers: bytes) -> Dialogue:
    """Run `init` with a pseudo-terminal as all three streams, and answer each prompt as it comes."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, "init", "--project", str(project)],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "PYTHONPATH": str(SERVER), "TERM": "dumb"},
    )
    os.close(child)
    waiting, output, answered = list(answers), b"", 0
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:  # Linux says so when the other side has closed
            break
        if not piece:
            break
        output += piece
        if PROMPT in output[answered:] and output.endswith(b": "):
            answered = len(output)
            os.write(parent, waiting.pop(0) if waiting else b"\x04")
    status = process.wait(timeout=60)
    os.close(parent)
    assert waiting == []
    return Dialogue(status, output.decode("utf-8", "replace").replace("\r", ""))


def test_at_a_terminal_it_asks_about_each_of_the_three_and_enter_takes_the_best(project) -> None:
    dialogue = at_terminal(project, b"2\n", b"\n", b"\n")
    assert dialogue.status == 0, dialogue.output
    assert f"in {project}: looked at 4 files; nothing is run" in dialogue.output
    assert "1 to 2 are equally good" in dialogue.output
    assert "the only JSON file that run.py writes" in dialogue.output
    assert "took  report: paper.tex" in dialogue.output
    assert "next  autoscirub check" in dialogue.output
    config = tomllib.loads((project / "autoscirub.toml").read_text("utf-8"))
    assert config == {
        "report": "paper.tex",
        "results": "results/results.json",
        "run": {"command": ["python3", "run.py"], "outputs": ["results/results.json"]},
    }


def test_at_a_terminal_a_wrong_answer_is_asked_again_and_none_leaves_it_open(project) -> None:
    dialogue = at_terminal(
        project, b"\n", b"../x.md\n", b"\xff\xfe\n", b"none\n", b"later/r.json\n", b"run.py\n", b"none\n"
    )
    assert dialogue.status == 0, dialogue.output
    assert dialogue.output.count("! ") == 4
    assert "none  report" in dialogue.output
    assert tomllib.loads((project / "autoscirub.toml").read_text("utf-8")) == {"results": "later/r.json"}


@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["Ctrl-C", "end of input"])
def test_broken_off_at_a_question_nothing_is_written_and_the_status_is_3(project, tree, key) -> None:
    before = tree(project)
    dialogue = at_terminal(project, b"1\n", key)
    assert dialogue.status == 3
    assert "! the question for --results was interrupted; nothing was written" in dialogue.output
    assert tree(project) == before


def test_where_there_is_a_configuration_nothing_is_asked_at_a_terminal(project) -> None:
    (project / "autoscirub.toml").write_text('report = "paper.md"\n')
    dialogue = at_terminal(project)
    assert dialogue.status == 0
    assert "kept  autoscirub.toml" in dialogue.output


def test_a_name_from_the_project_cannot_steer_the_terminal(project) -> None:
    (project / "look\u202e\u2066.ipynb").write_text("x")
    dialogue = at_terminal(project, b"3\n", b"\n", b"\n")
    assert dialogue.status == 0
    assert "\u202e" not in dialogue.output
    assert "\u2066" not in dialogue.output


def test_without_a_terminal_it_takes_what_is_plain_and_says_what_it_left_open(cli, project) -> None:
    ran = cli("init", "--project", project)
    assert ran.status == 0
    assert ran.err == ""
    assert "took  run: python3 run.py  (a script to run, by its name; writes results/results.json)" in ran.out
    assert (
        'open  report: paper.md and paper.tex are equally good; say which: report = "paper.md" in autoscirub.toml'
        in ran.out
    )
    assert "predictions frozen now would be recorded as frozen after results existed" in ran.out


@pytest.mark.parametrize("arguments", [[], ["--yes"]])
def test_json_says_what_was_found_and_taken_beside_what_was_laid_down(cli, project, arguments) -> None:
    answer = cli("init", "--project", project, "--json", *arguments).json
    assert answer["ok"] is True
    assert answer["made"] == ["autoscirub.toml", "prereg.toml", ".autoscirub/.gitignore"]
    assert {"project", "kept", "commit", "next", "decisions"} <= answer.keys()
    found = answer["found"]
    assert found["report"]["taken"] is None
    assert [one["value"] for one in found["report"]["candidates"]] == ["paper.md", "paper.tex"]
    assert found["run"]["taken"] == ["python3", "run.py"]
    assert found["results"]["why"] == "the only JSON file that run.py writes"
    assert found["outputs"] == ["results/results.json"]


def test_the_command_that_comes_next_works_with_nothing_frozen(cli, project) -> None:
    (project / "paper.tex").unlink()
    assert cli("init", "--project", project, "--json").json["next"] == "autoscirub check"
    ran = cli("check", "--project", project, "--json")
    assert ran.status == 2
    assert [one["subject"] for one in ran.json["decisions"] if one["answer"] == "holds"] == ["paper.md"]


def test_init_after_a_freeze_changes_no_setting_that_the_freeze_locked(
    cli, slope_project, write_results
) -> None:
    cli("freeze", "--project", slope_project)
    write_results(slope_project, slope=0.51)
    assert cli("init", "--project", slope_project, "--yes").status == 0
    ran = cli("verify", "--project", slope_project, "--json")
    assert (ran.status, json.loads(ran.out)["outcome"]) == (0, "verified")
