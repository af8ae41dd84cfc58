"""The tools that name a file: what is guarded, however the path is spelled, and what is not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.client_hooks.conftest import lay_down

from autoscirub.workflow.locks import freeze

GUARDED = [
    # the path from the project, a word of the refusal
    (".autoscirub/verification_report.json", "write_state"),
    (".autoscirub/new/file.json", "write_state"),
    ("./.autoscirub/x", "write_state"),
    ("results/../.autoscirub/x", "write_state"),
    ("nowhere/../.autoscirub/x", "write_state"),
    (".AutoSciRub/x", "write_state"),
    (".autoscirub//x", "write_state"),
    (".autoscirub/[x]*?.json", "write_state"),
    (".prereg.lock", "unfreeze"),
    (".PREREG.LOCK", "unfreeze"),
    ("prereg.toml", "unfreeze"),
    ("rubric.toml", "autoscirub scope"),
    ("Rubric.toml", "autoscirub scope"),
]
FREE = [
    "report.md",
    "results/results.json",
    "results/rubric.toml",
    "sub/prereg.toml",
    ".autoscirub.md",
    ".autoscirub-notes/x",
    "autoscirub.toml",
    "prereg.toml.bak",
    ".prereg.lock.md",
]


def write(project: Path, path: str, tool: str = "Write", **more: Any) -> dict[str, Any]:
    return {
        "session_id": "a",
        "cwd": str(project),
        "tool_name": tool,
        "tool_input": {"file_path": path, **more},
    }


def denied(answer: Any) -> str | None:
    if answer is None:
        return None
    output = answer["hookSpecificOutput"]
    assert (output["hookEventName"], output["permissionDecision"]) == ("PreToolUse", "deny")
    assert list(answer) == ["hookSpecificOutput"]
    return output["permissionDecisionReason"]


@pytest.mark.parametrize(("path", "word"), GUARDED)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_guarded_file_is_not_written_and_the_allowed_move_is_named(
    path, word, absolute, frozen, hook
) -> None:
    reason = denied(hook("pre-tool-use", write(frozen, f"{frozen}/{path}" if absolute else path)))
    assert reason is not None
    assert "The allowed move: " in reason
    assert word in reason


@pytest.mark.parametrize("path", FREE)
def test_any_other_file_is_written(path, frozen, hook) -> None:
    assert hook("pre-tool-use", write(frozen, path)) is None


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit"])
def test_every_tool_that_writes_a_file_is_looked_at(tool, frozen, hook) -> None:
    assert denied(hook("pre-tool-use", write(frozen, "rubric.toml", tool)))


def test_a_notebook_is_looked_at(frozen, hook) -> None:
    payload = {
        "cwd": str(frozen),
        "tool_name": "NotebookEdit",
        "tool_input": {"notebook_path": ".autoscirub/a.ipynb"},
    }
    assert denied(hook("pre-tool-use", payload))


def test_reading_and_unknown_tools_pass(frozen, hook) -> None:
    for tool in ("Read", "Grep", "Glob", "mcp__files__write", "Whatever", ""):
        assert hook("pre-tool-use", write(frozen, ".autoscirub/run_manifest.json", tool)) is None


def test_a_link_into_the_state_directory_is_followed(frozen, hook) -> None:
    (frozen / "notes").symlink_to(".autoscirub")
    (frozen / "latest.json").symlink_to(".autoscirub/verification_report.json")
    assert denied(hook("pre-tool-use", write(frozen, "notes/x")))
    assert denied(hook("pre-tool-use", write(frozen, "latest.json")))


def test_a_state_directory_elsewhere_is_guarded_too_and_the_default_is_not(tmp_path, hook) -> None:
    project = lay_down(tmp_path / "project")
    (project / "autoscirub.toml").write_text('state_dir = "kept/state"\n')
    freeze(project)
    assert denied(hook("pre-tool-use", write(project, "kept/state/run_manifest.json")))
    assert denied(hook("pre-tool-use", write(project, "rubric.toml")))
    assert hook("pre-tool-use", write(project, "kept/other")) is None


def test_a_state_directory_that_a_variable_names_is_guarded(tmp_path, hook, monkeypatch) -> None:
    project, state = lay_down(tmp_path / "project"), tmp_path / "state"
    monkeypatch.setenv("AUTOSCIRUB_STATE_DIR", str(state))
    freeze(project)
    assert denied(hook("pre-tool-use", write(project, str(state / "run_manifest.json"))))
    assert denied(
        hook(
            "pre-tool-use",
            {**write(project, ""), "tool_name": "Bash", "tool_input": {"command": "rm -rf ../state"}},
        )
    )


def test_a_project_below_the_working_directory_is_guarded(frozen, hook) -> None:
    (frozen.parent / ".git").mkdir()
    assert denied(hook("pre-tool-use", write(frozen.parent, "project/.autoscirub/x")))
    assert denied(hook("pre-tool-use", write(frozen.parent, "project/rubric.toml")))
    payload = {
        "cwd": str(frozen.parent),
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf project/.autoscirub"},
    }
    assert denied(hook("pre-tool-use", payload))


def test_what_is_not_frozen_is_free(tmp_path, hook) -> None:
    project = lay_down(tmp_path / "project")
    (project / "rubric.toml").unlink()
    freeze(project)  # the predictions alone
    assert denied(hook("pre-tool-use", write(project, "prereg.toml")))
    assert hook("pre-tool-use", write(project, "rubric.toml")) is None


def test_a_rubric_in_the_published_form_is_free_to_no_hand(tmp_path, hook) -> None:
    project = lay_down(tmp_path / "project")
    freeze(project)
    reason = denied(hook("pre-tool-use", write(project, ".autoscirub/executable_rubric.json")))
    assert reason is not None
    assert "write_state" in reason


def test_a_broken_manifest_does_not_open_the_fence(frozen, hook) -> None:
    (frozen / ".autoscirub" / "run_manifest.json").write_text("{")
    assert denied(hook("pre-tool-use", write(frozen, ".autoscirub/x")))
    assert denied(hook("pre-tool-use", write(frozen, "prereg.toml")))


PATCHES = [
    ("*** Add File: .autoscirub/x.json\n+{}", True),
    ("*** Update File: rubric.toml\n@@\n-a\n+b", True),
    ("*** Delete File: .prereg.lock", True),
    ("*** Update File: notes.md\n*** Move to: .autoscirub/notes.md\n@@\n-a\n+b", True),
    ("*** Update File: report.md\n@@\n-see .autoscirub\n+*** Update File rubric.toml", False),
    ("*** Add File: results/x.json\n+{}", False),
]


@pytest.mark.parametrize(("body", "refused"), PATCHES)
@pytest.mark.parametrize("tool", ["apply_patch", "Write", "Edit"])
def test_a_patch_is_read_for_the_files_that_it_names(body, refused, tool, frozen, hook) -> None:
    text = f"*** Begin Patch\n{body}\n*** End Patch\n"
    payload = {"cwd": str(frozen), "tool_name": tool, "tool_input": {"command": text}}
    assert bool(denied(hook("pre-tool-use", payload))) is refused


@pytest.mark.parametrize("tool", ["Bash", "shell", "local_shell", "exec_command"])
@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({"command": "rm -rf .autoscirub"}, True),
        ({"cmd": "rm -rf .autoscirub"}, True),
        ({"command": ["rm", "-rf", ".autoscirub"]}, True),
        ({"command": ["bash", "-lc", "rm -rf .autoscirub"]}, True),
        ({"command": ["rm", "-rf", ".auto*"]}, False),  # no shell sees it, and no file has that name
        ({"command": "rm x", "workdir": ".autoscirub"}, True),
        ({"command": "cat .autoscirub/x"}, False),
        ({"command": ["cat", ".autoscirub/x"]}, False),
        ({"command": 3}, False),
        ({}, False),
    ],
)
def test_a_command_is_found_in_every_form_that_a_client_gives_it(tool, values, refused, frozen, hook) -> None:
    payload = {"cwd": str(frozen), "tool_name": tool, "tool_input": values}
    assert bool(denied(hook("pre-tool-use", payload))) is refused


def test_the_folder_is_the_input_s_else_the_client_s_else_the_hook_s_own(
    frozen, hook, monkeypatch, tmp_path
) -> None:
    payload = {"tool_name": "Write", "tool_input": {"file_path": "rubric.toml"}}
    monkeypatch.chdir(tmp_path)
    assert hook("pre-tool-use", payload) is None
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(frozen))
    assert denied(hook("pre-tool-use", payload))
    assert hook("pre-tool-use", {**payload, "cwd": str(tmp_path)}) is None
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(frozen)
    assert denied(hook("pre-tool-use", payload))


def test_nothing_is_written_at_a_tool_call_that_verifies_nothing(frozen, hook, tree) -> None:
    before = tree(frozen)
    hook("pre-tool-use", write(frozen, "report.md"))
    hook("pre-tool-use", write(frozen, "rubric.toml"))
    hook("pre-tool-use", {"cwd": str(frozen), "tool_name": "Bash", "tool_input": {"command": "ls; cat a"}})
    assert tree(frozen) == before


NOTED = [
    ("mcp__autoscirub__check", {}, True),
    ("mcp__plugin_autoscirub_autoscirub__check", {"fresh": True}, True),
    ("mcp__autoscirub__plan_round", {"targets": []}, True),
    ("mcp__autoscirub__next", {}, False),
    ("mcp__other__check", {}, False),
    ("Bash", {"command": "cd . && autoscirub check --json | tee /dev/null"}, True),
    ("Bash", {"command": "python -m autoscirub round"}, True),
    ("Bash", {"command": "python3 -P -m autoscirub check"}, True),
    ("Bash", {"command": "uv run autoscirub check"}, True),
    ("Bash", {"command": "uvx autoscirub check"}, True),
    ("Bash", {"command": "pipx run autoscirub check"}, True),
    ("Bash", {"command": "autoscirub check --read-only"}, False),
    ("Bash", {"command": "autoscirub status; echo autoscirub check"}, False),
]


@pytest.mark.parametrize(("tool", "values", "noted"), NOTED)
def test_a_call_that_verifies_is_noted_and_no_other(tool, values, noted, frozen, hook) -> None:
    payload = {"session_id": "mine", "cwd": str(frozen), "tool_name": tool, "tool_input": values}
    assert hook("pre-tool-use", payload) is None
    notes = frozen / ".autoscirub" / "logs" / "sessions.json"
    assert notes.exists() is noted
    if noted:
        assert "verified" in json.loads(notes.read_text())["sessions"]["mine"]


def test_a_call_of_the_server_is_noted_where_the_server_begins_to_look(
    frozen, tmp_path, hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(frozen))
    called = {"tool_name": "mcp__autoscirub__check", "tool_input": {}, "cwd": str(elsewhere)}
    hook("pre-tool-use", {"session_id": "mine", **called})
    assert (frozen / ".autoscirub" / "logs" / "sessions.json").exists()


def test_a_call_about_another_project_is_noted_there(frozen, tmp_path, hook) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for number, values in enumerate(
        [{"project": str(frozen)}, {"project": os.path.relpath(frozen, elsewhere)}]
    ):
        payload = {"session_id": f"s{number}", "cwd": str(elsewhere), "tool_name": "mcp__autoscirub__check"}
        hook("pre-tool-use", {**payload, "tool_input": values})
    command = {"command": f"autoscirub check --project {frozen}"}
    hook(
        "pre-tool-use",
        {"session_id": "s2", "cwd": str(elsewhere), "tool_name": "Bash", "tool_input": command},
    )
    notes = json.loads((frozen / ".autoscirub" / "logs" / "sessions.json").read_text())
    assert set(notes["sessions"]) == {"s0", "s1", "s2"}
