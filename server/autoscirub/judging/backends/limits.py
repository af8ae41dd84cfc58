"""The limits of a request, held from outside: whatever a backend does, the caller has its answer or an error in time.

What cannot be held: a backend that blocks the event loop itself (a `time.sleep` in its `async def`) blocks us too.
One that swallows its cancellation, or waits for a thread, is left behind after a grace: the caller goes on, and its
answer is thrown away. A thread of it lives on until it ends by itself. Turns and money are known afterwards only.
"""

from __future__ import annotations

import asyncio
import math
from time import monotonic
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, JudgeError
from autoscirub.judging.backends.protocol import collect_so_far, with_faults
from autoscirub.judging.backends.spend_limit import SpendLimit, usable
from autoscirub.models import JudgeReply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from autoscirub.judging.backends.protocol import Backend
    from autoscirub.models import JudgeRequest

GRACE_SECONDS = 12.0
"""Between the end of the time and leaving a backend behind: enough to end a program that resists."""

_LEFT_BEHIND: set[asyncio.Task[JudgeReply]] = set()
"""Kept until they end: the garbage collector would complain about them in the middle of something else."""


class OverLimit(JudgeError):  # noqa: N818 - the limit is the error
    """Raised where an answer came, and used more than it may. Not told apart outside of this room."""

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
    """Ask within the limits of the request. Raises JudgeError, and what says that nothing could be asked."""
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
    """`repair` within the same limits; the time begins anew. A backend without one is asked again, with the faults."""
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
    try:
        reply = await _bounded(backend.name, call, request.seconds, grace)
        cost = usable(reply.usage.cost_usd)
    except JudgeError:
        spend_limit.settle(price, None)  # it may have cost something all the same
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
    name: str, call: Callable[[], Awaitable[JudgeReply]], seconds: float, grace: float
) -> JudgeReply:
    """`call`, for so long. In a task of its own, and no task group: a group waits for what does not want to end."""
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
                task.exception()  # looked at, also where we are cancelled in this very moment
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
    """Cancel, once: a second time would cut off its tidying up. Whether it ended within the grace."""
    task.cancel()
    await asyncio.wait({task}, timeout=grace)
    if task.done():
        if not task.cancelled():
            task.exception()  # looked at, so that nobody is told that nobody did
        return True
    # The loop waits at its end for every task that it knows; for this one nobody waits any more.
    asyncio._unregister_task(task)
    _LEFT_BEHIND.add(task)
    task.add_done_callback(_forget)
    return False


def _forget(task: asyncio.Task[JudgeReply]) -> None:
    _LEFT_BEHIND.discard(task)
    if not task.cancelled():
        task.exception()


async def _guarded(name: str, call: Callable[[], Awaitable[JudgeReply]], so_far: list[str]) -> JudgeReply:
    """A backend is somebody else's code: whatever it raises is the failure of this one answer."""
    kept = collect_so_far()
    try:
        reply = await call()
    except AutoscirubError:
        raise
    except (Exception, SystemExit) as cause:  # see above
        raise JudgeError(f"judge {name}: failed: {type(cause).__name__}: {one_line(str(cause))}") from cause
    finally:
        so_far.extend(kept)
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
                f"judge {name}: says {key} = {value}, which cannot be; its answer is not used", reply
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
    """Somebody else's words, fit for a message: one line without control characters, the end where it is long."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= limit else f"… {words[-limit:]}"
