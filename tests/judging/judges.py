"""A judge of a test's own, and a question to put to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from autoscirub.judging.backends import Backend, open_backend, with_faults
from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest, Usage


def question(subject: str = "c1", **changes: Any) -> JudgeRequest:
    """A question on one criterion, with whatever else a test asks for."""
    own = {
        "kind": "criterion",
        "subject": subject,
        "system": "a judge",
        "prompt": "is it so?",
        "answer_schema": {},
        "workspace": "/",
        "seconds": 60.0,
        "turns": 10,
        "prompt_digest": "a" * 64,
        "workspace_digest": "b" * 64,
    }
    return JudgeRequest.model_validate({**own, **changes})


class Saying:
    """A judge of the test's own: does what it is told."""

    name = "saying"

    def __init__(self, answer: Callable[[JudgeRequest], Any], price: float | None = None) -> None:
        self._answer, self._price = answer, price
        self.asked: list[JudgeRequest] = []

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        self.asked.append(request)
        found = self._answer(request)
        return await found if hasattr(found, "__await__") else found

    async def repair(self, request: JudgeRequest, _reply: JudgeReply, faults: str) -> JudgeReply:
        return await self.ask(with_faults(request, faults))

    def settings(self) -> dict[str, Any]:
        return {"backend": self.name}

    def price(self, _request: JudgeRequest) -> float | None:
        return self._price


def cost(amount: float | None) -> JudgeReply:
    return JudgeReply(text="{}", usage=Usage(cost_usd=amount))


def failing(error: BaseException) -> Any:
    raise error


def command(root: Path, *words: str, trusted: bool = True) -> Backend:
    backend = open_backend(JudgeConfig(backend="command", command=list(words)), root, trusted=trusted)
    assert backend is not None
    return backend
