"""Verifying the frozen predictions: layer 1, the judge, the outcome, and recording it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks import Results, find_results, load_results
from autoscirub.checks.predictions import (
    LOCK_NAME,
    OUTCOME_ANSWERS,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    Decided,
    Predictions,
    decide_outcome,
    evaluate_checks,
    freeze_note,
    is_late,
    read_lock,
    read_predictions,
    require_frozen,
)
from autoscirub.errors import ConfigError, ResultsError
from autoscirub.models import (
    Answer,
    CheckResult,
    DecidedBy,
    Decision,
    Digests,
    Evidence,
    Outcome,
    PredictionsLock,
    Verification,
    now,
    strict_json,
    weakest,
)
from autoscirub.store import Project, open_project, sha256_bytes
from autoscirub.workflow.bulk import without_collecting
from autoscirub.workflow.judges import judge_hypothesis, judge_session_of
from autoscirub.workflow.locks import earlier_results, require_settings, with_judge
from autoscirub.workflow.rerunning import NOT_RERUN, required_rerun, rerun_status
from autoscirub.workflow.rounds import current_round, read_rounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.store import Session
    from autoscirub.workflow.judges import JudgeSession, MayJudge
    from autoscirub.workflow.rerunning import RerunStatus


@dataclass
class VerifyResult:
    """An outcome with everything that must be reported with it."""

    verification: Verification
    notices: list[str] = field(default_factory=list)
    required: list[Decision] = field(default_factory=list)
    """What else counts: a rerun, where one is required."""


def verify(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    read_only: bool = False,
    judge: str | None = None,
    strict: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyResult:
    """Hold the frozen predictions against the results and the files, have them judged, and record the outcome.

    `judge`: a backend instead of the configured one; `none`: layer 1 alone. With `strict` the judge's word can change
    the outcome. The lock is checked before and after, whether or not anything failed in between. Raises
    PredictionsError when nothing is frozen, TamperedError when anything that was frozen changed, another judge too,
    and ConfigError for `strict` without a judge. With `read_only` nothing is written, and no judge is asked.
    """
    opened = with_judge(open_project(project, state_dir), judge)
    may: MayJudge = "no" if opened.config.judge.backend == "none" else "look" if read_only else "ask"
    if strict and may == "no":
        raise ConfigError(
            "--strict lets the judge's word change the outcome, and no judge is set up; set [judge] backend, or leave "
            "it out"
        )
    if read_only:
        with opened.reading() as session:
            return _verified(opened, session, may, strict=strict, progress=progress)
    with opened.reading() as session:  # refuse without making a state directory
        require_predictions(opened, session)
    with opened.writing() as session:
        verified = _verified(opened, session, may, strict=strict, progress=progress)
        record_verification(opened, session, verified.verification)
        return verified


def _verified(
    opened: Project,
    session: Session,
    may: MayJudge,
    *,
    strict: bool,
    progress: Callable[[int, int], None] | None,
) -> VerifyResult:
    # What is known of a rerun is for the line that says what the outcome rests on. Nothing is run for it.
    rerun = rerun_status(opened, session, may="ask")
    current = current_round(read_rounds(session))
    judge_session = judge_session_of(opened, session, current.number if current else None, now())
    how = _How(may, judge_session, strict)
    return verify_predictions(opened, session, rerun=rerun, how=how, progress=progress)


@dataclass(frozen=True)
class _How:
    may: MayJudge = "no"
    judge_session: JudgeSession | None = None
    strict: bool = False
    fresh: bool = False


def verify_predictions(
    opened: Project,
    session: Session,
    *,
    rerun: RerunStatus | None = None,
    how: _How | None = None,
    may_judge: MayJudge = "no",
    judge_session: JudgeSession | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyResult:
    """The outcome of the frozen predictions, not recorded. `rerun` is reported with it, and decides nothing."""
    how = how or _How(may_judge, judge_session, fresh=fresh)
    lock, data = require_predictions(opened, session)
    try:
        with without_collecting():
            predictions = read_predictions(data)
            verification = _evaluate(opened, session, predictions, lock, rerun, how, progress)
    finally:
        require_predictions(opened, session)
    return VerifyResult(verification, session.notices, required_rerun(rerun))


def record_verification(opened: Project, session: Session, verification: Verification) -> None:
    """Write `verification.json` and commit it with the files that it rests on."""
    opened.state.read(Verification)  # one that cannot be read is moved aside, not overwritten
    facts = {
        "outcome": verification.outcome.value,
        "headline": verification.headline,
        "digests": verification.digests.model_dump(mode="json"),
    }
    state = {Verification.file_name: strict_json(verification).encode("utf-8")}
    basis = based_on(opened, verification)
    session.record("verify", at=verification.at, facts=facts, judged=basis, based_on=basis, state=state)


def based_on(opened: Project, verification: Verification) -> dict[str, str]:
    """The files that an outcome rests on, with their digests."""
    digests = verification.digests
    results = {find_results(opened.root, opened.config.results): digests.results} if digests.results else {}
    return {PREDICTIONS_NAME: digests.prereg, **results, **digests.artifacts}


def predictions_claimed(opened: Project, session: Session) -> bool:
    """Whether predictions were ever frozen here, or say so."""
    # A lock without a record is a claim to be refused with its reason, not something never set up.
    recorded = session.recorded_locks.predictions is not None
    return recorded or session.found_locks.predictions is not None or (opened.root / LOCK_NAME).exists()


def require_predictions(opened: Project, session: Session) -> tuple[PredictionsLock, bytes]:
    """The lock and the frozen predictions. Raises PredictionsError when nothing is frozen, TamperedError when it, or a
    locked setting, was changed."""
    data = opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT)
    lock = require_frozen(
        data, read_lock(opened), session.found_locks.predictions, session.recorded_locks.predictions
    )
    require_settings(opened, session)
    return lock, data or b""


def _evaluate(
    opened: Project,
    session: Session,
    predictions: Predictions,
    lock: PredictionsLock,
    rerun: RerunStatus | None,
    how: _How,
    progress: Callable[[int, int], None] | None,
) -> Verification:
    at = now()
    reran = rerun.word if rerun else NOT_RERUN
    results = _results(opened)
    evaluated = evaluate_checks(
        predictions,
        results,
        opened.root,
        at=at,
        ignored=session.ignored,
        progress=progress,
    )
    outcome = decide_outcome(evaluated.results).outcome
    # Where layer 1 decided nothing, there is nothing for a judge to weigh.
    may = how.may if outcome is not Outcome.FAILED else "no"
    judged = judge_hypothesis(how.judge_session, predictions.prereg, may=may, fresh=how.fresh)
    asked = judged.asked or how.strict
    before = outcome
    decided = decide_outcome(evaluated.results, judged.verdict, strict=how.strict, judge_asked=asked)
    outcome = decided.outcome
    earlier = list(earlier_results(session))
    note, late = freeze_note(lock, earlier), is_late(lock, earlier)
    digests = _digests(predictions, results, evaluated.results)
    headline = " · ".join(
        [
            f"{outcome}: {_tally(decided, evaluated.results)}",
            *([] if late else [note]),
            judged.word,
            reran,
        ]
    )
    unsettled = [f"{check.id}: {check.message}" for check in evaluated.results if check.passed is not True]
    decision = Decision(
        subject="predictions",
        question=predictions.prereg.hypothesis,
        answer=OUTCOME_ANSWERS[outcome],
        word=outcome.value,
        decided_by=weakest(
            [
                *(part.decided_by for part in evaluated.decisions),
                *([DecidedBy.JUDGE] if outcome is not before else []),
            ]
        ),
        evidence=[*_evidence(predictions, results, note), *judged.evidence],
        open=[
            *(unsettled if outcome is Outcome.FAILED else []),
            *judged.open,
            *([reran] if rerun is None or rerun.decision.answer is not Answer.HOLDS else []),
            *session.notices,
        ],
        parts=evaluated.decisions,
        inputs_digest=_inputs_digest(digests),
        at=at,
    )
    return Verification(
        outcome=outcome,
        headline=headline,
        notes=list(
            dict.fromkeys(
                [
                    *([note] if late else []),
                    *_unfreeze_notes(session),
                    *session.recorded_notices(),
                    *session.notices,
                ]
            )
        ),
        checks=evaluated.results,
        judge=judged.verdict,
        strict=how.strict,
        judge_failed=judged.asked and judged.verdict is None,
        decisions=[decision],
        digests=digests,
        frozen_at=lock.frozen_at,
        at=at,
    )


def _results(opened: Project) -> Results | ResultsError:
    path = find_results(opened.root, opened.config.results)
    try:
        return load_results(opened.root, path, limit=opened.config.limits.results_bytes)
    except ResultsError as error:
        return error


def _tally(decided: Decided, checks: list[CheckResult]) -> str:
    held = f"{sum(check.passed is True and check.kind == 'expr' for check in checks)} of "
    held += f"{sum(check.kind == 'expr' for check in checks)} predictions held"
    artifacts = [check for check in checks if check.kind == "artifact"]
    if artifacts:
        held += (
            f" · {sum(check.passed is True for check in artifacts)} of {len(artifacts)} artifacts are there"
        )
    return f"{decided.why} · {held}" if decided.outcome is Outcome.FAILED or decided.by_judge else held


def _unfreeze_notes(session: Session) -> list[str]:
    return [
        f"the freeze of {entry.frozen_at} was taken off at {entry.at} (by {entry.by}): {entry.reason}; "
        + ("results existed by then" if entry.results_existed else "no results file was there by then")
        for entry in session.manifest.unfreezes
    ]


def _digests(predictions: Predictions, results: Results | ResultsError, checks: list[CheckResult]) -> Digests:
    return Digests(
        prereg=predictions.sha256,
        results=None if isinstance(results, ResultsError) else results.sha256,
        artifacts={
            evidence.path: evidence.sha256
            for check in checks
            if check.kind == "artifact"
            for evidence in check.evidence
            if evidence.path and evidence.sha256
        },
    )


def _inputs_digest(digests: Digests) -> str:
    return sha256_bytes(digests.model_dump_json().encode())


def _evidence(predictions: Predictions, results: Results | ResultsError, note: str) -> list[Evidence]:
    found = [Evidence(path=predictions.name, sha256=predictions.sha256, note=note)]
    if not isinstance(results, ResultsError):
        found.append(Evidence(path=results.path, sha256=results.sha256, size=results.size))
    return found
