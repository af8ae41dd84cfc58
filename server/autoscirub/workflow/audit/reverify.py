"""Re-evaluating recorded answers from the bytes that each step keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autoscirub.checks import DEFAULT_RESULTS, load_results
from autoscirub.checks.artifacts import check_artifacts
from autoscirub.checks.criteria import Inputs, decide_criterion, numbers_of
from autoscirub.checks.predictions import (
    OUTCOME_ANSWERS,
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    decide_outcome,
    evaluate_checks,
    read_predictions,
)
from autoscirub.errors import PredictionsError, ResultsError
from autoscirub.judging import verdict_fault
from autoscirub.models import (
    Answer,
    CachedVerdict,
    DecidedBy,
    NumbersConfig,
    ProjectConfig,
    RerunRecord,
    Verification,
)
from autoscirub.store import sha256_bytes
from autoscirub.store.history import path_problem
from autoscirub.workflow.judges import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from autoscirub.checks import Results
    from autoscirub.models import (
        CheckResult,
        Criterion,
        CriterionResult,
        Decision,
        ExecutableRubric,
        Outcome,
        RunManifest,
        VerificationReport,
    )
    from autoscirub.workflow.audit.findings import Findings
    from autoscirub.workflow.audit.record import AuditedRecord, Step

_MOST_BYTES = 64 * 1024 * 1024
_STORED = "project/"


class ReverifiedState:
    """A folder in which the files that a step keeps are laid out as they lay in the project."""

    def __init__(self, root: Path, results_limit: int) -> None:
        self.root, self.results_limit = root, results_limit
        self._laid: dict[str, str] = {}

    def lay_out(self, record: AuditedRecord, step: Step, names: list[str], found: Findings) -> None:
        """Make the folder as `step` has it. What it keeps must be what it lists, byte for byte."""
        stored = {name.removeprefix(_STORED) for name in names if name.startswith(_STORED)}
        listed = {path for path, file in step.files.items() if file.stored}
        for path in sorted(stored ^ listed):
            problem = "is kept and not listed" if path in stored else "is listed as kept, and is not"
            found.fault("answers", f"{step.name}: {path}", problem)
        wanted: dict[str, bytes] = {}
        for path in sorted(stored & listed):
            file = step.files[path]
            data = record.bytes(_STORED + path, step.oid, most=_MOST_BYTES)
            if data is None:
                found.unknown(
                    "answers", f"{step.name}: {path}", "cannot be read, or is too large to be read here"
                )
            elif sha256_bytes(data) != file.sha256:
                found.fault("answers", f"{step.name}: {path}", "is not what is listed of it")
            elif path_problem(_STORED + path) is None:
                wanted[path] = data
        for path in [path for path in self._laid if path not in wanted]:
            self._remove(path)
        for path, data in wanted.items():
            if self._laid.get(path) != step.files[path].sha256:
                target = self.root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                self._laid[path] = step.files[path].sha256

    def has(self, path: str) -> bool:
        """Whether the file lies there as the step had it."""
        return path in self._laid

    def _remove(self, path: str) -> None:
        del self._laid[path]
        target = self.root / path
        target.unlink()
        for folder in target.parents:  # a file may come where a folder was
            if folder == self.root or any(folder.iterdir()):
                break
            folder.rmdir()

    def results(self, path: str) -> Results | ResultsError:
        """The results as the step had them."""
        try:
            return load_results(self.root, path, limit=self.results_limit)
        except ResultsError as error:
            return error


def answers_again(
    record: AuditedRecord,
    step: Step,
    rubric: ExecutableRubric,
    report: VerificationReport,
    manifest: RunManifest | None,
    workspace: ReverifiedState,
    found: Findings,
) -> None:
    """Decide every criterion of a verification again, as far as code can and its files are kept."""
    criteria = {criterion.criterion_id: criterion for criterion in rubric.criteria}
    decisions = {decision.subject: decision for decision in report.decisions}
    keys = list(dict.fromkeys(key for criterion in rubric.criteria for key in _artifacts(criterion)))
    results = _results_path(step, manifest)
    rerun = record.model(f"state/{RerunRecord.file_name}", RerunRecord, step.oid)
    inputs = Inputs(
        results=workspace.results(results),
        report=None,
        artifacts=dict(zip(keys, check_artifacts(workspace.root, keys), strict=True)),
        judge={},
        numbers=numbers_of(workspace.root, _configured(step, manifest, results), rubric),
        # It cannot be run again here: what the step keeps of it is what the criteria must agree with.
        rerun=rerun.decision if rerun else None,
    )
    for result in report.criteria:
        criterion, decision = criteria.get(result.criterion_id), decisions.get(result.criterion_id)
        if criterion is None or decision is None:
            continue  # the report's own faults
        where = f"{step.name}: {result.criterion_id}"
        reran = _rerun_parts(criterion, decision)
        why = _out_of_reach(criterion, result, decision, results, step, workspace)
        if any(part.answer is Answer.INCONCLUSIVE for part in reran):
            why = "nothing could be rerun then"
        if fault := _verdict_fault(record, step, decision):
            found.fault("answers", where, fault)
            continue
        if why is not None:
            found.unknown("answers", where, f"cannot be checked here: {why}")
            continue
        if fault := _rerun_fault(reran, rerun, step):
            found.fault("answers", where, fault)
            continue
        again, _ = decide_criterion(criterion, inputs, at=step.at)
        if again.status == result.status:
            found.holds("answers")
        elif again.rests_on.get("rules") != result.rests_on.get("rules"):
            found.unknown(
                "answers", where, "cannot be checked here: it was decided by the rules of another version"
            )
        else:
            gap = f": {again.evidence_gap}" if again.evidence_gap else ""
            found.fault(
                "answers", where, f"is recorded as {result.status}; the kept files give {again.status}{gap}"
            )


def _artifacts(criterion: Criterion) -> Iterator[tuple[str, str | None]]:
    for check in criterion.checks:
        if check.kind == "artifact":
            yield check.path, check.format
    for artifact in criterion.expected_artifacts:
        if artifact.path:
            yield artifact.path, None


def _results_path(step: Step, manifest: RunManifest | None, sha256: str | None = None) -> str:
    """Where the results lay: as the settings said, else the usual place that is listed."""
    locked = manifest.locks.settings.values if manifest and manifest.locks.settings else {}
    configured = step.text("settings", "results") or locked.get("results")
    if isinstance(configured, str) and configured:
        return configured
    by_digest = [path for path, file in step.files.items() if sha256 is not None and file.sha256 == sha256]
    return next((path for path in (*DEFAULT_RESULTS, *by_digest) if path in step.files), DEFAULT_RESULTS[0])


def _out_of_reach(
    criterion: Criterion,
    result: CriterionResult,
    decision: Decision,
    results: str,
    step: Step,
    workspace: ReverifiedState,
) -> str | None:
    """Why a criterion cannot be decided again from what the step keeps; None when it can."""
    if decision.decided_by not in (DecidedBy.CODE, DecidedBy.RERUN):
        judged = any(part.inputs_digest for part in decision.parts if part.decided_by is DecidedBy.JUDGE)
        statement = "it is as the recorded verdict says" if judged else "no verdict was given"
        return f"decided by {decision.decided_by.value}; {statement}"
    if result.status == "error":
        return "it was an error"
    if any(check.kind == "expr" for check in criterion.checks) and _not_stored(results, step, workspace):
        return f"{results} was not kept (too large, or a link)"
    for part in _numbers_of(criterion, decision):
        for entry in part.evidence:
            if entry.path and entry.sha256 and _not_stored(entry.path, step, workspace):
                return f"{entry.path} was not kept (too large, or a link)"
    inconclusive = any(part.answer is Answer.INCONCLUSIVE for part in decision.parts)
    for path, _ in _artifacts(criterion):
        if why := _artifact_out_of_reach(path, inconclusive, step, workspace):
            return why
    return None


def _numbers_of(criterion: Criterion, decision: Decision) -> Iterator[Decision]:
    names = {check.id for check in criterion.checks if check.kind == "numbers"}
    return (part for part in decision.parts if part.subject in names)


def _configured(step: Step, manifest: RunManifest | None, results: str) -> ProjectConfig:
    """The settings that decide about numbers, as the step or its lock says them; what neither says, by default."""
    settings = step.facts.get("settings")
    locked = manifest.locks.settings.values if manifest and manifest.locks.settings else {}
    values = {**locked, **(settings if isinstance(settings, dict) else {})}
    names = {
        name: values[f"numbers.{name}"] for name in NumbersConfig.model_fields if f"numbers.{name}" in values
    }
    try:
        numbers = NumbersConfig.model_validate(names)
    except ValidationError:
        numbers = NumbersConfig()
    report = values.get("report")
    return ProjectConfig(report=report if isinstance(report, str) else None, results=results, numbers=numbers)


def _verdict_fault(record: AuditedRecord, step: Step, decision: Decision) -> str | None:
    """What an answer says of a judge against the verdict that the step keeps: its members, and what they come to."""
    for part in decision.parts:
        if part.decided_by is not DecidedBy.JUDGE or part.inputs_digest is None:
            continue
        verdict = record.model(f"state/verdicts/{part.inputs_digest}.json", CachedVerdict, step.oid)
        if verdict is None:
            return "rests on a judge's verdict that the step does not keep"
        if verdict.key != part.inputs_digest or verdict.subject != decision.subject:
            return "rests on a judge's verdict on something else"
        if fault := verdict_fault(verdict.members, verdict.agree, verdict.answer):
            return f"rests on a verdict that nobody can have given: {fault}"
        if ANSWERS[verdict.answer] is not part.answer:
            return f"is recorded as {part.answer.value}, and the judge's verdict says {verdict.answer}"
    return None


def _rerun_parts(criterion: Criterion, decision: Decision) -> list[Decision]:
    names = {check.id for check in criterion.checks if check.kind == "rerun"}
    return [part for part in decision.parts if part.subject in names]


def _rerun_fault(parts: list[Decision], rerun: RerunRecord | None, step: Step) -> str | None:
    """What an answer says of a rerun against the rerun that the step keeps."""
    if not parts:
        return None
    digest = rerun.decision.inputs_digest if rerun else None
    if any(part.inputs_digest != digest for part in parts):
        return "rests on a rerun that the step does not keep"
    for path, sha256 in rerun.results.items() if rerun else ():
        if path in step.files and step.files[path].sha256 != sha256:
            return f"rests on a rerun that was compared with another {path} than the step lists"
    return None


def _artifact_out_of_reach(
    path: str, inconclusive: bool, step: Step, workspace: ReverifiedState
) -> str | None:
    if _not_stored(path, step, workspace):
        return f"{path} was not kept (too large, or a link)"
    # A path that leads out of the project, or to what is no file, is inconclusive then, and is not listed.
    return f"{path} could not be opened then" if inconclusive and not workspace.has(path) else None


def _not_stored(path: str, step: Step, workspace: ReverifiedState) -> bool:
    return path in step.files and not workspace.has(path)


def outcome_again(
    record: AuditedRecord, step: Step, manifest: RunManifest, workspace: ReverifiedState, found: Findings
) -> None:
    """Evaluate the predictions of a step again, from the locked file and the kept results and artifacts."""
    verification = record.model(f"state/{Verification.file_name}", Verification, step.oid)
    if verification is None:
        found.fault(
            "predictions", step.name, f"says {step.text('outcome')}, and keeps no outcome that can be read"
        )
        return
    faults = list(_outcome_faults(step, manifest, verification))
    data = record.bytes(f"locked/{PREDICTIONS_NAME}", step.oid, most=PREDICTIONS_LIMIT)
    try:
        predictions = read_predictions(data or b"")
    except PredictionsError as error:
        found.unknown("predictions", step.name, f"cannot be checked here: {str(error).splitlines()[0]}")
        return
    results = _results_path(step, manifest, verification.digests.results)
    evaluated = evaluate_checks(predictions, workspace.results(results), workspace.root, at=step.at).results
    recorded = {check.id: check for check in verification.checks}
    unreached: list[str] = []
    for check, promised in zip(evaluated, predictions.prereg.checks, strict=True):
        was = recorded.pop(check.id, None)
        path = promised.path if promised.kind == "artifact" else results
        if was is None:
            faults.append(f"lacks the check {check.id}")
        elif why := _check_out_of_reach(was, path, step, workspace):
            unreached.append(f"{check.id}: {why}")
        elif was.passed is not check.passed:
            faults.append(
                f"{check.id}: is recorded as {was.passed}; the kept files give {check.passed}: {check.message}"
            )
    faults += [f"has a check that was not frozen: {name}" for name in recorded]
    outcome = _outcome_of(evaluated, verification)
    if not unreached and not faults and outcome is not verification.outcome:
        faults.append(f"is recorded as {verification.outcome}; the kept files give {outcome}")
    for fault in faults:
        found.fault("predictions", step.name, fault)
    for why in unreached:
        found.unknown("predictions", step.name, f"cannot be checked here: {why}")
    if not faults and not unreached:
        found.holds("predictions")


def _outcome_of(checks: Sequence[CheckResult], verification: Verification) -> Outcome:
    """The outcome of checks with the judge's word as it is recorded."""
    judged = verification.judge is not None or verification.judge_failed
    return decide_outcome(
        checks, verification.judge, strict=verification.strict, judge_asked=judged or verification.strict
    )[0]


