"""Everything that is set up, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks import (
    LOCK_NAME,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    lint_predictions,
)
from autoscirub.models import Answer, Decision, Evidence, now
from autoscirub.store import Project, Session, open_project, sha256_bytes
from autoscirub.workflow.verifying import record_verification, verify_predictions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.models import Verification

__all__ = ["Checked", "check"]


@dataclass
class Checked:
    """What `check` concluded: Decisions, and the predictions' outcome where they were frozen."""

    decisions: list[Decision]
    verification: Verification | None = None
    notices: list[str] = field(default_factory=list)


def check(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    read_only: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Checked:
    """Decide everything that is set up. Predictions that are not frozen are not evaluated.

    Raises TamperedError when something that was frozen changed. With `read_only` nothing is written.
    """
    opened = open_project(project, state_dir)
    with opened.reading() as session:
        frozen = session.recorded_locks.predictions is not None or _claims_freeze(opened, session)
        if not frozen:
            return Checked([_not_frozen(opened)], None, session.notices)
        if read_only:
            verified = verify_predictions(opened, session, progress=progress)
            return Checked(verified.verification.decisions, verified.verification, session.notices)
    with opened.writing() as session:
        verified = verify_predictions(opened, session, progress=progress)
        record_verification(opened, session, verified.verification)
        return Checked(verified.verification.decisions, verified.verification, session.notices)


def _claims_freeze(opened: Project, session: Session) -> bool:
    # A lock without a record is a claim to be refused with its reason, not something never set up.
    return session.found_locks.predictions is not None or (opened.root / LOCK_NAME).exists()


def _not_frozen(opened: Project) -> Decision:
    data = opened.read(PREDICTIONS_NAME, limit=PREDICTIONS_LIMIT)
    if data is None:
        word, why = "none", f"there is no {PREDICTIONS_NAME}; `autoscirub init` lays one down to fill in"
        evidence = []
    else:
        lint = lint_predictions(data)
        word, why = "not frozen", "not frozen, so not evaluated: run `autoscirub freeze`"
        if lint.faults:
            why += f" (it would refuse: {len(lint.faults)} faults, see `autoscirub freeze --dry-run`)"
        evidence = [Evidence(path=PREDICTIONS_NAME, sha256=sha256_bytes(data), size=len(data))]
    return Decision(
        subject="predictions",
        question="Do the predictions hold?",
        answer=Answer.COULD_NOT_BE_TOLD,
        word=word,
        evidence=evidence,
        open=[why],
        at=now(),
    )
