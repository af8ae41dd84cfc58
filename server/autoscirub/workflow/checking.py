"""`check`: one pass over predictions, numbers, rerun and criteria, which with a frozen rubric verifies a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks import find_report
from autoscirub.checks.numbers import check_numbers
from autoscirub.checks.predictions import PREDICTIONS_LIMIT, PREDICTIONS_NAME, lint_predictions
from autoscirub.checks.rubric import load_rubric
from autoscirub.errors import CheckError
from autoscirub.models import (
    Answer,
    Change,
    Decision,
    Evidence,
    Infeasible,
    Verification,
    VerificationReport,
    now,
    strict_json,
)
from autoscirub.store import Project, Session, open_project, refuse_moved, sha256_bytes
from autoscirub.workflow.judges import judge_session_of
from autoscirub.workflow.locks import require_rubric, with_judge
from autoscirub.workflow.rerunning import record_rerun, rerun_status
from autoscirub.workflow.rounds import (
    Revision,
    RoundCheck,
    RoundVerification,
    current_round,
    read_rounds,
    recorded_model,
)
from autoscirub.workflow.verifying import based_on, predictions_claimed, verify_predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from autoscirub.checks.rubric import Rubric


def check(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    read_only: bool = False,
    fresh: bool = False,
    judge: str | None = None,
    changes: Sequence[Change] = (),
    infeasible: Sequence[Infeasible] = (),
    progress: Callable[[int, int], None] | None = None,
) -> RoundCheck:
    """Decide everything that is set up. What is not frozen is shown as such and not evaluated.

    With a frozen rubric this verifies the open round again, or, after a plan, closes that round with a summary
    (`changes`, `infeasible`) and opens the next. A rerun that is out of date is run again where it is trusted.
    Raises TamperedError when something that was frozen changed, and CheckError for `changes` or `infeasible` where no
    round is planned, or of a criterion that is not there: they would be lost silently. With `read_only` nothing is
    written and no round is opened. `fresh` ignores cached results. `judge`: a backend instead of the configured one;
    `none`: no judge.
    """
    opened = with_judge(open_project(project, state_dir), judge)
    named = [each.criterion_id for each in changes] + [each.criterion_id for each in infeasible]
    with opened.reading() as session:
        if named:
            _refuse_idle(opened, session, named)
        loop = session.manifest.loop
        in_error = loop is not None and loop.ended is not None and loop.ended.state == "error"
        if read_only or in_error or not _anything_frozen(opened, session):
            result = _look(opened, session, fresh=fresh, progress=progress)
            if read_only or result.rerun is None or not result.rerun.ran:
                return result
            with opened.writing() as recording:  # record the rerun alone: it took too long to be thrown away
                record_rerun(recording, result.rerun)
            return result
    with opened.writing() as session:
        if named:  # a step that was cut off is finished by now, and another process may have taken one
            _refuse_idle(opened, session, named)
        return check_step(opened, session, Revision(changes, infeasible), fresh=fresh, progress=progress)


def _refuse_idle(opened: Project, session: Session, named: list[str]) -> None:
    current = current_round(read_rounds(session))
    if current is None or current.status != "planned":
        raise CheckError(
            "changes and infeasible close a round that is planned, and none is: plan it first (plan_round), or check "
            "without them"
        )
    known = {criterion.criterion_id for criterion in require_rubric(opened, session)[0].model.criteria}
    unknown = [name for name in named if name not in known]
    if unknown:
        raise CheckError(
            f"changes, infeasible: {', '.join(unknown[:8])}: no such criterion; there is "
            f"{', '.join(sorted(known)[:20])}"
        )


def check_step(
    opened: Project,
    session: Session,
    revision: Revision | None = None,
    *,
    fresh: bool = False,
    max_rounds: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RoundCheck:
    """One verification on an opened project, recorded. See `check`."""
    checked = RoundCheck([], notices=session.notices)
    state: dict[str, bytes | None] = {}
    facts: dict[str, object] = {}
    at = now()
    step: RoundVerification | None = None
    if session.recorded_locks.rubric is not None:
        step = RoundVerification(opened, session, revision or Revision(), at, max_rounds)
    # One session for all questions of the round, so that they share one spend limit.
    judge_session = judge_session_of(opened, session, step.number if step else None, at)
    rerun = checked.rerun = rerun_status(opened, session, may="run", fresh=fresh)
    if predictions_claimed(opened, session):
        verified = verify_predictions(
            opened,
            session,
            rerun=rerun,
            may_judge="ask",
            judge_session=judge_session,
            fresh=fresh,
            progress=progress,
        )
        checked.verification = verified.verification
        checked.decisions += verified.verification.decisions
        opened.state.read(Verification)  # one that cannot be read is moved aside, not overwritten
        state[Verification.file_name] = strict_json(verified.verification).encode()
        facts["outcome"] = verified.verification.outcome.value
    elif opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT) is not None:
        checked.decisions.append(_not_frozen(opened))
    _add_numbers(opened, session, checked)
    if checked.numbers is not None:
        facts["numbers"] = checked.numbers.decision.answer.value
    if rerun is not None:
        checked.decisions.append(rerun.decision)
        facts["rerun"] = {"answer": rerun.decision.answer.value, "word": rerun.decision.word}
        state |= rerun.files()
        rerun.remember(session)
    locked: dict[str, bytes | None] = {}
    criteria: dict[str, str] = {}
    if step is not None:
        step.verify(fresh=fresh, progress=progress, rerun=rerun, judge_session=judge_session, may_ask=True)
        step.fill(checked, state, locked, facts)
        criteria = step.based_on
    basis = _one_reading(opened, checked, criteria)
    session.record("check", at=at, facts=facts, judged=basis, based_on=basis, state=state, locked=locked)
    checked.notices = _noticed(session)
    return checked


def _one_reading(opened: Project, checked: RoundCheck, criteria: dict[str, str]) -> dict[str, str]:
    """The files that everything in `checked` was decided on, with their digests.

    Raises StateError when two parts were decided on different bytes of one file: they would say together what is
    true of neither.
    """
    numbers = checked.numbers.decision.evidence if checked.numbers else []
    basis: dict[str, str] = {}
    for part in (
        based_on(opened, checked.verification) if checked.verification else {},
        {entry.path: entry.sha256 for entry in numbers if entry.path and entry.sha256},
        checked.rerun.based_on() if checked.rerun else {},
        criteria,
    ):
        refuse_moved(basis, basis | part)
        basis |= part
    return basis


def _noticed(session: Session) -> list[str]:
    """What is wrong with the history now, and what ever was: it stays in every later outcome."""
    return list(dict.fromkeys([*session.recorded_notices(), *session.notices]))


def is_as_verified(opened: Project, session: Session) -> bool:
    """Whether nothing that is judged has changed since the newest round was verified. Records nothing."""
    step = RoundVerification(opened, session, Revision(), now())
    if step.opens:
        return False
    rerun = rerun_status(opened, session, may="look")
    step.verify(
        fresh=False,
        progress=None,
        rerun=rerun,
        judge_session=judge_session_of(opened, session, step.number, now()),
    )
    report = recorded_model(session, VerificationReport.file_name, VerificationReport)
    if report is None or step.changes.any_change or _answers(report) != _answers(step.report):
        return False
    if not predictions_claimed(opened, session):
        return True
    recorded = recorded_model(session, Verification.file_name, Verification)
    return (
        recorded is not None and recorded.digests == verify_predictions(opened, session).verification.digests
    )


def _answers(report: VerificationReport) -> list[tuple[str, str | None, dict[str, str]]]:
    return [(result.criterion_id, result.status, dict(result.rests_on)) for result in report.criteria]


def _anything_frozen(opened: Project, session: Session) -> bool:
    return predictions_claimed(opened, session) or session.recorded_locks.rubric is not None


def _add_numbers(opened: Project, session: Session, checked: RoundCheck) -> None:
    """Whether every number in the report is found in the results. Without a report nothing, unless there was one."""
    if find_report(opened.root, opened.config.report) is not None:
        checked.numbers = check_numbers(opened.root)
        checked.decisions.append(checked.numbers.decision)
    elif (at := _had_report(session)) is not None:
        checked.decisions.append(
            Decision(
                subject="report",
                question="Is every number in the report found in the results?",
                answer=Answer.INCONCLUSIVE,
                word="inconclusive",
                open=[
                    f"there is no report, and there was one at {at}; restore it, or say where it is: report = …"
                ],
                at=now(),
            )
        )


def _had_report(session: Session) -> str | None:
    """When there was a report, as the record knows: at a freeze, or when its numbers were looked for."""
    for commit in session.history.commits() if session.history else []:
        if commit.facts.get("numbers") or commit.facts.get("report"):
            return commit.at
    return None


def _look(
    opened: Project, session: Session, *, fresh: bool, progress: Callable[[int, int], None] | None
) -> RoundCheck:
    """The same answers, without recording anything."""
    checked = RoundCheck([], notices=session.notices)
    checked.rerun = rerun_status(opened, session, may="run", fresh=fresh)
    judge_session = judge_session_of(opened, session, None, now())
    if predictions_claimed(opened, session):
        verified = verify_predictions(
            opened,
            session,
            rerun=checked.rerun,
            may_judge="look",
            judge_session=judge_session,
            fresh=fresh,
            progress=progress,
        )
        checked.verification = verified.verification
        checked.decisions += verified.verification.decisions
    elif (
        session.recorded_locks.rubric is None
        or opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT) is not None
    ):
        checked.decisions.append(_not_frozen(opened))
    _add_numbers(opened, session, checked)
    if checked.rerun is not None:
        checked.decisions.append(checked.rerun.decision)
    criteria: dict[str, str] = {}
    if session.recorded_locks.rubric is not None:
        step = RoundVerification(opened, session, Revision(), now())
        if step.current is not None and step.current.number is not None:
            step.number = step.current.number  # looking opens no round
        step.verify(fresh=fresh, progress=progress, rerun=checked.rerun, judge_session=judge_session)
        criteria = step.based_on
        checked.report, checked.rounds = step.report, step.rounds
        checked.rubric = step.rubric.source
        checked.scope_changes = session.manifest.scope_changes
        checked.decisions += step.report.decisions
        checked.evaluated, checked.reused = step.criteria.evaluated, step.criteria.reused
        checked.ended = session.manifest.loop.ended if session.manifest.loop else None
        if (
            checked.ended is not None
            and checked.ended.state.startswith("satisfied")
            and not step.report.all_satisfied
        ):
            checked.ended = None  # what it ended on is not what is there now
        if checked.ended is not None and checked.ended.state == "error":
            session.notices.append(
                f"nothing was recorded: the loop ended in an error ({checked.ended.why}); "
                "`autoscirub run --continue` or `round --continue` goes on"
            )
    elif (rubric := load_rubric(opened)) is not None:
        checked.decisions.append(_rubric_not_frozen(rubric))
    _one_reading(opened, checked, criteria)
    checked.notices = _noticed(session)
    return checked


def _not_frozen(opened: Project) -> Decision:
    data = opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT)
    evidence: list[Evidence] = []
    if data is None:
        word, why = "none", f"there is no {PREDICTIONS_NAME}; `autoscirub init` lays one down to fill in"
    else:
        lint = lint_predictions(data)
        word, why = "not frozen", "not frozen, so not evaluated: run `autoscirub freeze`"
        if lint.faults:
            why += f" (it would refuse: {len(lint.faults)} faults, see `autoscirub freeze --dry-run`)"
        evidence = [Evidence(path=PREDICTIONS_NAME, sha256=sha256_bytes(data), size=len(data))]
    return Decision(
        subject="predictions",
        question="Do the predictions hold?",
        answer=Answer.INCONCLUSIVE,
        word=word,
        evidence=evidence,
        open=[why],
        at=now(),
    )


def _rubric_not_frozen(rubric: Rubric) -> Decision:
    return Decision(
        subject="requirements",
        question="Are the requirements met?",
        answer=Answer.INCONCLUSIVE,
        word="not frozen",
        evidence=[Evidence(path=rubric.source, sha256=rubric.source_sha256)],
        open=[
            f"{len(rubric.model.criteria)} criteria, not frozen, so not evaluated: run `autoscirub freeze`"
        ],
        at=now(),
    )
