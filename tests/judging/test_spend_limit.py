"""Money of a round and of a day: what fits is asked, what is unknown is unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.judging.judges import Saying, command, cost, failing

from autoscirub.errors import AutoscirubError, JudgeError, TrustError
from autoscirub.judging.backends import Backend, SpendLimit, ask_within
from autoscirub.models import JudgeReply, JudgeRequest, Usage


def spend(
    spend_limit: SpendLimit, request: JudgeRequest, reported: float | None, price: float | None
) -> None:
    async def asked() -> None:
        await ask_within(Saying(lambda _: cost(reported), price), request, spend_limit=spend_limit)

    anyio.run(asked)


def test_a_price_that_does_not_fit_is_not_asked(question: Callable[..., JudgeRequest]) -> None:
    spend_limit = SpendLimit(limit_round=1.0)
    spend(spend_limit, question(), 0.6, 0.5)
    with pytest.raises(
        JudgeError, match=r"not asked: money limit reached: \$0.6 of \$1 \(judge.money_round\)"
    ):
        spend(spend_limit, question(), 0.6, 0.5)
    spend(spend_limit, question(), 0.4, 0.4)
    assert spend_limit.spent == pytest.approx(1.0)
    spend(spend_limit, question(), 0.0, 0.0)  # what is free is always asked


def test_the_day_counts_what_was_paid_before(question: Callable[..., JudgeRequest]) -> None:
    with pytest.raises(JudgeError, match=r"\$9.8 of \$10 \(judge.money_day\)"):
        spend(SpendLimit(limit_day=10.0, spent_day=9.8), question(), 0.5, 0.5)
    spend(SpendLimit(limit_day=10.0, spent_day=9.8), question(), 0.1, 0.1)


def test_an_unknown_price_is_asked_until_the_limit_is_reached(question: Callable[..., JudgeRequest]) -> None:
    spend_limit = SpendLimit(limit_round=1.0)
    spend(spend_limit, question(), 0.9, None)
    spend(spend_limit, question(), 0.9, None)
    with pytest.raises(JudgeError, match="would cost an unknown amount"):
        spend(spend_limit, question(), 0.9, None)
    assert spend_limit.spent == pytest.approx(1.8)


def test_a_cost_that_nobody_tells_is_unknown_and_never_nothing(question: Callable[..., JudgeRequest]) -> None:
    spend_limit = SpendLimit(limit_round=10.0)
    spend(spend_limit, question(), None, None)
    spend(spend_limit, question(), None, 0.25)
    spend(spend_limit, question(), 0.5, None)
    assert (spend_limit.spent, spend_limit.estimated, spend_limit.unknown) == (0.75, 1, 1)
    assert spend_limit.summary == "$0.75 spent, 1 of it by estimate, the cost of 1 more unknown"


def test_a_failure_may_have_cost_something_and_a_refusal_to_start_did_not(
    question: Callable[..., JudgeRequest], tmp_path: Path
) -> None:
    spend_limit = SpendLimit(limit_round=1.0)

    async def asked(backend: Backend) -> None:
        with pytest.raises(AutoscirubError):
            await ask_within(backend, question(), spend_limit=spend_limit)

    anyio.run(asked, Saying(lambda _: failing(ValueError()), 0.3))
    assert (spend_limit.spent, spend_limit.estimated) == (0.3, 1)
    anyio.run(asked, Saying(lambda _: JudgeReply(text="", usage=Usage(turns=99, cost_usd=0.2)), 0.3))
    assert spend_limit.spent == pytest.approx(0.5)
    anyio.run(asked, Saying(lambda _: failing(TrustError("no")), 0.3))
    anyio.run(asked, command(tmp_path, "x", trusted=False))
    assert spend_limit.spent == pytest.approx(0.5)
    assert spend_limit.unknown == 0


def test_what_is_promised_to_asks_under_way_counts(question: Callable[..., JudgeRequest]) -> None:
    spend_limit = SpendLimit(limit_round=1.0)

    async def asked() -> None:
        release, running = anyio.Event(), anyio.Event()

        async def answer() -> JudgeReply:
            running.set()
            await release.wait()
            return cost(0.1)

        async with anyio.create_task_group() as group:

            async def first() -> None:
                await ask_within(Saying(lambda _: answer(), 0.8), question(), spend_limit=spend_limit)

            group.start_soon(first)
            await running.wait()
            with pytest.raises(JudgeError, match="spent or promised"):
                await ask_within(Saying(lambda _: cost(0.1), 0.8), question(), spend_limit=spend_limit)
            release.set()
        await ask_within(Saying(lambda _: cost(0.1), 0.8), question(), spend_limit=spend_limit)

    anyio.run(asked)
    assert spend_limit.spent == pytest.approx(0.2)


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0, "much", True])
def test_an_estimate_that_is_no_amount_is_unknown(question: Callable[..., JudgeRequest], price: Any) -> None:
    spend_limit = SpendLimit(limit_round=1.0)
    spend(spend_limit, question(), None, price)
    assert (spend_limit.spent, spend_limit.unknown) == (0.0, 1)
