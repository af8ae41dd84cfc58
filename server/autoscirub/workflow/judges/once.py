"""Putting one question to a judge once: the whole panel, on a fresh copy of the work that is verified afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, BlindingError, JudgeError
from autoscirub.judging import ask_panel, panel_answer, panel_error, read_checked
from autoscirub.judging.workspace import build_workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import anyio

    from autoscirub.judging.backends import SpendLimit
    from autoscirub.judging.workspace import Workspace
    from autoscirub.models import Member
    from autoscirub.workflow.judges.questions import JudgeQuestion, Questions

_WAIT = "wait until whatever writes there is done, and check again"


@dataclass(frozen=True)
class PanelResult:
    """What a panel answered; nobody was asked where there are no members."""

    members: list[Member]
    answer: bool | None
    error: str | None
    """Why there is no answer that counts."""


async def ask_once(
    questions: Questions,
    question: JudgeQuestion,
    *,
    gate: anyio.CapacityLimiter,
    spend_limit: SpendLimit,
    begins: Callable[[], Awaitable[None]],
) -> PanelResult:
    """Put one question to the panel. `begins` is awaited when the copy is there and before anybody is asked.

    Raises JudgeError where there is no judge, and ConfigError for a panel that could never agree. Whatever fails on
    the way, the copy is removed.
    """
    import anyio
    from anyio.to_thread import run_sync

    config, backend = questions.config, questions.backend
    if backend is None:
        raise JudgeError("no judge is set up")
    try:
        workspace = await run_sync(_build, questions, question)
    except AutoscirubError as cause:
        return PanelResult([], None, str(cause))
    try:
        await begins()
        members = await ask_panel(
            backend,
            question.request(config, str(workspace.root)),
            repeats=config.repeats,
            agree=config.agree,
            read=lambda reply: read_checked(
                reply, question.subject, question.kind, workspace.root, workspace.manifest
            ),
            gate=gate,
            spend_limit=spend_limit,
        )
        answer, error = panel_answer(members, config.agree), panel_error(members)
        try:
            await run_sync(workspace.verify)
            await run_sync(_require_unchanged, questions, question)
        except AutoscirubError as changed:
            answer, error = None, error or str(changed)
    finally:
        with anyio.CancelScope(
            shield=True
        ):  # an answer that is there must not be lost to an interruption here
            await run_sync(workspace.close)
    return PanelResult(members, answer, error)


def _build(questions: Questions, question: JudgeQuestion) -> Workspace:
    workspace = build_workspace(questions.opened, question.manifest.profile, criterion=question.criterion)
    if workspace.manifest.digest != question.manifest.digest:
        workspace.close()
        raise BlindingError(f"what the judge is shown changed while the question was put; {_WAIT}")
    return workspace


def _require_unchanged(questions: Questions, question: JudgeQuestion) -> None:
    """Raise BlindingError when the project no longer shows what the judge has read."""
    if questions.manifest_of(question).digest != question.manifest.digest:
        raise BlindingError(f"what the judge was shown changed meanwhile; {_WAIT}")
