"""Asking a judge: kept verdicts first, then the panels, each question its own; every call in the ledger."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, BlindingError, CorruptError, JudgeError
from autoscirub.judging import ReadReply, ask_panel, panel_answer, panel_error, verdict_fault
from autoscirub.judging.backends import JudgeProgram, SpendLimit, price_of
from autoscirub.judging.injection import search_addressing
from autoscirub.judging.prompts import PROMPT_VERSION
from autoscirub.judging.verdicts import problems_of, read_reply, repair_request
from autoscirub.judging.workspace import build_workspace
from autoscirub.models import Ask, CachedVerdict, Member, now, strict_json
from autoscirub.store import decode, sha256_bytes
from autoscirub.workflow.judges.ledger import ASKS, paid, read_asks
from autoscirub.workflow.judges.questions import Questions
from autoscirub.workflow.rounds import project_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import anyio

    from autoscirub.judging.workspace import Workspace
    from autoscirub.models import JudgeReply
    from autoscirub.store import Project, Session
    from autoscirub.workflow.judges.questions import JudgeQuestion

BEGUN = ".lock.asking"
CUT_OFF = "cut off: no answer came"
_MOST_CONCERNS = 50
_WAIT = "wait until whatever writes there is done, and check again"
NOT_ASKED = "not asked: this only looks; `autoscirub check` asks"


@dataclass(frozen=True)
class JudgeResult:
    """What a question came to: a verdict, from now or from before; or why there is none."""

    verdict: CachedVerdict | None = None
    elsewhere: bool = False
    error: str = ""
    asked: bool = True
    """Whether it was to be asked: where that was not allowed, there is no error, and nothing told."""


def judge_session_of(
    opened: Project, session: Session, round_number: int | None, at: str
) -> JudgeSession | None:
    """The project's judge, for one command: its ledger, its money; None where no judge is set up."""
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
    """What was asked just now."""
    verdicts: dict[str, CachedVerdict] = field(default_factory=dict)
    """What was told just now, by key."""
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        self.ledger = read_asks(self.session.kept(f"state/{ASKS}"))
        self._left = self._cut_off()
        """What an earlier command had begun to ask when it was killed: it counts, and is recorded with the next."""
        self.ledger += self._left
        self._begun: list[Ask] = []
        """What is being asked, as it counts when no answer comes any more."""

    # What is kept

    def kept(self, question: JudgeQuestion) -> JudgeResult | None:
        """The answer that was kept on exactly this question; None where there is none."""
        name = f"verdicts/{question.key}.json"
        data = self.session.kept(f"state/{name}")
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

    def looked_up(self, question: JudgeQuestion, *, fresh: bool = False) -> JudgeResult:
        """The answer that is kept, where nobody is asked. `fresh` takes none."""
        kept = None if fresh else self.kept(question)
        return kept or JudgeResult(error=NOT_ASKED, asked=False)

    def verdict_digest(self, question: JudgeQuestion) -> str:
        """The digest of the verdict that is kept on a question, from just now or before; of nothing where none is."""
        data = self.session.kept(f"state/verdicts/{question.key}.json")
        if question.key in self.verdicts:
            data = strict_json(self.verdicts[question.key]).encode("utf-8")
        return sha256_bytes(data or b"")

    def asks_on(self, subject: str) -> list[Ask]:
        """Every call on a subject, oldest first, those of just now too."""
        return [ask for ask in (*self.ledger, *self.asks) if ask.subject == subject]

    # Asking

    def ask(self, questions: Sequence[JudgeQuestion], *, fresh: bool = False) -> dict[str, JudgeResult]:
        """Answers by subject: kept ones where they are, and the judge's own for the others, all at once. `fresh` asks
        where an answer is kept, too.

        A failure of one question is its own. Nothing is recorded: `record` does.
        """
        told: dict[str, JudgeResult] = {}
        waiting: list[JudgeQuestion] = []
        for question in questions:
            kept = None if fresh else self.kept(question)
            if kept is not None:
                told[question.subject] = kept
            elif (why := self._refused(question)) is not None:
                told[question.subject] = JudgeResult(error=why, asked=False)
            else:
                waiting.append(question)
        if waiting:
            import anyio

            _ = (
                self.addressed
            )  # searched for beforehand: in the middle of asking, all other asks would wait for it
            try:
                anyio.run(self._ask_all, waiting, told)
            except BaseException:
                self.record()  # what was asked stands in the ledger, also where this is broken off
                raise
        return told

    def _begins(self, question: JudgeQuestion) -> None:
        """Note what is about to be asked. On the event loop, as whatever else changes the list."""
        lines = [
            self._line(question, Member(member=member, error=CUT_OFF), None, CUT_OFF)
            for member in range(1, self.questions.config.repeats + 1)
        ]
        self._begun = [*self._begun, *lines]

    def _write_begun(self) -> None:
        """Write down what is about to be asked: a kill must not take a call out of the ledger."""
        # What an earlier command left stands in no other place yet.
        lines = (strict_json(line, indent=None) for line in (*self._left, *self._begun))
        self.questions.opened.state.write_bytes(BEGUN, "".join(lines).encode("utf-8"))

    def _cut_off(self) -> list[Ask]:
        """What was begun to be asked, and is not in the ledger."""
        known: dict[str, int] = {}
        for entry in self.ledger:
            known[entry.subject] = max(entry.ask, known.get(entry.subject, 0))
        begun = read_asks(self.questions.opened.state.read_bytes(BEGUN))
        return [ask for ask in begun if ask.ask > known.get(ask.subject, 0)]

    def record(self) -> None:
        """A step of its own for what was asked just now, whatever becomes of the command. Nothing where nothing was."""
        new = [*self._left, *self._begun, *self.asks]
        if not new:
            return
        state: dict[str, bytes | None] = {}
        for key, verdict in self.verdicts.items():
            state[f"verdicts/{key}.json"] = strict_json(verdict).encode("utf-8")
        lines = self.session.kept(f"state/{ASKS}") or b""
        state[ASKS] = lines + b"".join(strict_json(ask, indent=None).encode("utf-8") for ask in new)
        if self.session.history is not None:
            self.session.history.remember_reports([data for data in state.values() if data is not None])
        facts = {"asks": len(new), "subjects": sorted({ask.subject for ask in new})}
        self.session.record("judged", at=self.at, facts=facts, state=state)
        self.questions.opened.state.remove(BEGUN)
        self.ledger = [*self.ledger, *(ask for ask in new if ask not in self._left)]
        self._left, self._begun, self.asks, self.verdicts = [], [], [], {}

    def _refused(self, question: JudgeQuestion) -> str | None:
        """Why the judge may not be asked this now; None when it may."""
        if not self.questions.trusted and self.questions.config.backend == "command":
            return "not judged here: judge.command is not trusted (`autoscirub trust` shows it, and asks)"
        cap = self.questions.config.asks_per_round
        before = {ask.ask for ask in self.asks_on(question.subject) if ask.round == self.round}
        if cap is not None and len(before) >= cap:
            return (
                f"not asked: it was asked {len(before)} times in this round, and judge.asks_per_round is {cap}; "
                "a new round begins with a plan and a revision"
            )
        return None

    async def _ask_all(self, questions: list[JudgeQuestion], told: dict[str, JudgeResult]) -> None:
        import anyio

        config = self.questions.config
        gate, built = anyio.CapacityLimiter(config.at_once), anyio.CapacityLimiter(config.at_once)
        one_writer = anyio.CapacityLimiter(1)
        done = 0

        async def one(question: JudgeQuestion) -> None:
            nonlocal done
            async with built:
                told[question.subject] = await self._ask_one(question, gate, one_writer)
            done += 1
            if self.progress is not None:
                self.progress(done, len(questions))

        async with anyio.create_task_group() as group:
            for question in questions:
                group.start_soon(one, question)

    async def _ask_one(
        self, question: JudgeQuestion, gate: anyio.CapacityLimiter, one_writer: anyio.CapacityLimiter
    ) -> JudgeResult:
        from anyio.to_thread import run_sync

        config, backend = self.questions.config, self.questions.backend
        if backend is None:
            return JudgeResult(error="no judge is set up", asked=False)  # nobody asks then
        try:
            workspace = await run_sync(self._build, question)
        except AutoscirubError as cause:
            return JudgeResult(error=str(cause))
        try:
            self._begins(question)
            await run_sync(self._write_begun, limiter=one_writer)
            members = await ask_panel(
                backend,
                question.request(config, str(workspace.root)),
                repeats=config.repeats,
                agree=config.agree,
                read=lambda reply: _read(reply, question, workspace),
                gate=gate,
                spend_limit=self._purse,
            )
            answer, error = panel_answer(members, config.agree), panel_error(members)
            try:
                await run_sync(workspace.verify)
                await run_sync(self._require_unchanged, question)
            except AutoscirubError as changed:
                answer, error = None, error or str(changed)
            self._enter(question, members, answer, error)
        except JudgeError as cause:  # whatever somebody else's judge raises is one by now
            return JudgeResult(error=str(cause))
        finally:
            await run_sync(workspace.close)
        if error is not None:
            return JudgeResult(error=error)
        verdict = self._verdict(question, members, answer)
        self.verdicts[question.key] = verdict
        return JudgeResult(verdict)

    def _require_unchanged(self, question: JudgeQuestion) -> None:
        """Raise BlindingError where the project does not show any more what the judge has read."""
        if self.questions.manifest_of(question).digest != question.manifest.digest:
            raise BlindingError(f"what the judge was shown changed meanwhile; {_WAIT}")

    def _build(self, question: JudgeQuestion) -> Workspace:
        workspace = build_workspace(
            self.questions.opened, question.manifest.profile, criterion=question.criterion
        )
        if workspace.manifest.digest != question.manifest.digest:
            workspace.close()
            raise BlindingError(f"what the judge is shown changed while the question was put; {_WAIT}")
        return workspace

    def _enter(
        self, question: JudgeQuestion, members: Sequence[Member], answer: bool | None, error: str | None
    ) -> None:
        self._begun = [ask for ask in self._begun if ask.subject != question.subject]
        # Where there was no money for a member, or no trust, nobody was called.
        self.asks += [
            self._line(question, member, answer, member.error or error) for member in members if member.called
        ]

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
        kept = CachedVerdict(
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
        flipped = self._flipped(kept)
        return kept.model_copy(update={"concerns": [*flipped, *kept.concerns]}) if flipped else kept

    def _flipped(self, kept: CachedVerdict) -> list[str]:
        """A concern where the answer turned with a change outside of what the new verdict cites."""
        before = next(
            (ask for ask in reversed(self.ledger) if ask.subject == kept.subject and ask.panel is not None),
            None,
        )
        if before is None or kept.answer is None or before.panel is kept.answer:
            return []
        data = self.session.kept(f"state/verdicts/{before.key}.json")
        try:
            earlier = decode(data, CachedVerdict, ASKS) if data is not None else None
        except CorruptError:
            earlier = None
        if earlier is None:
            return []
        old = {file.path: file.sha256 for file in earlier.workspace.files}
        new = {file.path: file.sha256 for file in kept.workspace.files}
        changed = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
        said = " ".join(json.dumps(m.verdict.model_dump(mode="json")) for m in kept.members if m.verdict)
        if any(path in said for path in changed):
            return []
        what = ", ".join(changed[:5]) or "no file"
        return [
            f"the answer turned from {_word(before.panel)} to {_word(kept.answer)} with a change of {what}, which the "
            "verdict does not cite"
        ]

    @functools.cached_property
    def addressed(self) -> list[str]:
        """Text anywhere in the project's files that addresses a judge, also where the judge is not shown it."""
        opened = self.questions.opened
        own = {opened.config.rubric or "rubric.toml", "prereg.toml", opened.location.config.source or ""}
        judge = opened.config.judge
        if judge.backend == "command" and judge.command:
            # Locked like the predictions, and rightly full of words to a judge.
            own.update(JudgeProgram(judge.command, opened.root).own_files())
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
        """What was spent just now, in a line; empty where nobody was asked."""
        return self._purse.said if self.asks else ""

    @functools.cached_property
    def _purse(self) -> SpendLimit:
        """The money of this round and this day, less what the ledger has of both."""
        config, today = self.questions.config, datetime.now(UTC).date().isoformat()
        return SpendLimit(
            config.money_round,
            config.money_day,
            spent_round=paid(ask for ask in self.ledger if ask.round == self.round),
            spent_day=paid(ask for ask in self.ledger if ask.at.startswith(today)),
        )


def _word(answer: bool | None) -> str:
    return "satisfied" if answer else "not satisfied"


def _read(reply: JudgeReply, question: JudgeQuestion, workspace: Workspace) -> ReadReply:
    """A reply, read and checked against what the judge was shown."""
    reading = read_reply(reply, [question.subject], question.kind)
    try:
        verdict = reading.verdict(question.subject)
    except JudgeError:
        return ReadReply(faults=repair_request(reading.faults))
    problems = problems_of(verdict, workspace.root, workspace.manifest, question.criterion)
    return ReadReply(verdict, problems=problems)
