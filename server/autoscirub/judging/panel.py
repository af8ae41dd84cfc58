"""Asks several judges the same question independently and accepts the answer that enough of them agree on."""

from __future__ import annotations

from dataclasses import dataclass
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
from autoscirub.judging.verdicts import (
    SettledVerdict,
    check_verdict,
    question_back,
    read_reply,
    repair_request,
    settle,
)
from autoscirub.models import Member, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import anyio

    from autoscirub.judging.backends import Backend, SpendLimit
    from autoscirub.judging.verdicts import CheckedVerdict
    from autoscirub.models import AskKind, JudgeReply, JudgeRequest, WorkspaceManifest


@dataclass(frozen=True)
class ReadReply:
    """A parsed and checked reply: a verdict with what stands against it, or the faults instead of one."""

    checked: CheckedVerdict | None = None
    faults: str = ""
    """What the judge is told when it is asked to repair its reply. Used only where there is no verdict."""
    question: str = ""
    """What it is asked about its verdict; empty where the verdict counts as it is."""
    again: Callable[[JudgeReply], SettledVerdict] | None = None
    """Reads its answer to that question."""


def read_checked(
    reply: JudgeReply, subject: str, kind: AskKind, root: Path, manifest: WorkspaceManifest
) -> ReadReply:
    """A reply on `subject`, parsed and checked against the workspace at `root`. Opens files; raises nothing."""
    parsed = read_reply(reply, [subject], kind)
    if (entry := parsed.entries.get(subject)) is None:
        return ReadReply(faults=repair_request(parsed.faults))
    checked = check_verdict(entry, root, manifest, prose=parsed.prose)
    if checked.counts:
        return ReadReply(checked)
    return ReadReply(
        checked,
        question=question_back(checked, subject, kind),
        again=lambda answer: settle(entry, answer, root, manifest, subject, kind),
    )


def panel_answer(members: Sequence[Member], agree: int) -> bool | None:
    """The one value that at least `agree` members give; None where none does, or both do.

    Null is no value: members that cannot tell, or failed, agree on nothing.
    """
    answers = [member.answer for member in members]
    enough = [value for value in (True, False) if sum(answer is value for answer in answers) >= agree]
    return enough[0] if len(enough) == 1 else None


def verdict_fault(members: Sequence[Member], agree: int, answer: bool | None) -> str | None:
    """Why a recorded verdict cannot be one that this package gave; None when it can.

    A member counts as its own verdict says, or not at all where that verdict has problems or is missing.
    """
    for member in members:
        flag = None if member.verdict is None else member.verdict.flag
        if member.answer is not (None if member.problems or member.error else flag):
            return f"member {member.member} counts as {member.answer}, but its verdict says {flag}"
    if panel_answer(members, agree) is not answer:
        return f"it says {answer}, but its members do not add up to that"
    return None


def panel_error(members: Sequence[Member]) -> str | None:
    """Why a panel has no answer: not one member gave a verdict. None where one did."""
    if any(member.error is None for member in members):
        return None
    reasons = list(dict.fromkeys(member.error or "" for member in members))
    if len(reasons) == 1:
        return reasons[0]
    details = "; ".join(f"member {member.member}: {member.error}" for member in members)
    return f"none of {len(members)} members gave a verdict: {details}"


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
    """Ask all members at once, as far as `gate` permits; return them in order, each with its verdict or its own error.

    Where `read` finds no verdict, that member is asked once to repair its reply, and where a verdict does not count as
    it is, it is asked once about that; `read` is called in threads. A member that fails does not affect the others. On
    cancellation, what was started ends before this returns. Raises ConfigError for a panel that could never agree.
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

    async def ask_back(text: str) -> JudgeReply:
        replies.append(
            await repair_within(backend, request, replies[-1], text, spend_limit=spend_limit, grace=grace)
        )
        _refuse_together(backend.name, request, replies)
        return replies[-1]

    try:
        replies.append(await ask_within(backend, request, spend_limit=spend_limit, grace=grace))
        # Reading opens files, and the event loop must serve the others meanwhile.
        found = await run_sync(read, replies[0])
        if found.checked is None:
            found = await run_sync(read, await ask_back(found.faults))
    except AutoscirubError as error:
        return _failed(request, replies, error)
    if found.checked is None:
        unread = (
            f"judge {backend.name}: its reply cannot be read, even after one repair: {one_line(found.faults)}"
        )
        return _failed(request, replies, JudgeError(unread, replies[-1].text))
    settled = SettledVerdict(found.checked.verdict, remarks=found.checked.remarks)
    if found.question and found.again is not None:
        try:
            settled = await run_sync(found.again, await ask_back(found.question))
        except AutoscirubError as error:
            points = [*found.checked.faults, *found.checked.questions]
            settled = SettledVerdict(
                found.checked.verdict, problems=[*points, f"it could not be asked again: {error}"]
            )
    return Member(
        member=request.member,
        verdict=settled.verdict,
        answer=None if settled.problems else settled.verdict.flag,
        problems=settled.problems,
        remarks=settled.remarks,
        confirmed=settled.confirmed,
        raw=replies[0].text if len(replies) == 1 else "\n\n".join(reply.text for reply in replies),
        model_served=replies[-1].model_served,
        usage=_together([reply.usage for reply in replies]),
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
            f"judge {name}: money limit reached: ${cost:.4g} of ${request.money:.4g} (judge.money), with what was "
            "asked back",
            replies[-1].text,
        )


def _together(usages: Sequence[Usage]) -> Usage:
    """The usage of a reply and its repair together. A value that one of them does not report is unknown for both."""
    if not usages:
        return Usage()
    sums = {}
    for key in ("input_tokens", "output_tokens", "turns", "cost_usd", "recorded_cost_usd"):
        values = [getattr(usage, key) for usage in usages]
        sums[key] = None if None in values else sum(values)
    basis = next((usage.price_basis for usage in usages if usage.price_basis), None)
    return Usage(**sums, price_basis=basis, seconds=sum(usage.seconds for usage in usages))
