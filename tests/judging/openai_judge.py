"""The openai judge on a server on loopback, asked one question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.e2e.clients.model_server import ModelServer
from tests.judging.judges import question as question_of

from autoscirub.judging.backends import Backend, ask_within, open_backend
from autoscirub.models import JudgeConfig, JudgeReply

KEY = "sk-canary/0123456789abcdef"
VERDICT = '{"criterion_id": "c1", "satisfied": true}'
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
both = pytest.mark.parametrize("api", ["chat", "responses"])


def judge(base_url: str | None, *, trusted: bool = True, **settings: Any) -> Backend:
    config = JudgeConfig(backend="openai", base_url=base_url, **{"model": "m", **settings})
    backend = open_backend(config, Path("/nowhere"), trusted=trusted)
    assert backend is not None
    return backend


def ask(
    server: ModelServer, api: str, workspace: Path, *, request: dict[str, Any] | None = None, **settings: Any
) -> JudgeReply:
    asked = question_of(**{"workspace": str(workspace), "answer_schema": SCHEMA, **(request or {})})
    return anyio.run(ask_within, judge(server.base_url, api=api, **settings), asked)
