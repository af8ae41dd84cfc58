"""The status of a project: where its state is and why, what exists, what is valid, what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks import find_results
from autoscirub.checks.predictions import (
    LOCK_NAME,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    freeze_note,
    lint_predictions,
    read_lock,
    require_frozen,
)
from autoscirub.errors import AutoscirubError, CheckError, ConfigError, CorruptError
from autoscirub.models import Answer, Decision, Evidence, NextStep, Status, Verification, now
from autoscirub.store import Project, Session, open_project, sha256_bytes, sha256_file
from autoscirub.workflow.calibration import calibration_status
from autoscirub.workflow.locks import earlier_results
from autoscirub.workflow.status.loop import look_at_requirements
from autoscirub.workflow.validation import validate_project

if TYPE_CHECKING:
    from pathlib import Path


def status(project: str | Path | None = None, *, state_dir: str | Path | None = None) -> Status:
    """The status of a project. Raises ConfigError where it cannot even be found; other faults are listed."""
    opened = open_project(project, state_dir)
    place, policy = opened.location, opened.location.config.policy
    found = Status(
        project=place.project,
        project_source=place.project_source,
        state_dir=place.state_dir,
        state_source=place.state_source,
        state_exists=opened.state.exists(),
        config_source=place.config.source,
        policy=policy.place if policy else None,
        policy_source=policy.source if policy else None,
        results="results/results.json",
        results_exist=False,
        decisions=[],
        next=NextStep("autoscirub init", "there is no prereg.toml yet"),
    )
    try:
        found.results = find_results(opened.root, opened.config.results)
        found.results_exist = (opened.root / found.results).exists()
    except ConfigError as error:
        found.faults.append(str(error))
    found.files = validate_project(opened).files
    found.faults += [fault for file in found.files for fault in file.faults if file.path != PREDICTIONS_NAME]
    try:
        with opened.reading() as session:
            found.notices += dict.fromkeys([*session.recorded_notices(), *session.notices])
            predictions = _look(opened, session, found)
            requirements = look_at_requirements(opened, session, found)
            found.next = _first(predictions, requirements)
            found.calibration = calibration_status(opened, session)
    except AutoscirubError as error:
        if str(error) not in found.faults:
            found.faults.append(str(error))
        found.next = NextStep("autoscirub status", "put the fault above right first, then look again")
    return found


def _first(predictions: NextStep | None, requirements: NextStep | None) -> NextStep:
    """The one next step of the two: what is at fault or not frozen before what is to be looked at."""
    if predictions is None or requirements is None:
        return (
            predictions or requirements or NextStep("autoscirub init", f"there is no {PREDICTIONS_NAME} yet")
        )
    if requirements.kind == "freeze" and predictions.kind != "freeze":
        return requirements
    return requirements if predictions.kind == "look" else predictions


def _look(opened: Project, session: Session, found: Status) -> NextStep | None:
    data = opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT)
    recorded = session.recorded_locks.predictions
    claimed = session.found_locks.predictions is not None or (opened.root / LOCK_NAME).exists()
    if recorded is None and not claimed:
        return _unfrozen(data, found)
    try:
        lock = require_frozen(data, read_lock(opened), session.found_locks.predictions, recorded)
    except (CheckError, CorruptError) as error:
        found.faults.append(str(error))
        found.decisions.append(_predictions(data, Answer.DOES_NOT_HOLD, "not as frozen", None))
        return NextStep(
            "autoscirub verify", "it names what changed; restore that, or unfreeze on the record", "restore"
        )
    note = freeze_note(lock, earlier_results(session))
    found.decisions.append(_predictions(data, Answer.HOLDS, "frozen", f"frozen at {lock.frozen_at}; {note}"))
    return _outcome(opened, session, found)


def _unfrozen(data: bytes | None, found: Status) -> NextStep | None:
    if data is None:
        return None
    lint = lint_predictions(data)
    faults = f"not frozen; {len(lint.faults)} faults to fix first" if lint.faults else "not frozen yet"
    found.decisions.append(_predictions(data, Answer.INCONCLUSIVE, "not frozen", faults))
    if lint.faults:
        return NextStep(
            "autoscirub freeze --dry-run",
            f"{PREDICTIONS_NAME} has {len(lint.faults)} faults; it lists them",
            "freeze",
        )
    return NextStep("autoscirub freeze", "the predictions are ready to be frozen", "freeze")


def _outcome(opened: Project, session: Session, found: Status) -> NextStep:
    recorded = opened.state.read(Verification)
    unknown = recorded is not None and not session.knows(Verification.file_name)
    if recorded is None:
        why = (
            "the predictions are frozen"
            if found.results_exist
            else "run the code first: there are no results yet"
        )
        return NextStep("autoscirub verify", why)
    stale = _stale(opened, recorded, found.results)
    if unknown:  # whatever it says, nothing rests on it
        stale = [f"{Verification.file_name} is not in the history as it lies there", *stale]
    if stale:
        found.decisions.append(
            Decision(
                subject="outcome",
                question="Is the recorded outcome still valid?",
                answer=Answer.INCONCLUSIVE,
                word="stale",
                open=[*([] if unknown else [f"it said {recorded.headline}"]), *stale],
                at=now(),
            )
        )
        return NextStep("autoscirub verify", "the recorded outcome is stale")
    found.decisions += recorded.decisions
    return NextStep(
        "autoscirub verify",
        f"the outcome stands; verify again after a change ({recorded.outcome} at {recorded.at})",
    )


def _stale(opened: Project, recorded: Verification, results: str) -> list[str]:
    basis = {
        PREDICTIONS_NAME: recorded.digests.prereg,
        results: recorded.digests.results,
        **recorded.digests.artifacts,
    }
    changed: list[str] = []
    for path, digest in basis.items():
        target = opened.root / path
        if (sha256_file(target) if target.is_file() else None) != digest:
            changed.append(f"{path} is not what it was")
    return changed


def _predictions(data: bytes | None, answer: Answer, word: str, note: str | None) -> Decision:
    conclusive = answer is not Answer.INCONCLUSIVE
    digest = sha256_bytes(data) if data is not None else None
    return Decision(
        subject=PREDICTIONS_NAME,
        question="Are the predictions fixed?",
        answer=answer,
        word=word,
        evidence=[Evidence(path=PREDICTIONS_NAME, sha256=digest, note=note if conclusive else None)],
        open=[] if conclusive or note is None else [note],
        at=now(),
    )
