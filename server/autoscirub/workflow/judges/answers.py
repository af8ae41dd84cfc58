"""A judge's answer as a Decision: what it says, what of it counts, on which ask, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.criteria import NOT_ASKED, JudgeReadings
from autoscirub.models import Answer, Asks, Cost, CriterionVerdict, DecidedBy, Decision, Evidence, now
from autoscirub.workflow.judges.ledger import place_of, results_by_ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.models import Ask, CachedVerdict, Member

ELSEWHERE = "judged elsewhere, not on this machine: as good as the record that it comes from"
ANSWERS = {True: Answer.HOLDS, False: Answer.DOES_NOT_HOLD, None: Answer.INCONCLUSIVE}
"""A judge's flag -> the answer that it is."""
_WORDS = {True: "satisfied", False: "not satisfied", None: "cannot tell"}
_REASONS = 600


def reading_of(kept: CachedVerdict, question: str, *, asks: Sequence[Ask], elsewhere: bool) -> JudgeReadings:
    """What a kept verdict on a criterion comes to. `asks`: every call on it."""
    answer, word = ANSWERS[kept.answer], _WORDS[kept.answer]
    agreeing = settled_members(kept)
    verdicts = [member.verdict for member in agreeing if isinstance(member.verdict, CriterionVerdict)]
    shown = {file.path: file.sha256 for file in kept.workspace.files}
    references = _once(path for verdict in verdicts for path in verdict.artifact_references)
    evidence = [Evidence(key="verdict", value=kept.answer, note=statement_of(kept))]
    evidence += [Evidence(path=path, sha256=shown[path]) for path in references if path in shown]
    open_ = (
        []
        if kept.answer is True
        else [line for member in kept.members for line in _inconclusive(kept, member)]
    )
    open_ += [ELSEWHERE] if elsewhere else []
    open_ += [f"concern: {concern}" for concern in [*kept.concerns, *turned(kept, asks)]]
    decision = Decision(
        subject="judge",
        question=question,
        answer=answer,
        word=word,
        decided_by=DecidedBy.JUDGE,
        evidence=evidence,
        open=open_,
        inputs_digest=kept.key,
        asks=place_of(kept, asks),
        cost=cost_of(kept),
        at=now(),
    )
    gap = "; ".join(_once(verdict.evidence_gap for verdict in verdicts if verdict.evidence_gap))
    if kept.answer is None:
        gap = f"the judge could not tell: {'; '.join(open_[:5])}"
    elif kept.answer is False and not gap:
        gap = (
            "; ".join(_once(verdict.reasoning[:_REASONS] for verdict in verdicts)) or "the judge gave no gap"
        )
    actions = _once(action for verdict in verdicts for action in verdict.required_actions)
    if kept.answer is None and not actions:
        actions = ["make what the judge could not tell plain in the report and the files that it names"]
    return JudgeReadings(
        decision,
        found=_once(found for verdict in verdicts for found in verdict.evidence_found),
        gap="" if kept.answer is True else gap,
        actions=[] if kept.answer is True else actions,
        references=[path for path in references if path in shown],
    )


def failed_reading(question: str, why: str, *, asked: int, error: bool = True) -> JudgeReadings:
    """What a criterion comes to where a judge gave no verdict, or was not asked: an error, or nothing told."""
    decision = Decision(
        subject="judge",
        question=question,
        answer=Answer.INCONCLUSIVE,
        word="error" if error else NOT_ASKED,
        decided_by=DecidedBy.JUDGE,
        open=[why],
        asks=Asks(ask=asked, of=asked) if asked else None,
        at=now(),
    )
    action = "nothing in the work closes this: see that the judge can be asked, and check again"
    return JudgeReadings(decision, gap=why, actions=[action], error=error)


def settled_members(kept: CachedVerdict) -> list[Member]:
    """The members whose answer is the panel's; where it cannot tell, all that gave a verdict."""
    if kept.answer is None:
        return [member for member in kept.members if member.verdict is not None]
    return [member for member in kept.members if member.answer is kept.answer]


def statement_of(kept: CachedVerdict) -> str:
    """Who said it, in a line: `judge command (model m): 3 of 5 members agree`."""
    served = "/".join(_once(member.model_served or "" for member in kept.members)) or kept.model
    who = f"judge {kept.backend}" + (f" ({served})" if served else "")
    if len(kept.members) == 1:
        return who
    alike = sum(member.answer is kept.answer for member in kept.members)
    return f"{who}: {alike} of {len(kept.members)} members agree, {kept.agree} needed"


def _inconclusive(kept: CachedVerdict, member: Member) -> list[str]:
    """Why a member's word does not count, or what it is."""
    who = f"member {member.member}: " if len(kept.members) > 1 else ""
    if member.error is not None:
        return [f"{who}{member.error}"]
    if member.problems:
        return [f"{who}its verdict does not bear a look: {problem}" for problem in member.problems]
    if member.answer is None and member.verdict is not None:
        return [f"{who}the judge says that it cannot tell: {member.verdict.reasoning[:_REASONS]}"]
    if kept.answer is None:
        return [f"{who}says {'satisfied' if member.answer else 'not satisfied'}"]
    return []


def turned(kept: CachedVerdict, asks: Sequence[Ask]) -> list[str]:
    """`satisfied on ask 3 of 4, before it not`: that a judge was asked until it said yes shows."""
    place = place_of(kept, asks)
    answers = [answer for ask, answer in results_by_ask(asks).items() if ask < place.ask]
    if kept.answer is not True or all(answers):
        return []
    word = "satisfied" if kept.kind == "criterion" else "a yes"
    return [f"{word} on ask {place.ask} of {place.of}, before it {'not' if False in answers else 'not told'}"]


def cost_of(kept: CachedVerdict) -> Cost:
    """What the verdict cost; unknown where one member does not tell."""
    costs = [member.usage.cost_usd for member in kept.members]
    known = [cost for cost in costs if cost is not None]
    return Cost(usd=sum(known) if known and len(known) == len(costs) else None, calls=len(costs))


def _once(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
