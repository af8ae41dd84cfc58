"""Asking a judge: cached verdicts first, then one panel for each question, with every call in the ledger."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autoscirub.checks.criteria import CAPPED, ERROR, LOOKUP_ONLY, NOT_ASKED, WAITING
from autoscirub.checks.predictions import PREDICTIONS_NAME
from autoscirub.errors import CorruptError, JudgeError
from autoscirub.judging import verdict_fault
from autoscirub.judging.backends import SpendLimit, own_files, person_of, price_of
from autoscirub.judging.injection import search_addressing
from autoscirub.judging.prompts import PROMPT_VERSION
from autoscirub.models import Ask, CachedVerdict, Member, now, strict_json
from autoscirub.store import SENDS_FILES, decode, sha256_bytes
from autoscirub.workflow.judges.ledger import ASKS, CALIBRATION, paid, read_asks, unrecorded
from autoscirub.workflow.judges.once import ask_once
from autoscirub.workflow.judges.questions import Questions
from autoscirub.workflow.rounds import project_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import anyio

    from autoscirub.store import Project, Session
    from autoscirub.workflow.judges.once import PanelResult
    from autoscirub.workflow.judges.questions import JudgeQuestion

PENDING = ".lock.asking"
CUT_OFF = "cut off: no answer came"
_MOST_CONCERNS = 50
_ONLY_LOOKS = "not asked: this only looks; `autoscirub check` asks"


@dataclass(frozen=True)
class JudgeResult:
    """The result of a question: a verdict, new or cached; or why there is none."""

    verdict: CachedVerdict | None = None
    elsewhere: bool = False
    error: str = ""
    word: str = ERROR
    """Why there is no verdict: the judge failed, or it was not asked (`NOT_ASKED`, `WAITING`, `CAPPED`)."""

    @property
    def asked(self) -> bool:
        """Whether it was to be asked: where that was not allowed, there is no error."""
        return self.word == ERROR


def judge_session_of(
    opened: Project, session: Session, round_number: int | None, at: str
) -> JudgeSession | None:
    """The project's judge, for one command: its ledger, its spend limit; None where no judge is set up."""
    if opened.config.judge.backend == "none":
        return None
    return JudgeSession(Questions(opened), session, round_number, at)


