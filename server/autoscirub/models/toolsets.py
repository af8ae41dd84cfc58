"""The MCP tools by name, in toolsets: those that every agent gets, and those that can be added."""

from __future__ import annotations

CORE = "core"
"""The toolset that is always there."""

TOOLSETS: dict[str, tuple[str, ...]] = {
    CORE: (
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
"""Toolset -> its tools, in the order in which they are listed."""

BUILT: frozenset[str] = frozenset((*TOOLSETS[CORE], "rerun", *TOOLSETS["audit"]))
"""The tools that this version has; the others arrive with the features that they serve."""
