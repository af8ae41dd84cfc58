"""Panels: all at once, each on its own, one repair, one question back, one answer or none."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judging.judges import Saying, failing, question

from autoscirub.errors import ConfigError, JudgeError
from autoscirub.judging import ReadReply, ask_panel, panel_answer, panel_error
from autoscirub.judging.backends import SpendLimit, open_backend
from autoscirub.judging.verdicts import CheckedVerdict, SettledVerdict
from autoscirub.models import (
    CriterionVerdict,
    HypothesisVerdict,
    JudgeConfig,
    JudgeReply,
    JudgeRequest,
    Member,
    Usage,
)


def says(satisfied: Any, **usage: Any) -> JudgeReply:
    verdict = {"criterion_id": "c1", "reasoning": "r", "satisfied": satisfied}
    return JudgeReply(text=json.dumps(verdict), structured=verdict, model_served="m", usage=Usage(**usage))


def read(reply: JudgeReply) -> ReadReply:
    """As plain as can be: what this room is given by another."""
    if not isinstance(reply.structured, dict):
        return ReadReply(faults="no JSON object")
    return ReadReply(CheckedVerdict(CriterionVerdict.model_validate(reply.structured)))


def panel(
    backend: Any, *, repeats: int = 5, agree: int = 3, at_once: int = 8, reading: Any = read, **more: Any
) -> list[Member]:
    async def asked() -> list[Member]:
        gate = anyio.CapacityLimiter(at_once)
        request = more.pop("request", question())
        return await ask_panel(
            backend, request, repeats=repeats, agree=agree, read=reading, gate=gate, **more
        )

    with_limit: list[Member] = anyio.run(asked)
    return with_limit


# The answer


@given(st.lists(st.sampled_from([True, False, None]), max_size=9), st.integers(1, 9))
def test_the_answer_is_the_one_value_that_enough_members_give(answers: list[bool | None], agree: int) -> None:
    members = [Member(member=n, answer=answer) for n, answer in enumerate(answers, 1)]
    yes, no = answers.count(True), answers.count(False)
    if yes >= agree and no >= agree:
        expected = None
    elif yes >= agree:
        expected = True
    elif no >= agree:
        expected = False
    else:
        expected = None
    assert panel_answer(members, agree) is expected
    assert panel_answer(members[::-1], agree) is expected


def test_members_that_cannot_tell_or_failed_agree_on_nothing() -> None:
    silent = [Member(member=n) for n in range(1, 4)]
    failed = [Member(member=n, error="e") for n in range(4, 6)]
    assert panel_answer([*silent, *failed], 1) is None
    assert panel_error([*silent, *failed]) is None


def test_a_panel_of_which_all_failed_has_an_error_that_names_them() -> None:
    assert panel_error([Member(member=1, error="crashed")]) == "crashed"
    assert panel_error([Member(member=n, error="crashed") for n in (1, 2)]) == "crashed"
    two = [Member(member=1, error="crashed"), Member(member=2, error="hung")]
    assert panel_error(two) == "none of 2 members gave a verdict: member 1: crashed; member 2: hung"


# All at once


def test_all_members_have_started_before_the_first_answers() -> None:
    async def asked() -> list[Member]:
        everyone, started = anyio.Event(), set()

        async def answer(request: JudgeRequest) -> JudgeReply:
            started.add(request.member)
            if len(started) == 5:
                everyone.set()
            await everyone.wait()
            return says(True)

        gate = anyio.CapacityLimiter(5)
        with anyio.fail_after(60):
            return await ask_panel(Saying(answer), question(), repeats=5, agree=5, read=read, gate=gate)

    members = anyio.run(asked)
    assert [member.member for member in members] == [1, 2, 3, 4, 5]
    assert panel_answer(members, 5) is True


def test_five_programs_have_all_started_before_the_first_answers(tmp_path: Path) -> None:
    for name in ("started", "go"):
        os.mkfifo(tmp_path / name)
    script = f"""
