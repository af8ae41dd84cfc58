"""Turning a judge's verdict into a Decision: what it says, what of it counts, at which ask, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.criteria import ERROR, JudgeAnswer
from autoscirub.models import (
    JUDGE_REASONS,
    JUDGE_REMARK,
    Answer,
    Asks,
    Cost,
    CriterionVerdict,
    DecidedBy,
    Decision,
    Evidence,
    now,
)
from autoscirub.workflow.judges.ledger import place_of, results_by_ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoscirub.models import Ask, CachedVerdict, CitedEvidence, Member

ELSEWHERE = "judged elsewhere, not on this machine: as reliable as the record that it comes from"
ANSWERS = {True: Answer.HOLDS, False: Answer.DOES_NOT_HOLD, None: Answer.INCONCLUSIVE}
"""A judge's flag -> the answer that it is."""
_WORDS = {True: "satisfied", False: "not satisfied", None: "cannot tell"}
_REASONS = 600


def reading_of(cached: CachedVerdict, question: str, *, asks: Sequence[Ask], elsewhere: bool) -> JudgeAnswer:
    """The answer that a cached verdict on a criterion gives. `asks`: every call on it."""
    answer, word = ANSWERS[cached.answer], _WORDS[cached.answer]
    agreeing = settled_members(cached)
    verdicts = [member.verdict for member in agreeing if isinstance(member.verdict, CriterionVerdict)]
    visible = {file.path: file.sha256 for file in cached.workspace.files}
    references = _once(path for verdict in verdicts for path in verdict.artifact_references)
    cited = list(
        {entry.model_dump_json(): entry for verdict in verdicts for entry in verdict.evidence}.values()
    )
    references = _once([*references, *(entry.path for entry in cited)])
    evidence = [Evidence(key="verdict", value=cached.answer, note=statement_of(cached)), *_reasons(agreeing)]
    evidence += [Evidence(path=path, sha256=visible[path]) for path in references if path in visible]
    open_ = (
        []
        if cached.answer is True
        else [line for member in cached.members for line in _member_notes(cached, member)]
    )
    open_ += [ELSEWHERE] if elsewhere else []
    open_ += [f"concern: {concern}" for concern in [*cached.concerns, *turned(cached, asks)]]
    decision = Decision(
        subject="judge",
        question=question,
        answer=answer,
        word=word,
        decided_by=DecidedBy.JUDGE,
        evidence=evidence,
        open=open_,
        inputs_digest=cached.key,
        asks=place_of(cached, asks),
        cost=cost_of(cached),
        at=now(),
    )
    gap = "; ".join(_once(verdict.evidence_gap for verdict in verdicts if verdict.evidence_gap))
    if cached.answer is None:
        gap = f"the judge could not tell: {'; '.join(open_[:5])}"
    elif cached.answer is False and not gap:
        gap = (
            "; ".join(_once(verdict.reasoning[:_REASONS] for verdict in verdicts)) or "the judge gave no gap"
        )
    actions = _once(action for verdict in verdicts for action in verdict.required_actions)
    if cached.answer is None and not actions:
        actions = ["state plainly what the judge could not tell, in the report and the files that it names"]
    return JudgeAnswer(
        decision,
        found=_once(
            [*map(describe, cited), *(text for verdict in verdicts for text in verdict.evidence_found)]
        ),
        evidence=cited,
        gap="" if cached.answer is True else gap,
        actions=[] if cached.answer is True else actions,
        references=[path for path in references if path in visible],
    )


def describe(cited: CitedEvidence) -> str:
    """A piece of a judge's evidence in a line: `report.md, line 4: "The slope is 0.51": the slope is given`."""
    kind, where = cited.at.kind, cited.at.where
    value = (
        f'"{cited.value}"'
        if isinstance(cited.value, str) and kind not in ("key", "cell")
        else str(cited.value)
    )
    place = {"key": f": {where} = {value}", "cell": f", {where}: {value}", "quote": f": {value}"}.get(
        kind, f", {kind} {where}: {value}"
    )
    return f"{cited.path}{place}" + (f": {cited.shows}" if cited.shows else "")


def _reasons(members: Sequence[Member]) -> list[Evidence]:
    """The reasons of each verdict, and what code remarked about it: two things, kept apart."""
    found = []
    for member in members:
        if isinstance(member.verdict, CriterionVerdict) and member.verdict.reasoning:
            found.append(Evidence(key=JUDGE_REASONS, note=member.verdict.reasoning[:_REASONS]))
        found += [Evidence(key=JUDGE_REMARK, note=remark) for remark in member.remarks]
    return found


def failed_reading(question: str, why: str, *, asked: int, word: str = ERROR) -> JudgeAnswer:
    """What a criterion comes to where a judge gave no verdict, or was not asked: an error, or nothing told."""
    decision = Decision(
        subject="judge",
        question=question,
        answer=Answer.INCONCLUSIVE,
        word=word,
        decided_by=DecidedBy.JUDGE,
        open=[why],
        asks=Asks(ask=asked, of=asked) if asked else None,
        at=now(),
    )
    action = "no change to the work resolves this: make sure that the judge can be asked, and check again"
    return JudgeAnswer(decision, gap=why, actions=[action], error=word == ERROR)


def settled_members(cached: CachedVerdict) -> list[Member]:
    """The members whose answer is the panel's; where it cannot tell, all that gave a verdict."""
    if cached.answer is None:
        return [member for member in cached.members if member.verdict is not None]
    return [member for member in cached.members if member.answer is cached.answer]


def statement_of(cached: CachedVerdict) -> str:
    """Who said it, in a line: `judge command (model m): 3 of 5 members agree`."""
    served = "/".join(_once(member.model_served or "" for member in cached.members)) or cached.model
    who = f"judge {cached.backend}" + (f" ({served})" if served else "")
    if len(cached.members) == 1:
        return who
    alike = sum(member.answer is cached.answer for member in cached.members)
    return f"{who}: {alike} of {len(cached.members)} members agree, {cached.agree} needed"


def _member_notes(cached: CachedVerdict, member: Member) -> list[str]:
    """Why a member's verdict does not count, or what it says."""
    who = f"member {member.member}: " if len(cached.members) > 1 else ""
    if member.error is not None:
        return [f"{who}{member.error}"]
    if member.problems:
        return [f"{who}its verdict does not survive checking: {problem}" for problem in member.problems]
    if member.answer is None and member.verdict is not None:
        return [f"{who}the judge says that it cannot tell: {member.verdict.reasoning[:_REASONS]}"]
    if cached.answer is None:
        return [f"{who}says {'satisfied' if member.answer else 'not satisfied'}"]
    return []


def turned(cached: CachedVerdict, asks: Sequence[Ask]) -> list[str]:
    """`satisfied on ask 3 of 4, not before`: it shows when a judge was asked until it said yes."""
    place = place_of(cached, asks)
    answers = [answer for ask, answer in results_by_ask(asks).items() if ask < place.ask]
    if cached.answer is not True or all(answers):
        return []
    word = "satisfied" if cached.kind == "criterion" else "a yes"
    return [
        f"{word} on ask {place.ask} of {place.of}, {'not' if False in answers else 'inconclusive'} before"
    ]


def cost_of(cached: CachedVerdict) -> Cost:
    """What the verdict cost; unknown where one member does not say."""
    costs = [member.usage.cost_usd for member in cached.members]
    known = [cost for cost in costs if cost is not None]
    return Cost(usd=sum(known) if known and len(known) == len(costs) else None, calls=len(costs))


def _once(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
