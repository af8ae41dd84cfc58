"""The hooks of the installed plugin in the real clients: who is sent back, what is refused, and who is left alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest
from tests.client_hooks.conftest import lay_down
from tests.client_hooks.hook_calls import later
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.installed import Installed, install, sent_back
from tests.e2e.clients.sandboxing import Box
from tests.e2e.clients.scripted_model import Asked, Call, Say, ScriptedModel, Turn
from tests.e2e.test_mcp import wait_for_start

from autoscirub.client_hooks.sessions import opened_sessions
from autoscirub.store import StateStore
from autoscirub.store.jobs import jobs, running
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze

pytestmark = pytest.mark.slow

DONE, OPEN = Say("All done."), Say("Not done: enough is open, there are 3 samples.")
LEAVE = "Or end now: say in your answer which of these are open and why"


def lay_checked(project: Path) -> None:
    """A frozen project whose round 1 another conversation has opened: one requirement of two is met."""
    if project.exists():
        project.rmdir()
    lay_down(project)
    freeze(project)
    (project / "results" / "results.json").write_text(json.dumps({"slope": 0.5, "n": 3}), "utf-8")
    with opened_sessions(str(project / ".autoscirub")) as sessions:
        sessions.verified("another")
        sessions.save()
    assert check(project).ended is None


def record_of(project: Path) -> dict[str, bytes]:
    """The project's files but for what the hooks note."""
    found = {str(path.relative_to(project)): path for path in project.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if "/logs/" not in name}


# Sent back


def opens_the_round(client: Installed) -> Call:
    return Call("check")


def changes_a_file(client: Installed) -> Call:
    return client.shell("echo Other words. > report.md")


SENT_BACK = [
    (
        opens_the_round,
        "autoscirub: the round that you opened is not finished.",
        'Next: call plan_round of the autoscirub MCP server with targets for "enough"',
    ),
    (
        changes_a_file,
        "autoscirub: the requirements here are frozen, and files have changed since the last check: report.md.",
        "Next: call check of the autoscirub MCP server",
    ),
]


@pytest.mark.parametrize(("does", "why", "then"), SENT_BACK, ids=["own-round", "changed"])
def test_who_says_done_too_early_is_sent_back_once_and_may_end_by_saying_what_is_open(
    client: Installed, does: Callable[[Installed], Call], why: str, then: str
) -> None:
    lay_checked(client.box.work)
    with ScriptedModel([does(client), DONE, OPEN], client.box.listen()) as model:
        done = client.ask(model)
    assert sent_back(model.asked[1]) == []
    [message] = sent_back(model.last)
    assert message.startswith(f"{why}\n1 of 2 requirements were satisfied in round 1; open:\n✗ enough: ")
    assert "results.n >= 30" in message
    assert f"\n{then}" in message
    assert f"\n{LEAVE}" in message
    assert client.hooks_that_ran() == ["pre-tool-use", "stop", "stop"]
    assert OPEN.text in done.out


def test_before_the_first_check_the_open_criteria_are_all_of_the_frozen_ones(
    in_claude: Installed, tmp_path: Path
) -> None:
    project = lay_down(tmp_path / "project")
    freeze(project)
    client = in_claude.within(project)
    write = Call("Write", {"file_path": str(project / "results" / "results.json"), "content": "{}"})
    with ScriptedModel([write, DONE, OPEN], client.box.listen()) as model:
        client.ask(model)
    [message] = sent_back(model.last)
    assert "None of the requirements was checked yet:\n? written\n? enough\nNext: call check" in message
    assert client.hooks_that_ran() == ["pre-tool-use", "stop", "stop"]


def test_codex_passes_over_the_hooks_without_a_word_until_they_are_trusted(box: Box, noting: Path) -> None:
    client = install("codex", box, noting)
    lay_checked(box.work)
    assert [hook["trustStatus"] for hook in Codex(box).hooks()] == ["untrusted"] * 3
    write = client.shell("echo x > .autoscirub/x; echo Other words. > report.md")
    with ScriptedModel([write, Call("check"), DONE], box.listen()) as model:
        done = client.ask(model)
    assert (client.hooks_that_ran(), sent_back(model.last)) == ([], [])
    assert (box.work / ".autoscirub" / "x").exists()
    assert (done.status, "hook" in done.out + done.err) == (0, False), done


