"""One verification of the criteria within a round: its number, what is reused, and the loop's state after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks import Results
from autoscirub.checks.criteria import CachedResult, gather, report_of, verify_criteria
from autoscirub.checks.rubric import RUBRIC_LIMIT, RUBRIC_NAME
from autoscirub.models import (
    Change,
    ChangeSummary,
    Decision,
    Ended,
    Event,
    Infeasible,
    Loop,
    RevisionPlan,
    ScopeChange,
    Verification,
    VerificationReport,
    strict_json,
)
from autoscirub.store import ASIDE_MARK, Project, Session
from autoscirub.workflow.judges import Reader
from autoscirub.workflow.locks import deciding, lock_rubric, require_rubric, require_settings
from autoscirub.workflow.rerunning import required_rerun
from autoscirub.workflow.rounds.rules import (
    FOLDER,
    PLAN,
    SUMMARY,
    VERIFICATION,
    LoopState,
    Round,
    current_round,
    ending_of,
    next_number,
    read_rounds,
    recorded_model,
    round_name,
)
from autoscirub.workflow.rounds.waiting import wait_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoscirub.checks.criteria import CriteriaVerification
    from autoscirub.checks.numbers import NumbersFound
    from autoscirub.models import CriterionResult
    from autoscirub.workflow.judges import JudgeSession
    from autoscirub.workflow.rerunning import RerunStatus

EVENTS = f"{FOLDER}/events.jsonl"


@dataclass(frozen=True)
class Revision:
    """What a reviser says it did, besides what its files show."""

    changes: Sequence[Change] = ()
    infeasible: Sequence[Infeasible] = ()
    seconds: float = 0.0


@dataclass
class RoundCheck:
    """What was concluded: Decisions, the predictions' outcome, the criteria's report, how the loop stands."""

    decisions: list[Decision]
    verification: Verification | None = None
    numbers: NumbersFound | None = None
    """Whether every number in the report is found in the results, and each of them; None without a report."""
    rerun: RerunStatus | None = None
    """How the rerun stands; None where nothing says how to run."""
    report: VerificationReport | None = None
    rubric: str | None = None
    """The file that the criteria were read from, as the rubric names it."""
    rounds: list[Round] = field(default_factory=list)
    ended: Ended | None = None
    evaluated: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    scope_changes: list[ScopeChange] = field(default_factory=list)

    @property
    def waiting(self) -> str:
        """Who must do what, where only a person can bring on what is open; else empty."""
        wait = wait_of(self.report) if self.ended is None else None
        return wait.note if wait is not None else ""

    @property
    def counted(self) -> list[Decision]:
        """What a command over the criteria counts: the criteria, and a rerun where one is required."""
        return [*(self.report.decisions if self.report else []), *required_rerun(self.rerun)]

    def facts(self) -> dict[str, object]:
        """Everything but the decisions, as plain JSON data."""
        return {
            "numbers": [number.facts() for number in self.numbers.numbers] if self.numbers else None,
            "rerun": {"ran": self.rerun.ran, "elsewhere": self.rerun.elsewhere} if self.rerun else None,
            "scope_changes": [change.model_dump(mode="json") for change in self.scope_changes],
            "report": self.report.model_dump(mode="json", exclude={"decisions"}) if self.report else None,
            "ended": self.ended.model_dump(mode="json") if self.ended else None,
            "waiting": self.waiting or None,
            "rounds": [
                {"name": entry.name, "status": entry.status, "known": entry.known, "problems": entry.problems}
                for entry in self.rounds
            ],
            "evaluated": self.evaluated,
            "reused": self.reused,
            "notices": self.notices,
        }


class RoundVerification:
    """One verification of the criteria within a round. See the module."""

    def __init__(
        self, opened: Project, session: Session, revision: Revision, at: str, max_rounds: int | None = None
    ) -> None:
        self.opened, self.session, self.revision, self.at = opened, session, revision, at
        self.rounds_allowed = max_rounds or opened.config.rounds.max
        self.rounds = read_rounds(session)
        self.current = current_round(self.rounds)
        self.rubric, self.changes = require_rubric(opened, session)
        require_settings(opened, session)
        self.previous: VerificationReport | None = None
        self.plan: RevisionPlan | None = None
        if self.current is not None and self.current.number is not None:
            base = f"{FOLDER}/{self.current.name}"
            self.previous = recorded_model(session, f"{base}/{VERIFICATION}", VerificationReport)
            self.plan = recorded_model(session, f"{base}/{PLAN}", RevisionPlan)
            if recorded_model(session, f"{base}/{SUMMARY}", ChangeSummary) is not None:
                self.plan = None
        whole = self.current is not None and self.current.status == "complete"
        self.addressed: list[str] = []
        """Text of the project's that addresses a judge, where one is set up."""
        self.opens = self.previous is None or self.plan is not None or whole
        number = self.current.number if self.current and self.current.number else 0
        self.number = next_number(self.rounds) if self.opens else number

    def verify(
        self,
        *,
        fresh: bool,
        progress: Callable[[int, int], None] | None,
        rerun: RerunStatus | None = None,
        judge_session: JudgeSession | None = None,
        may_ask: bool = False,
    ) -> None:
        earlier = {} if fresh else self._earlier()
        cached = earlier if self._produced_locally() else {}
        self.inputs = gather(
            self.opened,
            self.rubric.model,
            cached=cached,
            ignored=self.session.ignored,
            progress=progress,
            rerun=rerun.decision if rerun else None,
        )
        if judge_session is not None:
            # Even where nobody is asked: a reader of the record must know.
            judge_session.progress = progress
            self.addressed = judge_session.addressed if may_ask else []
            reader = Reader(judge_session, at=self.at, may_ask=may_ask)
            self.inputs = reader.read(self.rubric.model, self.inputs, cached=cached, fresh=fresh)
        self.criteria: CriteriaVerification = verify_criteria(
            self.rubric.model,
            self.inputs,
            cached=cached,
            claimed={} if cached else earlier,
            at=self.at,
            fresh=fresh,
        )
        self.report = report_of(self.rubric.model, self.criteria, self.number)
        require_rubric(self.opened, self.session)  # after it, as before it

    def _earlier(self) -> dict[str, CachedResult]:
        """The answers of the newest verification, each with its Decision."""
        report = recorded_model(self.session, VerificationReport.file_name, VerificationReport)
        if report is None:
            return {}
        decisions = {decision.subject: decision for decision in report.decisions}
        return {
            result.criterion_id: CachedResult(result, decisions[result.criterion_id], report.round)
            for result in report.criteria
            if result.criterion_id in decisions
        }

    def _produced_locally(self) -> bool:
        """Whether this machine made the newest verification.

        A bundle from elsewhere, or one that was made by hand, holds the claims of others, which are re-evaluated.
        """
        data, history = (
            self.session.recorded_file(f"state/{VerificationReport.file_name}"),
            self.session.history,
        )
        return data is not None and history is not None and history.produced_locally(data)

    def fill(
        self,
        checked: RoundCheck,
        state: dict[str, bytes | None],
        locked: dict[str, bytes | None],
        facts: dict[str, object],
    ) -> None:
        """Everything that this verification adds to the step that is recorded."""
        name = round_name(self.number)
        data = strict_json(self.report).encode()
        if self.session.history is not None:
            self.session.history.remember_report(data)
        state[f"{FOLDER}/{name}/{VERIFICATION}"] = data
        state[VerificationReport.file_name] = data
        events = [Event(event="verified", round=self.number, at=self.at)]
        if self.opens:
            events.insert(0, Event(event="opened", round=self.number, at=self.at))
        if self.plan is not None and self.current is not None:
            summary = self._summary()
            state[f"{FOLDER}/{self.current.name}/{SUMMARY}"] = strict_json(summary).encode()
            events.insert(0, Event(event="revised", round=self.plan.round, at=self.at))
        self._strengthen(state, locked)
        if RUBRIC_NAME not in state and self.opened.state.read_bytes(RUBRIC_NAME) is None:
            state[RUBRIC_NAME] = self.session.recorded_file(f"state/{RUBRIC_NAME}")
        ended = self._loop()
        if ended is not None:
            events.append(Event(event=ended.state, round=self.number, at=self.at))
        state[EVENTS] = event_lines(self.session, events)
        facts |= {
            "round": self.number,
            "passed": self.report.summary.passed,
            "failed": self.report.summary.failed,
            "evaluated": self.criteria.evaluated,
            "reused": len(self.criteria.reused),
            "ended": ended.model_dump(mode="json") if ended else None,
            "settings": deciding(self.opened),
            "addressed": self.addressed,
        }
        checked.report, checked.ended = self.report, ended
        checked.rubric = self.rubric.source
        checked.scope_changes = self.session.manifest.scope_changes
        checked.decisions += self.report.decisions
        checked.evaluated, checked.reused = self.criteria.evaluated, self.criteria.reused
        checked.rounds = self.rounds

    def _strengthen(self, state: dict[str, bytes | None], locked: dict[str, bytes | None]) -> None:
        lock = self.session.recorded_locks.rubric
        if not self.changes.strengthened or lock is None:
            return
        renewed = lock_rubric(self.rubric, at=lock.frozen_at)
        self.session.manifest.locks = self.session.manifest.locks.model_copy(update={"rubric": renewed})
        state[RUBRIC_NAME] = locked[RUBRIC_NAME] = self.rubric.executable
        if self.rubric.source != RUBRIC_NAME:
            locked["rubric-source"] = self.opened.read(self.rubric.source, limit=RUBRIC_LIMIT)

    def _summary(self) -> ChangeSummary:
        """What was done about each target: the reviser's own words, and what really changed."""
        if self.plan is None:
            raise RuntimeError("a summary belongs to a plan")
        before = {result.criterion_id: result for result in self.previous.criteria} if self.previous else {}
        after = {result.criterion_id: result for result in self.report.criteria}
        reported = {change.criterion_id: change for change in self.revision.changes}
        changes: list[Change] = []
        for target in self.plan.targets:
            stated = reported.get(target.criterion_id)
            old, new = before.get(target.criterion_id), after.get(target.criterion_id)
            moved = self._moved(old, new)
            changes.append(
                Change(
                    criterion_id=target.criterion_id,
                    actions_completed=list(stated.actions_completed) if stated else [],
                    artifacts_changed=sorted({*(stated.artifacts_changed if stated else []), *moved}),
                    remaining_gap="none"
                    if new and new.satisfied
                    else (new.evidence_gap if new else target.gap),
                )
            )
        return ChangeSummary(
            round=self.plan.round, changes=changes, infeasible=list(self.revision.infeasible), at=self.at
        )

    def _moved(self, old: CriterionResult | None, new: CriterionResult | None) -> set[str]:
        """The files that a criterion rests on and that are others than before."""
        parts = new.rests_on if new else {}
        changed = {
            part for part, digest in parts.items() if (old.rests_on.get(part) if old else None) != digest
        }
        files = {part for part in changed if (self.opened.root / part).is_file()}
        if any(part.startswith("results") for part in changed) and isinstance(self.inputs.results, Results):
            files.add(self.inputs.results.path)
        return files

    def _loop(self) -> Ended | None:
        manifest, config = self.session.manifest, self.opened.config.rounds
        loop = manifest.loop or Loop(first_round=self.number, started_at=self.at)
        spent = loop.spent_seconds + self.revision.seconds
        ending = ending_of(
            LoopState(
                report=self.report,
                previous=self.previous if self.plan is not None else None,
                reduced_by_agent=any(change.by == "agent" for change in manifest.scope_changes),
                infeasible=self._infeasible(),
                rounds_used=self.number - loop.first_round + 1,
                rounds_allowed=self.rounds_allowed,
                seconds_spent=spent,
                seconds_allowed=config.seconds,
            )
        )
        ended = Ended(state=ending[0], round=self.number, why=ending[1], at=self.at) if ending else None
        before = loop.ended
        if (
            before is not None
            and before.state not in {"satisfied", "satisfied_in_reduced_scope"}
            and ended is None
        ):
            ended = before  # verifying again does not reopen the loop; only a person does
        if (
            before is not None
            and ended is not None
            and (before.state, before.round) == (ended.state, ended.round)
        ):
            ended = before
        manifest.loop = loop.model_copy(update={"spent_seconds": spent, "ended": ended})
        return ended

    def _infeasible(self) -> frozenset[str]:
        named = {entry.criterion_id for entry in self.revision.infeasible}
        loop = self.session.manifest.loop
        for entry in self.rounds:
            # What was declared before a person continued no longer counts: they continued to have it tried again.
            if entry.known and loop is not None and (entry.number or 0) >= loop.first_round:
                summary = recorded_model(self.session, f"{FOLDER}/{entry.name}/{SUMMARY}", ChangeSummary)
                named |= {item.criterion_id for item in summary.infeasible} if summary else set()
        return frozenset(named)

    @property
    def based_on(self) -> dict[str, str]:
        """The files that the criteria were decided on, with their digests."""
        inputs = self.inputs
        found: dict[str, str] = {}
        if isinstance(inputs.results, Results):
            found[inputs.results.path] = inputs.results.sha256
        for decision in inputs.artifacts.values():
            if isinstance(decision, Decision):
                found |= {
                    entry.path: entry.sha256 for entry in decision.evidence if entry.path and entry.sha256
                }
        for decision in inputs.numbers.values():
            found |= {entry.path: entry.sha256 for entry in decision.evidence if entry.path and entry.sha256}
        if inputs.report is not None and inputs.report.path and inputs.report.sha256:
            found[inputs.report.path] = inputs.report.sha256
        for reading in inputs.judge_answers.values():
            found |= {
                entry.path: entry.sha256 for entry in reading.decision.evidence if entry.path and entry.sha256
            }
        return found


def event_lines(session: Session, events: Sequence[Event]) -> bytes:
    """The event log with `events` after what is there; a line that a kill cut off stays, on a line of its own.

    One that does not begin as the history has it is set aside, and the history's goes on.
    """
    recorded, lines = session.recorded_file(f"state/{EVENTS}"), session.project.state.read_bytes(EVENTS)
    if recorded is not None and (lines is None or not lines.startswith(recorded)):
        if lines is not None:
            aside = session.project.state.move_aside(EVENTS, mark=ASIDE_MARK)
            session.notices.append(f"{EVENTS}: was not as the history has it; set aside as {aside}")
        lines = recorded
    lines = lines or b""
    if lines and not lines.endswith(b"\n"):
        lines += b"\n"
    return lines + b"".join(strict_json(event, indent=None).encode() for event in events)
