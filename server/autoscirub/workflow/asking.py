"""Asking a judge: kept verdicts first, then the panels, each question its own; every call in the ledger."""

from __future__ import annotations

import contextlib
import functools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autoscirub.errors import AutoscirubError, BlindingError, CorruptError, JudgeError
from autoscirub.judging import (
    PROMPT_VERSION,
    JudgeProgram,
    Purse,
    ReadReply,
    ask_panel,
    build_workspace,
    panel_answer,
    panel_error,
    problems_of,
    read_reply,
    repair_request,
    search_addressing,
    verdict_fault,
)
from autoscirub.models import Ask, KeptVerdict, Member, now, strict_json
from autoscirub.store import decode, sha256_bytes
from autoscirub.workflow.guarding import project_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import anyio

    from autoscirub.judging import Workspace
    from autoscirub.models import JudgeReply
    from autoscirub.store import Session
    from autoscirub.workflow.questions import Question, Questions

__all__ = ["ASKS", "NOT_ASKED", "Asking", "Told"]

ASKS = "asks.jsonl"
BEGUN = ".lock.asking"
CUT_OFF = "cut off: no answer came"
_MOST_CONCERNS = 50
_WAIT = "wait until whatever writes there is done, and check again"
NOT_ASKED = "not asked: this only looks; `autoscirub check` asks"


@dataclass(frozen=True)
class Told:
    """What a question came to: a verdict, from now or from before; or why there is none."""

    verdict: KeptVerdict | None = None
    elsewhere: bool = False
    error: str = ""
    asked: bool = True
    """Whether it was to be asked: where that was not allowed, there is no error, and nothing told."""