@dataclass
class JudgeSession:
    """A judge on an opened project, for one command."""

    questions: Questions
    session: Session
    round: int | None
    at: str
    asks: list[Ask] = field(default_factory=list)
    """The calls that this command made."""
    verdicts: dict[str, CachedVerdict] = field(default_factory=dict)
    """The verdicts that this command obtained, by key."""
    progress: Callable[[int, int], None] | None = None
    calls: int = 0
    """How many calls this command made, those of `asks` that are recorded by now too."""

    def __post_init__(self) -> None:
        self.ledger = read_asks(self.session.recorded_file(f"state/{ASKS}"))
        self._left = self._cut_off()
        """Calls that an earlier command had started when it was killed: they count, and are recorded with the next."""
        self.ledger += self._left
        self._pending: list[Ask] = []
        """Calls under way, as they count if no answer comes."""

    # Cached verdicts

    def cached(self, question: JudgeQuestion) -> JudgeResult | None:
        """The cached verdict on exactly this question; None where there is none."""
        name = f"verdicts/{question.key}.json"
        data = self.session.recorded_file(f"state/{name}")
        if data is None:
            return None
        try:
            verdict = decode(data, CachedVerdict, name)
        except CorruptError:
            return None
        if (verdict.key, verdict.subject, verdict.kind) != (question.key, question.subject, question.kind):
            return None
        if verdict_fault(verdict.members, verdict.agree, verdict.answer) is not None:
            return None
        history = self.session.history
        return JudgeResult(verdict, elsewhere=history is None or not history.produced_locally(data))

    def look_up(self, question: JudgeQuestion, *, fresh: bool = False) -> JudgeResult:
        """The cached verdict; the judge is not asked. `fresh` ignores it."""
        cached = None if fresh else self.cached(question)
        return cached or JudgeResult(error=_ONLY_LOOKS, word=LOOKUP_ONLY)

    def verdict_digest(self, question: JudgeQuestion, *, may_ask: bool = False) -> str:
        """The digest of the verdict on a question, new or cached; of nothing where there is none.

        `may_ask`: nor where the cached one was set aside and is to be asked for again.
        """
        data = self.session.recorded_file(f"state/verdicts/{question.key}.json")
        cached = self.cached(question) if may_ask and data is not None else None
        if cached is not None and self._may_ask_again(question, cached):
            data = None
        if question.key in self.verdicts:
            data = strict_json(self.verdicts[question.key]).encode("utf-8")
        return sha256_bytes(data or b"")

    def _may_ask_again(self, question: JudgeQuestion, cached: JudgeResult) -> bool:
        """Whether the cached verdict did not count, and this round has not asked again as often as it may."""
        if cached.verdict is None or not is_set_aside(cached.verdict):
            return False
        here = {
            ask.ask
            for ask in self.asks_on(question.subject)
            if ask.round == self.round and ask.key == question.key
        }
        return len(here) <= self.questions.config.asks_again

    def asks_on(self, subject: str) -> list[Ask]:
        """Every call on a subject, oldest first, those of this command too."""
        return [
            ask for ask in (*self.ledger, *self.asks) if ask.subject == subject and ask.kind != CALIBRATION
        ]

    # Asking

    def ask(self, questions: Sequence[JudgeQuestion], *, fresh: bool = False) -> dict[str, JudgeResult]:
        """Results by subject: cached ones where there are any; the judge is asked all others at once. `fresh` ignores
        cached results.

        A question that fails does not fail the others. `record` records the calls; a person's answers are recorded
        here, one by one, so that nothing that was answered is lost when they leave.
        """
        results: dict[str, JudgeResult] = {}
        waiting: list[JudgeQuestion] = []
        for question in questions:
            cached = None if fresh else self.cached(question)
            if cached is not None and not self._may_ask_again(question, cached):
                results[question.subject] = cached
            elif (refused := self._refused(question)) is not None:
                results[question.subject] = refused
            else:
                waiting.append(question)
        if waiting:
            import anyio

            if self.progress is not None and person_of(self.questions.backend) is not None:
                self.progress(1, 1)  # a bar that is done is taken away: it would draw over the dialogue
            _ = self.addressed  # searched for now: during the calls, all of them would wait for it
            try:
                anyio.run(self._ask_all, waiting, results)
            except BaseException:
                self.record()  # what was asked is in the ledger even when this is interrupted
                raise
        return results

    def _begins(self, question: JudgeQuestion) -> None:
        """Note what is about to be asked. On the event loop, as whatever else changes the list."""
        lines = [
            self._line(question, Member(member=member, error=CUT_OFF), None, CUT_OFF)
            for member in range(1, self.questions.config.repeats + 1)
        ]
        self._pending = [*self._pending, *lines]

    def _write_pending(self) -> None:
        """Write down what is about to be asked: a kill must not lose a call from the ledger."""
        # What an earlier command left is recorded nowhere else yet.
        lines = (strict_json(line, indent=None) for line in (*self._left, *self._pending))
        self.questions.opened.state.write_bytes(PENDING, "".join(lines).encode("utf-8"))

    def _cut_off(self) -> list[Ask]:
        """Calls that were started and are not in the ledger."""
        return unrecorded(self.ledger, self.questions.opened.state.read_bytes(PENDING))

    def record(self) -> None:
        """Record this command's calls, where there are any, as a step of their own, whatever becomes of the command."""
        new = [*self._left, *self._pending, *self.asks]
        if not new:
            return
        state: dict[str, bytes | None] = {}
        for key, verdict in self.verdicts.items():
            state[f"verdicts/{key}.json"] = strict_json(verdict).encode("utf-8")
        lines = self.session.recorded_file(f"state/{ASKS}") or b""
        state[ASKS] = lines + b"".join(strict_json(ask, indent=None).encode("utf-8") for ask in new)
        if self.session.history is not None:
            self.session.history.remember_reports([data for data in state.values() if data is not None])
        facts = {"asks": len(new), "subjects": sorted({ask.subject for ask in new})}
        if person_of(self.questions.backend) is not None:
            facts["by"] = "terminal"  # which is no proof of a person
        self.session.record("judged", at=self.at, facts=facts, state=state)
        self.questions.opened.state.remove(PENDING)
        self.ledger = [*self.ledger, *(ask for ask in new if ask not in self._left)]
        self._left, self._pending, self.asks, self.verdicts = [], [], [], {}

    def _refused(self, question: JudgeQuestion) -> JudgeResult | None:
        """Why the judge may not be asked this now; None when it may."""
        if not self.questions.trusted and self.questions.config.backend in ("command", *SENDS_FILES):
            why = "not judged here: the judge is not trusted (`autoscirub trust` shows what it would do, and asks)"
            return JudgeResult(error=why, word=NOT_ASKED)
        person = person_of(self.questions.backend)
        if person is not None and (away := person.away()):
            return JudgeResult(error=away, word=WAITING)
        cap = self.questions.config.asks_per_round
        before = {ask.ask for ask in self.asks_on(question.subject) if ask.round == self.round}
        if cap is not None and len(before) >= cap:
            why = (
                f"not asked: it was asked {len(before)} times in this round, and judge.asks_per_round is {cap}; "
                "a new round begins with a plan and a revision"
            )
            return JudgeResult(error=why, word=CAPPED)
        return None

    async def _ask_all(self, questions: list[JudgeQuestion], results: dict[str, JudgeResult]) -> None:
        import anyio

        person = person_of(self.questions.backend)
        at_once = 1 if person is not None else self.questions.config.at_once
        gate, built = anyio.CapacityLimiter(at_once), anyio.CapacityLimiter(at_once)
        one_writer = anyio.CapacityLimiter(1)
        done = 0

        async def one(question: JudgeQuestion) -> None:
            nonlocal done
            async with built:
                if person is not None:
                    person.progress(done, len(questions))
                results[question.subject] = await self._ask_one(question, gate, one_writer)
            done += 1
            if self.progress is not None and person is None:
                self.progress(done, len(questions))

        async with anyio.create_task_group() as group:
            for question in questions:
                group.start_soon(one, question)

    async def _ask_one(
        self, question: JudgeQuestion, gate: anyio.CapacityLimiter, one_writer: anyio.CapacityLimiter
    ) -> JudgeResult:
        from anyio.to_thread import run_sync

        if self.questions.backend is None:
            return JudgeResult(error="no judge is set up", word=NOT_ASKED)  # nobody is asked then

        person = person_of(self.questions.backend)
        if person is not None and (refused := self._refused(question)) is not None:
            return refused  # they have left meanwhile

        async def begins() -> None:
            if person is not None:
                return  # a question that a person leaves was not asked
            self._begins(question)
            await run_sync(self._write_pending, limiter=one_writer)

        try:
            result = await ask_once(
                self.questions, question, gate=gate, spend_limit=self._spend_limit, begins=begins
            )
        except JudgeError as cause:  # any error of a third-party backend is wrapped as one
            return JudgeResult(error=str(cause))
        if person is not None and (away := person.away()):
            return JudgeResult(error=away, word=WAITING)
        self._enter(question, result)
        if result.error is not None:
            return JudgeResult(error=result.error)
        verdict = self._verdict(question, result.members, result.answer)
        self.verdicts[question.key] = verdict
        if person is not None:
            self.record()
        return JudgeResult(verdict)

    def _enter(self, question: JudgeQuestion, result: PanelResult) -> None:
        self._pending = [ask for ask in self._pending if ask.subject != question.subject]
        # A member that the spend limit or missing trust ruled out was never called.
        new = [
            self._line(question, member, result.answer, member.error or result.error)
            for member in result.members
            if member.called
        ]
        self.asks += new
        self.calls += len(new)

    def _line(self, question: JudgeQuestion, member: Member, answer: bool | None, error: str | None) -> Ask:
        return Ask(
            kind=question.kind,
            subject=question.subject,
            key=question.key,
            round=self.round,
            ask=max((ask.ask for ask in self.ledger if ask.subject == question.subject), default=0) + 1,
            member=member.member,
            answer=member.answer,
            panel=answer,
            error=error,
            backend=self.questions.config.backend,
            model_served=member.model_served,
            cost_usd=member.usage.cost_usd,
            estimated_usd=self._estimate(question) if member.usage.cost_usd is None else None,
            at=now(),
        )

    def _estimate(self, question: JudgeQuestion) -> float | None:
        if self.questions.backend is None:
            return None
        return price_of(self.questions.backend, question.request(self.questions.config, ""))

    def _verdict(self, question: JudgeQuestion, members: list[Member], answer: bool | None) -> CachedVerdict:
        config = self.questions.config
        verdict = CachedVerdict(
            key=question.key,
            kind=question.kind,
            subject=question.subject,
            answer=answer,
            members=members,
            backend=config.backend,
            model=config.model,
            repeats=config.repeats,
            agree=config.agree,
            prompt_version=PROMPT_VERSION,
            prompt_digest=question.prompt.digest,
            workspace=question.manifest,
            concerns=self.addressed,
            at=now(),
        )
        flipped = self._flipped(verdict)
        return verdict.model_copy(update={"concerns": [*flipped, *verdict.concerns]}) if flipped else verdict

    def _flipped(self, verdict: CachedVerdict) -> list[str]:
        """A concern where the answer flipped with a change to files that the new verdict does not cite."""
        before = next(
            (
                ask
                for ask in reversed(self.ledger)
                if ask.subject == verdict.subject and ask.panel is not None
            ),
            None,
        )
        if before is None or verdict.answer is None or before.panel is verdict.answer:
            return []
        data = self.session.recorded_file(f"state/verdicts/{before.key}.json")
        try:
            earlier = decode(data, CachedVerdict, ASKS) if data is not None else None
        except CorruptError:
            earlier = None
        if earlier is None:
            return []
        old = {file.path: file.sha256 for file in earlier.workspace.files}
        new = {file.path: file.sha256 for file in verdict.workspace.files}
        changed = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
        cited = " ".join(json.dumps(m.verdict.model_dump(mode="json")) for m in verdict.members if m.verdict)
        if any(path in cited for path in changed):
            return []
        what = ", ".join(changed[:5]) or "no file"
        return [
            f"the answer turned from {_word(before.panel)} to {_word(verdict.answer)} with a change of {what}, which "
            "the verdict does not cite"
        ]

    @functools.cached_property
    def addressed(self) -> list[str]:
        """Text anywhere in the project's files that addresses a judge, also where the judge is not shown it."""
        opened = self.questions.opened
        own = {opened.config.rubric_file, PREDICTIONS_NAME, opened.location.config.source or ""}
        # Locked like the predictions, and rightly full of words to a judge.
        own.update(own_files(opened.config.judge, opened.root))
        files = [name for name, _ in project_files(opened) if name not in own]
        searched = search_addressing(opened.root, files)
        found = [
            f"{entry.path}:{entry.line} addresses a judge: {entry.excerpt}"
            for entry in searched.found[:_MOST_CONCERNS]
        ]
        if len(searched.found) > _MOST_CONCERNS:
            found.append(f"{len(searched.found) - _MOST_CONCERNS} more places address a judge")
        if searched.unsearched:
            named = ", ".join(f"{path} ({why})" for path, why in searched.unsearched[:3])
            found.append(
                f"{len(searched.unsearched)} files were not searched for text that addresses a judge: {named}"
                f"{', …' if len(searched.unsearched) > 3 else ''}"
            )
        return found

    @property
    def spent(self) -> str:
        """What this command spent, in a line; empty where nobody was asked."""
        return self._spend_limit.summary if self.calls else ""

    @functools.cached_property
    def _spend_limit(self) -> SpendLimit:
        """The money of this round and this day, less what the ledger has of both."""
        config, today = self.questions.config, datetime.now(UTC).date().isoformat()
        return SpendLimit(
            config.money_round,
            config.money_day,
            spent_round=paid(
                ask for ask in self.ledger if ask.round == self.round and ask.kind != CALIBRATION
            ),
            spent_day=paid(ask for ask in self.ledger if ask.at.startswith(today)),
        )


def is_set_aside(verdict: CachedVerdict) -> bool:
    """Whether a panel has no answer because code set a verdict aside. A judge's own null is an answer."""
    return verdict.answer is None and any(member.problems for member in verdict.members)


def _word(answer: bool | None) -> str:
    return "satisfied" if answer else "not satisfied"
