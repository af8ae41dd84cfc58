"""What the real clients do, offline, with a scripted model: what our own server and plugin rest on.

Each of them has its quirks, and changes; a new version that breaks one of these breaks our users.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest
from tests.e2e.clients.claude_client import Claude
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.mcp_tools import SCENARIOS, conformance, inspect, inspected, with_token
from tests.e2e.clients.plugins import BARE_SERVER, bare, write_plugin
from tests.e2e.clients.sandboxing import Box, first_line
from tests.e2e.clients.scripted_model import Asked, Call, Json, Say, ScriptedModel

pytestmark = pytest.mark.slow

ADD = Call("add", {"a": 1, "b": 2})
# Sends the agent back at its first stop, and keeps what it was given on standard input.
SEND_BACK = 'cat >> "$HOME/hook.jsonl"; echo >> "$HOME/hook.jsonl"; [ -e "$HOME/did" ] && exit 0; touch "$HOME/did"; echo "still open: C1" >&2; exit 2'
IN_CODEX = f"""
[mcp_servers.bare]
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(BARE_SERVER))}]
required = true
"""


def hooked(box: Box) -> list[Json]:
    """What the hook was given, each time."""
    file = box.home / "hook.jsonl"
    return (
        [json.loads(line) for line in file.read_text("utf-8").splitlines() if line] if file.exists() else []
    )


def test_a_client_in_its_box_reaches_nothing_but_loopback(box: Box) -> None:
    if not box.enforced:
        pytest.skip(box.why_not)
    look = "import pathlib; print(*[line.split(':')[0] for line in pathlib.Path('/proc/net/dev').read_text().splitlines()[2:]])"
    assert box.run([sys.executable, "-c", look], box.environment()).out.split() == ["lo"]
    with box.listen() as listening, pytest.raises(ConnectionRefusedError):
        socket.create_connection(listening.getsockname(), timeout=5)  # from outside


# Claude Code


def test_claude_calls_a_tool_and_its_model_reads_the_structured_result(box: Box) -> None:
    with ScriptedModel([ADD, Say("It is 3.")], box.listen()) as model:
        done = Claude(box).ask(model, "Add.", servers={"bare": bare(alwaysLoad=True)}, allow=["mcp__bare"])
    assert json.loads(done.out)["result"] == "It is 3.", done
    offered = model.asked[0].tool("add")
    assert (offered.name, offered.description) == (
        "mcp__bare__add",
        "The sum of two numbers, and where the server runs.",
    )
    assert offered.schema["required"] == ["a", "b"]
    [result] = model.last.results
    assert (result.is_error, result.structured["sum"]) == (False, 3)
    assert result.structured["cwd"] == str(box.work)
    assert "CLAUDE_PROJECT_DIR" in result.structured["environment"]


def test_claude_shows_a_servers_tools_by_name_alone_until_its_model_searches_for_them(box: Box) -> None:
    search = Call("ToolSearch", {"query": "select:mcp__bare__add"})
    with ScriptedModel([search, ADD, Say("It is 3.")], box.listen()) as model:
        Claude(box).ask(model, "Add.", servers={"bare": bare()}, allow=["mcp__bare"])
    first = model.asked[0]
    assert "mcp__bare__add" not in [tool.name for tool in first.tools]
    assert any("\nmcp__bare__add\n" in text for text in first.texts)
    assert any("Add numbers with `add`." in text for text in first.texts)  # the server's instructions
    assert model.last.results[1].structured["sum"] == 3


def test_claude_refuses_what_was_not_allowed(box: Box) -> None:
    write = Call("Write", {"file_path": str(box.work / "made.txt"), "content": "made"})
    with ScriptedModel([write, Say("No.")], box.listen()) as model:
        Claude(box).ask(model, "Write.", servers={"bare": bare()}, allow=["mcp__bare"])
    assert model.last.results[0].is_error
    assert list(box.work.iterdir()) == []


def test_claude_runs_a_plugins_server_in_the_users_project_and_names_its_tools_by_both(
    box: Box, tmp_path: Path
) -> None:
    claude = Claude(box)
    claude.install(write_plugin(tmp_path / "shop"), "small@shop")
    with ScriptedModel([ADD, Say("It is 3.")], box.listen()) as model:
        claude.ask(model, "Add.", allow=["mcp__plugin_small_bare"])
    assert model.asked[0].tool("add").name == "mcp__plugin_small_bare__add"
    assert model.last.results[0].structured["cwd"] == str(box.work)
    assert any("small:adding" in text for text in model.asked[0].texts)  # the skill


def test_claude_goes_back_to_work_once_when_a_plugins_stop_hook_sends_it(box: Box, tmp_path: Path) -> None:
    claude = Claude(box)
    claude.install(write_plugin(tmp_path / "shop", Stop=SEND_BACK), "small@shop")
    with ScriptedModel([Say("Done."), Say("Now it is.")], box.listen()) as model:
        done = claude.ask(model, "Work.")
    assert json.loads(done.out)["result"] == "Now it is.", done
    assert "still open: C1" in model.last.texts[-1]
    assert [payload["stop_hook_active"] for payload in hooked(box)] == [False, True]
    assert [payload["last_assistant_message"] for payload in hooked(box)] == ["Done.", "Now it is."]
    assert {payload["cwd"] for payload in hooked(box)} == {str(box.work)}


def test_claude_finds_no_fault_with_a_plugin_that_has_a_readme_and_a_licence(
    box: Box, tmp_path: Path
) -> None:
    plugin = write_plugin(tmp_path / "shop", Stop="true")
    valid: list[str | Path] = ["plugin", "validate", plugin, "--profile", "directory", "--json"]
    done = Claude(box).command(*valid)
    assert (done.status, json.loads(done.out)["success"]) == (0, True), done
    (plugin / "README.md").unlink()
    found = json.loads(Claude(box).command(*valid).out)["directory"]["findings"]
    assert [finding["code"] for finding in found if finding["blocking"]] == ["README_MISSING"]


# Codex, whose tools have another shape for each family of models


def test_codex_calls_a_tool_and_its_model_reads_the_structured_result(box: Box) -> None:
    with ScriptedModel([ADD, Say("It is 3.")], box.listen()) as model:
        done = Codex(box, IN_CODEX).ask(model, "Add.")
    assert '"text":"It is 3."' in done.out, done
    offered = model.asked[0].tool("add")
    assert (offered.namespace, offered.name) == ("mcp__bare", "add")
    [result] = model.last.results
    assert result.structured["sum"] == 3
    assert result.structured["cwd"] == str(box.work)
    assert result.structured["environment"] == ["HOME", "LANG", "PATH", "TMPDIR"]


def test_codex_defers_a_servers_tools_for_some_models(box: Box) -> None:
    search = Call("tool_search", {"query": "add numbers", "limit": 5})
    with ScriptedModel([search, ADD, Say("It is 3.")], box.listen()) as model:
        Codex(box, IN_CODEX).ask(model, "Add.", arguments=["--model", "gpt-5.5"])
    assert "add" not in [tool.name for tool in model.asked[0].tools]
    assert model.last.results[1].structured["sum"] == 3


def test_codex_has_other_models_call_a_servers_tools_from_a_program(box: Box) -> None:
    program = (
        "const it = await tools.mcp__bare__add({a: 1, b: 2}); text(JSON.stringify(it.structuredContent))"
    )
    with ScriptedModel([Call("exec", {"input": program}), Say("It is 3.")], box.listen()) as model:
        Codex(box, IN_CODEX).ask(model, "Add.", arguments=["--model", "gpt-6.2-sol"])
    assert model.last.results[0].structured["sum"] == 3


def test_codex_passes_over_a_stop_hook_without_a_word_until_it_is_trusted(box: Box, tmp_path: Path) -> None:
    codex = Codex(box)
    codex.install(write_plugin(tmp_path / "shop", Stop=SEND_BACK), "small@shop")
    with ScriptedModel([Say("Done.")], box.listen()) as model:
        done = codex.ask(model, "Work.", plugins=True)
    assert (done.status, hooked(box), "hook" in done.out + done.err) == (0, [], False), done
    [hook] = codex.hooks()
    assert (hook["key"], hook["trustStatus"]) == ("small@shop:hooks/hooks.json:stop:0:0", "untrusted")
    codex.trust_hooks()
    with ScriptedModel([Say("Done."), Say("Now it is.")], box.listen()) as model:
        codex.ask(model, "Work.", plugins=True)
    assert "still open: C1" in model.last.texts[-1]
    assert [payload["stop_hook_active"] for payload in hooked(box)] == [False, True]
    [copied] = codex.home.glob("plugins/cache/shop/small/*")
    (copied / "new").touch()
    assert codex.hooks()[0]["trustStatus"] == "modified"  # nothing may write into an installed plugin


def test_codex_runs_a_stop_hook_where_trust_is_bypassed(box: Box, tmp_path: Path) -> None:
    codex = Codex(box)
    codex.install(write_plugin(tmp_path / "shop", Stop=SEND_BACK), "small@shop")

    def script(asked: Asked) -> Call | Say:
        return Say(f"{len(asked.results)} result") if asked.results else ADD

    with ScriptedModel(script, box.listen()) as model:
        codex.ask(model, "Work.", plugins=True, arguments=["--dangerously-bypass-hook-trust"])
    assert (model.asked[0].tool("add").namespace, len(model.asked)) == ("mcp__bare", 3)
    assert "still open: C1" in model.last.texts[-1]
    assert hooked(box)[0]["cwd"] == str(box.work)


# The protocol's own tools


def test_the_inspector_lists_and_calls_over_stdio(box: Box) -> None:
    [tool] = inspect(box, [sys.executable, BARE_SERVER], "tools/list")["tools"]
    assert tool["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    called = ("tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2")
    assert inspect(box, [sys.executable, BARE_SERVER], *called)["structuredContent"]["sum"] == 3


@pytest.fixture
def served(box: Box) -> int:
    """The port of the bare server over HTTP, for those who bring the token `open`."""
    return int(first_line(box.start([sys.executable, BARE_SERVER, "--http", "open"], box.environment())))


def test_the_inspector_lists_over_http_with_the_token_and_not_without(box: Box, served: int) -> None:
    target: list[str | Path] = [f"http://127.0.0.1:{served}/mcp"]
    assert inspected(box, target, "tools/list").status != 0
    token = ("--header", "Authorization: Bearer open")
    assert inspect(box, target, "tools/list", *token)["tools"][0]["name"] == "add"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_runner_passes_a_served_server(box: Box, served: int, scenario: str) -> None:
    with with_token(box, served, "open") as port:
        done = conformance(box, f"http://127.0.0.1:{port}/mcp", scenario)
    assert done.status == 0, done
    assert "0 failed, 0 warnings" in done.out, done


def test_the_conformance_runner_fails_a_server_that_it_may_not_enter(box: Box, served: int) -> None:
    assert conformance(box, f"http://127.0.0.1:{served}/mcp", "ping").status == 1
