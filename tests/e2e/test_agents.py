"""The whole path, in the real clients: an agent that follows `next` alone comes from a fresh project to *satisfied*."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
from tests.e2e.clients.agent import Agent
from tests.e2e.clients.claude_client import Claude
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.sandboxing import REPOSITORY, Box
from tests.e2e.clients.scripted_model import Json, ScriptedModel

pytestmark = pytest.mark.slow

CORE = {
    *("next", "write_state", "freeze", "check", "plan_round", "evaluate_expr", "check_artifact"),
    *("verify_criterion", "blind_workspace", "judge", "job"),
}
WHERE = {"PYTHONPATH": str(REPOSITORY / "server")}
SERVER = {"command": sys.executable, "args": ["-m", "autoscirub", "serve"], "env": WHERE}
IN_CODEX = f"""
[mcp_servers.autoscirub]
command = {json.dumps(sys.executable)}
args = ["-m", "autoscirub", "serve"]
env = {{ PYTHONPATH = {json.dumps(WHERE["PYTHONPATH"])} }}
required = true
"""
FREE = ["--sandbox", "danger-full-access"]  # the box is the sandbox
PATH = ["next", "write_state", "freeze", "SHELL", "check", "plan_round", "SHELL", "check"]
OPEN_AT_FIRST = ["figure-of-the-step", "interval-of-the-drop"]


def autoscirub(box: Box, *arguments: str) -> Json:
    """A person's command, in the same project and home."""
    done = box.run([sys.executable, "-m", "autoscirub", *arguments, "--json"], box.environment(**WHERE))
    found: Json = json.loads(done.out)
    return found


@pytest.fixture
def nile(box: Box) -> Box:
    """The Nile example, fresh, whose run command a person has trusted."""
    ignored = shutil.ignore_patterns("results", ".autoscirub", ".prereg.lock", "__pycache__")
    shutil.copytree(REPOSITORY / "examples" / "nile", box.work, ignore=ignored, dirs_exist_ok=True)
    assert autoscirub(box, "trust", "--digest", autoscirub(box, "trust")["digest"])["ok"]
    return box


def assert_satisfied(agent: Agent) -> None:
    """What the model was shown on the way, and what a person finds afterwards."""
    assert [tool if tool != agent.shell[0] else "SHELL" for tool in agent.called] == PATH
    answers = [(tool, answer) for tool, answer in agent.answers if tool in {"freeze", "check"}]
    [(_, frozen), (_, first), (_, last)] = answers
    assert frozen["locked"] == ["predictions", "rubric", "settings"]
    assert (first["round"], first["all_satisfied"], first["ended"]) == (1, False, None)
    assert sorted(gap["criterion_id"] for gap in first["open"]) == OPEN_AT_FIRST
    assert (first["satisfied"], first["criteria"], last["satisfied"], last["open"]) == (8, 10, 10, [])
    assert (last["round"], last["all_satisfied"], last["ended"]) == (2, True, "satisfied")
    assert all(answer["project"] == str(agent.box.work) for _, answer in agent.answers)
    assert autoscirub(agent.box, "check", "--read-only")["ended"]["state"] == "satisfied"
    assert autoscirub(agent.box, "audit")["ok"]


def test_claude_comes_from_a_fresh_project_to_satisfied_by_following_next(nile: Box) -> None:
    agent = Agent(nile, ("Bash", "command"))
    with ScriptedModel(agent, nile.listen()) as model:
        done = Claude(nile).ask(
            model,
            "Find out when the Nile's flow fell.",
            servers={"autoscirub": {**SERVER, "alwaysLoad": True}},
            allow=["mcp__autoscirub", "Bash"],
        )
    assert_satisfied(agent)
    assert "every criterion is satisfied" in json.loads(done.out)["result"]
    names = {tool.name for tool in model.asked[0].tools if tool.name.startswith("mcp__")}
    assert names == {f"mcp__autoscirub__{name}" for name in CORE}


@pytest.mark.parametrize(("name", "program"), [("scripted", False), ("gpt-6.2-sol", True)])
def test_codex_comes_from_a_fresh_project_to_satisfied_by_following_next(
    nile: Box, name: str, program: bool
) -> None:
    agent = Agent(nile, ("exec_command", "cmd"), program)
    with ScriptedModel(agent, nile.listen()) as model:
        done = Codex(nile, IN_CODEX).ask(
            model, "Find out when the Nile's flow fell.", arguments=[*FREE, "--model", name]
        )
    assert_satisfied(agent)
    assert "every criterion is satisfied" in done.out
    if not program:
        offered = {tool.name for tool in model.asked[0].tools if tool.namespace == "mcp__autoscirub"}
        assert offered == CORE
