"""Checks that the rubric and the settings are as they were locked (predictions: `checks.predictions`)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from autoscirub.checks import DEFAULT_REPORTS, DEFAULT_RESULTS
from autoscirub.checks.predictions import read_predictions
from autoscirub.checks.rubric import (
    RUBRIC_LIMIT,
    RUBRIC_NAME,
    RubricChanges,
    lint_rubric,
    load_rubric,
    read_rubric,
    read_short,
    rubric_changes,
)
from autoscirub.errors import CheckError, TamperedError
from autoscirub.judging.backends import own_digests
from autoscirub.models import ProjectConfig, RubricLock, SettingsLock, strict_json
from autoscirub.store import Project, apply_policy, sha256_bytes

if TYPE_CHECKING:
    from autoscirub.checks.rubric import Rubric
    from autoscirub.models import ExecutableRubric
    from autoscirub.store import Session

RECORDED_RUBRIC = f"locked/{RUBRIC_NAME}"
RECORDED_SOURCE = "locked/rubric-source"

_MOVE = "restore it, or have a person change the scope on the record: autoscirub scope --reason '…'"


def lock_rubric(rubric: Rubric, *, at: str) -> RubricLock:
    """The lock over a rubric as it is."""
    return RubricLock(
        source=rubric.source,
        source_sha256=rubric.source_sha256,
        sha256=rubric.sha256,
        frozen_at=at,
        criteria=[criterion.criterion_id for criterion in rubric.model.criteria],
    )


@lru_cache(maxsize=4)
def _rubric(data: bytes, name: str) -> Rubric:
    # Read before and after each verification. The model is shared between callers, so nobody may change it.
    return read_rubric(data, name)


@lru_cache(maxsize=4)
def _short(data: bytes, name: str) -> Rubric:
    return read_short(data, name)


def recorded_rubric(session: Session) -> ExecutableRubric | None:
    """The rubric as it was locked, from the history."""
    data = session.recorded_file(RECORDED_RUBRIC)
    return _rubric(data, "the locked rubric").model if data is not None else None


def require_rubric(project: Project, session: Session) -> tuple[Rubric, RubricChanges]:
    """The rubric, when it is the locked one or a stricter one: only checks were added to its criteria.

    Raises CheckError when there is none or it is not frozen, and TamperedError, naming the criteria, when it
    lost, weakened, renamed or gained one without a scope change on the record.
    """
    lock = session.recorded_locks.rubric
    if lock is None:
        rubric = load_rubric(project)
        name = rubric.source if rubric else RUBRIC_NAME
        what = (
            "is not frozen; run `autoscirub freeze` first"
            if rubric
            else "is not there, so there is no requirement"
        )
        raise CheckError(f"{name}: {what}")
    locked = recorded_rubric(session)
    if locked is None:
        raise TamperedError(
            f"history: the rubric frozen at {lock.frozen_at} is not in it; restore history.bundle"
        )
    rubric = load_source(project, session, lock)
    as_locked = (rubric.source_sha256, rubric.model.scope_changes) == (
        lock.source_sha256,
        locked.scope_changes,
    )
    changes = RubricChanges() if as_locked else rubric_changes(locked, rubric.model)
    if changes.needs_scope:
        raise TamperedError(
            f"{rubric.source}: {_describe(changes)} since it was frozen at {lock.frozen_at}; {_MOVE}"
        )
    if changes.strengthened:
        _refuse_faulty_checks(session, rubric)
    _require_executable(project, session, lock)
    if rubric.model.scope_changes != session.manifest.scope_changes_of_rubric():
        raise TamperedError(
            f"{rubric.source}: its scope_changes are not those on the record; they are written by `autoscirub scope`, "
            "not by hand. Restore them"
        )
    if not changes.any_change and rubric.source_sha256 != lock.source_sha256:
        raise TamperedError(
            f"{rubric.source}: means the same, but its bytes are not the frozen ones: sha256 {rubric.source_sha256} "
            f"now, {lock.source_sha256} at the freeze of {lock.frozen_at}; restore it"
        )
    return rubric, changes


def _refuse_faulty_checks(session: Session, rubric: Rubric) -> None:
    """Checks that were added after the freeze are held to what a freeze would refuse."""
    data = session.recorded_file("locked/prereg.toml")
    lint = lint_rubric(rubric, read_predictions(data) if data is not None else None)
    if lint.faults:
        faults = "".join(f"\n  fault    {fault}" for fault in lint.faults)
        raise CheckError(f"{rubric.source}: a check was added since the freeze that cannot be used{faults}")


def load_source(project: Project, session: Session, lock: RubricLock) -> Rubric:
    """The rubric from the one file that people write, with the scope changes that are on the record."""
    if lock.source == RUBRIC_NAME:
        data = project.state.read_bytes(RUBRIC_NAME)
    else:
        data = project.read(lock.source, limit=RUBRIC_LIMIT)
    if data is None:
        raise TamperedError(
            f"{lock.source}: is gone, but the rubric frozen at {lock.frozen_at} is recorded; {_MOVE}"
        )
    if not lock.source.endswith(".toml"):
        return _rubric(data, lock.source)
    short = _short(data, lock.source)
    model = short.model.model_copy(update={"scope_changes": session.manifest.scope_changes_of_rubric()})
    return replace(short, model=model, executable=strict_json(model).encode())


def _require_executable(project: Project, session: Session, lock: RubricLock) -> None:
    """Raise TamperedError when the executable form, which the source makes, was edited itself."""
    if lock.source == RUBRIC_NAME:
        return
    found, recorded = project.state.read_bytes(RUBRIC_NAME), session.recorded_file(f"state/{RUBRIC_NAME}")
    if found is not None and recorded is not None and found != recorded:
        raise TamperedError(
            f"{RUBRIC_NAME}: was edited, in its criteria or its scope_changes; it is made from {lock.source}, not "
            "written by hand. Restore it, or remove it: the next check writes it again"
        )


def _describe(changes: RubricChanges) -> str:
    words = (
        ("lost", changes.lost),
        ("changed or weakened", changes.changed),
        ("gained", changes.added),
        ("changed in its", changes.other),
    )
    return ", ".join(f"{word} {', '.join(names)}" for word, names in words if names)


def with_judge(opened: Project, backend: str | None) -> Project:
    """A project with another judge than its configuration names, for one command; None: as it is configured.

    The judge is a setting that decides: where it is locked, another one is refused as a change of it. `none` is
    always allowed, since nothing passes for lack of a judge.
    """
    if backend is None or backend == opened.config.judge.backend:
        return opened
    loaded = opened.location.config

    def changed(values: ProjectConfig) -> ProjectConfig:
        return values.model_copy(update={"judge": values.judge.model_copy(update={"backend": backend})})

    if backend == "none":
        config = replace(loaded, values=changed(loaded.values))
    else:
        # As if it were configured: what a policy asks of a judge holds for this one too.
        own = changed(loaded.own)
        values = apply_policy(own, f"--judge {backend}", loaded.policy) if loaded.policy else own
        config = replace(loaded, values=values, own=own)
    return replace(opened, location=replace(opened.location, config=config))


def lock_settings(project: Project, *, at: str) -> SettingsLock:
    """The lock over the settings that decide, as far as they are set."""
    values = _set(project)
    return SettingsLock(sha256=sha256_bytes(strict_json(values).encode()), values=values, frozen_at=at)


def changed_settings(project: Project, session: Session) -> list[str]:
    """The locked settings that are no longer as they were locked."""
    lock = session.recorded_locks.settings
    now = deciding(project)
    return [
        key
        for key, value in _locked(lock).items()
        if now.get(key) != value and not _same_place(key, value, now)
    ]


def _same_place(key: str, locked: Any, now: dict[str, Any]) -> bool:
    """Whether no path was locked, and the one set now is a place where it was looked for."""
    places = {"results": DEFAULT_RESULTS, "report": DEFAULT_REPORTS}
    return locked is None and now.get(key) in places.get(key, ())


def unlocked_settings(project: Project, session: Session) -> list[str]:
    """Settings that decide and are set, and that no freeze has locked yet."""
    lock = session.recorded_locks.settings
    locked = _locked(lock)
    return [key for key in _set(project) if key not in locked]


def require_settings(project: Project, session: Session) -> None:
    """Raise TamperedError, naming keys and values, when a locked setting was changed without a scope change."""
    changed = changed_settings(project, session)
    lock = session.recorded_locks.settings
    if changed and lock is not None:
        now, locked = deciding(project), _locked(lock)
        differences = "; ".join(f"{key} was {locked[key]!r} and is {now.get(key)!r}" for key in changed)
        raise TamperedError(
            f"{project.location.config.source or 'the configuration'}: settings that decide were changed since "
            f"they were locked at {lock.frozen_at}: {differences}; {_MOVE}"
        )


def deciding(project: Project) -> dict[str, Any]:
    """The settings that decide, and with them the judge's files that lie in the project: whoever could change these
    could change what it says."""
    files = own_digests(project.location.config.own.judge, project.root)
    return {**project.deciding(), "judge.files": files or None}


def _set(project: Project) -> dict[str, Any]:
    return {
        key: value
        for key, value in deciding(project).items()
        if value is not None or _from_the_first_freeze(key)
    }


def _locked(lock: SettingsLock | None) -> dict[str, Any]:
    """The settings as they are locked. A lock that is older than a setting holds it at its default."""
    if lock is None:
        return {}
    defaults = ProjectConfig().deciding().items()
    return {**{key: value for key, value in defaults if _from_the_first_freeze(key)}, **lock.values}


def _from_the_first_freeze(key: str) -> bool:
    # Defaults included: no judge, and no rerun, are settings too. So are the places of the results and the report:
    # a file of one's choice is not to be had by naming another later; and how numbers are looked for: nobody sets aside
    # one later. Another path or command that is not set decides nothing yet.
    return key in {"results", "report"} or key.startswith(("judge.", "numbers.", "profiles", "rerun."))
