"""The Nile example as an agent finds it, fresh, and what must have come of it when the agent has followed `next`."""

from __future__ import annotations

import json
import shutil
import sys

from tests.e2e.clients.agent import Agent
from tests.e2e.clients.sandboxing import REPOSITORY, Box
from tests.e2e.clients.scripted_model import Json

CORE = {
    *("next", "write_state", "freeze", "check", "plan_round", "evaluate_expr", "check_artifact"),
    *("verify_criterion", "blind_workspace", "judge", "job"),
}
WHERE = {"PYTHONPATH": str(REPOSITORY / "server")}
FREE = ["--sandbox", "danger-full-access"]  # for codex: the box is the sandbox
PATH = ["next", "write_state", "freeze", "SHELL", "check", "plan_round", "SHELL", "check"]
OPEN_AT_FIRST = ["figure-of-the-step", "interval-of-the-drop"]


def autoscirub(box: Box, *arguments: str) -> Json:
    """A command that a person types, in the same project and home."""
    done = box.run([sys.executable, "-m", "autoscirub", *arguments, "--json"], box.environment(**WHERE))
    found: Json = json.loads(done.out)
    return found


def lay_nile(box: Box) -> None:
    """Lay the example in the box's project. A person trusts its run command."""
    ignored = shutil.ignore_patterns("results", ".autoscirub", ".prereg.lock", "__pycache__")
    shutil.copytree(REPOSITORY / "examples" / "nile", box.work, ignore=ignored, dirs_exist_ok=True)
    assert autoscirub(box, "trust", "--digest", autoscirub(box, "trust")["digest"])["ok"]


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
