"""Verifying each step of the record against the one before: its parents, what it may write, what it keeps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from autoscirub.checks.rubric import RUBRIC_NAME
from autoscirub.errors import HistoryError
from autoscirub.models import ExecutableRubric, RunManifest, StateModel
from autoscirub.workflow.audit.locks import verify_freeze, verify_locks, verify_records
from autoscirub.workflow.audit.record import preview
from autoscirub.workflow.audit.reports import verify_report
from autoscirub.workflow.audit.reverify import answers_again, outcome_again
from autoscirub.workflow.drafting import DRAFTS

if TYPE_CHECKING:
    from autoscirub.models import VerificationReport
    from autoscirub.workflow.audit.findings import Findings
    from autoscirub.workflow.audit.record import AuditedRecord, Step
    from autoscirub.workflow.audit.reverify import ReverifiedState

Model = TypeVar("Model", bound=StateModel)

_ROUND = r"state/revisions/round-(\d{3,9})"
WRITERS: tuple[tuple[str, frozenset[str]], ...] = (
    (r"state/verification\.json", frozenset({"check", "verify", "unfreeze"})),
    (r"state/verification_report\.json", frozenset({"check"})),
    (r"state/verdicts/[0-9a-f]{64}\.json", frozenset({"judged"})),
    (r"state/asks\.jsonl", frozenset({"judged", "calibrated"})),
    (r"state/calibration\.json", frozenset({"calibrated"})),
    (r"state/rerun\.json", frozenset({"check", "rerun"})),
    (rf"{_ROUND}/verification\.json", frozenset({"check"})),
    (rf"{_ROUND}/revision_plan\.json", frozenset({"plan"})),
    (rf"{_ROUND}/change_summary\.json", frozenset({"check"})),
    (
        r"state/revisions/events\.jsonl",
        frozenset({"check", "plan", "revising", "void", "failed", "continued"}),
    ),
    (r"state/executable_rubric\.json", frozenset({"freeze", "scope", "check", "write_state"})),
    (r"locked/executable_rubric\.json", frozenset({"freeze", "scope", "check"})),
    (
        rf"state/(?:{'|'.join(map(re.escape, sorted(set(DRAFTS) - {RUBRIC_NAME})))})",
        frozenset({"write_state"}),
    ),
    (r"locked/rubric-source", frozenset({"freeze", "scope", "check"})),
    (r"locked/(?:prereg\.toml|\.prereg\.lock)", frozenset({"freeze", "unfreeze"})),
    (r"state/unfrozen/.+", frozenset({"unfreeze"})),
)
"""A file of a step -> the steps that may change it. The manifest any of ours may; what a step was decided on
(`project/`) and what it kept to put back (`before/`) belongs to it alone."""

_OURS = frozenset().union(*(events for _, events in WRITERS), {"anchor"})
_MANIFEST = f"state/{RunManifest.file_name}"
_RUBRIC = f"locked/{RUBRIC_NAME}"


def verify_line(record: AuditedRecord, found: Findings) -> None:
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
        if before is not None and step.at and step.at < before.at:
            found.unknown(
                "line", step.name, f"says {step.at}, before the step that it is built on ({before.at})"
            )
        for notice in step.notices:
            found.unknown("line", step.name, f"recorded when it was taken: {notice}")
        before = step
    for notice in record.session.notices:
        if not notice.startswith(f"{RunManifest.file_name}:"):  # told with the other files
            say = found.fault if ": lacks " in notice or "started afresh" in notice else found.unknown
            say("line", "", notice)


def verify_steps(record: AuditedRecord, workspace: ReverifiedState, found: Findings) -> None:
    """Walk the steps, oldest first. `workspace` is where what each step keeps is laid out again."""
    walk = _StepWalk(record, workspace, found)
    for step in record.steps:
        walk.step(step)


class _StepWalk:
    """What is carried from step to step."""

    def __init__(self, record: AuditedRecord, workspace: ReverifiedState, found: Findings) -> None:
        self.record, self.workspace, self.found = record, workspace, found
        self.manifest: RunManifest | None = None
        self.rubric: ExecutableRubric | None = None
        self.report: VerificationReport | None = None
        self.round = 0
        self.judged: dict[str, str] = {}
        """Files that a step was decided on while no predictions were frozen -> that step."""

    def step(self, step: Step) -> None:
        try:
            changed = self.record.history.changed(step.oid)
            names = self.record.history.files(step.oid)
        except HistoryError as error:
            self.found.fault("line", step.name, str(error))
            return
        self._writers(step, changed)
        if any(name.startswith("before/") for name in names) and step.event != "revising":
            self.found.unknown("locks", step.name, "keeps files to put back, which only revising steps do")
        self.workspace.lay_out(self.record, step, names, self.found)
        manifest = self._model(step, _MANIFEST, RunManifest) if _MANIFEST in changed else self.manifest
        rubric = self._model(step, _RUBRIC, ExecutableRubric) if _RUBRIC in changed else self.rubric
        if manifest is None and not step.problem:
            self.found.fault("locks", step.name, f"keeps no {RunManifest.file_name} that can be read")
        if manifest is not None:
            if any(name == _MANIFEST or name.startswith("locked/") for name in changed):
                before = self.manifest.locks if self.manifest else None
                verify_locks(self.record, step, before, manifest, rubric, self.found)
            verify_records(step, self.manifest, manifest, self.rubric, rubric, self.found)
            if step.event == "freeze":
                verify_freeze(step, manifest, self.judged, self.found)
            if step.text("outcome"):
                outcome_again(self.record, step, manifest, self.workspace, self.found)
        if "round" in step.facts and step.round is None:
            self.found.fault("rounds", step.name, f"says round {preview(step.facts['round'])}, which is none")
        elif step.event == "check" and step.round is not None:
            self._round(step, step.round, manifest, rubric)
        elif step.event == "check" and self.rubric is not None:
            self.found.fault("rounds", step.name, "is of no round, though a rubric was frozen")
        self.manifest, self.rubric = manifest, rubric
        if manifest is None or manifest.locks.predictions is None:
            self.judged |= dict.fromkeys(step.files, step.name)

    def _model(self, step: Step, path: str, model: type[Model]) -> Model | None:
        before = len(self.record.faults)
        value = self.record.model(path, model, step.oid)
        for fault in self.record.faults[before:]:
            self.found.fault("locks", step.name, fault)
        return value

    def _writers(self, step: Step, changed: list[str]) -> None:
        """Whether the step changed only what its kind may, and of rounds only its own."""
        kind = f"{step.event} steps" if step.event else "what is no step of ours"
        whole = not step.problem
        for name in changed:
            if (name == _MANIFEST and not step.problem) or name.startswith(("project/", "before/")):
                continue
            match, events = _writers_of(name)
            if name != _MANIFEST and match is None:
                self.found.unknown(
                    "locks", step.name, f"changes {name}, which no step of this version writes"
                )
            elif step.event not in events:
                whole = False
                self.found.fault("locks", step.name, f"changes {name}, which {kind} may not")
            elif step.event == "write_state" and name == f"state/{RUBRIC_NAME}" and self._rubric_was_locked():
                whole = False
                self.found.fault("locks", step.name, f"changes {name}, though the rubric was frozen by then")
            elif match is not None and match.groups() and not _of_its_round(step, int(match.group(1)), name):
                self.found.fault("rounds", step.name, f"changes {name}, though it is of round {step.round}")
        if whole:
            self.found.holds("locks")

    def _rubric_was_locked(self) -> bool:
        return self.manifest is not None and self.manifest.locks.rubric is not None

    def _round(
        self, step: Step, number: int, manifest: RunManifest | None, rubric: ExecutableRubric | None
    ) -> None:
        if number < self.round:
            self.found.fault("rounds", step.name, f"verifies round {number} after round {self.round}")
        self.round = max(self.round, number)
        report = verify_report(self.record, step, rubric, manifest, self.report, self.found)
        if report is not None and rubric is not None:
            answers_again(self.record, step, rubric, report, manifest, self.workspace, self.found)
        self.report = report or self.report


def _writers_of(name: str) -> tuple[re.Match[str] | None, frozenset[str]]:
    for pattern, events in WRITERS:
        if match := re.fullmatch(pattern, name):
            return match, events
    return None, frozenset()


def _of_its_round(step: Step, number: int, name: str) -> bool:
    """A step writes parts of its own round alone; a summary closes an earlier one."""
    if step.round is None:
        return False
    return number < step.round if name.endswith("change_summary.json") else number == step.round
