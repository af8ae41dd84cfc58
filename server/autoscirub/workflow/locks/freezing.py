"""Freezing predictions, rubric and settings, and unfreezing the predictions on the record."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autoscirub.checks import find_report, find_results, lint_settings, result_places
from autoscirub.checks.predictions import (
    LOCK_NAME,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    existing_results,
    freeze_note,
    lint_predictions,
    read_lock,
    read_predictions,
    require_frozen,
)
from autoscirub.checks.rubric import RUBRIC_LIMIT, RUBRIC_NAME, SHORT_NAME, lint_rubric, load_rubric
from autoscirub.errors import CheckError, PredictionsError, TamperedError, TrustError
from autoscirub.models import (
    Answer,
    ArtifactCheck,
    Decision,
    Evidence,
    FileDigest,
    Locks,
    PredictionsLock,
    PreregLock,
    Unfreeze,
    Verification,
    now,
    strict_json,
)
from autoscirub.store import Project, open_project
from autoscirub.workflow.bulk import without_collecting
from autoscirub.workflow.locks.locked import (
    lock_rubric,
    lock_settings,
    require_rubric,
    require_settings,
    unlocked_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.checks.predictions import PredictionsLint
    from autoscirub.checks.rubric import Rubric
    from autoscirub.store import Session

NOTHING_NEW = "nothing new to lock"


@dataclass
class FreezeResult:
    """What a freeze did, or with `dry_run` would do."""

    dry_run: bool
    locks: Locks
    """What is locked now, this freeze included."""
    warnings: list[str]
    notices: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


@dataclass
class _FreezeInputs:
    """What there is to freeze, with everything wrong with it."""

    predictions: bytes | None
    lint: PredictionsLint | None
    rubric: Rubric | None
    faults: list[str]
    warnings: list[str]
    settings: list[str] = field(default_factory=list)
    """Warnings of the settings, which every freeze that locks anything locks too."""


def freeze(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> FreezeResult:
    """Lock what decides, exists and is not locked yet, and record which results existed by then.

    Raises PredictionsError with every fault and warning at once, or when there is nothing new to lock, and
    TamperedError when something locked no longer fits its lock. With `dry_run` nothing is written.
    """
    opened = open_project(project, state_dir)
    seen = _bytes(opened)
    with without_collecting():
        found = _look(opened, progress)
    with opened.reading() if dry_run else opened.writing() as session:
        if _bytes(opened) != seen:  # lock exactly the bytes that were checked
            found = _look(opened, progress)
        new = _new(opened, session, found)
        if "rubric" in new and found.rubric is not None and found.rubric.model.scope_changes:
            found.faults.append(
                f"{found.rubric.source}: scope_changes: is the record of changes after a freeze, which autoscirub "
                "writes, and nothing is frozen yet; leave it out"
            )
        _refuse(found, new)
        return _freeze(opened, session, found, new, dry_run=dry_run)


def _bytes(opened: Project) -> tuple[bytes | None, ...]:
    short = opened.config.rubric or SHORT_NAME
    return (
        opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT),
        opened.read(short, limit=RUBRIC_LIMIT),
        opened.state.read_bytes(RUBRIC_NAME, limit=RUBRIC_LIMIT),
    )


def _look(opened: Project, progress: Callable[[int, int], None] | None) -> _FreezeInputs:
    found = _FreezeInputs(opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT), None, None, [], [])
    found.settings = lint_settings(opened.config)
    if found.predictions is not None:
        found.lint = lint_predictions(found.predictions, progress=progress)
    try:
        found.rubric = load_rubric(opened)
    except CheckError as error:
        found.faults += str(error).splitlines()
    if found.rubric is not None:
        judged = opened.config.judge.backend != "none"
        lint = lint_rubric(
            found.rubric,
            found.lint.predictions if found.lint else None,
            judged=judged,
            runnable=opened.config.run is not None,
        )
        found.faults += [f"{found.rubric.source}: {fault}" for fault in lint.faults]
        found.faults += _required_rerun(opened, found.rubric)
        found.warnings += [f"{found.rubric.source}: {warning}" for warning in lint.warnings]
    if found.predictions is None and found.rubric is None and not found.faults:
        raise PredictionsError(
            f"{opened.root / PREDICTIONS_NAME}: is not there, and neither is a rubric; `autoscirub init` "
            "writes predictions to fill in"
        )
    return found


def _required_rerun(opened: Project, rubric: Rubric) -> list[str]:
    """What is wrong with a rubric where [rerun] required, the project's or a policy's, asks for a rerun."""
    if not opened.config.rerun.required:
        return []
    faults = []
    if opened.config.run is None:
        faults.append("a rerun is required ([rerun] required), and no [run] command says how")
    if not any(check.kind == "rerun" for criterion in rubric.model.criteria for check in criterion.checks):
        faults.append(
            f"{rubric.source}: a rerun is required ([rerun] required), and no criterion has a check of kind rerun"
        )
    return faults


def _new(opened: Project, session: Session, found: _FreezeInputs) -> set[str]:
    """What is not locked yet. Raises TamperedError when something that is locked was changed."""
    recorded = session.recorded_locks
    new: set[str] = set()
    if recorded.predictions is not None:
        require_frozen(
            found.predictions, read_lock(opened), session.found_locks.predictions, recorded.predictions
        )
    elif found.predictions is not None:
        new.add("predictions")
    if recorded.rubric is not None:
        require_rubric(opened, session)
    elif found.rubric is not None or found.faults:
        new.add("rubric")
    require_settings(opened, session)
    if new or (recorded.settings and unlocked_settings(opened, session)):
        new.add("settings")
    if not new:
        at = recorded.predictions or recorded.rubric
        since = f": frozen at {at.frozen_at}, sha256 {at.sha256}, and unchanged since" if at else ""
        raise PredictionsError(
            f"{NOTHING_NEW}{since}. To change predictions, unfreeze them on the record (autoscirub unfreeze "
            "--reason '…'); to change a requirement, change the scope (autoscirub scope --reason '…')"
        )
    return new


def _refuse(found: _FreezeInputs, new: set[str]) -> None:
    """Raise PredictionsError with all the faults and warnings of what would be locked."""
    # A rubric that is locked had no fault, so one that it has now comes from the predictions: it repeats one.
    asked = bool(new & {"rubric", "predictions"})
    faults = list(found.faults) if asked else []
    warnings = list(found.warnings) if "rubric" in new else []
    if "predictions" in new and found.lint is not None:
        if not faults:
            found.lint.refuse("not frozen")
        faults = [*(f"{PREDICTIONS_NAME}: {fault}" for fault in found.lint.faults), *faults]
        warnings = [*(f"{PREDICTIONS_NAME}: {warning}" for warning in found.lint.warnings), *warnings]
    if faults:
        warnings += found.settings if "settings" in new else []
        lines = [f"not frozen: {len(faults)} fault{'s' if len(faults) != 1 else ''}"]
        lines += [f"  fault    {fault}" for fault in faults] + [
            f"  warning  {warning}" for warning in warnings
        ]
        raise PredictionsError("\n".join(lines), faults, warnings)


def _freeze(
    opened: Project, session: Session, found: _FreezeInputs, new: set[str], *, dry_run: bool
) -> FreezeResult:
    at = now()
    locks = session.manifest.locks
    locked: dict[str, bytes | None] = {}
    state: dict[str, bytes | None] = {}
    decisions: list[Decision] = []
    warnings: list[str] = []
    judged: list[str] = []
    if "predictions" in new and found.lint and found.lint.predictions and found.predictions is not None:
        lock = _predictions_lock(opened, found.lint, at)
        locks = locks.model_copy(update={"predictions": lock})
        text = PreregLock(sha256=lock.sha256, frozen_at=at, checks=lock.checks)
        locked |= {PREDICTIONS_NAME: found.predictions, LOCK_NAME: strict_json(text).encode()}
        judged += [PREDICTIONS_NAME, *(file.path for file in lock.results_at_freeze)]
        note = freeze_note(lock, earlier_results(session))
        decisions.append(
            _decision(PREDICTIONS_NAME, "Are the predictions fixed?", lock.sha256, note, at, dry_run)
        )
        warnings += found.lint.warnings
    if "rubric" in new and found.rubric is not None:
        rubric_lock = lock_rubric(found.rubric, at=at)
        locks = locks.model_copy(update={"rubric": rubric_lock})
        locked |= {RUBRIC_NAME: found.rubric.executable}
        state[RUBRIC_NAME] = found.rubric.executable
        if found.rubric.source != RUBRIC_NAME:
            locked["rubric-source"] = opened.read(found.rubric.source, limit=PREDICTIONS_LIMIT)
            judged.append(found.rubric.source)
        note = f"{len(rubric_lock.criteria)} criteria"
        decisions.append(
            _decision(
                found.rubric.source, "Are the requirements fixed?", rubric_lock.sha256, note, at, dry_run
            )
        )
        warnings += found.warnings
    settings = lock_settings(opened, at=at)
    if locks.settings is None or set(settings.values) - set(locks.settings.values):
        locks = locks.model_copy(update={"settings": settings})
        warnings += found.settings
        if not decisions:
            added = ", ".join(sorted(unlocked_settings(opened, session)))
            decisions.append(
                _decision("settings", "Are the settings fixed?", settings.sha256, added, at, dry_run)
            )
    if not dry_run:
        session.manifest.locks = locks
        report = find_report(opened.root, opened.config.report)
        facts = {"locked": sorted(new), "locks": locks.model_dump(mode="json"), "report": report}
        session.record("freeze", at=at, facts=facts, judged=judged, state=state, locked=locked)
    return FreezeResult(dry_run, locks, warnings, session.notices, decisions)


def _predictions_lock(opened: Project, lint: PredictionsLint, at: str) -> PredictionsLock:
    if lint.predictions is None:
        raise PredictionsError(f"{PREDICTIONS_NAME}: not frozen")
    checks = lint.predictions.prereg.checks
    artifacts = [check.path for check in checks if isinstance(check, ArtifactCheck)]
    find_results(opened.root, opened.config.results)  # refuses two that could be meant
    existing, more = existing_results(opened.root, result_places(opened.config.results), artifacts)
    return PredictionsLock(
        path=PREDICTIONS_NAME,
        sha256=lint.predictions.sha256,
        frozen_at=at,
        checks=[check.id for check in checks],
        results_at_freeze=existing,
        results_not_listed=more,
    )


def _decision(subject: str, question: str, sha256: str, note: str, at: str, dry_run: bool) -> Decision:
    return Decision(
        subject=subject,
        question=question,
        answer=Answer.INCONCLUSIVE if dry_run else Answer.HOLDS,
        word="would be frozen" if dry_run else "frozen",
        evidence=[Evidence(path=subject, sha256=sha256, note=note)],
        open=["nothing was written: this was a dry run"] if dry_run else [],
        at=at,
    )


def earlier_results(session: Session) -> list[FileDigest]:
    """Results that existed when an earlier freeze was taken off: said for good."""
    return [file for unfreeze_ in session.manifest.unfreezes for file in unfreeze_.results_existed]


def unfreeze(
    project: str | Path | None = None,
    *,
    reason: str,
    state_dir: str | Path | None = None,
    terminal: bool = False,
    digest: str | None = None,
) -> Unfreeze:
    """Take the freeze off, keep the old files, and record for good whether results already existed.

    Needs a terminal, or the digest of exactly what is unlocked (for CI). Raises TrustError without
    either, PredictionsError when nothing is frozen or the reason is empty.
    """
    if not reason.strip():
        raise PredictionsError("unfreeze: the reason is empty; say why; it stays in the record for good")
    opened = open_project(project, state_dir)
    with opened.reading() as session:
        recorded = session.recorded_locks.predictions
    if recorded is None:
        raise PredictionsError(
            f"{PREDICTIONS_NAME}: no freeze of it is recorded, so there is nothing to unfreeze"
        )
    if digest is None and not terminal:
        raise TrustError(
            "unfreeze: needs a terminal, because a person takes a freeze off. Without one, name exactly what is "
            f"unlocked: autoscirub unfreeze --reason '…' --digest {recorded.sha256}"
        )
    if digest is not None and digest != recorded.sha256:
        raise TrustError(f"unfreeze: --digest {digest} is not what is frozen, which is {recorded.sha256}")
    with opened.writing() as session:
        if session.recorded_locks.predictions != recorded:
            raise TamperedError("unfreeze: the freeze changed while this ran; look at `autoscirub status`")
        return _unfreeze(opened, session, recorded, reason.strip(), "ci" if digest else "terminal")


def _unfreeze(opened: Project, session: Session, recorded: PredictionsLock, reason: str, by: str) -> Unfreeze:
    at = now()
    folder = f"unfrozen/{len(session.manifest.unfreezes) + 1:03}"
    old = {
        PREDICTIONS_NAME: session.recorded_file(f"locked/{PREDICTIONS_NAME}"),
        LOCK_NAME: session.recorded_file(f"locked/{LOCK_NAME}"),
        # The outcome of what is unlocked, which stands for nothing any more.
        Verification.file_name: session.recorded_file(f"state/{Verification.file_name}"),
    }
    state = {f"{folder}/{name}": data for name, data in old.items() if data is not None}
    existing, _ = existing_results(
        opened.root, result_places(opened.config.results), _declared(old[PREDICTIONS_NAME])
    )
    existing += _seen_since(opened, session, existing)
    entry = Unfreeze(
        what="predictions",
        sha256=recorded.sha256,
        frozen_at=recorded.frozen_at,
        at=at,
        by="ci" if by == "ci" else "terminal",
        reason=reason,
        results_existed=existing,
        archived=folder,
    )
    session.manifest.unfreezes = [*session.manifest.unfreezes, entry]
    session.manifest.locks = session.manifest.locks.model_copy(update={"predictions": None})
    session.record(
        "unfreeze",
        at=at,
        facts={"unfreeze": entry.model_dump(mode="json")},
        judged=[PREDICTIONS_NAME],
        state={**state, Verification.file_name: None},
        locked={PREDICTIONS_NAME: None, LOCK_NAME: None},
    )
    return entry


def _declared(predictions: bytes | None) -> list[str]:
    if predictions is None:
        return []
    checks = read_predictions(predictions).prereg.checks
    return [check.path for check in checks if isinstance(check, ArtifactCheck)]


def _seen_since(opened: Project, session: Session, known: list[FileDigest]) -> list[FileDigest]:
    """The files that a verification since the freeze rested on, and that are not there now: they were seen."""
    inputs = {PREDICTIONS_NAME, RUBRIC_NAME, opened.config.rubric, opened.config.report}
    there = {file.path for file in known}
    found: dict[str, FileDigest] = {}
    for commit in session.history.commits() if session.history else []:
        if commit.event == "freeze" and "predictions" in commit.facts.get("locked", []):
            break
        if commit.event not in {"verify", "check"}:
            continue
        for entry in commit.facts.get("files", []):
            with contextlib.suppress(ValidationError, AttributeError, TypeError):
                file = FileDigest.model_validate({key: entry.get(key) for key in ("path", "sha256", "size")})
                if file.size and file.path not in inputs | there:
                    found.setdefault(file.path, file)
    return list(found.values())
