"""`judge`: asking the judge alone about hypothesis and criteria, or estimating what asking would take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.criteria import LOOKUP_ONLY, established, gather
from autoscirub.checks.predictions import read_predictions
from autoscirub.checks.rubric import load_rubric, needs_reading
from autoscirub.errors import AutoscirubError, CheckError, ConfigError
from autoscirub.judging.backends import RecordingBackend, person_of, price_of, recording_folder
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT
from autoscirub.models import DecidedBy, Decision, now
from autoscirub.store import open_project
from autoscirub.workflow.judges.answers import ANSWERS, cost_of, failed_reading, reading_of
from autoscirub.workflow.judges.ask import JudgeSession
from autoscirub.workflow.judges.hypothesis import judged_of
from autoscirub.workflow.judges.ledger import place_of
from autoscirub.workflow.judges.questions import Questions
from autoscirub.workflow.locks import require_rubric, require_settings, with_judge
from autoscirub.workflow.rerunning import rerun_status
from autoscirub.workflow.rounds import current_round, read_rounds
from autoscirub.workflow.verifying import predictions_claimed, require_predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoscirub.models import Ask, CachedVerdict, ExecutableRubric
    from autoscirub.store import Project, Session
    from autoscirub.workflow.judges.ask import JudgeResult
    from autoscirub.workflow.judges.questions import JudgeQuestion

_ON_HYPOTHESIS = "Does the evidence support the hypothesis?"


@dataclass
class JudgeRun:
    """The judge's answers, question by question; for a dry run, what asking would take."""

    decisions: list[Decision] = field(default_factory=list)
    verdicts: list[CachedVerdict] = field(default_factory=list)
    dry_run: bool = False
    calls: int = 0
    """Calls that were made, or of a dry run would be: members of panels, repairs aside."""
    cached: int = 0
    """Questions with a cached verdict, so that nobody is asked."""
    price: float | None = 0.0
    """US dollars of a dry run; None: unknown."""
    spent: str = ""
    """What was spent, in a line; empty where nobody was asked."""
    notices: list[str] = field(default_factory=list)


