"""Asking the judge about the hypothesis: layer 2, reported with the outcome of the predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from autoscirub.errors import AutoscirubError
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT
from autoscirub.models import JUDGE_REMARK, Evidence, HypothesisVerdict, JudgeVerdict
from autoscirub.workflow.judges.answers import (
    ELSEWHERE,
    describe,
    settled_members,
    statement_of,
    turned,
)
from autoscirub.workflow.judges.ask import JudgeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import Ask, CachedVerdict, Prereg
    from autoscirub.workflow.judges.ask import JudgeSession

NOT_JUDGED = "not judged"
MayJudge = Literal["no", "look", "ask"]
"""No judge; cached verdicts only; or the judge is asked."""
_WORDS = {True: "the judge agrees", False: "the judge disagrees", None: "the judge cannot tell"}
_SET_ASIDE = "the judge's verdict does not count"


@dataclass(frozen=True)
class Judged:
    """What a judge said of the hypothesis, or why there is nothing."""

    verdict: JudgeVerdict | None = None
    asked: bool = False
    """Whether it was to be asked: without a verdict it has failed."""
    word: str = NOT_JUDGED
    """For the line of the outcome."""
    evidence: list[Evidence] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def judge_hypothesis(
    session: JudgeSession | None, prereg: Prereg, *, may: MayJudge, fresh: bool = False
) -> Judged:
    """Put the hypothesis to the project's judge. New calls are recorded, as a step of their own."""
    if may == "no" or session is None:
        return Judged(open=[NOT_JUDGED])
    try:
        question = session.questions.of_hypothesis(prereg)
    except AutoscirubError as error:
        return _failed(JudgeResult(error=str(error)))
    if may == "look":
        result = session.look_up(question, fresh=fresh)
    else:
        result = session.ask([question], fresh=fresh)[HYPOTHESIS_SUBJECT]
        session.record()
    if result.verdict is None:
        return _failed(result)
    return judged_of(result.verdict, session.asks_on(HYPOTHESIS_SUBJECT), elsewhere=result.elsewhere)


def _failed(result: JudgeResult) -> Judged:
    word = "the judge failed" if result.asked else NOT_JUDGED
    return Judged(asked=result.asked, word=word, open=[f"{word}: {result.error}"])


def judged_of(cached: CachedVerdict, asks: Sequence[Ask], *, elsewhere: bool) -> Judged:
    """What a cached verdict says of the hypothesis. `asks`: every call on it."""
    before = turned(cached, asks)
    settled = [member.verdict for member in settled_members(cached)]
    verdicts = [verdict for verdict in settled if isinstance(verdict, HypothesisVerdict)]
    reasons = next((verdict.reasoning for verdict in verdicts), "no member gave a verdict that counts")
    concerns = list(dict.fromkeys(concern for verdict in verdicts for concern in verdict.concerns))
    problems = [problem for member in cached.members for problem in member.problems]
    verdict = JudgeVerdict(
        supports_hypothesis=cached.answer,
        confidence=next((entry.confidence for entry in verdicts if entry.confidence is not None), None),
        reasoning=reasons,
        concerns=[*before, *concerns, *cached.concerns],
    )
    word = (_SET_ASIDE if cached.answer is None and problems else _WORDS[cached.answer]) + (
        " (judged elsewhere)" if elsewhere else ""
    )
    word += f" ({before[0]})" if before else ""
    open_ = [f"the judge's concern: {concern}" for concern in verdict.concerns]
    open_ += [f"set aside: {problem}" for problem in problems]
    open_ += [word] if cached.answer is not True else []
    open_ += [ELSEWHERE] if elsewhere else []
    remarks = [remark for member in cached.members for remark in member.remarks]
    remarks += [f"set aside: {problem}" for problem in problems]
    cited = {entry.model_dump_json(): entry for verdict in verdicts for entry in verdict.evidence}
    note = f"{statement_of(cached)}: {reasons[:600]}"
    return Judged(
        verdict,
        asked=True,
        word=word,
        evidence=[
            Evidence(key="judge", value=cached.answer, note=note),
            *(Evidence(path=entry.path, note=describe(entry)) for entry in cited.values()),
            *(Evidence(key=JUDGE_REMARK, note=remark) for remark in remarks),
        ],
        open=open_,
    )
