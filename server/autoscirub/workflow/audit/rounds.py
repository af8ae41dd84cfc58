"""The rounds of a record for an audit: criteria by round, why one flipped, and what happened in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.checks.criteria import CRITERION_WORDS
from autoscirub.errors import StateError
from autoscirub.models import (
    Between,
    Cell,
    ChangeSummary,
    CriterionRow,
    Ended,
    Flip,
    ProjectConfig,
    RevisionPlan,
    RoundColumn,
    VerificationReport,
)
from autoscirub.workflow.audit.record import AuditedRecord, placeless, preview, round_file, text_of
from autoscirub.workflow.rounds import PLAN, SUMMARY, VERIFICATION, read_rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.models import CriterionResult, CriterionStatus
    from autoscirub.workflow.audit.record import Step

_UNREMARKABLE = {"open", "planned", "complete"}


@dataclass
class Rounds:
    """The rounds that the record has, side by side."""

    columns: list[RoundColumn] = field(default_factory=list)
    rows: list[CriterionRow] = field(default_factory=list)
    flips: list[Flip] = field(default_factory=list)
    ids: list[set[str]] = field(default_factory=list)
    """The criteria of each round."""


def rounds_of(record: AuditedRecord) -> Rounds:
    """Every round of the record, by number. One whose verification cannot be read has no answers."""
    found = Rounds()
    cells: dict[str, dict[int, Cell]] = {}
    earlier: tuple[int, dict[str, CriterionResult]] | None = None
    for number in record.numbers:
        # One at a time: the reports of hundreds of rounds need not lie in memory together.
        report = record.model(round_file(number, VERIFICATION), VerificationReport)
        results = {result.criterion_id: result for result in report.criteria} if report else {}
        found.columns.append(_column(record, number, report))
        found.ids.append(set(results))
        for name, result in results.items():
            cells.setdefault(name, {})[number] = _cell(result)
        if earlier is not None:
            found.flips += _flips(*earlier, number, results)
        earlier = (number, results)
    found.rows = [
        CriterionRow(name, [by_round.get(number) for number in record.numbers])
        for name, by_round in cells.items()
    ]
    return found


def malformed_rounds(record: AuditedRecord) -> list[str]:
    """Round folders that are not as they should be, each with what is wrong."""
    problems: list[str] = []
    try:
        rounds = read_rounds(record.session)
    except StateError as error:
        return [placeless(record, str(error))]
    for entry in rounds:
        if entry.problems:
            problems += entry.problems
        elif entry.status not in _UNREMARKABLE:
            problems.append(f"{entry.name}: is {entry.status}")
    return list(dict.fromkeys(problems))


def between_rounds(record: AuditedRecord, rounds: Rounds) -> list[Between]:
    """Before the first round, between each two, and after the last; where nothing happened there is no entry."""
    numbers: list[int | None] = [None, *record.numbers, None]
    places = [-1, *(_last(record, number) for number in record.numbers), len(record.steps)]
    ids = dict(zip(record.numbers, rounds.ids, strict=True))
    found: list[Between] = []
    for (before, after), (start, end) in zip(pairwise(numbers), pairwise(places), strict=True):
        entry = Between(before, after)
        if before is not None and after is not None:
            _compare_files(entry, _files(record, start), _files(record, end))
            entry.steps += _compare_ids(ids[before], ids[after])
        if before is not None:
            _plan_and_summary(record, before, entry)
        entry.steps += _steps(record.steps, start, min(end, len(record.steps) - 1))
        if entry != Between(before, after):
            found.append(entry)
    return found


def _column(record: AuditedRecord, number: int, report: VerificationReport | None) -> RoundColumn:
    checks = record.checks.get(number, [])
    step = record.steps[checks[-1]] if checks else None
    return RoundColumn(
        number=number,
        at=step.at if step else "",
        verified=len(checks),
        passed=report.summary.passed if report else 0,
        failed=report.summary.failed if report else 0,
        ended=_ended(step.facts.get("ended")) if step else None,
    )


def _ended(value: Any) -> Ended | None:
    try:
        return Ended.model_validate(value) if isinstance(value, dict) else None
    except ValidationError:
        return None


def _cell(result: CriterionResult) -> Cell:
    status: CriterionStatus = result.status or ("satisfied" if result.satisfied else "not_satisfied")
    return Cell(CRITERION_WORDS[status][0], status, result.reused_from_round)


def _flips(
    before_round: int, before: dict[str, CriterionResult], after_round: int, after: dict[str, CriterionResult]
) -> Iterable[Flip]:
    for name, new in after.items():
        old = before.get(name)
        if old is None or _cell(old).status == _cell(new).status:
            continue
        parts = {**new.rests_on, **old.rests_on}
        changed = [part for part in parts if new.rests_on.get(part) != old.rests_on.get(part)]
        yield Flip(
            criterion_id=name,
            before_round=before_round,
            after_round=after_round,
            before=_cell(old),
            after=_cell(new),
            because=list(new.asked_again_because) or changed,
            gone=_evidence(old),
            come=_evidence(new),
        )


def _evidence(result: CriterionResult) -> list[str]:
    if result.satisfied:
        return list(result.evidence_found)
    return result.evidence_gap.splitlines()


def _last(record: AuditedRecord, number: int) -> int:
    """Where the round was verified last; for one without a step of its own, before everything."""
    return record.checks.get(number, [-1])[-1]


def _files(record: AuditedRecord, place: int) -> dict[str, str]:
    return {path: file.sha256 for path, file in record.steps[place].files.items()} if place >= 0 else {}


def _compare_files(entry: Between, before: dict[str, str], after: dict[str, str]) -> None:
    entry.added = sorted(after.keys() - before.keys())
    entry.removed = sorted(before.keys() - after.keys())
    entry.changed = sorted(path for path in before.keys() & after.keys() if before[path] != after[path])


def _compare_ids(before: set[str], after: set[str]) -> list[str]:
    words = (("criteria that are no more: ", before - after), ("new criteria: ", after - before))
    return [f"{word}{', '.join(sorted(names))}" for word, names in words if names]


def _plan_and_summary(record: AuditedRecord, number: int, entry: Between) -> None:
    plan = record.model(round_file(number, PLAN), RevisionPlan)
    if plan is not None:
        entry.targets = [target.criterion_id for target in plan.targets]
    summary = record.model(round_file(number, SUMMARY), ChangeSummary)
    if summary is not None:
        entry.reviser_notes = [
            f"{change.criterion_id}: {'; '.join(change.actions_completed)}"
            for change in summary.changes
            if change.actions_completed
        ]
        entry.reviser_notes += [
            f"{item.criterion_id}: cannot be done: {item.reason}" for item in summary.infeasible
        ]


def _steps(steps: Sequence[Step], start: int, end: int) -> list[str]:
    """What the steps after `start`, up to and with `end`, did besides verifying and planning."""
    lines: list[str] = []
    earlier = next((step for step in reversed(steps[: max(0, start + 1)]) if _is_verification(step)), None)
    for step in steps[start + 1 : end + 1]:
        words = [step.problem and f"a commit that is not ours: {step.problem}", *_words(step)]
        if _is_verification(step):
            words += _since(earlier, step)
            earlier = step
        lines += [f"{step.at}  {word}".strip() for word in words if word]
        lines += [f"{step.at}  {notice}" for notice in step.notices]
    return lines


def _is_verification(step: Step) -> bool:
    return step.event in {"check", "verify"}


def _since(earlier: Step | None, step: Step) -> list[str]:
    """What one verification has otherwise than the one before: settings, and the predictions' outcome."""
    changes: list[str] = []
    before = earlier.facts if earlier else {}
    old, new = before.get("settings"), step.facts.get("settings")
    if isinstance(old, dict) and isinstance(new, dict):
        # A setting that there was not yet when the step was made was at its default.
        defaults = ProjectConfig().deciding()
        old, new = {**defaults, **old}, {**defaults, **new}
        changes += [
            f"setting {key}: {preview(old.get(key))} → {preview(new.get(key))}"
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key)
        ]
    outcome, was = step.text("outcome"), earlier.text("outcome") if earlier else ""
    if outcome and outcome != was:
        changes.append(f"predictions: {was} → {outcome}" if was else f"predictions: {outcome}")
    return changes