@dataclass
class Asking:
    """A judge on an opened project, for one command."""

    questions: Questions
    session: Session
    round: int | None
    at: str
    asks: list[Ask] = field(default_factory=list)
    """What was asked just now."""
    verdicts: dict[str, KeptVerdict] = field(default_factory=dict)
    """What was told just now, by key."""
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        self.ledger = self._ledger()
        self._left = self._cut_off()
        """What an earlier command had begun to ask when it was killed: it counts, and is recorded with the next."""
        self.ledger += self._left

    # What is kept

    def kept(self, question: Question) -> Told | None:
        """The answer that was kept on exactly this question; None where there is none."""
        name = f"verdicts/{question.key}.json"
        data = self.session.kept(f"state/{name}")
        if data is None:
            return None
        try:
            verdict = decode(data, KeptVerdict, name)
        except CorruptError:
            return None
        if (verdict.key, verdict.subject, verdict.kind) != (question.key, question.subject, question.kind):
            return None
        if verdict_fault(verdict.members, verdict.agree, verdict.answer) is not None:
            return None
        history = self.session.history
        return Told(verdict, elsewhere=history is None or not history.reached_here(data))

    def verdict_digest(self, question: Question) -> str:
        """The digest of the verdict that is kept on a question, from just now or before; of nothing where none is."""
        data = self.session.kept(f"state/verdicts/{question.key}.json")
        if question.key in self.verdicts:
            data = strict_json(self.verdicts[question.key]).encode("utf-8")
        return sha256_bytes(data or b"")

    def asks_on(self, subject: str) -> list[Ask]:
        """Every call on a subject, oldest first, those of just now too."""
        return [ask for ask in (*self.ledger, *self.asks) if ask.subject == subject]

    def _ledger(self) -> list[Ask]:
        data = self.session.kept(f"state/{ASKS}") or b""
        found: list[Ask] = []
        for line in data.splitlines():
            try:
                found.append(Ask.model_validate_json(line))
            except ValidationError:
                continue  # a line of another version: it is counted by nobody, and stays where it is
        return found

    # Asking

    def ask(self, questions: Sequence[Question], *, fresh: bool = False) -> dict[str, Told]:
        """Answers by subject: kept ones where they are, and the judge's own for the others, all at once. `fresh` asks
        where an answer is kept, too.

        A failure of one question is its own. Nothing is recorded: `record` does.
        """
        told: dict[str, Told] = {}
        waiting: list[Question] = []
        for question in questions:
            kept = None if fresh else self.kept(question)
            if kept is not None:
                told[question.subject] = kept
            elif (why := self._refused(question)) is not None:
                told[question.subject] = Told(error=why, asked=False)
            else:
                waiting.append(question)
        if waiting:
            import anyio

            self._begin(waiting)
            try:
                anyio.run(self._ask_all, waiting, told)
            except BaseException:
                self.record()  # what was asked stands in the ledger, also where this is broken off
                raise
        return told

    def _begin(self, questions: Sequence[Question]) -> None:
        """Write down what is about to be asked: a kill must not take a call out of the ledger."""
        lines = [
            *self._left,  # of a command before this one; nothing else has them yet
            *(
                self._line(question, Member(member=member, error=CUT_OFF), None, CUT_OFF)
                for question in questions
                for member in range(1, self.questions.config.repeats + 1)
            ),
        ]
        text = "".join(strict_json(line, indent=None) for line in lines)
        self.questions.opened.state.write_bytes(BEGUN, text.encode("utf-8"))

    def _cut_off(self) -> list[Ask]:
        """What was begun to be asked, and is not in the ledger."""
        data = self.questions.opened.state.read_bytes(BEGUN)
        found = []
        for line in (data or b"").splitlines():
            with contextlib.suppress(ValidationError):
                ask = Ask.model_validate_json(line)
                known = max((entry.ask for entry in self.ledger if entry.subject == ask.subject), default=0)
                if ask.ask > known:
                    found.append(ask)
        return found

    def record(self) -> None:
        """A step of its own for what was asked just now, whatever becomes of the command. Nothing where nothing was."""
        new = [*self._left, *self._cut_off_left(), *self.asks]
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
        self._left, self.asks, self.verdicts = [], [], {}

    def _cut_off_left(self) -> list[Ask]:
        """Of what was begun, what no answer and no error came of: it was asked all the same."""
        ended = {(ask.subject, ask.ask, ask.member) for ask in self.asks}
        return [ask for ask in self._cut_off() if (ask.subject, ask.ask, ask.member) not in ended]

    def _refused(self, question: Question) -> str | None:
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

    async def _ask_all(self, questions: list[Question], told: dict[str, Told]) -> None:
        import anyio

        config = self.questions.config
        gate, built = anyio.CapacityLimiter(config.at_once), anyio.CapacityLimiter(config.at_once)
        purse = Purse(config.money_round, config.money_day, self._spent_today())
        done = 0

        async def one(question: Question) -> None:
            nonlocal done
            async with built:
                told[question.subject] = await self._ask_one(question, gate, purse)
            done += 1
            if self.progress is not None:
                self.progress(done, len(questions))

        async with anyio.create_task_group() as group:
            for question in questions:
                group.start_soon(one, question)

    async def _ask_one(self, question: Question, gate: anyio.CapacityLimiter, purse: Purse) -> Told:
        from anyio.to_thread import run_sync

        config, backend = self.questions.config, self.questions.backend
        if backend is None:
            return Told(error="no judge is set up", asked=False)  # nobody asks then
        try:
            workspace = await run_sync(self._build, question)
        except AutoscirubError as cause:
            return Told(error=str(cause))
        try:
            members = await ask_panel(
                backend,
                question.request(config, str(workspace.root)),
                repeats=config.repeats,
                agree=config.agree,
                read=lambda reply: _read(reply, question, workspace),
                gate=gate,
                purse=purse,
            )
            answer, error = panel_answer(members, config.agree), panel_error(members)
            try:
                await run_sync(workspace.verify)
            except BlindingError as changed:
                answer, error = None, str(changed)
            if error is None and not await run_sync(self._is_as_it_was, question):
                answer, error = None, f"what the judge was shown changed meanwhile; {_WAIT}"
            self._enter(question, members, answer, error)
        except Exception as cause:  # noqa: BLE001 - somebody else's judge, whatever it does, is one question's error
            return Told(error=f"judge {backend.name}: {type(cause).__name__}: {str(cause)[:300]}")
        finally:
            await run_sync(workspace.close)
        if error is not None:
            return Told(error=error)
        verdict = self._verdict(question, members, answer)
        self.verdicts[question.key] = verdict
        return Told(verdict)

    def _is_as_it_was(self, question: Question) -> bool:
        """Whether the project still shows what the judge has read."""
        return self.questions.manifest_of(question).digest == question.manifest.digest

    def _build(self, question: Question) -> Workspace:
        workspace = build_workspace(
            self.questions.opened, question.manifest.profile, criterion=question.criterion
        )
        if workspace.manifest.digest != question.manifest.digest:
            workspace.close()
            raise BlindingError(f"what the judge is shown changed while the question was put; {_WAIT}")
        return workspace

    def _enter(
        self, question: Question, members: Sequence[Member], answer: bool | None, error: str | None
    ) -> None:
        self.asks += [self._line(question, member, answer, member.error or error) for member in members]

    def _line(self, question: Question, member: Member, answer: bool | None, error: str | None) -> Ask:
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
            at=now(),
        )

    def _verdict(self, question: Question, members: list[Member], answer: bool | None) -> KeptVerdict:
        config = self.questions.config
        kept = KeptVerdict(
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

    def _flipped(self, kept: KeptVerdict) -> list[str]:
        """A concern where the answer turned with a change outside of what the new verdict cites."""
        before = next(
            (ask for ask in reversed(self.ledger) if ask.subject == kept.subject and ask.panel is not None),
            None,
        )
        if before is None or kept.answer is None or before.panel is kept.answer:
            return []
        data = self.session.kept(f"state/verdicts/{before.key}.json")
        try:
            earlier = decode(data, KeptVerdict, ASKS) if data is not None else None
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
        found = search_addressing(opened.root, files).found[:_MOST_CONCERNS]
        return [f"{entry.path}:{entry.line} addresses a judge: {entry.excerpt}" for entry in found]

    def _spent_today(self) -> float:
        today = datetime.now(UTC).date().isoformat()
        return sum(ask.cost_usd or 0.0 for ask in self.ledger if ask.at.startswith(today))


def _word(answer: bool | None) -> str:
    return "satisfied" if answer else "not satisfied"


def _read(reply: JudgeReply, question: Question, workspace: Workspace) -> ReadReply:
    """A reply, read and checked against what the judge was shown."""
    reading = read_reply(reply, [question.subject], question.kind)
    try:
        verdict = reading.verdict(question.subject)
    except JudgeError:
        return ReadReply(faults=repair_request(reading.faults))
    problems = problems_of(verdict, workspace.root, workspace.manifest, question.criterion)
    return ReadReply(verdict, problems=problems)