import json, os, sys
member = json.load(sys.stdin)["member"]
os.write(os.open({str(tmp_path / "started")!r}, os.O_WRONLY), bytes([member]))
os.read(os.open({str(tmp_path / "go")!r}, os.O_RDONLY), 1)
print(json.dumps({{"criterion_id": "c1", "satisfied": member != 2}}))
"""
    config = JudgeConfig(backend="command", command=[sys.executable, "-c", script])
    backend = open_backend(config, tmp_path, trusted=True)
    started: list[int] = []

    # Opened for both, so that no end of the file comes between two members.
    ready, go = (os.open(tmp_path / name, os.O_RDWR) for name in ("started", "go"))

    def barrier() -> None:
        while len(started) < 5:
            started.extend(os.read(ready, 5))
        os.write(go, b"12345")

    thread = threading.Thread(target=barrier, daemon=True)
    thread.start()
    members = panel(backend, at_once=5, request=question(workspace=str(tmp_path)))
    thread.join(60)
    os.close(ready)
    os.close(go)
    assert sorted(started) == [1, 2, 3, 4, 5]
    assert [member.error for member in members] == [None] * 5
    assert [member.answer for member in members] == [True, False, True, True, True]


def test_no_more_are_asked_at_a_time_than_the_gate_lets_through() -> None:
    running, most = 0, 0

    async def answer(_: JudgeRequest) -> JudgeReply:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _turn in range(20):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return says(True)

    assert len(panel(Saying(answer), at_once=2)) == 5
    assert most == 2


# Each on its own


def test_a_failure_of_one_is_that_member_s_alone() -> None:
    def answer(request: JudgeRequest) -> Any:
        if request.member == 2:
            raise JudgeError("judge saying: crashed", "half a word")
        if request.member == 4:
            raise ValueError("odd")
        return says(request.member != 5)

    members = panel(Saying(answer))
    assert [member.answer for member in members] == [True, None, True, None, False]
    assert [member.error for member in members] == [
        None,
        "judge saying: crashed",
        None,
        "judge saying: failed: ValueError: odd",
        None,
    ]
    assert members[1].raw == "half a word"
    assert panel_answer(members, 2) is True
    assert panel_error(members) is None


def test_every_member_s_verdict_is_kept_with_what_it_used() -> None:
    members = panel(Saying(lambda r: says(r.member > 2, cost_usd=r.member / 10, turns=r.member)))
    assert [member.verdict.satisfied for member in members] == [False, False, True, True, True]  # type: ignore[union-attr]
    assert [member.usage.cost_usd for member in members] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert {member.model_served for member in members} == {"m"}
    assert all(json.loads(member.raw)["criterion_id"] == "c1" for member in members)
    assert all(member.usage.seconds > 0 for member in members)


def test_a_verdict_on_the_hypothesis_counts_by_its_own_flag() -> None:
    def reading(_: JudgeReply) -> ReadReply:
        return ReadReply(CheckedVerdict(HypothesisVerdict(reasoning="r", supports_hypothesis=False)))

    [member] = panel(Saying(lambda _: says(True)), repeats=1, agree=1, reading=reading)
    assert member.answer is False


# One question back


def doubtful(reply: JudgeReply) -> ReadReply:
    """Every verdict is asked about; the answer settles it by its `problems` and its flag."""
    found = read(reply).checked
    if found is None:
        return ReadReply(faults="no JSON object")

    def again(answer: JudgeReply) -> SettledVerdict:
        fields = json.loads(answer.text)
        verdict = CriterionVerdict(criterion_id="c1", satisfied=fields.get("satisfied", found.verdict.flag))
        return SettledVerdict(
            verdict,
            problems=fields.get("problems", []),
            remarks=["asked about it"],
            confirmed=fields.get("confirmed"),
        )

    checked = CheckedVerdict(found.verdict, faults=["fig.png is not there"], questions=["is it so?"])
    return ReadReply(checked, question="ASKED-BACK: fig.png is not there", again=again)


def asked_back(answer: Any) -> tuple[Member, Saying]:
    """What a judge comes to that says yes, and then `answer`."""

    def respond(request: JudgeRequest) -> Any:
        return answer() if "ASKED-BACK" in request.prompt else says(True, cost_usd=0.1, turns=1)

    judge = Saying(respond)
    [member] = panel(judge, repeats=1, agree=1, reading=doubtful)
    return member, judge


def test_a_verdict_that_does_not_count_is_asked_about_once_and_what_that_leaves_counts() -> None:
    text = '{"confirmed": true}'
    member, judge = asked_back(lambda: JudgeReply(text=text, usage=Usage(cost_usd=0.2), model_served="m2"))
    assert (member.answer, member.problems, member.error) == (True, [], None)
    assert (member.remarks, member.confirmed) == (["asked about it"], True)
    assert member.raw == f"{says(True).text}\n\n{text}"
    assert (member.model_served, member.usage.turns) == ("m2", None)
    assert member.usage.cost_usd == pytest.approx(0.3)
    assert len(judge.asked) == 2


def test_a_verdict_that_is_still_in_doubt_is_kept_and_does_not_count() -> None:
    member, judge = asked_back(
        lambda: JudgeReply(text='{"problems": ["still not there"], "confirmed": false}')
    )
    assert (member.answer, member.problems, member.error) == (None, ["still not there"], None)
    assert member.verdict is not None
    assert member.verdict.flag is True
    assert member.confirmed is False
    assert len(judge.asked) == 2


def test_a_verdict_that_is_taken_back_counts_as_what_it_is_then() -> None:
    member, _ = asked_back(lambda: JudgeReply(text='{"satisfied": false}'))
    assert (member.answer, member.problems) == (False, [])


def test_a_judge_that_cannot_be_asked_again_leaves_its_verdict_inconclusive() -> None:
    member, judge = asked_back(lambda: failing(JudgeError("unreachable")))
    assert member.answer is None
    assert member.error is None
    assert member.problems == [
        "fig.png is not there",
        "is it so?",
        "it could not be asked again: unreachable",
    ]
    assert member.usage.cost_usd == pytest.approx(0.1)
    assert len(judge.asked) == 2


def test_a_reply_that_had_to_be_repaired_may_be_asked_about_too() -> None:
    def respond(request: JudgeRequest) -> JudgeReply:
        if "ASKED-BACK" in request.prompt:
            return JudgeReply(text='{"confirmed": true}')
        return says(True) if "no JSON object" in request.prompt else JudgeReply(text="prose")

    judge = Saying(respond)
    [member] = panel(judge, repeats=1, agree=1, reading=doubtful)
    assert (member.answer, member.confirmed) == (True, True)
    assert len(judge.asked) == 3


def test_a_verdict_that_counts_is_not_asked_about() -> None:
    judge = Saying(lambda _: says(True))
    [member] = panel(judge, repeats=1, agree=1)
    assert (member.answer, member.confirmed, len(judge.asked)) == (True, None, 1)


# One repair


def test_one_repair_is_asked_for_and_no_second() -> None:
    def answer(request: JudgeRequest) -> JudgeReply:
        repairing = "no JSON object" in request.prompt
        if request.member == 1 and repairing:
            return says(True, cost_usd=0.2, turns=1)
        return JudgeReply(text=f"prose {repairing}", usage=Usage(cost_usd=0.1))

    judges = Saying(answer)
    first, second = panel(judges, repeats=2, agree=1)
    assert (first.answer, first.error) == (True, None)
    assert first.usage.cost_usd == pytest.approx(0.3)
    assert first.usage.turns is None  # one of the two did not say
    assert second.error == "judge saying: its reply cannot be read, even after one repair: no JSON object"
    assert second.raw == "prose True"
    assert second.usage.cost_usd == pytest.approx(0.2)
    assert len(judges.asked) == 4


def test_a_repair_that_fails_keeps_the_first_reply() -> None:
    def answer(request: JudgeRequest) -> JudgeReply:
        if "no JSON object" in request.prompt:
            raise JudgeError("unreachable")
        return JudgeReply(text="prose", usage=Usage(cost_usd=0.1))

    [member] = panel(Saying(answer), repeats=1, agree=1)
    assert (member.error, member.raw, member.usage.cost_usd) == ("unreachable", "prose", 0.1)


def test_the_money_of_one_answer_holds_for_reply_and_repair_together() -> None:
    def answer(request: JudgeRequest) -> JudgeReply:
        return (
            says(True, cost_usd=0.6)
            if "no JSON" in request.prompt
            else JudgeReply(text="p", usage=Usage(cost_usd=0.6))
        )

    [member] = panel(Saying(answer), repeats=1, agree=1, request=question(money=1.0))
    assert "money limit reached: $1.2 of $1 (judge.money), with what was asked back" in str(member.error)
    assert member.usage.cost_usd == pytest.approx(1.2)


def test_an_answer_over_its_limit_is_an_error_and_what_it_cost_is_kept() -> None:
    [member] = panel(
        Saying(lambda _: says(True, cost_usd=3.0)), repeats=1, agree=1, request=question(money=1.0)
    )
    assert "money limit reached" in str(member.error)
    assert (member.usage.cost_usd, member.model_served, member.answer) == (3.0, "m", None)


def test_a_spend_limit_that_runs_out_stops_the_members_that_come_after() -> None:
    spend_limit = SpendLimit(limit_round=0.5)
    members = panel(Saying(lambda _: says(True, cost_usd=0.2), 0.2), at_once=1, spend_limit=spend_limit)
    assert [member.answer for member in members] == [True, True, None, None, None]
    assert all("judge.money_round" in str(member.error) for member in members[2:])
    assert spend_limit.spent == pytest.approx(0.4)


@pytest.mark.parametrize(("repeats", "agree"), [(1, 2), (3, 4), (3, 0)])
def test_a_panel_that_could_never_agree_is_refused(repeats: int, agree: int) -> None:
    judges = Saying(lambda _: says(True))
    with pytest.raises(ConfigError, match="could never be met"):
        panel(judges, repeats=repeats, agree=agree)
    assert judges.asked == []


# Many questions


def test_many_questions_through_one_gate_are_answered_each_with_its_own_failure() -> None:
    found: dict[str, list[Member]] = {}

    async def asked() -> None:
        last, gate = anyio.Event(), anyio.CapacityLimiter(30)

        async def answer(request: JudgeRequest) -> JudgeReply:
            if request.subject == "c9":
                last.set()
            await last.wait()  # the first ones cannot answer before the last one was asked
            if request.subject == "c4":
                raise JudgeError("crashed")
            return says(request.subject != "c5")

        async def ask(subject: str) -> None:
            found[subject] = await ask_panel(
                Saying(answer), question(subject), repeats=3, agree=2, read=read, gate=gate
            )

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for n in range(10):
                    group.start_soon(ask, f"c{n}")

    anyio.run(asked)
    answers = [found[f"c{n}"] for n in range(10)]
    assert [panel_answer(members, 2) for members in answers] == [
        n != 5 if n != 4 else None for n in range(10)
    ]
    assert [panel_error(members) for members in answers] == [None if n != 4 else "crashed" for n in range(10)]
    assert all(len(members) == 3 for members in answers)


def test_the_flag_of_a_verdict_is_what_it_says_of_the_criterion_or_of_the_hypothesis() -> None:
    for flag in (True, False, None):
        assert CriterionVerdict(criterion_id="c1", satisfied=flag).flag is flag
        assert HypothesisVerdict(reasoning="r", supports_hypothesis=flag).flag is flag
    assert "flag" not in CriterionVerdict(criterion_id="c1", satisfied=True).model_dump()


def test_a_reply_that_takes_long_to_read_holds_up_no_other_member() -> None:
    both = threading.Barrier(2, timeout=60)

    def reading(reply: JudgeReply) -> ReadReply:
        both.wait()  # neither is read before the other one is being read
        return read(reply)

    members = panel(Saying(lambda _: says(True)), repeats=2, agree=2, reading=reading)
    assert [member.answer for member in members] == [True, True]
