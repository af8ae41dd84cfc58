"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""

from autoscirub.judging.backends import (
    Backend,
    Purse,
    ask_within,
    keep_so_far,
    open_backend,
    record_name,
    record_reply,
    repair_within,
    with_faults,
)
from autoscirub.judging.panel import PanelAnswer, ReadReply, ask_panel, panel_answer, panel_error, run_panels

__all__ = [
    "Backend",
    "PanelAnswer",
    "Purse",
    "ReadReply",
    "ask_panel",
    "ask_within",
    "keep_so_far",
    "open_backend",
    "panel_answer",
    "panel_error",
    "record_name",
    "record_reply",
    "repair_within",
    "run_panels",
    "with_faults",
from autoscirub.judging.profiles import CRITERION, HYPOTHESIS, Profile, load_profile, profile_names
from autoscirub.judging.workspace import Workspace, build_workspace
from autoscirub.judging.workspace_build import workspace_digest
from autoscirub.judging.workspace_limits import WorkspaceLimits

__all__ = [
    "CRITERION",
    "HYPOTHESIS",
    "Profile",
    "Workspace",
    "WorkspaceLimits",
    "build_workspace",
    "load_profile",
    "profile_names",
    "workspace_digest",
from autoscirub.judging.addressing import Addressed, Searched, addressing, search_addressing
from autoscirub.judging.looking import problems_of
from autoscirub.judging.prompting import PROMPT_VERSION, Prompt, criterion_prompt, hypothesis_prompt
from autoscirub.judging.replies import HYPOTHESIS, Reading, Unused, read_reply, repair_request

__all__ = [
    "HYPOTHESIS",
    "PROMPT_VERSION",
    "Addressed",
    "Prompt",
    "Reading",
    "Searched",
    "Unused",
    "addressing",
    "criterion_prompt",
    "hypothesis_prompt",
    "problems_of",
    "read_reply",
    "repair_request",
    "search_addressing",
from autoscirub.judging.tools import ToolSpec, WorkspaceTools, tool_server_command
from autoscirub.judging.tools_bounds import ToolAnswer, ToolBounds, ToolCall, ToolImage

__all__ = [
    "ToolAnswer",
    "ToolBounds",
    "ToolCall",
    "ToolImage",
    "ToolSpec",
    "WorkspaceTools",
    "tool_server_command",
]
