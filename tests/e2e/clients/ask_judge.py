"""Asks a judge one question, as a program of its own: in the box, the backend and all that it starts see no other network.

`python ask_judge.py FILE` reads `{"root": …, "trusted": …, "judge": {…}, "question": {…}, "faults": …}` from a file, and prints
what came of it: the reply, or the kind, the message and the raw text of the error. With `faults`, it is asked once more.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio

from autoscirub.errors import AutoscirubError
from autoscirub.judging.backends import ask_within, open_backend, repair_within
from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest


async def ask(wanted: dict[str, Any]) -> dict[str, Any]:
    request = JudgeRequest.model_validate(wanted["question"])
    backend = open_backend(JudgeConfig(**wanted["judge"]), Path(wanted["root"]), trusted=wanted["trusted"])
    assert backend is not None
    try:
        if wanted["faults"] is None:
            reply = await ask_within(backend, request)
        else:
            reply = await repair_within(backend, request, JudgeReply(text=""), wanted["faults"])
    except AutoscirubError as error:
        usage = error.usage.model_dump() if hasattr(error, "usage") else None
        return {
            "error": str(error),
            "kind": type(error).__name__,
            "raw": getattr(error, "raw", ""),
            "usage": usage,
        }
    return {"reply": reply.model_dump(), "settings": backend.settings()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(ask, json.loads(Path(sys.argv[1]).read_text("utf-8")))))
