"""Verifying a round's report against the rubric, the facts of its step and the report before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.criteria import CRITERION_WORDS
from autoscirub.models import VerificationReport
from autoscirub.workflow.audit.record import preview, round_file
from autoscirub.workflow.rounds import VERIFICATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.models import CriterionResult, ExecutableRubric, RunManifest
    from autoscirub.workflow.audit.findings import Findings
    from autoscirub.workflow.audit.record import AuditedRecord, Step


def verify_report(
    record: AuditedRecord,
    step: Step,
    rubric: ExecutableRubric | None,
    manifest: RunManifest | None,
    before: VerificationReport | None,
    found: Findings,
) -> VerificationReport | None:
    """Recount the report that a step of a round wrote. None when there is none that can be read."""
    name = f"state/{VerificationReport.file_name}"
    read = len(record.faults)
    report = record.model(name, VerificationReport, step.oid)
    for fault in record.faults[read:]:
        found.fault("reports", step.name, fault)
    if report is None:
        if read == len(record.faults):
            found.fault("reports", step.name, f"verified round {step.round} and keeps no report of it")
        return None
    faults = [
        *_alone(report),
        *_against_rubric(report, rubric),
        *_against_facts(report, step),
        *_against_manifest(report, step, manifest),
        *_reused(report, before),
    ]
    if record.bytes(round_file(report.round, VERIFICATION), step.oid) != record.bytes(name, step.oid):
        faults.append(f"the verification of round {report.round} is not this report")
    for fault in faults:
        found.fault("reports", step.name, fault)
    if not faults:
        found.holds("reports")
    return report


def _alone(report: VerificationReport) -> Iterator[str]:
    """Counts and flags from the criteria alone. (The model itself refuses most of what does not add up.)"""
    counted = VerificationReport.counted(round=report.round, criteria=report.criteria)
    if report.all_satisfied != counted.all_satisfied:
        yield f"all_satisfied is {report.all_satisfied}, and the criteria say {counted.all_satisfied}"
    for count in ("passed", "failed"):
        stated, right = getattr(report.summary, count), getattr(counted.summary, count)
        if stated != right:
            yield f"summary.{count} is {stated}, and the criteria count to {right}"
    decisions = {decision.subject: decision for decision in report.decisions}
    for result in report.criteria:
        decision = decisions.get(result.criterion_id)
        if result.status is None or decision is None:
            yield f"{result.criterion_id}: has no status, or no Decision that it rests on"
        elif CRITERION_WORDS[result.status] != (decision.answer, decision.word):
            yield f"{result.criterion_id}: is {result.status}, and its Decision says {decision.answer.value}"


def _against_rubric(report: VerificationReport, rubric: ExecutableRubric | None) -> Iterator[str]:
    if rubric is None:
        yield "there is no locked rubric that it could be of"
        return
    asked = [criterion.criterion_id for criterion in rubric.criteria]
    reported = [result.criterion_id for result in report.criteria]
    if missing := [name for name in asked if name not in reported]:
        yield f"lacks criteria of the locked rubric: {', '.join(missing[:8])}"
    if extra := [name for name in reported if name not in asked]:
        yield f"has criteria that the locked rubric does not have: {', '.join(extra[:8])}"
    if not missing and not extra and asked != reported:
        yield "has the criteria in another order than the locked rubric"


def _against_facts(report: VerificationReport, step: Step) -> Iterator[str]:
    facts = step.facts
    reused = [result.criterion_id for result in report.criteria if result.reused_from_round is not None]
    evaluated = [result.criterion_id for result in report.criteria if result.reused_from_round is None]
    expected = {
        "round": report.round,
        "passed": report.summary.passed,
        "failed": report.summary.failed,
        "reused": len(reused),
        "evaluated": evaluated,
    }
    for name, value in expected.items():
        if facts.get(name) != value:
            yield f"the step says {name} {preview(facts.get(name))}, and its report {preview(value)}"


def _against_manifest(report: VerificationReport, step: Step, manifest: RunManifest | None) -> Iterator[str]:
    ended = manifest.loop.ended if manifest and manifest.loop else None
    if step.facts.get("ended") != (ended.model_dump(mode="json") if ended else None):
        yield "the ending that the step says is not the one of its manifest"
    reduced = manifest is not None and any(change.by == "agent" for change in manifest.scope_changes)
    done = "satisfied_in_reduced_scope" if reduced else "satisfied"
    state = ended.state if ended else "open"
    if (state == done) != report.all_satisfied or (state.startswith("satisfied") and state != done):
        yield f"the loop is {state}, and all_satisfied is {report.all_satisfied}"
    settings = step.facts.get("settings")
    locked = manifest.locks.settings.values if manifest and manifest.locks.settings else {}
    for key, value in locked.items():
        if isinstance(settings, dict) and settings.get(key) != value:
            yield f"was reached with {key} {preview(settings.get(key))}, and {preview(value)} is locked"


def _reused(report: VerificationReport, before: VerificationReport | None) -> Iterator[str]:
    """A reused answer is the one of the report before, on the same basis."""
    earlier = {result.criterion_id: result for result in before.criteria} if before else {}
    for result in report.criteria:
        if result.reused_from_round is None:
            continue
        was = earlier.get(result.criterion_id)
        if was is None or _answer(was) != _answer(result):
            yield f"{result.criterion_id}: says that it is reused, and the report before has another answer"


def _answer(result: CriterionResult) -> tuple[object, ...]:
    return result.status, result.rests_on, result.evidence_gap, result.evidence_found
