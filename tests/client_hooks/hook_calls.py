"""The payload of a Stop hook, and what tests do to a project before they send it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


def ending(project: Path, session: str = "mine", **more: Any) -> dict[str, Any]:
    return {
        "session_id": session,
        "cwd": str(project),
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        **more,
    }


def later(path: Path, text: str, seconds: float = 5) -> None:
    """Write a file, and let its time be some seconds from now: a file system's clock may be coarse."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    moment = time.time() + seconds
    os.utime(path, (moment, moment))


def reason(answer: Any) -> str:
    assert answer is not None
    assert list(answer) == ["decision", "reason"]
    assert answer["decision"] == "block"
    return answer["reason"]


def noted(hook: Any, project: Path, session: str = "mine", tool: str = "mcp__autoscirub__check") -> None:
    hook("pre-tool-use", {"session_id": session, "cwd": str(project), "tool_name": tool, "tool_input": {}})
