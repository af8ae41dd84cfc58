"""Verifying each step's locks: over the recorded bytes, and changed only by steps that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoscirub.checks import DEFAULT_RESULTS
from autoscirub.checks.predictions import LOCK_NAME, PREDICTIONS_LIMIT, PREDICTIONS_NAME
from autoscirub.checks.rubric import RUBRIC_NAME, rubric_changes
from autoscirub.models import PreregLock, RunManifest, strict_json
from autoscirub.store import sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from autoscirub.models import ExecutableRubric, Locks, Loop, ScopeChange
    from autoscirub.workflow.audit.findings import Findings
    from autoscirub.workflow.audit.record import AuditedRecord, Step

LOCKERS: dict[str, frozenset[str]] = {
    "predictions": frozenset({"freeze", "unfreeze"}),
    "rubric": frozenset({"freeze", "scope", "check"}),
    "settings": frozenset({"freeze", "scope"}),
}
"""What is locked -> the steps that may lock it, relock it or unlock it."""
LOOPERS = frozenset({"check", "continued", "void", "failed"})
"""The steps that may move the loop's state."""


def verify_locks(
    record: AuditedRecord,
    step: Step,
    before: Locks | None,
    manifest: RunManifest,
    rubric: ExecutableRubric | None,
    found: Findings,
) -> None:
    """Whether each lock is over the very bytes that the step keeps, and changed only where it may."""
    locks = manifest.locks
    predictions, requirements = locks.predictions, locks.rubric
    _bytes(record, step, PREDICTIONS_NAME, predictions.sha256 if predictions else None, found)
    _bytes(record, step, RUBRIC_NAME, requirements.sha256 if requirements else None, found)
    lock = record.model(f"locked/{LOCK_NAME}", PreregLock, step.oid)
    lock_file = (lock.sha256, lock.checks, lock.frozen_at) if lock else None
    if lock_file != (
        (predictions.sha256, predictions.checks, predictions.frozen_at) if predictions else None
    ):
        found.fault("locks", step.name, f"{LOCK_NAME} and the recorded lock do not agree")
    if requirements is not None and rubric is not None:
        if [criterion.criterion_id for criterion in rubric.criteria] != requirements.criteria:
            found.fault("locks", step.name, "the rubric's lock names other criteria than the rubric has")
        if rubric.scope_changes != manifest.scope_changes_of_rubric():
            found.fault("locks", step.name, "the rubric's scope_changes are not those on the record")
        rubrics = [record.bytes(f"{folder}/{RUBRIC_NAME}", step.oid) for folder in ("state", "locked")]
        if rubrics[0] != rubrics[1]:
            found.fault("locks", step.name, f"{RUBRIC_NAME} is not the one that is locked")
        source = record.bytes("locked/rubric-source", step.oid, most=PREDICTIONS_LIMIT)
        if (
            step.event in {"freeze", "scope"}
            and source is not None
            and sha256_bytes(source) != requirements.source_sha256
        ):
            found.fault("locks", step.name, f"{requirements.source} is not what the lock is over")
    if locks.settings is not None and locks.settings.sha256 != _digest(locks.settings.values):
        found.fault("locks", step.name, "the settings that are locked are not those of their digest")
    for what, events in LOCKERS.items():
        if getattr(before, what, None) != getattr(locks, what) and step.event not in events:
            kind = f"a {step.event} step" if step.event else "what is no step of ours"
            found.fault("locks", step.name, f"changes the lock over the {what}, which {kind} may not")


def _bytes(record: AuditedRecord, step: Step, name: str, sha256: str | None, found: Findings) -> None:
    data = record.bytes(f"locked/{name}", step.oid, most=PREDICTIONS_LIMIT)
    if (sha256_bytes(data) if data is not None else None) != sha256:
        problem = "is locked, and its bytes are not kept" if data is None else "is not what the lock is over"
        found.fault("locks", step.name, f"{name} {problem}")


