"""Asks a judge about labelled cases; each answer is kept as soon as it is there, and each call is in the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError
from autoscirub.judging.backends import SpendLimit, price_of
from autoscirub.models import Ask, CalibrationAnswer, Member, now, strict_json
from autoscirub.workflow.calibration.unrecorded import UnrecordedAnswers
from autoscirub.workflow.judges import (
    ASKS,
    CALIBRATION,
    CUT_OFF,
    PENDING,
    PanelResult,
    ask_once,
    paid,
    read_asks,
    unrecorded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import anyio

    from autoscirub.store import Session
    from autoscirub.workflow.calibration.questions import CaseQuestion
    from autoscirub.workflow.calibration.unrecorded import AnswerKey
    from autoscirub.workflow.judges import Questions

_GIVE_UP = 5
"""Failures in a row after which nobody is asked any more: the judge is not there, and each failure may take minutes."""
_REASONS = 600


@dataclass
class CalibrationSession:
    """The judge of a project, asked about labelled cases by one command."""

    judge: Questions
    session: Session
    answers: dict[AnswerKey, CalibrationAnswer]
    """Those that are recorded, those that a killed calibration left, and those that this command gets."""
    left: dict[AnswerKey, CalibrationAnswer]
    """Those that a killed calibration left."""
    money: float | None = None
    """US dollars that this calibration may cost, besides what the configuration says."""
    progress: Callable[[int, int], None] | None = None
    asks: list[Ask] = field(default_factory=list)
    """The calls that this command made."""
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._store = self.judge.opened.state
        self._ledger = read_asks(self.session.recorded_file(f"state/{ASKS}"))
        earlier = unrecorded(self._ledger, self._store.read_bytes(PENDING))
        self._lines = b"".join(map(_encoded, earlier))
        """Every call that is in no step yet, of a command that was killed too: they count."""
        self._file = UnrecordedAnswers(self.judge.opened)
        self._under_way: dict[AnswerKey, list[Ask]] = {}
        self._numbers: dict[str, int] = {}
        for ask in (*self._ledger, *earlier):
            self._numbers[ask.subject] = max(ask.ask, self._numbers.get(ask.subject, 0))
        self._failed_in_a_row = 0
        config = self.judge.config
        limits = [limit for limit in (config.money_round, self.money) if limit is not None]
        own = self.money is not None and self.money == min(limits)
        today = datetime.now(UTC).date().isoformat()
        self._spend_limit = SpendLimit(
            min(limits, default=None),
            config.money_day,
            spent_day=paid(ask for ask in (*self._ledger, *earlier) if ask.at.startswith(today)),
            round_key="--money" if own else "judge.money_round",
        )

    @property
    def spent(self) -> str:
        """What this command spent, in a line; empty where nobody was asked."""
        return self._spend_limit.summary if self.asks else ""

    def ask(self, waiting: Sequence[tuple[CaseQuestion, int]]) -> None:
        """Ask about each case for the repeat that is named with it, several at once. Failures are listed."""
        import anyio

        if waiting:
            self._file.begin(self.left)
            anyio.run(self._ask_all, waiting)

    def record(self, at: str, facts: Mapping[str, int], state: Mapping[str, bytes]) -> None:
        """Record the calls, and `state` with them, as one step; the answers are then in `state`."""
        new = self._unrecorded()
        before = self.session.recorded_file(f"state/{ASKS}") or b""
        files = {**state, **({ASKS: before + new} if new else {})}
        self.session.record("calibrated", at=at, facts={"asks": new.count(b"\n"), **facts}, state=files)
        self._store.remove(PENDING)
        self._file.clear()

    @property
    def anything_new(self) -> bool:
        """Whether there is a call or an answer that no step has recorded."""
        return bool(self._lines or self._under_way or self.left)

    async def _ask_all(self, waiting: Sequence[tuple[CaseQuestion, int]]) -> None:
        import anyio

        at_once = self.judge.config.at_once
        gate, one_writer = anyio.CapacityLimiter(at_once), anyio.CapacityLimiter(1)
        queue: Iterator[tuple[CaseQuestion, int]] = iter(waiting)
        done = 0

        async def work() -> None:
            nonlocal done
            for case, repeat in queue:
                if self._failed_in_a_row < _GIVE_UP:
                    await self._ask_one(case, repeat, gate, one_writer)
                done += 1
                if self.progress is not None:
                    self.progress(done, len(waiting))

        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(work)
        if self._failed_in_a_row >= _GIVE_UP:
            self.failures.append(f"the judge failed {_GIVE_UP} times in a row, so nobody was asked any more")

    async def _ask_one(
        self, case: CaseQuestion, repeat: int, gate: anyio.CapacityLimiter, one_writer: anyio.CapacityLimiter
    ) -> None:
        from anyio.to_thread import run_sync

        key = (case.question.key, repeat)
        number = self._numbers[case.subject] = self._numbers.get(case.subject, 0) + 1

        async def begins() -> None:
            members = range(1, self.judge.config.repeats + 1)
            none = [Member(member=member, error=CUT_OFF) for member in members]
            self._under_way[key] = self._asks_of(case, number, PanelResult(none, None, CUT_OFF))
            await run_sync(self._write_pending, self._unrecorded(), limiter=one_writer)

        try:
            result = await ask_once(
                case.questions, case.question, gate=gate, spend_limit=self._spend_limit, begins=begins
            )
        except AutoscirubError as error:
            result = PanelResult([], None, str(error))
        self._under_way.pop(key, None)
        asks = self._asks_of(case, number, result)
        self.asks += asks
        self._lines += b"".join(map(_encoded, asks))
        answer = None
        if result.error is not None:
            self._failed_in_a_row += 1
            self.failures.append(f"{case.case.name}: {result.error}")
        else:
            self._failed_in_a_row = 0
            self.answers[key] = answer = _answer_of(repeat, result)
        await run_sync(self._write, key[0], answer, self._unrecorded(), limiter=one_writer)

    def _asks_of(self, case: CaseQuestion, number: int, result: PanelResult) -> list[Ask]:
        """A line for each member; one that the spend limit or missing trust ruled out was never called."""
        config, question = self.judge.config, case.question
        backend = self.judge.backend
        estimate = price_of(backend, question.request(config, "")) if backend is not None else None
        return [
            Ask(
                kind=CALIBRATION,
                subject=case.subject,
                key=question.key,
                ask=number,
                member=member.member,
                answer=member.answer,
                panel=result.answer,
                error=member.error or result.error,
                backend=config.backend,
                model_served=member.model_served,
                cost_usd=member.usage.cost_usd,
                estimated_usd=estimate if member.usage.cost_usd is None else None,
                at=now(),
            )
            for member in result.members
            if member.called
        ]

    def _unrecorded(self) -> bytes:
        """The ledger's lines that are in no step yet. On the event loop, as whatever else changes them."""
        return self._lines + b"".join(_encoded(ask) for asks in self._under_way.values() for ask in asks)

    def _write(self, key: str, answer: CalibrationAnswer | None, lines: bytes) -> None:
        # The answer first: killed in between, its call counts as cut off, and it is not asked for again.
        if answer is not None:
            self._file.append(key, answer)
        self._write_pending(lines)

    def _write_pending(self, lines: bytes) -> None:
        """Note the calls for whichever command comes next: a kill must not lose one from the ledger."""
        self._store.write_bytes(PENDING, lines)


def _encoded(ask: Ask) -> bytes:
    return strict_json(ask, indent=None).encode("utf-8")


def _answer_of(repeat: int, result: PanelResult) -> CalibrationAnswer:
    members = result.members
    costs = [member.usage.cost_usd for member in members]
    return CalibrationAnswer(
        repeat=repeat,
        answer=result.answer,
        reasons=[member.verdict.reasoning[:_REASONS] for member in members if member.verdict is not None],
        problems=[
            text
            for member in members
            for text in [*member.problems, *([member.error] if member.error else [])]
        ],
        models_served=sorted({member.model_served for member in members if member.model_served}),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        at=now(),
    )
