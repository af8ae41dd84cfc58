"""What the newest conclusions of a record rest on, and what its owner could have forged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from autoscirub.checks.predictions import freeze_note
from autoscirub.checks.rubric import RUBRIC_NAME
from autoscirub.errors import StateError
from autoscirub.models import (
    JUDGE_REASONS,
    Anchored,
    Answer,
    Basis,
    CachedVerdict,
    Calibration,
    Claim,
    DecidedBy,
    ExecutableRubric,
    RerunRecord,
    RunManifest,
    Unread,
    Verification,
    VerificationReport,
)
from autoscirub.workflow.audit.families import families_line
from autoscirub.workflow.audit.record import placeless
from autoscirub.workflow.calibration import JudgeInUse, calibration_line, stale_because
from autoscirub.workflow.judges import ASKS, CALIBRATION, read_asks, results_by_ask
from autoscirub.workflow.locks import earlier_results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.models import Ask, Criterion, CriterionResult, Decision, RubricCheck
    from autoscirub.workflow.audit.record import AuditedRecord, Step

_UNREAD = frozenset({DecidedBy.CODE.value, DecidedBy.RERUN.value})
"""What decides without anyone reading the requirement's words."""
_NO_ASKS = "none: no judge was asked"


def basis_of(record: AuditedRecord) -> tuple[Basis, list[Decision]]:
    """What the newest conclusions rest on, and these conclusions: predictions first, then criteria."""
    manifest = record.session.manifest
    basis = Basis(
        asks=_NO_ASKS, scope_changes=list(manifest.scope_changes), unfreezes=list(manifest.unfreezes)
    )
    decisions = [*_predictions(record, basis), *_criteria(record, basis), *_rerun(record, basis)]
    sources = set(_sources(decisions))
    outcome = record.model(f"state/{Verification.file_name}", Verification)
    judged = DecidedBy.JUDGE in sources or (outcome is not None and outcome.judge is not None)
    basis.not_done = [] if judged else ["not judged"]
    basis.not_done += [] if DecidedBy.RERUN in sources else ["not rerun"]
    basis.reasons = _reasons(decisions, outcome)
    basis.asks = _asks(record)
    verdicts = _verdicts(record, decisions)
    basis.calibration = _calibration(record, verdicts)
    basis.families = _families(record, verdicts)
    basis.concerns = _concerns(record, verdicts)
    basis.anchor, basis.unanchored = anchor_of(record)
    basis.forgeable = _forgeable(basis)
    broken = [f"{step.name}: {step.problem}" for step in record.steps if step.problem]
    now = [*record.session.notices, *broken, *record.faults, *_differing(record)]
    basis.notices = list(dict.fromkeys([*now, *record.session.recorded_notices()]))
    return basis, decisions


def anchor_of(record: AuditedRecord) -> tuple[Anchored | None, list[int]]:
    """The newest anchor on the record, and the rounds that were verified after the step that it holds."""
    places = {step.oid: place for place, step in enumerate(record.steps)}
    newest: tuple[int, Step] | None = None
    for place, step in enumerate(record.steps):
        held = places.get(step.text("head")) if step.event == "anchor" else None
        # An anchor of a step that is not in this line, or comes later, holds nothing here.
        if held is not None and held < place and (newest is None or held >= newest[0]):
            newest = (held, step)
    after = newest[0] if newest else -1
    rounds = [number for number in record.numbers if record.checks.get(number, [len(places)])[-1] > after]
    if newest is None:
        return None, rounds
    step = newest[1]
    return Anchored(step.text("head"), step.text("where"), step.at, rounds), rounds


def _asks(record: AuditedRecord) -> str:
    """How often a judge was asked, and of what it said yes only after it had not."""
    every = read_asks(record.bytes(f"state/{ASKS}"))
    asks = [ask for ask in every if ask.kind != CALIBRATION]
    others = [ask for ask in every if ask.kind == CALIBRATION]
    calibrated = [f"besides {len(others)} calls to calibrate, {_paid(others)}"] if others else []
    if not asks:
        return "; ".join([_NO_ASKS, *calibrated])
    subjects: dict[str, list[Ask]] = {}
    for ask in asks:
        subjects.setdefault(ask.subject, []).append(ask)
    failed = sum(ask.error is not None for ask in asks)
    counts = f"{len(asks)} calls on {len(subjects)} questions" + (f", {failed} failed" if failed else "")
    turned: list[str] = []
    again: list[str] = []
    for subject, calls in subjects.items():
        newest, answers = max(call.ask for call in calls), results_by_ask(calls)
        if answers.pop(newest, None) is True and not all(answers.values()):
            turned.append(f"{subject}: yes on ask {newest} of {newest}, not before")
        if newest > 1:
            again.append(f"{subject}: asked {newest} times")
    return "; ".join([counts, _paid(asks), *turned, *again, *calibrated])


