"""The status of the requirements: the rubric and its lock, the recorded report, the round and the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.rubric import lint_rubric, load_rubric
from autoscirub.errors import CheckError
from autoscirub.models import (
    Answer,
    Decision,
    Evidence,
    LoopView,
    NextStep,
    RevisionPlan,
    VerificationReport,
    now,
)
from autoscirub.workflow.checking import is_as_verified
from autoscirub.workflow.locks import require_rubric, require_settings
from autoscirub.workflow.rounds import (
    FOLDER,
    PLAN,
    current_round,
    read_rounds,
    recorded_model,
    unjudged,
    wait_of,
)

if TYPE_CHECKING:
    from autoscirub.checks.rubric import Rubric
    from autoscirub.models import Status
    from autoscirub.store import Project, Session
    from autoscirub.workflow.rounds import Round


def look_at_requirements(opened: Project, session: Session, found: Status) -> NextStep | None:
    """Add the status of the requirements to `found`; returns the next step, None where they ask for none."""
    lock = session.recorded_locks.rubric
    if lock is None:
        try:
            rubric = load_rubric(opened)
        except CheckError as error:
            found.faults.append(str(error))
            return NextStep("autoscirub freeze --dry-run", "the rubric has faults; it lists them", "freeze")
        return _not_frozen(rubric, found) if rubric is not None else None
    try:
        rubric, _ = require_rubric(opened, session)
        require_settings(opened, session)
    except CheckError as error:
        found.faults.append(str(error))
        found.decisions.append(_decision(lock.source, Answer.DOES_NOT_HOLD, "not as frozen", None, None))
        return NextStep(
            "autoscirub check",
            "it names what changed; restore that, or change the scope on the record",
            "restore",
        )
    note = f"frozen at {lock.frozen_at}; {len(lock.criteria)} criteria"
    found.decisions.append(_decision(lock.source, Answer.HOLDS, "frozen", rubric.source_sha256, note))
    found.notices += [
        f"scope changed at {change.at} by {change.by}: {change.reason} ({', '.join(change.criteria + change.settings)})"
        for change in session.manifest.scope_changes
    ]
    found.notices += [problem for entry in read_rounds(session) for problem in entry.problems]
    return _loop(opened, session, found)


def _not_frozen(rubric: Rubric, found: Status) -> NextStep:
    lint = lint_rubric(rubric)
    found.decisions.append(
        _decision(rubric.source, Answer.INCONCLUSIVE, "not frozen", rubric.source_sha256, "not frozen yet")
    )
    if lint.faults:
        return NextStep(
            "autoscirub freeze --dry-run",
            f"{rubric.source} has {len(lint.faults)} faults; it lists them",
            "freeze",
        )
    return NextStep("autoscirub freeze", "the requirements are ready to be frozen", "freeze")


def _loop(opened: Project, session: Session, found: Status) -> NextStep:
    report = recorded_model(session, VerificationReport.file_name, VerificationReport)
    current = current_round(read_rounds(session))
    if report is None or current is None:
        return NextStep("autoscirub check", "the requirements have not been checked yet")
    counts = f"{report.summary.passed} of {len(report.criteria)} criteria satisfied, round {report.round}"
    stale = current.status == "open" and not is_as_verified(opened, session)
    found.loop = _view(session, report, current, stale=stale)
    if stale:
        found.decisions.append(
            _decision(
                "requirements",
                Answer.INCONCLUSIVE,
                "stale",
                None,
                f"what is judged has changed; it was {counts}",
            )
        )
        return NextStep("autoscirub check", "the recorded report is stale")
    unmet = any(result.status == "not_satisfied" for result in report.criteria)
    answer = Answer.HOLDS if report.all_satisfied else Answer.DOES_NOT_HOLD if unmet else Answer.INCONCLUSIVE
    loop = session.manifest.loop
    ended = loop.ended if loop is not None else None
    wait = wait_of(report) if ended is None and current.status == "open" else None
    if wait is not None:
        found.decisions.append(_decision("requirements", answer, "waiting", None, f"{counts}; {wait.note}"))
        return NextStep(wait.command, wait.note)
    word = ended.state.replace("_", " ") if ended else current.status
    found.decisions.append(_decision("requirements", answer, word, None, counts))
    if ended is not None:
        return NextStep("autoscirub audit", f"the loop has ended: {ended.why}")
    if current.status == "planned":
        return NextStep("autoscirub round", "a plan is written: revise the work, then this closes the round")
    return NextStep("autoscirub round", "not every criterion is satisfied; this writes the plan")


def _view(session: Session, report: VerificationReport, current: Round, *, stale: bool) -> LoopView:
    inconclusive = unjudged(report)
    loop = session.manifest.loop
    ended = loop.ended if loop is not None else None
    wait = wait_of(report) if ended is None else None
    plan = None
    if current.status == "planned":
        plan = recorded_model(session, f"{FOLDER}/{current.name}/{PLAN}", RevisionPlan)
    return LoopView(
        round=report.round,
        status=current.status,
        stale=stale,
        ended=ended.state if ended is not None else None,
        unmet=[
            result
            for result in report.criteria
            if not result.satisfied and result.criterion_id not in inconclusive
        ],
        inconclusive=inconclusive,
        targets=[target.criterion_id for target in plan.targets] if plan is not None else [],
        other_failures=_other_failures(session),
        waiting=wait.note if wait is not None else "",
    )


def _other_failures(session: Session) -> list[str]:
    """What the newest check found of the report's numbers and the rerun, where that is not *holds*."""
    for commit in session.history.commits() if session.history else []:
        if commit.event == "check":
            numbers, rerun = commit.facts.get("numbers"), commit.facts.get("rerun")
            found = (
                [f"the report's numbers: {numbers}"]
                if isinstance(numbers, str) and numbers != "holds"
                else []
            )
            if isinstance(rerun, dict) and rerun.get("answer") != "holds":
                found.append(f"rerun: {rerun.get('word')}")
            return [line.replace("_", " ") for line in found]
    return []


def _decision(subject: str, answer: Answer, word: str, sha256: str | None, note: str | None) -> Decision:
    conclusive = answer is not Answer.INCONCLUSIVE
    return Decision(
        subject=subject,
        question="Are the requirements met?" if subject == "requirements" else "Are the requirements fixed?",
        answer=answer,
        word=word,
        evidence=[
            Evidence(path=subject if sha256 else None, sha256=sha256, note=note if conclusive else None)
        ],
        open=[] if conclusive or note is None else [note],
        at=now(),
    )