def judge(
    project: str | Path | None = None,
    criterion_id: str | None = None,
    *,
    state_dir: str | Path | None = None,
    backend: str | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    record: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> JudgeRun:
    """Ask the judge about one criterion, or `hypothesis`, or all that must be read. Each call is in the ledger.

    What code decides is left out, no round is opened, and no report is written. Into the folder `record` goes each
    reply as it came, for the backend `replay`. Raises ConfigError without a judge and for a folder that a judge would
    see, CheckError for a criterion that is not there or that no judge reads, and TamperedError when anything frozen
    changed.
    """
    opened = with_judge(open_project(project, state_dir), backend)
    if opened.config.judge.backend == "none":
        raise ConfigError(
            'no judge is set up; set backend in [judge], such as "person", which asks you here (docs/judging.md)'
        )
    folder = None
    if record is not None:
        hidden = (opened.location.state_dir, opened.config.judge.replay)
        folder = recording_folder(Path(record), opened.root, *hidden)
    with opened.reading() as session:
        run, waiting = _look(opened, session, criterion_id, fresh=fresh)
        if dry_run or not waiting:
            run.dry_run = dry_run
            if folder is not None:
                run.notices.append("nobody was asked, so nothing was recorded; --fresh asks about all of it")
            return run
    with opened.writing() as session:
        asked = Questions(opened)
        if folder is not None and asked.backend is not None:
            asked.backend = RecordingBackend(asked.backend, folder)
        judge_session = JudgeSession(asked, session, _round(session), now(), progress=progress)
        questions, broken = _questions(opened, session, judge_session.questions, criterion_id)
        results = judge_session.ask(questions, fresh=fresh)
        run = JudgeRun(
            calls=judge_session.calls,
            spent=judge_session.spent,
            notices=session.notices,
            decisions=broken,
        )
        judge_session.record()
        for question in questions:
            _add(run, judge_session, question, results[question.subject])
        return run


def _look(
    opened: Project, session: Session, criterion_id: str | None, *, fresh: bool
) -> tuple[JudgeRun, list[JudgeQuestion]]:
    judge_session = JudgeSession(Questions(opened), session, _round(session), now())
    questions, broken = _questions(opened, session, judge_session.questions, criterion_id)
    run = JudgeRun(notices=session.notices, decisions=broken)
    waiting: list[JudgeQuestion] = []
    for question in questions:
        result = judge_session.look_up(question, fresh=fresh)
        if result.verdict is not None:
            run.cached += 1
        else:
            waiting.append(question)
            run.calls += opened.config.judge.repeats
            price = _price(judge_session.questions, question)
            run.price = None if price is None or run.price is None else run.price + price
        _add(run, judge_session, question, result)
    return run, waiting


def _round(session: Session) -> int | None:
    current = current_round(read_rounds(session))
    return current.number if current else None


def _questions(
    opened: Project, session: Session, questions: Questions, criterion_id: str | None
) -> tuple[list[JudgeQuestion], list[Decision]]:
    found: list[JudgeQuestion] = []
    broken: list[Decision] = []
    _ = questions.settings  # raised here: a judge that cannot give its settings fails every question

    def put(subject: str, make: Callable[[], JudgeQuestion]) -> None:
        try:
            found.append(make())
        except AutoscirubError as error:
            failed = failed_reading(subject, str(error), asked=0).decision
            broken.append(failed.model_copy(update={"subject": subject}))

    rubric = _rubric(opened, session)
    criteria = rubric.criteria if rubric is not None else []
    questions.avoid = rubric.claims_to_avoid if rubric is not None else ()
    if criterion_id == HYPOTHESIS_SUBJECT or (criterion_id is None and predictions_claimed(opened, session)):
        prereg = read_predictions(require_predictions(opened, session)[1]).prereg
        put(HYPOTHESIS_SUBJECT, lambda: questions.of_hypothesis(prereg))
    named = [entry for entry in criteria if criterion_id in (None, entry.criterion_id)]
    if criterion_id not in (None, HYPOTHESIS_SUBJECT) and not named:
        known = ", ".join(entry.criterion_id for entry in criteria[:20]) or "none"
        raise CheckError(
            f"no criterion {criterion_id!r}; there is {known}, and {HYPOTHESIS_SUBJECT} for the predictions"
        )
    for criterion in named:
        if needs_reading(criterion):
            put(criterion.criterion_id, lambda criterion=criterion: questions.of(criterion))  # type: ignore[misc]
        elif criterion_id is not None:
            raise CheckError(f"{criterion_id}: code alone decides it, so no judge reads it")
    if rubric is not None and person_of(questions.backend) is not None:
        alone = rubric.model_copy(update={"criteria": named})
        return _for_a_person(opened, session, alone, found, broken, every=criterion_id is None)
    return found, broken


def _for_a_person(
    opened: Project,
    session: Session,
    rubric: ExecutableRubric,
    questions: list[JudgeQuestion],
    broken: list[Decision],
    *,
    every: bool,
) -> tuple[list[JudgeQuestion], list[Decision]]:
    """The questions with what code found. Of `every` criterion, those are left out that code does not find met: a
    person's time is not spent on work that will change."""
    rerun = rerun_status(opened, session, may="look")
    inputs = gather(opened, rubric, ignored=session.ignored, rerun=rerun.decision if rerun else None)
    found: list[JudgeQuestion] = []
    for question in questions:
        established_ = established(question.criterion, inputs, at=now()) if question.criterion else []
        if established_ is None and every:
            why = "not asked: not all that code decides of it holds; `autoscirub check` says what"
            failed = failed_reading(_asked(question), why, asked=0, word=LOOKUP_ONLY).decision
            broken.append(failed.model_copy(update={"subject": question.subject}))
        else:
            found.append(replace(question, established=tuple(established_ or ())))
    return found, broken


def _rubric(opened: Project, session: Session) -> ExecutableRubric | None:
    require_settings(opened, session)
    if session.recorded_locks.rubric is not None:
        return require_rubric(opened, session)[0].model
    rubric = load_rubric(opened)
    return rubric.model if rubric is not None else None


def _price(questions: Questions, question: JudgeQuestion) -> float | None:
    config = questions.config
    if questions.backend is None:
        return None
    price = price_of(questions.backend, question.request(config, ""))
    return None if price is None else price * config.repeats


def _add(run: JudgeRun, judge_session: JudgeSession, question: JudgeQuestion, result: JudgeResult) -> None:
    asks = judge_session.asks_on(question.subject)
    asked = max((ask.ask for ask in asks), default=0)
    if result.verdict is None:
        decision = failed_reading(_asked(question), result.error, asked=asked, word=result.word).decision
    elif question.criterion is not None:
        decision = reading_of(
            result.verdict, _asked(question), asks=asks, elsewhere=result.elsewhere
        ).decision
    else:
        decision = _on_hypothesis(result.verdict, asks, elsewhere=result.elsewhere)
    run.decisions.append(decision.model_copy(update={"subject": question.subject}))
    if result.verdict is not None:
        run.verdicts.append(result.verdict)


def _asked(question: JudgeQuestion) -> str:
    return question.criterion.requirement if question.criterion else _ON_HYPOTHESIS


def _on_hypothesis(cached: CachedVerdict, asks: Sequence[Ask], *, elsewhere: bool) -> Decision:
    words = {True: "supported", False: "not supported", None: "cannot tell"}
    judged = judged_of(cached, asks, elsewhere=elsewhere)
    return Decision(
        subject=HYPOTHESIS_SUBJECT,
        question=_ON_HYPOTHESIS,
        answer=ANSWERS[cached.answer],
        word=words[cached.answer],
        decided_by=DecidedBy.JUDGE,
        evidence=judged.evidence,
        open=judged.open,
        inputs_digest=cached.key,
        asks=place_of(cached, asks),
        cost=cost_of(cached),
        at=cached.at,
    )