def _paid(asks: list[Ask]) -> str:
    """What the calls cost, and of how many nobody tells: that counts as nothing, and is not nothing."""
    costs = [ask.cost_usd for ask in asks if ask.cost_usd is not None]
    parts = [f"${sum(costs):.4g} paid"] if costs else []
    if inconclusive := len(asks) - len(costs):
        parts.append(f"the cost of {inconclusive} unknown")
    return ", ".join(parts)


def _verdicts(record: AuditedRecord, decisions: list[Decision]) -> list[CachedVerdict]:
    """The verdicts on criteria that the newest conclusions rest on."""
    parts = [part for decision in decisions for part in decision.parts]
    keys = [part.inputs_digest for part in parts if part.decided_by is DecidedBy.JUDGE]
    found = [
        record.model(f"state/verdicts/{key}.json", CachedVerdict) for key in dict.fromkeys(filter(None, keys))
    ]
    return [verdict for verdict in found if verdict is not None]


def _calibration(record: AuditedRecord, verdicts: list[CachedVerdict]) -> str:
    """How often the judge of the verdicts is right, where that was measured; empty without verdicts and calibration."""
    calibration = record.model(f"state/{Calibration.file_name}", Calibration)
    if calibration is None:
        return "none: how often this judge is right was not measured" if verdicts else ""
    report = record.model(f"state/{VerificationReport.file_name}", VerificationReport)
    # Which judge a criterion's answer rests on, with the backend's own settings: a verdict does not say these.
    digests = (
        {result.criterion_id: result.rests_on.get("shown: who judges") for result in report.criteria}
        if report
        else {}
    )
    stale: list[str] = []
    for verdict in verdicts:
        served = frozenset(member.model_served for member in verdict.members if member.model_served)
        judge = JudgeInUse(
            verdict.backend,
            verdict.model,
            verdict.repeats,
            verdict.agree,
            verdict.prompt_version,
            digests.get(verdict.subject),
            served,
        )
        stale += stale_because(calibration, judge)
    return calibration_line(calibration, list(dict.fromkeys(stale)))


def _families(record: AuditedRecord, verdicts: list[CachedVerdict]) -> str:
    """Who judged and who revised, by family; empty where nobody judged."""
    judges = [
        (verdict.backend, served)
        for verdict in verdicts
        for served in {member.model_served or verdict.model for member in verdict.members}
    ]
    revising = [step for step in record.steps if step.event == "revising"]
    clients = [step.text("reviser", "client") for step in revising]
    programs = [step.text("reviser", "program") for step in revising]
    return families_line(judges, filter(None, clients), filter(None, programs))


def _concerns(record: AuditedRecord, verdicts: list[CachedVerdict]) -> list[str]:
    """The concerns of the verdicts that the newest conclusions rest on, and of the one on the hypothesis."""
    found = [concern for verdict in verdicts for concern in verdict.concerns]
    newest = next((step for step in reversed(record.steps) if step.event == "check"), None)
    addressed = newest.facts.get("addressed") if newest is not None else None
    found += [text for text in addressed if isinstance(text, str)] if isinstance(addressed, list) else []
    outcome = record.model(f"state/{Verification.file_name}", Verification)
    found += outcome.judge.concerns if outcome is not None and outcome.judge is not None else []
    return list(dict.fromkeys(found))


def _reasons(decisions: list[Decision], outcome: Verification | None) -> list[str]:
    """What judges gave as their reasons: of the hypothesis, and of each criterion."""
    found = [f"the hypothesis: {outcome.judge.reasoning}"] if outcome is not None and outcome.judge else []
    for decision in decisions:
        entries = [entry for part in decision.parts for entry in part.evidence if entry.key == JUDGE_REASONS]
        found += [f"{decision.subject}: {entry.note}" for entry in entries]
    return list(dict.fromkeys(found))


