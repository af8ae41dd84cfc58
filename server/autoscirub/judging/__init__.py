"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""

from autoscirub.judging.addressing import Addressed, Searched, search_addressing
from autoscirub.judging.backends import (
    Backend,
    JudgeProgram,
    Purse,
    ask_within,
    keep_so_far,
    open_backend,
    price_of,
    record_name,
    record_reply,
    repair_within,
    with_faults,
)
from autoscirub.judging.looking import problems_of
from autoscirub.judging.panel import (
    ReadReply,
    ask_panel,
    panel_answer,
    panel_error,
    verdict_fault,
)
from autoscirub.judging.profiles import CRITERION, HYPOTHESIS, Profile, load_profile, profile_names
from autoscirub.judging.prompting import PROMPT_VERSION, Prompt, criterion_prompt, hypothesis_prompt
from autoscirub.judging.replies import HYPOTHESIS_SUBJECT, Reading, read_reply, repair_request
from autoscirub.judging.tools import ToolSpec, WorkspaceTools
from autoscirub.judging.tools_bounds import ToolAnswer, ToolBounds, ToolCall, ToolImage
from autoscirub.judging.workspace import Workspace, build_workspace, measure_workspace
from autoscirub.judging.workspace_limits import WorkspaceLimits
from autoscirub.judging.workspace_measure import Digests
from autoscirub.judging.workspace_shown import workspace_digest

__all__ = [
    "CRITERION",
    "HYPOTHESIS",
    "HYPOTHESIS_SUBJECT",
    "PROMPT_VERSION",
    "Addressed",
    "Backend",
    "Digests",
    "JudgeProgram",
    "Profile",
    "Prompt",
    "Purse",
    "ReadReply",
    "Reading",
    "Searched",
    "ToolAnswer",
    "ToolBounds",
    "ToolCall",
    "ToolImage",
    "ToolSpec",
    "Workspace",
    "WorkspaceLimits",
    "WorkspaceTools",
    "ask_panel",
    "ask_within",
    "build_workspace",
    "criterion_prompt",
    "hypothesis_prompt",
    "keep_so_far",
    "load_profile",
    "measure_workspace",
    "open_backend",
    "panel_answer",
    "panel_error",
    "price_of",
    "problems_of",
    "profile_names",
    "read_reply",
    "record_name",
    "record_reply",
    "repair_request",
    "repair_within",
    "search_addressing",
    "verdict_fault",
    "with_faults",
    "workspace_digest",
]
