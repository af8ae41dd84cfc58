"""`autoscirub hook EVENT`: one JSON document in, one or none out, and never an error that would hold a client up."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

EVENTS = ("stop", "pre-tool-use")
_INPUT_LIMIT = 16 * 1024 * 1024


def main(event: str, project: str | None = None, state_dir: str | None = None) -> int:
    """Answer one hook on stdout. The exit status is always 0: a broken state blocks nobody.

    A failure is one line on stderr. The answer has the form that Claude Code and Codex share.
    """
    try:
        if os.environ.get("AUTOSCIRUB_HOOKS", "").lower() == "off":
            return 0
        payload = json.loads(sys.stdin.buffer.read(_INPUT_LIMIT))
        if not isinstance(payload, dict):
            raise ValueError("the input is no JSON object")
        answer = _answer(event, payload, project, state_dir)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - the outermost edge: a fault of ours must not stop somebody's work
        line = " ".join(f"{type(error).__name__}: {error}".split())
        message = "".join(each if each.isprintable() else "?" for each in line)[:300]
        sys.stderr.write(f"autoscirub hook {event}: not checked: {message}\n")
    return 0


def _answer(
    event: str, payload: dict[str, Any], project: str | None, state_dir: str | None
) -> dict[str, Any] | None:
    if event == "stop":
        from autoscirub.client_hooks.stop import answer_stop

        return answer_stop(payload, project, state_dir)
    from autoscirub.client_hooks.pre_tool_use import answer_tool

    return answer_tool(payload, project, state_dir)