def _differing(record: AuditedRecord) -> list[str]:
    """State files that lie there otherwise than the newest step has them. (Rounds are listed one by one.)"""
    names = sorted(
        name for name in record.session.recorded_state() if "/" not in name and name != RunManifest.file_name
    )
    differing: list[str] = []
    for name in names:
        try:
            there = record.opened.state.read_bytes(name)
        except StateError as error:
            differing.append(placeless(record, str(error)))
            continue
        if there is None:
            differing.append(f"{name}: is gone; the history's is shown")
        elif not record.session.knows(name):
            differing.append(f"{name}: is not as the history has it; the history's is shown")
    return differing


def _predictions(record: AuditedRecord, basis: Basis) -> list[Decision]:
    lock = record.session.recorded_locks.predictions
    if lock is None:
        basis.headline = "none are frozen"
        return []
    basis.freeze = freeze_note(lock, earlier_results(record.session))
    verification = record.model(f"state/{Verification.file_name}", Verification)
    if verification is None or not verification.decisions:
        basis.headline = f"frozen at {lock.frozen_at}, not verified yet"
        return []
    if verification.digests.prereg != lock.sha256:
        basis.headline = "the recorded outcome is of other predictions than those that are frozen"
        return []
    basis.headline = verification.headline
    basis.predictions = verification.decisions[0]
    return verification.decisions


def _criteria(record: AuditedRecord, basis: Basis) -> list[Decision]:
    report = record.model(f"state/{VerificationReport.file_name}", VerificationReport)
    if report is None:
        return []
    rubric = record.model(f"locked/{RUBRIC_NAME}", ExecutableRubric)
    criteria = {criterion.criterion_id: criterion for criterion in rubric.criteria} if rubric else {}
    decisions = {decision.subject: decision for decision in report.decisions}
    basis.round, basis.criteria = report.round, len(report.criteria)
    decided: Counter[str] = Counter()
    reused: Counter[int] = Counter()
    for result in report.criteria:
        decision = decisions.get(result.criterion_id)
        decided[_decided(result, decision)] += 1
        if result.reused_from_round is not None:
            reused[result.reused_from_round] += 1
        criterion = criteria.get(result.criterion_id)
        if criterion is not None and _decided(result, decision) in _UNREAD:
            basis.unread.append(_unread(criterion, result))
    basis.decided, basis.reused = dict(decided), dict(sorted(reused.items()))
    return list(report.decisions)


def _rerun(record: AuditedRecord, basis: Basis) -> list[Decision]:
    recorded = record.model(f"state/{RerunRecord.file_name}", RerunRecord)
    if recorded is None:
        return []
    # Whether it still stands for what lies there now, only a `check` says: nothing is run or measured for an audit.
    basis.rerun = f"{recorded.decision.word} at {recorded.at}; {recorded.isolation}"
    return [recorded.decision] if recorded.conclusive else []


def _decided(result: CriterionResult, decision: Decision | None) -> str:
    if result.status == "error":
        return "error"
    if result.status == "cannot_assess":
        return "nobody"
    return decision.decided_by.value if decision else DecidedBy.CODE.value


def _unread(criterion: Criterion, result: CriterionResult) -> Unread:
    claims = [Claim(text, _check(check)) for check in criterion.checks for text in check.covers]
    silent = [_check(check) for check in criterion.checks if not check.covers]
    silent += [artifact.path for artifact in criterion.expected_artifacts if artifact.path]
    answer = Answer.HOLDS if result.satisfied else Answer.DOES_NOT_HOLD
    return Unread(criterion.criterion_id, criterion.requirement, answer, claims, list(dict.fromkeys(silent)))


def _check(check: RubricCheck) -> str:
    match check.kind:
        case "expr":
            return f"{check.id}: {check.expr}"
        case "artifact":
            return f"{check.id}: {check.path}"
        case kind:
            return f"{check.id}: {kind}"


def _sources(decisions: list[Decision]) -> Iterator[DecidedBy]:
    for decision in decisions:
        yield decision.decided_by
        yield from _sources(decision.parts)


def _forgeable(basis: Basis) -> list[str]:
    anchor = basis.anchor
    rewritable = (
        "Whoever owns the project, its history.bundle and the data directory of the machine could have rewritten "
        "all of this record, with any content and any dates; only a head that somebody else holds shows it."
        if anchor is None
        else f"Everything after step {anchor.head[:12]} the owner could have rewritten; what goes up to it only "
        "if nobody really holds that anchor, so ask whoever is said to, and compare with `audit verify --expect`."
    )
    typed = "Numbers that were typed in by hand look like computed ones here"
    why = ", because nothing was rerun." if "not rerun" in basis.not_done else " wherever nothing was rerun."
    return [rewritable, typed + why]
