"""`calibrate`: the configured judge is asked about labelled cases, or what that would take is estimated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.errors import CheckError, ConfigError, TrustError
from autoscirub.judging.backends import price_of
from autoscirub.judging.prompts import PROMPT_VERSION
from autoscirub.models import Answer, CalibratedCase, Calibration, Decision, Evidence, now, strict_json
from autoscirub.store import SENDS_FILES, open_project
from autoscirub.workflow.calibration.cases import read_cases
from autoscirub.workflow.calibration.questions import case_questions
from autoscirub.workflow.calibration.rates import rates_of
from autoscirub.workflow.calibration.session import CalibrationSession
from autoscirub.workflow.calibration.stale import calibration_line, recorded_calibration
from autoscirub.workflow.calibration.unrecorded import UnrecordedAnswers
from autoscirub.workflow.judges import Questions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from autoscirub.models import CalibrationAnswer
    from autoscirub.store import Session
    from autoscirub.workflow.calibration.questions import CaseQuestion
    from autoscirub.workflow.calibration.unrecorded import AnswerKey

_MOST_REPEATS = 99


@dataclass
class CalibrationRun:
    """What a calibration came to; for a dry run, what it would take."""

    cases: int
    repeats: int
    dry_run: bool = False
    calls: int = 0
    """Calls that were made, or of a dry run would be: members of panels, repairs aside."""
    reused: int = 0
    """Answers that were there before."""
    price: float | None = 0.0
    """US dollars of a dry run; None: unknown."""
    calibration: Calibration | None = None
    spent: str = ""
    """What was spent, in a line; empty where nobody was asked."""
    failures: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def decisions(self) -> list[Decision]:
        """Whether both rates are known, over all the answers that were asked for."""
        if self.calibration is None:
            return []
        rates = self.calibration.rates
        open_ = [
            f"no case labelled {label} has an answer, so the {name} rate is unknown"
            for label, name, rate in (
                ("satisfied", "true positive", rates.true_positive.rate),
                ("not_satisfied", "false positive", rates.false_positive.rate),
            )
            if rate is None
        ]
        if self.calibration.missing:
            open_.append(
                f"{self.calibration.missing} answers are missing; the same command asks for them again"
            )
        decision = Decision(
            subject="calibration",
            question="Are both rates of this judge known?",
            answer=Answer.INCONCLUSIVE if open_ else Answer.HOLDS,
            word="incomplete" if open_ else "measured",
            evidence=[Evidence(note=calibration_line(self.calibration, []))],
            open=[*open_, *self.failures],
            at=self.calibration.at,
        )
        return [decision]


def calibrate(
    project: str | Path | None,
    cases: str | Path,
    *,
    state_dir: str | Path | None = None,
    repeats: int = 3,
    money: float | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CalibrationRun:
    """Ask the project's judge `repeats` times about each labelled case at `cases`, and record how often it was right.

    Answers that are there are used again while everything that they rest on is unchanged; `fresh` asks for all anew.
    `money`: US dollars, at most. Interrupted, what was answered is recorded all the same. Raises ConfigError without
    a judge, CheckError for cases with faults, and TrustError for a judge that is not trusted here.
    """
    if not 1 <= repeats <= _MOST_REPEATS:
        raise CheckError(f"calibrate: --repeats {repeats}: expected 1 to {_MOST_REPEATS}")
    if money is not None and not money > 0:
        raise CheckError(f"calibrate: --money {money:g}: expected US dollars, more than 0")
    opened = open_project(project, state_dir)
    if opened.config.judge.backend == "none":
        raise ConfigError('no judge is set up; set backend in [judge], such as "command" (docs/judging.md)')
    judge = Questions(opened)
    questions = case_questions(judge, read_cases(cases))
    every = [(case, repeat) for repeat in range(1, repeats + 1) for case in questions]
    with opened.reading() as session:
        before = {} if fresh else {**_recorded_answers(session), **_left(judge, every)}
        waiting = [entry for entry in every if _key(entry) not in before]
        run = CalibrationRun(len(questions), repeats, dry_run, reused=len(every) - len(waiting))
        if dry_run:
            run.notices = session.notices
            return _estimated(run, judge, waiting)
    if waiting:
        _require_trust(judge)
    with opened.writing() as session:
        left = {} if fresh else _left(judge, every)  # newer than what is recorded
        answers = {} if fresh else {**_recorded_answers(session), **left}
        calibrating = CalibrationSession(judge, session, answers, left, money=money, progress=progress)
        try:
            calibrating.ask([entry for entry in every if _key(entry) not in answers])
        finally:  # what was asked is recorded even when this is interrupted
            run.calibration = _record(session, calibrating, judge, questions, repeats)
        run.calls, run.spent, run.failures = len(calibrating.asks), calibrating.spent, calibrating.failures
        run.notices = session.notices
    return run


def _key(entry: tuple[CaseQuestion, int]) -> AnswerKey:
    return entry[0].question.key, entry[1]


def _recorded_answers(session: Session) -> dict[AnswerKey, CalibrationAnswer]:
    recorded = recorded_calibration(session)
    cases = recorded.cases if recorded is not None else []
    return {(case.key, answer.repeat): answer for case in cases for answer in case.answers}


def _left(judge: Questions, every: Sequence[tuple[CaseQuestion, int]]) -> dict[AnswerKey, CalibrationAnswer]:
    """The answers to these questions that a calibration got before it was killed."""
    found = UnrecordedAnswers(judge.opened).read()
    return {key: found[key] for key in map(_key, every) if key in found}


def _estimated(
    run: CalibrationRun, judge: Questions, waiting: Sequence[tuple[CaseQuestion, int]]
) -> CalibrationRun:
    config, backend = judge.config, judge.backend
    run.calls = len(waiting) * config.repeats
    for case, _ in waiting:
        price = price_of(backend, case.question.request(config, "")) if backend is not None else None
        run.price = None if price is None or run.price is None else run.price + price * config.repeats
    return run


def _require_trust(judge: Questions) -> None:
    backend = judge.config.backend
    if not judge.trusted and (backend == "command" or backend in SENDS_FILES):
        raise TrustError(
            f"calibrate: the project's judge ({backend}) is not trusted on this machine; `autoscirub trust` shows what "
            "it would run or send, and asks"
        )


def _record(
    session: Session,
    calibrating: CalibrationSession,
    judge: Questions,
    questions: Sequence[CaseQuestion],
    repeats: int,
) -> Calibration:
    """Record the calibration as it stands; without an answer the calls alone, and nothing where nothing is new."""
    at = now()
    made = _calibration(judge, questions, calibrating.answers, repeats, at)
    recorded = recorded_calibration(session)
    changed = recorded is None or recorded.model_copy(update={"at": at}) != made
    answered = any(case.answers for case in made.cases)
    if calibrating.anything_new or (answered and changed):
        state = {Calibration.file_name: strict_json(made).encode("utf-8")} if answered else {}
        calibrating.record(at, {"cases": len(questions), "missing": made.missing}, state)
        return made
    return made if changed or recorded is None else recorded


def _calibration(
    judge: Questions,
    questions: Sequence[CaseQuestion],
    answers: Mapping[AnswerKey, CalibrationAnswer],
    repeats: int,
    at: str,
) -> Calibration:
    cases = [
        CalibratedCase(
            case=entry.case.name,
            label=entry.case.label,
            note=entry.case.note,
            criterion_id=entry.case.criterion.criterion_id,
            key=entry.question.key,
            workspace=entry.question.manifest.digest,
            answers=[
                answers[entry.question.key, repeat]
                for repeat in range(1, repeats + 1)
                if (entry.question.key, repeat) in answers
            ],
        )
        for entry in questions
    ]
    return Calibration(
        backend=judge.config.backend,
        model=judge.config.model,
        settings=judge.settings,
        judge=judge.judge_digest,
        prompt_version=PROMPT_VERSION,
        repeats=repeats,
        missing=len(cases) * repeats - sum(len(case.answers) for case in cases),
        rates=rates_of(cases),
        cases=cases,
        at=at,
    )
