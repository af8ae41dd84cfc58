"""Each step of the record held against the one before: what it may write, what it must say, and the locks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from autoscirub.checks import PREDICTIONS_NAME, RUBRIC_NAME, rubric_changes
from autoscirub.errors import HistoryError
from autoscirub.models import ExecutableRubric, PreregLock, RunManifest, StateModel, strict_json
from autoscirub.store import sha256_bytes
from autoscirub.workflow.auditing_reports import verify_report

if TYPE_CHECKING:
    from autoscirub.models import Locks, ScopeChange, VerificationReport
    from autoscirub.workflow.auditing_findings import Findings
    from autoscirub.workflow.auditing_record import Record, Step

__all__ = ["WRITERS", "verify_line", "verify_steps"]

Model = TypeVar("Model", bound=StateModel)

_ROUND = r"state/revisions/round-(\d{3,9})"
WRITERS: tuple[tuple[str, frozenset[str]], ...] = (
    (r"state/verification\.json", frozenset({"check", "verify", "unfreeze"})),
    (r"state/verification_report\.json", frozenset({"check"})),
    (rf"{_ROUND}/verification\.json", frozenset({"check"})),
    (rf"{_ROUND}/revision_plan\.json", frozenset({"plan"})),
    (rf"{_ROUND}/change_summary\.json", frozenset({"check"})),
    (
        r"state/revisions/events\.jsonl",
        frozenset({"check", "plan", "revising", "void", "failed", "continued"}),
    ),
    (r"(?:state|locked)/executable_rubric\.json", frozenset({"freeze", "scope", "check"})),
    (r"locked/rubric-source", frozenset({"freeze", "scope", "check"})),
    (r"locked/(?:prereg\.toml|\.prereg\.lock)", frozenset({"freeze", "unfreeze"})),
    (r"state/unfrozen/.+", frozenset({"unfreeze"})),
)
"""A file of a step -> the steps that may change it. The manifest any of ours may; what a step was decided on
(`project/`) and what it kept (`before/`) belongs to it alone."""

_OURS = frozenset(
    {
        "freeze",
        "unfreeze",
        "scope",
        "verify",
        "check",
        "plan",
        "revising",
        "void",
        "failed",
        "continued",
        "anchor",
    }
)
_LOCKERS: dict[str, frozenset[str]] = {
    "predictions": frozenset({"freeze", "unfreeze"}),
    "rubric": frozenset({"freeze", "scope", "check"}),
    "settings": frozenset({"freeze", "scope"}),
}
"""What is locked -> the steps that may lock it anew or unlock it."""
_MANIFEST = f"state/{RunManifest.file_name}"
_RUBRIC = f"locked/{RUBRIC_NAME}"


def verify_line(record: Record, found: Findings) -> None:
    """Every step readable and ours, each built on the one before and on nothing else."""
    before: Step | None = None
    for step in record.steps:
        expected = (before.oid,) if before else ()
        if step.problem:
            found.fault("line", step.name, step.problem)
        elif step.parents != expected:
            built = ", ".join(oid[:12] for oid in step.parents) or "nothing"
            found.fault(
                "line", step.name, f"is built on {built}, not on the step before it; steps are one line"
            )
        elif before is not None and before.history_id and step.history_id != before.history_id:
            found.fault("line", step.name, "belongs to another history than the step before it")
        else:
            found.holds("line")
        if step.event and step.event not in _OURS:
            found.unknown("line", step.name, "is no step that this version takes")
        if before is not None and step.at and before.at and step.at < before.at:
            found.unknown(
                "line", step.name, f"says {step.at}, before the step that it is built on ({before.at})"
            )
        for notice in step.notices:
            found.unknown("line", step.name, f"recorded when it was taken: {notice}")
        before = step if not step.problem else before
    for notice in record.session.notices:
        if not notice.startswith(f"{RunManifest.file_name}:"):  # told with the other files
            say = found.fault if ": lacks " in notice or "begun again" in notice else found.unknown
            say("line", "", notice)


class verify_steps:  # noqa: N801 - called as a function; what it carries from step to step is its state
    """Walk the steps, oldest first, each against the one before."""

    def __init__(self, record: Record, found: Findings) -> None:
        self.record, self.found = record, found
        self.manifest: RunManifest | None = None
        self.rubric: ExecutableRubric | None = None
        self.report: VerificationReport | None = None
        self.round = 0
        self.judged: dict[str, str] = {}
        """Results and other files that a step was decided on before predictions were frozen -> that step."""
        for step in record.steps:
            self._step(step)

    def _step(self, step: Step) -> None:
        try:
            changed = self.record.history.changed(step.oid)
        except HistoryError as error:
            self.found.fault("line", step.name, str(error))
            return
        self._writers(step, changed)
        self._kept(step)
        manifest = self._model(step, _MANIFEST, RunManifest) if _MANIFEST in changed else self.manifest
        rubric = self._model(step, _RUBRIC, ExecutableRubric) if _RUBRIC in changed else self.rubric
        if manifest is None and not step.problem:
            self.found.fault("locks", step.name, f"keeps no {RunManifest.file_name} that can be read")
        if manifest is not None:
            self._locks(step, changed, manifest, rubric)
            self._records(step, manifest, rubric)
            if step.event == "freeze":
                self._before_results(step, manifest)
        if step.event == "check" and step.round is not None:
            self._round(step, rubric, manifest)
        self.manifest, self.rubric = manifest, rubric
        if manifest is None or manifest.locks.predictions is None:
            self.judged |= dict.fromkeys(step.files, step.name)

    def _model(self, step: Step, path: str, model: type[Model]) -> Model | None:
        before = len(self.record.faults)
        value = self.record.model(path, model, step.oid)
        for fault in self.record.faults[before:]:
            self.found.fault("locks" if model is not PreregLock else "locks", step.name, fault)
        return value

    def _writers(self, step: Step, changed: list[str]) -> None:
        """Whether the step changed only what its kind may, and of rounds only its own."""
        whole = True
        for name in changed:
            if name == _MANIFEST or name.startswith(("project/", "before/")):
                continue
            match, events = next(
                ((match, events) for pattern, events in WRITERS if (match := re.fullmatch(pattern, name))),
                (None, frozenset[str]()),
            )
            if match is None:
                self.found.unknown(
                    "locks", step.name, f"changes {name}, which no step of this version writes"
                )
            elif step.event not in events:
                whole = False
                kind = f"{step.event} steps" if step.event else "what is no step of ours"
                self.found.fault("locks", step.name, f"changes {name}, which {kind} may not")
            elif match.groups() and (said := self._not_its_round(step, int(match.group(1)), name)):
                whole = False
                self.found.fault("rounds", step.name, said)
        if whole and not step.problem:
            self.found.holds("locks")

    def _not_its_round(self, step: Step, number: int, name: str) -> str | None:
        its = step.round
        if its is None or (number >= its if name.endswith("change_summary.json") else number != its):
            return f"changes {name}, though it is of round {its}"
        return None

    def _kept(self, step: Step) -> None:
        """Whether what it keeps of the project is what it lists, byte for byte."""
        try:
            names = self.record.history.files(step.oid)
        except HistoryError as error:
            self.found.fault("line", step.name, str(error))
            return
        listed = {path for path, file in step.files.items() if file.kept}
        kept = {name.removeprefix("project/") for name in names if name.startswith("project/")}
        for path in sorted(kept ^ listed):
            said = "keeps it without listing it" if path in kept else "lists it as kept, and does not keep it"
            self.found.fault("answers", f"{step.name}: {path}", said)
        for path in sorted(kept & listed):
            data = self.record.bytes(f"project/{path}", step.oid, most=step.files[path].size + 1)
            if data is None or sha256_bytes(data) != step.files[path].sha256:
                self.found.fault("answers", f"{step.name}: {path}", "what it keeps is not what it lists")
        if any(name.startswith("before/") for name in names) and step.event != "revising":
            self.found.unknown("locks", step.name, "keeps files to put back, which only revising steps do")

    def _locks(
        self, step: Step, changed: list[str], manifest: RunManifest, rubric: ExecutableRubric | None
    ) -> None:
        """Whether each lock is over the bytes that are locked, and changed only where it may."""
        locks, was = manifest.locks, self.manifest.locks if self.manifest else None
        if _MANIFEST not in changed and not any(name.startswith("locked/") for name in changed):
            return
        self._bytes(step, PREDICTIONS_NAME, locks.predictions and locks.predictions.sha256)
        self._bytes(step, RUBRIC_NAME, locks.rubric and locks.rubric.sha256)
        lock = self._model(step, "locked/.prereg.lock", PreregLock) if locks.predictions else None
        if locks.predictions is not None and (
            lock is None or (lock.sha256, lock.checks) != (locks.predictions.sha256, locks.predictions.checks)
        ):
            self.found.fault("locks", step.name, ".prereg.lock and the recorded lock do not agree")
        if locks.rubric is not None and rubric is not None:
            ids = [criterion.criterion_id for criterion in rubric.criteria]
            if ids != locks.rubric.criteria:
                self.found.fault(
                    "locks", step.name, "the rubric's lock names other criteria than the rubric has"
                )
            if rubric.scope_changes != manifest.scope_changes_of_rubric():
                self.found.fault("locks", step.name, "the rubric's scope_changes are not those on the record")
            if self.record.bytes(f"state/{RUBRIC_NAME}", step.oid) != self.record.bytes(_RUBRIC, step.oid):
                self.found.fault("locks", step.name, f"{RUBRIC_NAME} is not the one that is locked")
        if locks.settings is not None and locks.settings.sha256 != _digest(locks.settings.values):
            self.found.fault("locks", step.name, "the settings that are locked are not those of their digest")
        for what, events in _LOCKERS.items():
            if _lock(was, what) != _lock(locks, what) and step.event not in events:
                self.found.fault("locks", step.name, f"changes the lock over the {what}, which it may not")

    def _bytes(self, step: Step, name: str, sha256: str | None) -> None:
        data = self.record.bytes(f"locked/{name}", step.oid, most=64 * 1024 * 1024)
        if (sha256_bytes(data) if data is not None else None) != sha256:
            said = "is locked, and its bytes are not kept" if data is None else "is not what its lock is over"
            self.found.fault("locks", step.name, f"{name} {said}")

    def _records(self, step: Step, manifest: RunManifest, rubric: ExecutableRubric | None) -> None:
        """Whether unfreezes and scope changes only grow, and each says what it did."""
        before = self.manifest or RunManifest()
        self._grown(step, "unfreezes", before.unfreezes, manifest.unfreezes, step.event == "unfreeze")
        self._grown(
            step, "scope changes", before.scope_changes, manifest.scope_changes, step.event == "scope"
        )
        if step.event == "freeze" and step.facts.get("locks") != manifest.locks.model_dump(mode="json"):
            self.found.fault("locks", step.name, "the locks that it says are not those of its manifest")
        if self.rubric is None or rubric is None or self.rubric == rubric:
            if self.rubric is not None and rubric is None:
                self.found.fault("locks", step.name, "the locked rubric is gone")
            return
        changes = rubric_changes(self.rubric, rubric)
        if step.event == "check" and changes.needs_scope:
            self.found.fault(
                "locks", step.name, f"changes the locked rubric beyond added checks: {changes.described()}"
            )
        if step.event == "scope" and manifest.scope_changes:
            self._scope(step, manifest.scope_changes[-1], {*changes.lost, *changes.changed, *changes.added})

    def _grown(self, step: Step, what: str, before: list[Model], after: list[Model], may: bool) -> None:
        if after[: len(before)] != before:
            self.found.fault("locks", step.name, f"takes {what} off the record, or changes them")
        elif len(after) != len(before) + may:
            self.found.fault(
                "locks", step.name, f"records {len(after) - len(before)} {what}, expected {int(may)}"
            )

    def _scope(self, step: Step, change: ScopeChange, differing: set[str]) -> None:
        if step.facts.get("scope") != change.model_dump(mode="json"):
            self.found.fault(
                "locks", step.name, "the scope change that it says is not the one of its manifest"
            )
        if silent := sorted(differing - set(change.criteria)):
            self.found.fault(
                "locks",
                step.name,
                f"changes criteria that its scope change does not name: {', '.join(silent)}",
            )

    def _before_results(self, step: Step, manifest: RunManifest) -> None:
        """Whether the freeze says of the results what it was taken with."""
        lock = manifest.locks.predictions
        locked = step.facts.get("locked")
        if lock is None or not isinstance(locked, list) or "predictions" not in locked:
            return
        own = {PREDICTIONS_NAME, manifest.locks.rubric.source if manifest.locks.rubric else ""}
        said = {file.path: file.sha256 for file in lock.results_at_freeze}
        there = {path: file.sha256 for path, file in step.files.items() if path not in own}
        if extra := sorted(there.keys() - said.keys()):
            self.found.fault(
                "locks",
                step.name,
                f"says that these were not there at freeze, and lists them: {', '.join(extra[:5])}",
            )
        if other := sorted(path for path in said.keys() & there.keys() if said[path] != there[path]):
            self.found.fault(
                "locks", step.name, f"says other bytes of the results than it lists: {', '.join(other[:5])}"
            )
        earlier = [name for name in self.judged if name not in own and name not in said]
        if earlier:
            self.found.unknown(
                "locks",
                step.name,
                f"says that no {earlier[0]} was there at freeze; {self.judged[earlier[0]]} was decided on one before",
            )

    def _round(self, step: Step, rubric: ExecutableRubric | None, manifest: RunManifest | None) -> None:
        number = step.round or 0
        if number < self.round:
            self.found.fault("rounds", step.name, f"verifies round {number} after round {self.round}")
        self.round = max(self.round, number)
        self.report = (
            verify_report(self.record, step, rubric, manifest, self.report, self.found) or self.report
        )


def _lock(locks: Locks | None, what: str) -> object:
    return getattr(locks, what) if locks else None


def _digest(values: object) -> str:
    return sha256_bytes(strict_json(values).encode())
