"""Limits from outside: time, turns and money of one answer, whatever a backend does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.judging.judges import Saying, cost, failing

from autoscirub.errors import JudgeError
from autoscirub.judging.backends import OverLimit, SpendLimit, ask_within, keep_so_far, repair_within
from autoscirub.models import JudgeReply, JudgeRequest, Usage


def test_what_a_judge_says_is_kept_when_it_is_cut_off(question: Callable[..., JudgeRequest]) -> None:
    async def slow() -> JudgeReply:
        try:
            await anyio.sleep_forever()
        finally:
            keep_so_far("half of a ver")
        raise AssertionError

    with pytest.raises(JudgeError, match=r"saying: no answer within 0.05 s \(judge.seconds\);") as caught:
        anyio.run(ask_within, Saying(lambda _: slow()), question(seconds=0.05))
    assert caught.value.raw == "half of a ver"


def test_a_judge_that_swallows_its_cancellation_is_left_behind(
    question: Callable[..., JudgeRequest],
) -> None:
    async def stubborn() -> JudgeReply:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def asked() -> None:
        with anyio.fail_after(30):
            await ask_within(Saying(lambda _: stubborn()), question(seconds=0.05), grace=0.05)

    with pytest.raises(JudgeError, match="did not stop when told to, and was left behind"):
        anyio.run(asked)  # and the loop ends, too


def test_an_answer_that_comes_after_the_limit_does_not_count(question: Callable[..., JudgeRequest]) -> None:
    async def late() -> JudgeReply:
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            return JudgeReply(text="late")
        raise AssertionError

    with pytest.raises(JudgeError, match="no answer within"):
        anyio.run(ask_within, Saying(lambda _: late()), question(seconds=0.05))


def test_a_judge_that_waits_for_a_thread_does_not_hold_the_caller(
    question: Callable[..., JudgeRequest],
) -> None:
    free = threading.Event()

    async def asked() -> None:
        backend = Saying(lambda _: anyio.to_thread.run_sync(free.wait))
        try:
            with pytest.raises(JudgeError, match="no answer within"):
                await ask_within(backend, question(seconds=0.05), grace=0.05)
            assert not free.is_set()
        finally:
            free.set()

    anyio.run(asked)


def test_other_asks_go_on_while_one_judge_hangs(question: Callable[..., JudgeRequest]) -> None:
    async def asked() -> None:
        release = anyio.Event()

        async def waits() -> JudgeReply:
            await release.wait()
            return JudgeReply(text="after")

        async def releases() -> None:
            await ask_within(Saying(lambda _: JudgeReply(text="x")), question())
            release.set()

        async with anyio.create_task_group() as group:
            group.start_soon(releases)
            assert (await ask_within(Saying(lambda _: waits()), question())).text == "after"

    anyio.run(asked)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("what\nis this"), "saying: failed: ValueError: what is this"),
        (SystemExit(3), "saying: failed: SystemExit: 3"),
        (JudgeError("its own words"), "^its own words$"),
        (asyncio.CancelledError(), "it cancelled its own answer"),
        (TimeoutError(), "failed: TimeoutError"),
    ],
)
def test_whatever_a_backend_raises_is_a_judge_error(
    question: Callable[..., JudgeRequest], error: BaseException, words: str
) -> None:
    with pytest.raises(JudgeError, match=words):
        anyio.run(ask_within, Saying(lambda _: failing(error)), question())


def test_a_reply_that_is_none_is_a_judge_error(question: Callable[..., JudgeRequest]) -> None:
    with pytest.raises(JudgeError, match="returned dict, expected a JudgeReply"):
        anyio.run(ask_within, Saying(lambda _: {"satisfied": True}), question())


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ({"turns": 11}, r"turn limit reached: 11 turns of 10 \(judge.turns\)"),
        ({"cost_usd": 2.5}, r"money limit reached: \$2.5 of \$2 \(judge.money\)"),
        ({"cost_usd": -1.0}, "reports cost_usd = -1.0, which is impossible"),
        ({"input_tokens": -1}, "reports input_tokens = -1"),
    ],
)
def test_a_limit_that_was_passed_is_named_and_the_answer_does_not_count(
    question: Callable[..., JudgeRequest], usage: dict[str, Any], words: str
) -> None:
    reply = JudgeReply(text="kept", usage=Usage(**usage))
    with pytest.raises(JudgeError, match=words) as caught:
        anyio.run(ask_within, Saying(lambda _: reply), question(money=2.0))
    assert caught.value.raw == "kept"


def test_what_reaches_a_limit_and_what_is_unknown_passes(question: Callable[..., JudgeRequest]) -> None:
    for usage in (Usage(turns=10, cost_usd=2.0), Usage()):
        reply = JudgeReply(text="x", usage=usage)
        got = anyio.run(ask_within, Saying(lambda _, reply=reply: reply), question(money=2.0))
        assert got.usage.cost_usd == usage.cost_usd


def test_a_backend_without_a_repair_is_asked_again(question: Callable[..., JudgeRequest]) -> None:
    backend = Saying(lambda _: JudgeReply(text="again"))
    backend.repair = None  # type: ignore[assignment, method-assign]
    assert anyio.run(repair_within, backend, question(), cost(None), "what was wrong").text == "again"
    [asked] = backend.asked
    assert "what was wrong" in asked.prompt
    assert asked.prompt_digest != question().prompt_digest


def test_an_answer_that_a_backend_itself_cut_off_at_a_limit_counts_what_it_cost(
    question: Callable[..., JudgeRequest],
) -> None:
    spend_limit = SpendLimit(10.0)
    reply = JudgeReply(text="half", usage=Usage(cost_usd=2.5))
    backend = Saying(lambda _: failing(OverLimit("money limit reached", reply)))
    with pytest.raises(OverLimit):
        anyio.run(lambda: ask_within(backend, question(), spend_limit=spend_limit))
    assert (spend_limit.spent, spend_limit.unknown) == (2.5, 0)
