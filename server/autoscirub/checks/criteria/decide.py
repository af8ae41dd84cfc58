"""Decides criteria: what code can tell of each, which cached results are reused, and the report over all of them.

The rules are those of AutoSciRub's criterion-level verification: every criterion of the rubric, once, in its order;
satisfied only when all of it holds; what nobody could assess is not satisfied. Pure: `gather` did the reading.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks.criteria.basis import basis, basis_digest
from autoscirub.checks.criteria.inputs import NO_ANSWER
from autoscirub.checks.criteria.parts import Part, decide_parts
from autoscirub.checks.rubric import needs_reading
from autoscirub.models import Answer, Decision, weakest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from autoscirub.checks.criteria.inputs import Inputs
    from autoscirub.models import (
        Criterion,
        CriterionResult,
        CriterionStatus,
        ExecutableRubric,
        VerificationReport,
    )

CRITERION_WORDS: dict[CriterionStatus, tuple[Answer, str]] = {
    "satisfied": (Answer.HOLDS, "satisfied"),
    "not_satisfied": (Answer.DOES_NOT_HOLD, "not satisfied"),
    "cannot_assess": (Answer.INCONCLUSIVE, "cannot assess"),
    "error": (Answer.INCONCLUSIVE, "error"),
}
"""A criterion's status -> the answer and the word for it."""

_UNREAD = "needs reading; no judge is set up"
_NOT_YET = "needs reading, but a judge is asked only when all that code decides holds"
_REUSABLE = frozenset({"satisfied", "not_satisfied", "cannot_assess"})
_PRIORITIES = ("high", "medium", "low")
_GAPS = 5


@dataclass(frozen=True)
class CachedResult:
    """One criterion's result from an earlier round."""

    result: CriterionResult
    decision: Decision | None
    """Without one the result is not reused: nothing would show what it rested on."""
    round: int


@dataclass(frozen=True)
class CriteriaVerification:
    """Every criterion's result and Decision, in the rubric's order, and which of them are new."""

    results: list[CriterionResult] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    evaluated: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)
    because: dict[str, list[str]] = field(default_factory=dict)
    """Of those that were re-evaluated though a cached result was there: what that rested on and what changed since."""


def criterion_status(answers: Iterable[Answer], reading: bool, *, error: bool = False) -> CriterionStatus:
    """A criterion's status from its parts' answers, and from whether a judge must read besides, and has not.

    What does not hold is not satisfied, whatever else is open; a judge's failure (`error`) comes next, then what is
    inconclusive. Nothing at all is never satisfied.
    """
    found = set(answers)
    if Answer.DOES_NOT_HOLD in found:
        return "not_satisfied"
    if error:
        return "error"
    if Answer.INCONCLUSIVE in found or reading or not found:
        return "cannot_assess"
    return "satisfied"


def decide_criterion(criterion: Criterion, inputs: Inputs, *, at: str) -> tuple[CriterionResult, Decision]:
    """What code can tell of one criterion. `inputs` must have every artifact that it names."""
    return _decide(criterion, inputs, basis(criterion, inputs), at)


