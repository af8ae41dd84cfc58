"""`doctor`: each thing that is there, missing, or not to be told; and nothing is written."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from autoscirub.models import Answer
from autoscirub.setup.doctor import look_around
from autoscirub.setup.doctor.clients import server_problem
from autoscirub.setup.install import plan_install

HOLDS, NOT, OPEN = Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def diagnosed(project: Path, **more) -> dict:
    return {one.subject: one for one in look_around(project, **more)}


def test_it_writes_nothing_in_the_project_the_clients_homes_or_the_user_s_data(
    agents, tmp_path, tree, project
) -> None:
    plan_install("claude").carry_out()
    plan_install("codex").carry_out()
    before = tree(tmp_path)
    look_around(project)
    assert tree(tmp_path) == before


def test_with_everything_there_all_that_is_needed_holds(agents, project) -> None:
    found = diagnosed(project)
    assert [name for name, one in found.items() if one.answer is NOT] == []
    for name in ("python", "package", "git", "user data", "state", "locking", "claude", "codex"):
        assert found[name].answer is HOLDS, name
    assert found["claude"].word == "9.9.9"
    assert found["claude: plugin"].answer is OPEN
    assert found["claude: plugin"].open == ["only if you want it: autoscirub install claude"]


def test_without_programs_git_is_missing_and_clients_are_a_choice(project, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = diagnosed(project)
    assert (found["git"].answer, found["git"].word) == (NOT, "missing or does not start")
    for name in ("claude", "codex"):
        assert found[name].answer is OPEN
        assert "npm install" in found[name].open[0]


def test_without_bubblewrap_it_says_what_is_not_enforced_and_how_to_get_it(project, monkeypatch) -> None:
    monkeypatch.setattr("autoscirub.sandbox.bubblewrap._found", lambda _name: None)
    monkeypatch.setenv("PATH", "/nowhere/at/all")
    sandbox = diagnosed(project)["sandbox"]
    assert (sandbox.answer, sandbox.word) == (OPEN, "a plain process")
    assert "apt install bubblewrap" in sandbox.open[0]


def test_places_that_cannot_be_written_are_missing_with_what_to_do(project, monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "file" / "inside"))
    found = diagnosed(project, state_dir=project / ".." / "file")
    assert (found["user data"].answer, found["state"].answer) == (NOT, NOT)
    assert "AUTOSCIRUB_DATA_DIR" in found["user data"].open[0]


JUDGES = [
    # the configuration, the answer, the word
    ("", OPEN, "none is set up"),
    ('[judge]\nbackend = "command"\ncommand = ["nosuch-judge"]\n', NOT, "its program cannot be started"),
    (f'[judge]\nbackend = "command"\ncommand = [{json.dumps(sys.executable)}]\n', NOT, "set up, not trusted"),
    ('[judge]\nbackend = "nosuch"\n', NOT, "nosuch cannot be used"),
]


@pytest.mark.parametrize(("config", "answer", "word"), JUDGES)
def test_a_judge_that_was_set_up_must_be_usable(project, config, answer, word) -> None:
    (project / "autoscirub.toml").write_text(config, "utf-8")
    judge = diagnosed(project)["judge"]
    assert judge.answer is answer
    assert word in judge.word


def test_a_plugin_of_the_same_name_is_in_the_way_only_beside_ours(agents, project) -> None:
    other = {"id": "autoscirub@elsewhere", "project": None, "scope": "user", "enabled": True, "folder": "/x"}
    agents.know("claude", plugins=[other])
    assert diagnosed(project)["claude: other plugin"].answer is OPEN
    agents.know("claude")
    plan_install("claude").carry_out()
    known = agents.knows("claude")
    agents.know("claude", markets=known["markets"], plugins=[*known["plugins"], other])
    found = diagnosed(project)["claude: other plugin"]
    assert (found.answer, found.word) == (NOT, "autoscirub@elsewhere")


def test_an_installed_plugin_whose_server_starts_is_found(agents, project) -> None:
    plan_install("claude").carry_out()
    found = diagnosed(project)
    assert (found["claude: plugin"].answer, found["claude: plugin"].word) == (HOLDS, "installed (user)")
    assert (found["claude: server"].answer, found["claude: server"].open) == (HOLDS, [])


def test_an_installed_plugin_whose_server_is_gone_is_needed_and_missing(agents, project) -> None:
    plan_install("claude").carry_out()
    mcp = agents.folder("claude") / "autoscirub" / ".mcp.json"
    mcp.write_text(mcp.read_text("utf-8").replace(sys.executable, "/nowhere/python"), "utf-8")
    server = diagnosed(project)["claude: server"]
    assert (server.answer, server.word) == (NOT, "does not start")
    assert server.open[-1] == "to write it again: autoscirub install claude"
    shutil.rmtree(agents.folder("claude"))
    assert diagnosed(project)["claude: server"].answer is NOT


def test_a_server_that_install_did_not_write_is_not_started(agents, project, monkeypatch, tmp_path) -> None:
    plan_install("codex").carry_out()
    mine = {"command": sys.executable, "args": ["-c", f"open({str(tmp_path / 'ran')!r}, 'w')"]}
    monkeypatch.setenv("FAKE_SERVERS", json.dumps({"autoscirub": mine}))
    server = diagnosed(project)["codex: server"]
    assert (server.answer, server.word) == (NOT, "another program")
    assert not (tmp_path / "ran").exists()


ANSWER = '{"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {"name": "x"}}}'
SERVERS = [
    # what the program does, what is said of it
    (f"input(); print('{ANSWER}', flush=True); input()", None),
    (f"""input(); print('{{"method": "log"}}'); print('{ANSWER}', flush=True); input()""", None),
    ("raise SystemExit('no such module')", "ended without an answer; it said: no such module"),
    ("input(); print('Welcome!', flush=True)", "which is no JSON"),
    ("""input(); print('{"id": 1, "error": {"code": 1}}', flush=True)""", 'it answered {"id": 1, "error"'),
    ("""input(); print('{"id": 1, "result": {}}', flush=True)""", "no answer to initialize"),
    ("import time; time.sleep(60)", "did not answer within 1 s"),
]


@pytest.mark.parametrize(("program", "expected"), SERVERS, ids=[str(expected) for _, expected in SERVERS])
def test_a_server_is_started_and_asked_and_what_it_does_is_told(program, expected) -> None:
    problem = server_problem(
        [sys.executable, "-c", program], seconds=1 if expected and "within" in expected else 30
    )
    assert problem is None if expected is None else expected in (problem or "")


def test_a_server_that_cannot_be_started_is_said_to_be_so() -> None:
    assert "cannot be started" in (server_problem(["/nowhere/python"]) or "")


def test_the_exit_status_says_whether_something_needed_is_missing(cli, project) -> None:
    there = cli("doctor", "--json", cwd=project)
    assert (there.status, there.json["ok"]) == (0, True)
    missing = cli("doctor", cwd=project, env={"PATH": "/nowhere"})
    assert missing.status == 1
    assert "✗ git" in missing.out
    assert "1 needed and missing" in missing.out
