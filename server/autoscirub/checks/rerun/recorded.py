"""What is recorded of a rerun. It is committed and shared: no secret and no path of this machine belongs in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoscirub.checks.rerun.decision import LAST_OUTPUT
from autoscirub.models import RerunRecord

if TYPE_CHECKING:
    from autoscirub.checks.rerun.running import Rerun
    from autoscirub.store import Project


def rerun_record(project: Project, done: Rerun) -> RerunRecord | None:
    """What is recorded of a rerun; None for one that did not get far enough to be bound to anything.

    What the command printed is left out: tracebacks hold paths, and programs print their keys.
    """
    if done.basis is None or project.config.run is None:
        return None
    root = str(project.root)
    decision = done.decision.model_copy(
        update={
            "open": [_without(root, line) for line in done.decision.open],
            "evidence": [
                entry.model_copy(update={"note": entry.note and _without(root, entry.note)})
                for entry in done.decision.evidence
                if entry.key != LAST_OUTPUT or entry.path
            ],
        }
    )
    return RerunRecord(
        decision=decision,
        basis=done.basis,
        command=list(project.config.run.command),
        isolation=_without(root, done.isolation),
        level=done.ran.isolation if done.ran else "process",
        refused=done.refused,
        counts={status.value: count for status, count in done.counts.items()},
        results=done.compared,
        at=done.decision.at,
    )


def last_output(done: Rerun) -> list[str]:
    """The last lines that a failed command printed, for display."""
    outputs = (entry for entry in done.decision.evidence if entry.key == LAST_OUTPUT and not entry.path)
    return [line for entry in outputs for line in (entry.note or "").splitlines()]


def _without(root: str, text: str) -> str:
    """A text in which the project's folder, and what lies in it, is named as from there."""
    text = text.replace(f"{root}/", "")
    return re.sub(rf"{re.escape(root)}(?![\w-]|\.\w)", ".", text)
