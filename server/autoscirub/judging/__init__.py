"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""

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
