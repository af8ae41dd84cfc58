"""A judge of a test's own, a question to put to it, and what its replies come to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import anyio

from autoscirub.judging import ask_panel, read_checked
from autoscirub.judging.backends import Backend, open_backend, with_faults
from autoscirub.models import (
    AskKind,
    JudgeConfig,
    JudgeReply,
    JudgeRequest,
    Member,
    Usage,
    WorkspaceFile,
    WorkspaceManifest,
)


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


def laid_out(root: Path, files: dict[str, str]) -> Path:
    """A folder with these texts in it."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="")
    return root


def manifest_of(root: Path, paths: Iterable[str] | None = None) -> WorkspaceManifest:
    """The manifest of what lies in `root`: all of it, or these paths."""
    found = (
        paths
        if paths is not None
        else sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    )
    files = []
    for path in found:
        data = (root / path).read_bytes()
        files.append(WorkspaceFile(path=path, sha256=hashlib.sha256(data).hexdigest(), size=len(data)))
    return WorkspaceManifest(profile="criterion", files=files, digest="0" * 64)


def member_of(
    root: Path,
    reply: str | JudgeReply,
    answer: str | JudgeReply | None = None,
    *,
    subject: str = "C1",
    kind: AskKind = "criterion",
    manifest: WorkspaceManifest | None = None,
) -> Member:
    """What a judge comes to that sends `reply`, and `answer` to all that it is asked then; by default `reply` again."""
    first, then = (
        each if isinstance(each, JudgeReply) else JudgeReply(text=each)
        for each in (reply, reply if answer is None else answer)
    )
    judge = Saying(lambda _: first if len(judge.asked) == 1 else then)
    listed = manifest or manifest_of(root)

    async def asked() -> list[Member]:
        return await ask_panel(
            judge,
            question(subject, kind=kind),
            repeats=1,
            agree=1,
            read=lambda reply: read_checked(reply, subject, kind, root, listed),
            gate=anyio.CapacityLimiter(1),
        )

    [member] = anyio.run(asked)
    return member


def outcome(member: Member) -> str:
    """The word for it; `null` is the judge's own word that it cannot tell."""
    if member.error is not None:
        return "error"
    if member.answer is None:
        return "inconclusive" if member.problems else "null"
    return "satisfied" if member.answer else "not_satisfied"


def spelled(fields: dict[str, Any]) -> str:
    """A verdict as JSON. TOML has no null: `<null>` stands for it, and `<absent>` for a key that is left out."""
    found = {key: value for key, value in fields.items() if value != "<absent>"}
    return json.dumps(
        {key: None if value == "<null>" else value for key, value in found.items()}, ensure_ascii=False
    )