def verify_records(
    step: Step,
    before: RunManifest | None,
    manifest: RunManifest,
    old: ExecutableRubric | None,
    new: ExecutableRubric | None,
    found: Findings,
) -> None:
    """Whether unfreezes and scope changes only grow, and each step says what it changed."""
    was = before or RunManifest()
    grown = (
        ("unfreezes", was.unfreezes, manifest.unfreezes, step.event == "unfreeze"),
        ("scope changes", was.scope_changes, manifest.scope_changes, step.event == "scope"),
    )
    for what, earlier, later, may in grown:
        if (fault := _grown(what, earlier, later, may)) is not None:
            found.fault("locks", step.name, fault)
    if step.event == "freeze" and step.facts.get("locks") != manifest.locks.model_dump(mode="json"):
        found.fault("locks", step.name, "the locks that it says are not those of its manifest")
    if step.event == "unfreeze" and step.facts.get("unfreeze") != _newest(manifest.unfreezes):
        found.fault("locks", step.name, "the unfreeze that it says is not the one of its manifest")
    _loop(step, was.loop, manifest.loop, found)
    if step.event == "scope" and manifest.scope_changes:
        _scope(step, manifest.scope_changes[-1], old, new, found)
    elif old is not None and new is None:
        found.fault("locks", step.name, "the locked rubric is gone")
    elif old is not None and new is not None and (changes := rubric_changes(old, new)).needs_scope:
        found.fault(
            "locks", step.name, f"changes the locked rubric without a scope change: {changes.described()}"
        )


def _loop(step: Step, before: Loop | None, after: Loop | None, found: Findings) -> None:
    """Whether the loop's state is moved only by steps of the loop, and going on after an ending is said."""
    if before != after and step.event not in LOOPERS:
        found.fault("rounds", step.name, "changes the state of the loop, which it may not")
    earlier, later = (loop.continued if loop else [] for loop in (before, after))
    went_on = step.event == "continued"
    if (fault := _grown("endings that were gone on after", earlier, later, went_on)) is not None:
        found.fault("rounds", step.name, fault)
    if went_on and step.facts.get("after") != _newest(later):
        found.fault("rounds", step.name, "the ending that it goes on after is not the one of its manifest")
    if step.event in {"void", "failed"}:
        ended = after.ended if after else None
        if ended is None or (ended.state, ended.why) != ("error", step.text("why")):
            found.fault("rounds", step.name, "the ending that it says is not the one of its manifest")


def _newest(entries: Sequence[BaseModel]) -> object:
    return entries[-1].model_dump(mode="json") if entries else None


def _grown(what: str, before: Sequence[Any], after: Sequence[Any], may: bool) -> str | None:
    if list(after[: len(before)]) != list(before):
        return f"takes {what} off the record, or changes them"
    if len(after) != len(before) + may:
        return f"adds {len(after) - len(before)} {what} to the record, where {int(may)} belongs"
    return None


def _scope(
    step: Step,
    change: ScopeChange,
    old: ExecutableRubric | None,
    new: ExecutableRubric | None,
    found: Findings,
) -> None:
    if step.facts.get("scope") != _newest([change]):
        found.fault("locks", step.name, "the scope change that it says is not the one of its manifest")
    if old is None or new is None:
        return
    changes = rubric_changes(old, new)
    if silent := sorted({*changes.lost, *changes.changed, *changes.added} - set(change.criteria)):
        found.fault("locks", step.name, f"changes criteria that it does not name: {', '.join(silent)}")


def verify_freeze(step: Step, manifest: RunManifest, judged: Mapping[str, str], found: Findings) -> None:
    """Whether a freeze says of the results what it was taken with. `judged`: what earlier steps were decided on."""
    lock, locked = manifest.locks.predictions, step.facts.get("locked")
    if lock is None or not isinstance(locked, list) or "predictions" not in locked:
        return
    own = {PREDICTIONS_NAME, manifest.locks.rubric.source if manifest.locks.rubric else ""}
    listed = {file.path: file.sha256 for file in lock.results_at_freeze}
    there = {path: file.sha256 for path, file in step.files.items() if path not in own}
    if extra := sorted(there.keys() - listed.keys()):
        found.fault(
            "locks", step.name, f"does not say that these were there at freeze: {', '.join(extra[:5])}"
        )
    if other := sorted(path for path in listed.keys() & there.keys() if listed[path] != there[path]):
        found.fault(
            "locks", step.name, f"says other bytes of the results than it lists: {', '.join(other[:5])}"
        )
    settings = manifest.locks.settings.values if manifest.locks.settings else {}
    for path in dict.fromkeys([*DEFAULT_RESULTS, str(settings.get("results"))]):
        if path in judged and path not in listed:
            found.unknown(
                "locks",
                step.name,
                f"says that {path} was not there; {judged[path]} before it was decided on one",
            )


def _digest(values: object) -> str:
    return sha256_bytes(strict_json(values).encode())
