"""Changing the scope after the freeze, on the record: who, when, why, and which criteria or settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autoscirub.checks.predictions import read_predictions
from autoscirub.checks.rubric import RUBRIC_NAME, lint_rubric, rubric_changes
from autoscirub.errors import CheckError, PredictionsError, TrustError
from autoscirub.models import ExecutableRubric, ScopeChange, now, strict_json
from autoscirub.store import Project, open_project, sha256_bytes
from autoscirub.workflow.locks.locked import (
    changed_settings,
    deciding,
    load_source,
    lock_rubric,
    lock_settings,
    recorded_rubric,
)

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.checks.rubric import Rubric, RubricChanges
    from autoscirub.store import Session


@dataclass(frozen=True)
class ScopeResult:
    """A scope change as it was recorded."""

    change: ScopeChange
    lost: list[str]
    changed: list[str]
    added: list[str]


def scope(
    project: str | Path | None = None,
    *,
    reason: str,
    state_dir: str | Path | None = None,
    by: Literal["terminal", "ci", "agent"] | None = None,
    digest: str | None = None,
) -> ScopeResult:
    """Record the rubric and the settings as they are now in place of those that were locked.

    `by`: who changes it; a person needs a terminal, CI names the `digest` of exactly what becomes valid. What an
    agent changes ends the loop as *satisfied in reduced scope*. Raises TrustError without any of these,
    CheckError when nothing was locked or nothing changed, and PredictionsError when the new rubric has faults.
    """
    if not reason.strip():
        raise CheckError("scope: the reason is empty; say why; it stays in the record for good")
    opened = open_project(project, state_dir)
    with opened.reading() as session:
        expected = _digest(opened, *_look(opened, session)[:2])
    if digest is not None and digest != expected:
        raise TrustError(f"scope: --digest {digest} is not what would become valid, which is {expected}")
    who = "ci" if digest is not None else by
    if who is None:
        raise TrustError(
            "scope: needs a terminal, because a person changes the scope. Without one, name exactly what becomes "
            f"valid: autoscirub scope --reason '…' --digest {expected}; or say that it is an agent's: --agent"
        )
    with opened.writing() as session:
        rubric, settings, changes = _look(opened, session)
        return _record(opened, session, rubric, settings, changes, reason.strip(), who)


def _look(opened: Project, session: Session) -> tuple[Rubric | None, list[str], RubricChanges | None]:
    locks = session.recorded_locks
    if locks.rubric is None and locks.settings is None:
        raise CheckError(
            "scope: nothing is frozen yet, so there is no scope to change; run `autoscirub freeze`"
        )
    settings = changed_settings(opened, session)
    rubric, changes = None, None
    locked = recorded_rubric(session)
    if locked is not None and locks.rubric is not None:
        rubric = load_source(opened, session, locks.rubric)
        changes = rubric_changes(locked, rubric.model)
    if not settings and (changes is None or not changes.needs_scope):
        raise CheckError(
            "scope: neither a criterion nor a setting that decides was changed; change it first, then say why"
        )
    if rubric is not None:
        data = session.recorded_file("locked/prereg.toml")
        lint = lint_rubric(rubric, read_predictions(data) if data is not None else None)
        if lint.faults:
            lines = "\n".join(f"  fault    {fault}" for fault in lint.faults)
            raise PredictionsError(
                f"{rubric.source}: not accepted: {len(lint.faults)} faults\n{lines}", lint.faults
            )
    return rubric, settings, changes


def _digest(opened: Project, rubric: Rubric | None, settings: list[str]) -> str:
    what = {
        "rubric": rubric.sha256 if rubric else None,
        "settings": deciding(opened) if settings else None,
    }
    return sha256_bytes(strict_json(what, indent=None).encode())


def _record(
    opened: Project,
    session: Session,
    rubric: Rubric | None,
    settings: list[str],
    changes: RubricChanges | None,
    reason: str,
    by: Literal["terminal", "ci", "agent"],
) -> ScopeResult:
    at = now()
    lost, changed, added = (
        (list(changes.lost), list(changes.changed), list(changes.added)) if changes else ([], [], [])
    )
    other = [f"rubric.{word}" for word in changes.other] if changes else []
    change = ScopeChange(
        at=at, by=by, reason=reason, criteria=[*lost, *changed, *added], settings=[*settings, *other]
    )
    manifest = session.manifest
    manifest.scope_changes = [*manifest.scope_changes, change]
    state: dict[str, bytes | None] = {}
    locked: dict[str, bytes | None] = {}
    locks = manifest.locks
    if rubric is not None:
        model = rubric.model.model_copy(update={"scope_changes": manifest.scope_changes_of_rubric()})
        data = strict_json(ExecutableRubric.model_validate(model.model_dump())).encode()
        state[RUBRIC_NAME] = locked[RUBRIC_NAME] = data
        lock = lock_rubric(rubric, at=locks.rubric.frozen_at if locks.rubric else at)
        sources = {} if rubric.source != RUBRIC_NAME else {"source_sha256": sha256_bytes(data)}
        locks = locks.model_copy(
            update={"rubric": lock.model_copy(update={"sha256": sha256_bytes(data), **sources})}
        )
        if rubric.source != RUBRIC_NAME:
            locked["rubric-source"] = opened.read(rubric.source, limit=64 * 1024 * 1024)
    if settings:
        locks = locks.model_copy(update={"settings": lock_settings(opened, at=at)})
    manifest.locks = locks
    session.record(
        "scope", at=at, facts={"scope": change.model_dump(mode="json")}, state=state, locked=locked
    )
    return ScopeResult(change, lost, changed, added)
