"""A panel: one question to several judges at once, each on its own, and the one answer that enough of them give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, ConfigError, JudgeError
from autoscirub.judging.backends import (
    GRACE_SECONDS,
    NotAsked,
    OverLimit,
    ask_within,
    one_line,
    repair_within,
)
from autoscirub.models import CriterionVerdict, HypothesisVerdict, Member, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import anyio

    from autoscirub.judging.backends import Backend, SpendLimit
    from autoscirub.models import JudgeReply, JudgeRequest


@dataclass(frozen=True)
class ReadReply:
    """A reply, read: a verdict, or the faults for which there is none."""

    verdict: CriterionVerdict | HypothesisVerdict | None = None
    faults: str = ""
    """What the judge is told when it is asked to repair its reply. Looked at where there is no verdict."""
    problems: list[str] = field(default_factory=list)
    """Why a verdict does not count as it stands: its flag is then null."""


def panel_answer(members: Sequence[Member], agree: int) -> bool | None:
    """The one value that at least `agree` members give; None where none does, or both do.

    Null is no value: members that cannot tell, or failed, agree on nothing.
    """
    answers = [member.answer for member in members]
    enough = [value for value in (True, False) if sum(answer is value for answer in answers) >= agree]
    return enough[0] if len(enough) == 1 else None


def verdict_fault(members: Sequence[Member], agree: int, answer: bool | None) -> str | None:
    """Why a kept verdict cannot be one that this package reached; None when it can.

    A member counts as its own verdict says, or not at all where that has problems, or where there is none.
    """
    for member in members:
        flag = None if member.verdict is None else member.verdict.flag
        if member.answer is not (None if member.problems or member.error else flag):
            return f"member {member.member} counts as {member.answer}, and its verdict says {flag}"
    if panel_answer(members, agree) is not answer:
        return f"it says {answer}, and its members do not come to that"
    return None


def panel_error(members: Sequence[Member]) -> str | None:
    """Why a panel has no answer: not one member gave a verdict. None where one did."""
    if any(member.error is None for member in members):
        return None
    reasons = list(dict.fromkeys(member.error or "" for member in members))
    if len(reasons) == 1:
        return reasons[0]
    told = "; ".join(f"member {member.member}: {member.error}" for member in members)
    return f"none of {len(members)} members gave a verdict: {told}"


async def ask_panel(
    backend: Backend,
    request: JudgeRequest,
    *,
    repeats: int,
    agree: int,
    read: Callable[[JudgeReply], ReadReply],
    gate: anyio.CapacityLimiter,
    spend_limit: SpendLimit | None = None,
    grace: float = GRACE_SECONDS,
) -> list[Member]:
    """Ask all members at once, as far as `gate` lets them; in their order, each with its verdict or its own error.

    Where `read` finds no verdict, that member is asked once to repair its reply. It is called in threads. A failure
    of one is its own.
    Cancelled, what was started has ended before this goes on. Raises ConfigError for a panel that could never agree.
    """
    import anyio

    if not 1 <= agree <= repeats:
        raise ConfigError(
            f"judge.agree = {agree} of a panel of {repeats} (judge.repeats) could never be met; "
            f"set it to {repeats} or less"
        )
    found: dict[int, Member] = {}

    async def ask(number: int) -> None:
        own = request.model_copy(update={"member": number})
        async with gate:
            found[number] = await _ask_member(backend, own, read, spend_limit, grace)

    async with anyio.create_task_group() as group:
        for number in range(1, repeats + 1):
            group.start_soon(ask, number)
    return [found[number] for number in range(1, repeats + 1)]


async def _ask_member(
    backend: Backend,
    request: JudgeRequest,
    read: Callable[[JudgeReply], ReadReply],
    spend_limit: SpendLimit | None,
    grace: float,
) -> Member:
    from anyio.to_thread import run_sync

    replies: list[JudgeReply] = []
    try:
        replies.append(await ask_within(backend, request, spend_limit=spend_limit, grace=grace))
        found = await run_sync(read, replies[0])  # it looks into files, and others are waited for
        if found.verdict is None:
            replies.append(
                await repair_within(
                    backend, request, replies[0], found.faults, spend_limit=spend_limit, grace=grace
                )
            )
            found = await run_sync(read, replies[1])
            _refuse_together(backend.name, request, replies)
    except AutoscirubError as error:
        return _failed(request, replies, error)
    reply, usage = replies[-1], _together([reply.usage for reply in replies])
    if found.verdict is None:
        unread = (
            f"judge {backend.name}: its reply cannot be read, also after one repair: {one_line(found.faults)}"
        )
        return _failed(request, replies, JudgeError(unread, reply.text))
    return Member(
        member=request.member,
        verdict=found.verdict,
        answer=None if found.problems else found.verdict.flag,
        problems=list(found.problems),
        raw=reply.text,
        model_served=reply.model_served,
        usage=usage,
    )


def _failed(request: JudgeRequest, replies: list[JudgeReply], error: AutoscirubError) -> Member:
    usages = [reply.usage for reply in replies]
    served = replies[-1].model_served if replies else None
    if isinstance(error, OverLimit):
        usages.append(error.usage)
        served = error.model_served
    raw = getattr(error, "raw", "") or (replies[-1].text if replies else "")
    return Member(
        member=request.member,
        error=str(error),
        called=bool(replies) or (isinstance(error, JudgeError) and not isinstance(error, NotAsked)),
        raw=raw,
        model_served=served,
        usage=_together(usages),
    )


def _refuse_together(name: str, request: JudgeRequest, replies: list[JudgeReply]) -> None:
    cost = _together([reply.usage for reply in replies]).cost_usd
    if request.money is not None and cost is not None and cost > request.money:
        raise JudgeError(
            f"judge {name}: money limit reached: ${cost:.4g} of ${request.money:.4g} (judge.money), with the repair",
            replies[-1].text,
        )


def _together(usages: Sequence[Usage]) -> Usage:
    """The usage of a reply and its repair. What one of them does not tell is not known of both."""
    if not usages:
        return Usage()
    sums = {}
    for key in ("input_tokens", "output_tokens", "turns", "cost_usd", "recorded_cost_usd"):
        values = [getattr(usage, key) for usage in usages]
        sums[key] = None if None in values else sum(values)
    return Usage(**sums, seconds=sum(usage.seconds for usage in usages))
