"""What a client says at a hook, read with care: any field may be missing or of another kind."""

from __future__ import annotations

import os
from typing import Any

_MOST_NAME = 200


def text_of(given: dict[str, Any], *names: str) -> str | None:
    """The first of the fields that holds text."""
    return next((value for name in names if isinstance(value := given.get(name), str) and value), None)


def folder_of(given: dict[str, Any]) -> str:
    """Where the agent works: `cwd`, else CLAUDE_PROJECT_DIR, else the hook's own working directory."""
    return text_of(given, "cwd") or os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def session_of(given: dict[str, Any]) -> str:
    """The conversation; those of a client that names none are one."""
    return (text_of(given, "session_id") or "unnamed")[:_MOST_NAME]


def agent_of(given: dict[str, Any]) -> str:
    """The conversation, and which agent of it, where it is one that another started."""
    agent = text_of(given, "agent_id")
    return f"{session_of(given)}/{agent[:_MOST_NAME]}" if agent else session_of(given)
