"""Reads fields of the payload that a client sends to a hook: any may be missing or of another type."""

from __future__ import annotations

import os
from typing import Any

_MOST_NAME = 200


def text_of(payload: dict[str, Any], *names: str) -> str | None:
    """The first of the fields that holds text."""
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), None)


def folder_of(payload: dict[str, Any]) -> str:
    """Where the agent works: `cwd`, else CLAUDE_PROJECT_DIR, else the hook's own working directory."""
    return text_of(payload, "cwd") or os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def session_of(payload: dict[str, Any]) -> str:
    """The id of the conversation; all that name none count as one."""
    return (text_of(payload, "session_id") or "unnamed")[:_MOST_NAME]


def agent_of(payload: dict[str, Any]) -> str:
    """The id of the conversation, with that of the agent where another agent started it."""
    agent = text_of(payload, "agent_id")
    return f"{session_of(payload)}/{agent[:_MOST_NAME]}" if agent else session_of(payload)
