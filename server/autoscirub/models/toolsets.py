"""The names of the MCP tools, by toolset. The server offers them, and the skills are held against them."""

from __future__ import annotations

__all__ = ["BUILT", "DEFAULT_TOOLSETS", "TOOLSETS", "TOOL_WRITERS"]

TOOLSETS: dict[str, tuple[str, ...]] = {
    "core": (
        "next",
        "write_state",
        "freeze",
        "check",
        "plan_round",
        "evaluate_expr",
        "check_artifact",
        "verify_criterion",
        "blind_workspace",
        "judge",
        "job",
    ),
    "research": ("profile_data", "find_literature"),
    "evidence": ("rerun", "carriage_run", "carriage_read"),
    "submissions": ("score_submission", "leaderboard"),
    "audit": ("status", "validate_state", "verify", "audit"),
}
"""Toolset -> its tools, in the order in which they are shown."""

DEFAULT_TOOLSETS: tuple[str, ...] = ("core",)
"""What an agent sees where nothing else was asked for."""

BUILT: tuple[str, ...] = (*TOOLSETS["core"], "rerun", *TOOLSETS["audit"])
"""The tools that this version has. A skill may name no other."""

TOOL_WRITERS: dict[str, str] = {
    "next": "any",
    "write_state": "agent",
    "freeze": "freeze",
    "check": "check",
    "plan_round": "round",
    "verify_criterion": "criterion",
    "judge": "judge",
    "rerun": "rerun",
    "verify": "verify",
}
"""Tool -> the writer in `state/layout.toml` that it stands for; a tool that is not here writes no state file."""