def _words(step: Step) -> list[str]:
    """What a step was, for those that are no part of a round's usual course."""
    facts = step.facts
    match step.event:
        case "freeze":
            locked = facts.get("locked")
            return [f"frozen: {', '.join(map(str, locked)) if isinstance(locked, list) else ''}"]
        case "unfreeze":
            return [f"freeze taken off (by {step.text('unfreeze', 'by')}): {step.text('unfreeze', 'reason')}"]
        case "scope":
            return [_scope(step)]
        case "void" | "failed":
            return [f"revision {step.event}: {step.text('why')}"]
        case "revising":
            return ["a program began to revise"]
        case "continued":
            return [f"gone on after {step.text('after', 'state')} ({step.text('after', 'why')})"]
        case "anchor":
            return [f"anchored: {step.text('head')[:12]} ({step.text('where')})"]
        case "check" if isinstance(facts.get("ended"), dict):
            return [f"ended: {step.text('ended', 'state')} ({step.text('ended', 'why')})"]
        case "check" | "plan" | "verify" | "":
            return []
        case other:
            return [other]


def _scope(step: Step) -> str:
    change = step.facts.get("scope")
    change = change if isinstance(change, dict) else {}
    what = [
        f"{name}: {', '.join(map(text_of, change[name]))}"
        for name in ("criteria", "settings")
        if isinstance(change.get(name), list) and change[name]
    ]
    return f"scope changed by {step.text('scope', 'by')} ({'; '.join(what)}): {step.text('scope', 'reason')}"
