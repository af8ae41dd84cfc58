"""The whole path, in the real clients: an agent that follows `next` alone comes from a fresh project to *satisfied*."""

from __future__ import annotations

import json
import sys

import pytest
from tests.e2e.clients.agent import Agent
from tests.e2e.clients.claude_client import Claude
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.nile import CORE, FREE, WHERE, assert_satisfied, lay_nile
from tests.e2e.clients.sandboxing import Box
from tests.e2e.clients.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

SERVER = {"command": sys.executable, "args": ["-m", "autoscirub", "serve"], "env": WHERE}
IN_CODEX = f"""
[mcp_servers.autoscirub]
command = {json.dumps(sys.executable)}
args = ["-m", "autoscirub", "serve"]
env = {{ PYTHONPATH = {json.dumps(WHERE["PYTHONPATH"])} }}
required = true
"""


@pytest.fixture
def nile(box: Box) -> Box:
    """The Nile example, fresh, whose run command a person has trusted."""
    lay_nile(box)
    return box


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
