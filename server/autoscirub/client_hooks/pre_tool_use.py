"""The PreToolUse hook: refuses a tool call that would write to what is guarded, and notes a verification."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from autoscirub.client_hooks.fence import Fences, Hit
from autoscirub.client_hooks.location import find_place
from autoscirub.client_hooks.payload import folder_of, session_of, text_of
from autoscirub.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_TOOLS = {"Write", "Edit", "MultiEdit", "NotebookEdit"}
"""Claude Code's; Codex gives apply_patch these names too, with a patch as the input."""
SHELL_TOOLS = {"Bash", "shell", "local_shell", "exec_command"}
_OWN_TOOLS = re.compile(r"mcp__.*autoscirub.*__(?:check|plan_round)")


def answer_tool(
    payload: dict[str, Any], project: str | None = None, state_dir: str | None = None
) -> dict[str, Any] | None:
    """The hook's answer at PreToolUse; None: no objection."""
    tool = text_of(payload, "tool_name") or ""
    values = payload.get("tool_input")
    arguments = values if isinstance(values, dict) else {"command": values}
    cwd = os.path.realpath(folder_of(payload))
    environment = dict(os.environ)
    if project:
        environment["AUTOSCIRUB_PROJECT"] = project
    if state_dir:
        environment["AUTOSCIRUB_STATE_DIR"] = state_dir
    if _OWN_TOOLS.fullmatch(tool):
        # The server starts from the folder that its client names; a shell, from its own working directory.
        begin = os.environ.get("CLAUDE_PROJECT_DIR") or cwd
        begin = os.path.realpath(begin) if os.path.isdir(begin) else cwd
        _note(payload, begin, environment, text_of(arguments, "project"), text_of(arguments, "state_dir"))
        return None
    fences = Fences(environment)
    hit = _hit(payload, tool, arguments, cwd, fences)
    if hit is None:
        if fences.faults and fences.at(cwd) is None:
            raise StateError(fences.faults[0])
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": hit.reason,
        }
    }


def _hit(
    payload: dict[str, Any], tool: str, arguments: dict[str, Any], cwd: str, fences: Fences
) -> Hit | None:
    path = text_of(arguments, "file_path", "notebook_path", "path")
    if tool in FILE_TOOLS and path is not None:
        return fences.literal_hit(os.path.expanduser(path), cwd)
    if tool not in {"apply_patch", *FILE_TOOLS, *SHELL_TOOLS}:
        return None

    from autoscirub.client_hooks.shell import Shell, Surroundings

    shell = Shell(fences)
    if tool not in SHELL_TOOLS:
        return shell.patch(text_of(arguments, "command", "input", "patch") or "", cwd)
    workdir = text_of(arguments, "workdir", "working_directory", "cwd")
    cwd = os.path.join(cwd, workdir) if workdir else cwd
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        hit = shell.arguments([each for each in command if isinstance(each, str)], cwd)
    else:
        hit = shell.look(command, Surroundings(cwd)) if isinstance(command, str) else None
    if hit is None:
        for call in shell.verifying:
            _note(payload, call.cwd or cwd, fences.environment, call.project, call.state_dir)
    return hit


def _note(
    payload: dict[str, Any],
    cwd: str,
    environment: Mapping[str, str],
    project: str | None,
    state_dir: str | None,
) -> None:
    """Remember that this conversation verifies: the round that this opens is its own."""
    from autoscirub.client_hooks.sessions import opened_sessions

    named = os.path.join(cwd, project) if project else None
    place = find_place(cwd, environment, project=named, state_dir=state_dir)
    if place is not None:
        with opened_sessions(place.state) as sessions:
            sessions.verified(session_of(payload))
            sessions.save()