def _decide(
    criterion: Criterion, inputs: Inputs, rests_on: dict[str, str], at: str
) -> tuple[CriterionResult, Decision]:
    from autoscirub.models import CriterionResult

    parts = decide_parts(criterion, inputs, at=at)
    reading = needs_reading(criterion)
    read = inputs.judge_answers.get(criterion.criterion_id) if reading and _all_hold(parts) else None
    if read is not None:
        reading = False
        parts = [*parts, Part(read.decision, read.found, read.gap, read.actions, read.references)]
    answers = (part.decision.answer for part in parts)
    status = criterion_status(answers, reading, error=read is not None and read.error)
    unread = _unread(criterion, parts) if reading else []
    missing = _of(parts, Answer.DOES_NOT_HOLD) + _of(parts, Answer.INCONCLUSIVE)
    gaps = [part.gap for part in missing]
    actions = [action for part in missing for action in part.actions]
    if unread and not missing:
        gaps, actions = _reading(criterion, inputs, unread)
    answer, word = CRITERION_WORDS[status]
    decision = Decision(
        subject=criterion.criterion_id,
        question=criterion.requirement,
        answer=answer,
        word=word,
        decided_by=weakest([part.decision.decided_by for part in parts]),
        evidence=[entry for part in parts for entry in part.decision.evidence],
        open=[*(compared for part in parts for compared in part.decision.open), *unread],
        parts=[part.decision for part in parts],
        inputs_digest=basis_digest(rests_on),
        at=at,
    )
    result = CriterionResult(
        criterion_id=criterion.criterion_id,
        satisfied=status == "satisfied",
        status=status,
        evidence_found=_once(found for part in parts for found in part.found),
        evidence=read.evidence if read is not None else [],
        evidence_gap="; ".join(_once(gaps)),
        required_actions=_once(actions),
        artifact_references=_once(path for part in parts for path in part.paths),
        rests_on=rests_on,
    )
    return result, decision


def _of(parts: list[Part], answer: Answer) -> list[Part]:
    return [part for part in parts if part.decision.answer is answer]


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _unread(criterion: Criterion, parts: list[Part]) -> list[str]:
    """Why it was not read, and the texts that a judge would have to read for."""
    return [_UNREAD if _all_hold(parts) else _NOT_YET, *texts_to_read(criterion)]


def _all_hold(parts: list[Part]) -> bool:
    return all(part.decision.answer is Answer.HOLDS for part in parts)


def awaiting_reading(
    rubric: ExecutableRubric,
    inputs: Inputs,
    *,
    cached: Mapping[str, CachedResult],
    at: str,
    fresh: bool = False,
) -> list[Criterion]:
    """The criteria that a judge has to read now: all that code decides of them holds, and no cached result is
    reused."""
    waiting = []
    for criterion in rubric.criteria:
        if not needs_reading(criterion):
            continue
        earlier = cached.get(criterion.criterion_id)
        if earlier is not None and not fresh and _is_as_it_was(earlier, basis(criterion, inputs)):
            continue
        if established(criterion, inputs, at=at) is not None:
            waiting.append(criterion)
    return waiting


def established(criterion: Criterion, inputs: Inputs, *, at: str) -> list[str] | None:
    """What code found of a criterion, in words; None where not all that it decides holds, and no judge is asked."""
    parts = decide_parts(criterion, inputs, at=at)
    return _once(found for part in parts for found in part.found) if _all_hold(parts) else None


def texts_to_read(criterion: Criterion) -> list[str]:
    """What a judge must settle: the texts that no check covers, or with `judge: always` all of them; else the
    requirement itself."""
    return (criterion.texts() if criterion.judge == "always" else criterion.uncovered()) or [
        criterion.requirement
    ]


def _reading(criterion: Criterion, inputs: Inputs, unread: list[str]) -> tuple[list[str], list[str]]:
    """The gap and the actions of a criterion of which only the reading is left."""
    texts = texts_to_read(criterion)
    report = inputs.report
    named = (report and report.path) or "report.md"
    quoted = ", ".join(f'"{text}"' for text in texts)
    gaps = [f"{unread[0]}; to be settled from {named} and the files it names: {quoted}"]
    actions = [
        f'see that {named} and the files it names show "{text}"; a judge must read it' for text in texts
    ]
    if report is None:
        gaps.append("there is no report.md or REPORT.md to read")
        actions.insert(0, f"write {named}")
    elif report.sha256 is None:
        gaps.append(f"the report cannot be read: {report.note}")
        actions.insert(0, f"write {named} where it can be read")
    return gaps, actions


