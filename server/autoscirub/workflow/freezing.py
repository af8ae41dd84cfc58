"""Freezing the predictions, and taking the freeze off again on the record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks import (
    LOCK_NAME,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    existing_results,
    find_results,
    freeze_note,
    frozen_bytes,
    lint_predictions,
    read_lock,
    require_frozen,
)
from autoscirub.errors import PredictionsError, TamperedError, TrustError
from autoscirub.models import (
    Answer,
    ArtifactCheck,
    Decision,
    Evidence,
    PredictionsLock,
    PreregLock,
    Unfreeze,
    Verification,
    now,
)
from autoscirub.store import Project, open_project, sha256_bytes, write_atomic
from autoscirub.workflow.bulk import without_collecting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.checks import Lint
    from autoscirub.models import FileDigest
    from autoscirub.store import Session

__all__ = ["Frozen", "freeze", "unfreeze"]


@dataclass
class Frozen:
    """What a freeze did, or with `dry_run` would do."""

    dry_run: bool
    lock: PredictionsLock | None
    warnings: list[str]
    note: str
    notices: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


def freeze(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Frozen:
    """Lock the predictions as they are, and record which results existed by then.

    Raises PredictionsError with every fault and warning at once, TamperedError when a freeze is recorded
    and the file no longer fits it, PredictionsError when there is nothing new to lock. With `dry_run`
    nothing is written.
    """
    opened = open_project(project, state_dir)
    data = opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT)
    if data is None:
        raise PredictionsError(
            f"{opened.root / PREDICTIONS_NAME}: is not there; `autoscirub init` lays one down to fill in"
        )
    with without_collecting():
        lint = lint_predictions(data, progress=progress)
    with opened.reading() if dry_run else opened.writing() as session:
        _refuse_second(session, data)
        lint.refuse("not frozen")
        return _freeze(opened, session, lint, data, dry_run=dry_run)


def _freeze(opened: Project, session: Session, lint: Lint, data: bytes, *, dry_run: bool) -> Frozen:
    if lint.predictions is None:
        raise PredictionsError(f"{PREDICTIONS_NAME}: not frozen")
    checks = lint.predictions.prereg.checks
    artifacts = [check.path for check in checks if isinstance(check, ArtifactCheck)]
    existing, more = existing_results(
        opened.root, find_results(opened.root, opened.config.results), artifacts
    )
    at = now()
    lock = PredictionsLock(
        path=PREDICTIONS_NAME,
        sha256=sha256_bytes(data),
        frozen_at=at,
        checks=[check.id for check in checks],
        results_at_freeze=existing,
        results_not_listed=more,
    )
    note = freeze_note(lock, earlier_results(session))
    decision = Decision(
        subject=PREDICTIONS_NAME,
        question="Are the predictions fixed?",
        answer=Answer.COULD_NOT_BE_TOLD if dry_run else Answer.HOLDS,
        word="would be frozen" if dry_run else "frozen",
        evidence=[Evidence(path=PREDICTIONS_NAME, sha256=lock.sha256, size=len(data), note=note)],
        open=["nothing was written: this was a dry run"] if dry_run else [],
        at=at,
    )
    if not dry_run:
        session.manifest.locks = session.manifest.locks.model_copy(update={"predictions": lock})
        text = PreregLock(sha256=lock.sha256, frozen_at=at, checks=lock.checks).model_dump_json(indent=1)
        write_atomic(opened.root / LOCK_NAME, text.encode() + b"\n")
        judged = [PREDICTIONS_NAME, LOCK_NAME, *(file.path for file in existing)]
        session.record("freeze", at=at, facts={"predictions": lock.model_dump(mode="json")}, judged=judged)
    return Frozen(dry_run, lock, lint.warnings, note, session.notices, [decision])


def earlier_results(session: Session) -> list[FileDigest]:
    """Results that existed when an earlier freeze was taken off: said for good."""
    return [file for unfreeze_ in session.manifest.unfreezes for file in unfreeze_.results_existed]


def _refuse_second(session: Session, data: bytes) -> None:
    recorded = session.recorded_locks.predictions
    if recorded is None:
        return
    require_frozen(data, read_lock(session.project), session.found_locks.predictions, recorded)
    raise PredictionsError(
        f"{PREDICTIONS_NAME}: nothing new to lock: frozen at {recorded.frozen_at}, sha256 {recorded.sha256}, and "
        "unchanged since. To change it, take the freeze off on the record: autoscirub unfreeze --reason '…'"
    )


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
        raise PredictionsError("unfreeze: the reason is empty; say why, it stands in the record for good")
    opened = open_project(project, state_dir)
    with opened.reading() as session:
        recorded = session.recorded_locks.predictions
    if recorded is None:
        raise PredictionsError(
            f"{PREDICTIONS_NAME}: no freeze of it is recorded, so there is nothing to take off"
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
    kept = frozen_bytes(session.history)
    old = {
        PREDICTIONS_NAME: kept,
        LOCK_NAME: opened.read(LOCK_NAME, limit=PREDICTIONS_LIMIT),
        # The outcome of what is unlocked, which stands for nothing any more.
        Verification.file_name: opened.state.read_bytes(Verification.file_name),
    }
    for name, data in old.items():
        if data is not None:
            opened.state.write_bytes(f"{folder}/{name}", data)
    existing, _ = existing_results(opened.root, find_results(opened.root, opened.config.results), [])
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
    (opened.root / LOCK_NAME).unlink(missing_ok=True)
    opened.state.remove(Verification.file_name)
    session.record(
        "unfreeze", at=at, facts={"unfreeze": entry.model_dump(mode="json")}, judged=[PREDICTIONS_NAME]
    )
    return entry