def test_in_claude_a_subagent_that_worked_is_sent_back_once_and_one_that_only_read_is_not(
    in_claude: Installed, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    lay_checked(project)
    client = in_claude.within(project)
    requests: dict[str, list[Asked]] = {"READING": [], "WRITING": [], "Go on.": []}
    read = Call("Read", {"file_path": str(project / "report.md")})
    write = Call("Write", {"file_path": str(project / "new.md"), "content": "New."})
    turns: dict[str, list[Turn]] = {"READING": [read, Say("It was read.")], "WRITING": [write, DONE, OPEN]}
    started = {"description": "A part.", "subagent_type": "general-purpose", "run_in_background": False}
    parts = [Call("Agent", {**started, "prompt": part}) for part in ("WRITING", "READING")]
    turns["Go on."] = [*parts, DONE, OPEN]

    def script(asked: Asked) -> Turn:
        [who] = [name for name in requests if any(text.strip() == name for text in asked.texts)]
        requests[who].append(asked)
        return turns[who][len(requests[who]) - 1]

    with ScriptedModel(script, client.box.listen()) as model:
        client.ask(model)
    assert [len(requests[who]) for who in turns] == [len(turns[who]) for who in turns]
    [message] = sent_back(requests["WRITING"][-1])
    assert "files have changed since the last check: new.md." in message
    assert message.endswith(
        "\nWhoever started you sees only your next answer: put your whole report into it."
    )
    assert sent_back(requests["READING"][-1]) == []
    # And who leads them is sent back for itself, once.
    got = requests["Go on."][1].results[0].text
    assert (OPEN.text in got, DONE.text in got) == (True, False)
    assert [len(sent_back(asked)) for asked in requests["Go on."]] == [0, 0, 0, 1]
    assert client.hooks_that_ran() == ["pre-tool-use", *["stop"] * 5]


def test_in_codex_a_subagent_that_worked_is_sent_back_once_too(in_codex: Installed, tmp_path: Path) -> None:
    project = tmp_path / "project"
    lay_checked(project)
    client = in_codex.within(project)
    requests: dict[str, list[Asked]] = {"WRITING": [], "Go on.": []}

    def wait(asked: Asked) -> Call:
        return Call("wait_agent", {"targets": [asked.results[0].structured["agent_id"]]})

    turns: dict[str, list[Turn | Callable[[Asked], Turn]]] = {
        "WRITING": [client.shell("echo New. > new.md"), DONE, OPEN],
        "Go on.": [Call("spawn_agent", {"message": "WRITING"}), wait, DONE, OPEN],
    }

    def script(asked: Asked) -> Turn:
        [who] = [name for name in requests if name in asked.texts]
        requests[who].append(asked)
        turn = turns[who][len(requests[who]) - 1]
        return turn(asked) if callable(turn) else turn

    with ScriptedModel(script, client.box.listen()) as model:
        client.ask(model)
    [message] = sent_back(requests["WRITING"][-1])
    assert "files have changed since the last check: new.md." in message
    assert message.endswith(
        "\nWhoever started you sees only your next answer: put your whole report into it."
    )
    assert OPEN.text in requests["Go on."][2].results[1].text
    assert [len(sent_back(asked)) for asked in requests["Go on."]] == [0, 0, 0, 1]
    assert client.hooks_that_ran() == ["pre-tool-use", *["stop"] * 4]


# Refused


def test_in_claude_writing_to_what_is_guarded_is_refused_with_the_allowed_move_and_reading_passes(
    in_claude: Installed, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    lay_checked(project)
    client, before = in_claude.within(project), record_of(project)
    report, rubric = (str(project / name) for name in (".autoscirub/verification_report.json", "rubric.toml"))
    calls = [
        Call("Read", {"file_path": report}),
        Call("Read", {"file_path": rubric}),
        client.shell("cat .autoscirub/run_manifest.json rubric.toml"),
        Call("Write", {"file_path": report, "content": "{}"}),
        client.shell("echo x > .autoscirub/x"),
        Call("Edit", {"file_path": rubric, "old_string": "30", "new_string": "3"}),
    ]
    with ScriptedModel([*calls, Say("I see.")], client.box.listen()) as model:
        client.ask(model)
    results = model.last.results
    assert [result.is_error for result in results] == [False] * 3 + [True] * 3
    assert all("results.n >= 30" in result.text for result in results[:3])
    wrote, echoed, edited = (result.text for result in results[3:])
    assert "autoscirub: .autoscirub (the state directory) is not written" in wrote
    assert "autoscirub: .autoscirub (the state directory) is not written" in echoed
    assert "write_state" in wrote
    assert "write_state" in echoed
    assert "autoscirub: rubric.toml (the rubric) is not written" in edited
    assert "a person changes the scope: autoscirub scope --reason" in edited
    assert record_of(project) == before
    assert client.hooks_that_ran() == [*["pre-tool-use"] * 4, "stop"]  # none for Read


def test_in_codex_a_patch_and_a_shell_that_write_to_what_is_guarded_are_refused(
    in_codex: Installed, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    lay_checked(project)
    client, before = in_codex.within(project), record_of(project)
    rubric = "*** Begin Patch\n*** Update File: rubric.toml\n@@\n-x\n+y\n*** End Patch"
    state = "*** Begin Patch\n*** Add File: .autoscirub/x\n+x\n*** End Patch"
    calls = [
        client.shell("cat .autoscirub/run_manifest.json rubric.toml"),
        Call("apply_patch", {"input": rubric}),
        Call("apply_patch", {"input": state}),
        client.shell("echo x > .autoscirub/x"),
    ]
    with ScriptedModel([*calls, Say("I see.")], client.box.listen()) as model:
        client.ask(model, "--model", "gpt-5.5")
    read, updated, added, echoed = (result.text for result in model.last.results)
    assert "results.n >= 30" in read
    for message in (updated, added, echoed):
        assert "blocked by PreToolUse hook: autoscirub: " in message
    assert "rubric.toml (the rubric) is not written" in updated
    assert "a person changes the scope: autoscirub scope --reason" in updated
    for message in (added, echoed):
        assert "autoscirub: .autoscirub (the state directory) is not written" in message
        assert "write_state" in message
    assert record_of(project) == before
    assert client.hooks_that_ran() == [*["pre-tool-use"] * 4, "stop"]


# Left alone: in each of these a hook ran, and let the agent end


def ends_at_once(client: Installed, *turns: Turn) -> ScriptedModel:
    """The agent ends the first time that it wants to: the script has no turn for another."""
    with ScriptedModel([*turns, DONE], client.box.listen()) as model:
        done = client.ask(model)
    assert sent_back(model.last) == []
    assert DONE.text in done.out
    assert client.hooks_that_ran().count("stop") == 1
    return model


def test_a_conversation_beside_another_s_open_round_is_left_alone(client: Installed) -> None:
    lay_checked(client.box.work)
    later(client.box.work / "report.md", "Another's words.\n")
    report = str(client.box.work / "report.md")
    ends_at_once(client, *([Call("Read", {"file_path": report})] if client.name == "claude" else []))


def test_where_nothing_has_changed_since_the_check_an_agent_is_left_alone(client: Installed) -> None:
    lay_checked(client.box.work)
    ends_at_once(client, client.shell("cat report.md"))


def test_while_a_job_of_its_own_is_under_way_an_agent_is_left_alone(client: Installed) -> None:
    lay_checked(client.box.work)
    state = client.box.work / ".autoscirub"
    with StateStore(state).writing():  # the job waits for us
        model = ends_at_once(client, changes_a_file(client), Call("check", {"wait_seconds": 0}))
        assert model.last.results[-1].structured["state"] == "running"
        [job] = [job for job in jobs(state) if job.id in running(state)]
        wait_for_start(job)
    with filelock.FileLock(job.folder / ".lock").acquire(timeout=30):
        assert job.answer is not None  # it outlived the client, and came to its end


def test_without_a_frozen_rubric_an_agent_is_left_alone(client: Installed) -> None:
    shutil.copytree(lay_down(client.box.work.parent / "slope"), client.box.work, dirs_exist_ok=True)
    (client.box.work / "rubric.toml").unlink()
    freeze(client.box.work)
    ends_at_once(client, changes_a_file(client))
    assert (client.box.work / "report.md").read_text("utf-8") == "Other words.\n"


def test_in_a_project_without_autoscirub_an_agent_is_left_alone(client: Installed) -> None:
    ends_at_once(client, changes_a_file(client))
    assert record_of(client.box.work) == {"report.md": b"Other words.\n"}