def verify_criteria(
    rubric: ExecutableRubric,
    inputs: Inputs,
    *,
    cached: Mapping[str, CachedResult],
    at: str,
    claimed: Mapping[str, CachedResult] | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CriteriaVerification:
    """Every criterion of `rubric`, re-evaluated or reused: a cached result whose whole basis is unchanged.

    `claimed`: results that were not produced on this machine. They are re-evaluated, and where the same comes out on
    the same basis the claim is reused: nothing passes because a file says so, and a clone says what the original
    said. Errors and results that do not say what they rested on are never reused; `fresh` reuses none. Cached results
    on ids that the rubric does not have are ignored. `progress` is called with how many are done, and of how many.
    """
    done = CriteriaVerification()
    for number, criterion in enumerate(rubric.criteria, start=1):
        name = criterion.criterion_id
        rests_on = basis(criterion, inputs)
        earlier = cached.get(name)
        if earlier is not None and not fresh and _is_as_it_was(earlier, rests_on):
            result, decision = _reused(earlier)
            done.reused.append(name)
        else:
            result, decision = _decide(criterion, inputs, rests_on, at)
            claim = None if fresh else (claimed or {}).get(name)
            if claim is not None and _comes_out_again(claim, result):
                reused_from = claim.result.reused_from_round or claim.round
                result = result.model_copy(update={"reused_from_round": reused_from})
                done.reused.append(name)
            else:
                if because := _because(earlier, rests_on):
                    done.because[name] = because
                    result = result.model_copy(update={"asked_again_because": because})
                done.evaluated.append(name)
        done.results.append(result)
        done.decisions.append(decision)
        if progress:
            progress(number, len(rubric.criteria))
    return done


def _is_as_it_was(earlier: CachedResult, rests_on: dict[str, str]) -> bool:
    return (
        earlier.decision is not None
        and earlier.result.status in _REUSABLE
        and not any(part.word in NO_ANSWER for part in earlier.decision.parts)
        and earlier.result.rests_on == rests_on
    )


def _comes_out_again(claim: CachedResult, result: CriterionResult) -> bool:
    """Whether a re-evaluated result is, word for word, the one that was claimed."""
    compared = ("status", "rests_on", "evidence_found", "evidence_gap", "required_actions")
    return _is_as_it_was(claim, result.rests_on) and all(
        getattr(claim.result, name) == getattr(result, name) for name in compared
    )


def _reused(earlier: CachedResult) -> tuple[CriterionResult, Decision]:
    assert earlier.decision is not None  # noqa: S101 - `_is_as_it_was` said so
    update = {
        "reused_from_round": earlier.result.reused_from_round or earlier.round,
        "asked_again_because": [],  # it was not asked again this time
    }
    return earlier.result.model_copy(update=update), earlier.decision


def _because(earlier: CachedResult | None, rests_on: dict[str, str]) -> list[str]:
    if earlier is None:
        return []
    before = earlier.result.rests_on
    if not before or earlier.decision is None:
        return ["what the earlier answer rested on is not recorded"]
    changed = [name for name in {**rests_on, **before} if before.get(name) != rests_on.get(name)]
    if not changed and earlier.result.status not in _REUSABLE:
        return ["the earlier answer was an error"]
    return changed


def report_of(rubric: ExecutableRubric, verification: CriteriaVerification, round: int) -> VerificationReport:  # noqa: A002 - the published name of the field
    """The report of one round, counted from the results, with the five gaps to mend first: by priority, then in
    the rubric's order."""
    from autoscirub.models import VerificationReport

    priority = {
        criterion.criterion_id: _PRIORITIES.index(criterion.priority) for criterion in rubric.criteria
    }
    unmet = [result for result in verification.results if not result.satisfied]
    unmet.sort(key=lambda result: priority[result.criterion_id])
    return VerificationReport.counted(
        round=round,
        criteria=verification.results,
        decisions=verification.decisions,
        highest_priority_gaps=[f"{result.criterion_id}: {result.evidence_gap}" for result in unmet[:_GAPS]],
    )
