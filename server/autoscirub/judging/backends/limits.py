"""Enforces the limits of a request from outside, so that the caller has an answer or an error in time.

What cannot be enforced: a backend that blocks the event loop itself (a `time.sleep` in its `async def`) blocks us too.
One that swallows its cancellation, or waits for a thread, is abandoned after a grace period: the caller goes on, and
its answer is thrown away. Its thread lives on until it ends by itself. Turns and money are known only afterwards.
"""

from __future__ import annotations

import asyncio
import math
from time import monotonic
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, JudgeError
from autoscirub.judging.backends.protocol import collect_so_far, person_of, with_faults
from autoscirub.judging.backends.spend_limit import SpendLimit, usable
from autoscirub.models import JudgeReply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from autoscirub.judging.backends.protocol import Backend
    from autoscirub.models import JudgeRequest

GRACE_SECONDS = 12.0
"""Between the end of the time and abandoning a backend: enough to end a program that resists."""

_LEFT_BEHIND: set[asyncio.Task[JudgeReply]] = set()
"""Referenced until they end: the garbage collector would complain about them in the middle of something else."""


class OverLimit(JudgeError):  # noqa: N818 - the limit is the error
    """Raised for an answer that used more than it may. Outside of this room it is handled as any JudgeError."""

    def __init__(self, message: str, reply: JudgeReply) -> None:
        super().__init__(message, reply.text)
        self.usage, self.model_served = reply.usage, reply.model_served


async def ask_within(
    backend: Backend,
    request: JudgeRequest,
    *,
    spend_limit: SpendLimit | None = None,
    grace: float = GRACE_SECONDS,
) -> JudgeReply:
    """Ask within the limits of the request. Raises JudgeError, and other errors where nothing could be asked."""
    return await _within(backend, request, lambda: backend.ask(request), spend_limit, grace)


async def repair_within(
    backend: Backend,
    request: JudgeRequest,
    reply: JudgeReply,
    faults: str,
    *,
    spend_limit: SpendLimit | None = None,
    grace: float = GRACE_SECONDS,
) -> JudgeReply:
    """`repair` within the same limits; the time starts afresh. A backend without it is asked again, with the faults."""
    repair = getattr(backend, "repair", None)
    if callable(repair):
        return await _within(backend, request, lambda: repair(request, reply, faults), spend_limit, grace)
    again = with_faults(request, faults)
    return await _within(backend, again, lambda: backend.ask(again), spend_limit, grace)


async def _within(
    backend: Backend,
    request: JudgeRequest,
    call: Callable[[], Awaitable[JudgeReply]],
    spend_limit: SpendLimit | None,
    grace: float,
) -> JudgeReply:
    spend_limit = spend_limit or SpendLimit()
    price = price_of(backend, request)
    spend_limit.hold(price)
    began = monotonic()
    cost: float | None = None
    # A person is not hurried: whoever started the command is in front of it, and can end it.
    seconds = None if person_of(backend) else request.seconds
    try:
        reply = await _bounded(backend.name, call, seconds, grace)
        cost = usable(reply.usage.cost_usd)
    except JudgeError as error:
        paid = error.usage.cost_usd if isinstance(error, OverLimit) else None
        spend_limit.settle(price, usable(paid))  # unknown: it may have cost something all the same
        raise
    except AutoscirubError:
        spend_limit.release(price)  # not trusted, not to be started: nothing was asked
        raise
    except BaseException:
        spend_limit.settle(price, None)
        raise
    spend_limit.settle(price, cost)
    if not reply.usage.seconds:
        usage = reply.usage.model_copy(update={"seconds": monotonic() - began})
        reply = reply.model_copy(update={"usage": usage})
    _refuse_excess(backend.name, request, reply)
    return reply


async def _bounded(
    name: str, call: Callable[[], Awaitable[JudgeReply]], seconds: float | None, grace: float
) -> JudgeReply:
    """`call` with a time limit, in a task of its own: a task group would wait for one that does not end."""
    import anyio

    so_far: list[str] = []
    task = asyncio.get_running_loop().create_task(_guarded(name, call, so_far))
    try:
        with anyio.move_on_after(seconds):
            await asyncio.wait({task})
    finally:
        # Our own cancellation comes this way too: what was started is ended before it goes on.
        if in_time := task.done():
            ended = True
            if not task.cancelled():
                task.exception()  # retrieved, even where we are cancelled at this very moment
        else:
            with anyio.CancelScope(shield=True):
                ended = await _stop(task, grace)
    if in_time:
        if task.cancelled():
            raise JudgeError(f"judge {name}: gave up (it cancelled its own answer)", "".join(so_far))
        return task.result()
    raw = "".join(so_far)
    if ended and not task.cancelled() and isinstance(found := task.exception(), JudgeError):
        raw = raw or found.raw
    lingers = "" if ended else "; it did not stop when told to, and was left behind"
    raise JudgeError(
        f"judge {name}: no answer within {seconds:g} s (judge.seconds){lingers}; "
        "raise judge.seconds, or ask for less at a time",
        raw,
    )


async def _stop(task: asyncio.Task[JudgeReply], grace: float) -> bool:
    """Cancel once (a second time would cut off its clean-up); return whether it ended within the grace period."""
    task.cancel()
    await asyncio.wait({task}, timeout=grace)
    if task.done():
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not warn that nobody did
        return True
    # At its end the loop waits for every task that it knows; it must not wait for this one.
    asyncio._unregister_task(task)
    _LEFT_BEHIND.add(task)
    task.add_done_callback(_forget)
    return False


def _forget(task: asyncio.Task[JudgeReply]) -> None:
    _LEFT_BEHIND.discard(task)
    if not task.cancelled():
        task.exception()


async def _guarded(name: str, call: Callable[[], Awaitable[JudgeReply]], so_far: list[str]) -> JudgeReply:
    """Run a backend's call. It is somebody else's code: whatever it raises is the failure of this one answer."""
    collected = collect_so_far()
    try:
        reply = await call()
    except AutoscirubError:
        raise
    except (Exception, SystemExit) as cause:  # see above
        raise JudgeError(f"judge {name}: failed: {type(cause).__name__}: {one_line(str(cause))}") from cause
    finally:
        so_far.extend(collected)
    if not isinstance(reply, JudgeReply):
        raise JudgeError(f"judge {name}: returned {type(reply).__name__}, expected a JudgeReply")
    return reply


def price_of(backend: Backend, request: JudgeRequest) -> float | None:
    """What an answer should cost in US dollars; None is unknown."""
    try:
        return usable(backend.price(request))
    except Exception:  # noqa: BLE001 - somebody else's code; an estimate that fails is no estimate
        return None


def _refuse_excess(name: str, request: JudgeRequest, reply: JudgeReply) -> None:
    usage = reply.usage
    for key, value in usage.model_dump().items():
        if isinstance(value, (int, float)) and not (math.isfinite(value) and value >= 0):
            raise OverLimit(
                f"judge {name}: reports {key} = {value}, which is impossible; its answer is not used", reply
            )
    if usage.turns is not None and usage.turns > request.turns:
        raise OverLimit(
            f"judge {name}: turn limit reached: {usage.turns} turns of {request.turns} (judge.turns)", reply
        )
    if request.money is not None and usage.cost_usd is not None and usage.cost_usd > request.money:
        raise OverLimit(
            f"judge {name}: money limit reached: ${usage.cost_usd:.4g} of ${request.money:.4g} (judge.money)",
            reply,
        )


def one_line(text: str, limit: int = 500) -> str:
    """Somebody else's text made fit for a message: one line, no control characters, only the end where it is long."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= limit else f"… {words[-limit:]}"
