"""The plugin in the real clients, from a clone and by `install`, and the whole path through it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.e2e.clients.agent import Agent
from tests.e2e.clients.claude_client import Claude
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.installed import SERVER, Installed
from tests.e2e.clients.nile import CORE, assert_satisfied, lay_nile
from tests.e2e.clients.sandboxing import REPOSITORY, Box
from tests.e2e.clients.scripted_model import Call, Say, ScriptedModel

pytestmark = pytest.mark.slow

ID = "autoscirub@autoscirub"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone of this repository, as a user makes one."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout")
    folder = tmp_path_factory.mktemp("clone") / "autoscirub"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "clone", "-q", REPOSITORY, folder], env=environment, check=True)
    return folder


def with_program(box: Box, clone: Path, noting: Path) -> str:
    """A folder for PATH that holds `autoscirub`, of the clone."""
    folder = box.home / "bin"
    folder.mkdir()
    program = folder / "autoscirub"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{clone}/server" exec "{noting}" -P -m autoscirub "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    return str(folder)


def assert_works(client: Installed, clone: Path) -> None:
    """The server answers, in the user's project, and the hooks run; the clone is not written to."""
    with ScriptedModel([Call("next"), client.shell("ls"), Say("I see.")], client.box.listen()) as model:
        client.ask(model)
    assert model.last.results[0].structured["project"] == str(client.box.work)
    assert client.hooks_that_ran() == ["pre-tool-use", "stop"]
    done = subprocess.run(
        ["git", "-C", clone, "status", "--porcelain"], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == ""


def test_a_clone_is_a_plugin_that_claude_takes_without_a_finding(box: Box, clone: Path, noting: Path) -> None:
    claude = Claude(box)
    done = claude.command("plugin", "validate", clone, "--profile", "directory", "--json")
    report = json.loads(done.out)
    assert (done.status, report["success"], report["directory"]["findings"]) == (0, True, []), done
    claude.install(clone, ID)
    listed = json.loads(claude.command("plugin", "list", "--json").out)
    assert [plugin["enabled"] for plugin in listed if plugin["id"] == ID] == [True]
    assert_works(Installed("claude", box, with_program(box, clone, noting)), clone)


def test_a_clone_is_a_plugin_that_codex_takes(box: Box, clone: Path, noting: Path) -> None:
    codex = Codex(box)
    codex.install(clone, ID)
    [listed] = json.loads(codex.command("plugin", "list", "--json").out)["installed"]
    assert (listed["pluginId"], listed["enabled"]) == (ID, True)
    assert [hook["trustStatus"] for hook in codex.hooks()] == ["untrusted"] * 3
    codex.trust_hooks()
    assert_works(Installed("codex", box, with_program(box, clone, noting)), clone)
    assert [hook["trustStatus"] for hook in codex.hooks()] == ["trusted"] * 3  # nothing wrote into its copy


def test_through_the_installed_plugin_an_agent_comes_to_satisfied(client: Installed) -> None:
    lay_nile(client.box)
    agent = Agent(client.box, client.shell_tool)
    with ScriptedModel(agent, client.box.listen()) as model:
        client.ask(model)
    assert_satisfied(agent)
    prefix = SERVER if client.name == "claude" else "mcp__autoscirub"
    assert client.offered(model.asked[0]) == {f"{prefix}__{name}" for name in CORE}
    # Two commands, two checks and a plan went by the fence; and once it was satisfied, it might end.
    assert client.hooks_that_ran() == [*["pre-tool-use"] * 5, "stop"]