def _check_out_of_reach(was: CheckResult, path: str, step: Step, workspace: ReverifiedState) -> str | None:
    if was.kind == "expr":
        return f"{path} was not kept (too large, or a link)" if _not_stored(path, step, workspace) else None
    return _artifact_out_of_reach(path, was.passed is None, step, workspace)


def _outcome_faults(step: Step, manifest: RunManifest, verification: Verification) -> Iterator[str]:
    """What an outcome says of itself against its step and its lock."""
    lock = manifest.locks.predictions
    if lock is None:
        yield "is an outcome, and no predictions are frozen"
    elif (verification.digests.prereg, verification.frozen_at) != (lock.sha256, lock.frozen_at):
        yield "is of other predictions than are frozen"
    if step.text("outcome") != verification.outcome.value:
        yield f"the step says {step.text('outcome')}, and its outcome is {verification.outcome}"
    own = _outcome_of(verification.checks, verification)
    if own is not verification.outcome:
        yield f"is recorded as {verification.outcome}, and its own checks give {own}"
    stated = [(decision.word, decision.answer) for decision in verification.decisions]
    if stated != [(verification.outcome.value, OUTCOME_ANSWERS[verification.outcome])]:
        yield "its Decision says otherwise than its outcome"
    if not verification.headline.startswith(f"{verification.outcome}:"):
        yield "its headline says otherwise than its outcome"
    artifacts = dict(verification.digests.artifacts)
    for path, sha256 in artifacts.items():
        if path in step.files and step.files[path].sha256 != sha256:
            yield f"{path}: was decided on other bytes than the step lists"
    if verification.digests.results and verification.digests.results not in {
        file.sha256 for file in step.files.values()
    }:
        yield "was decided on results that the step does not list"
