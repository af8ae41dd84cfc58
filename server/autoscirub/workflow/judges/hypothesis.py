"""The judge's word on the hypothesis: layer 2 beside the outcome of the predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from autoscirub.errors import AutoscirubError
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT
from autoscirub.models import Evidence, HypothesisVerdict, JudgeVerdict
from autoscirub.workflow.judges.answers import ELSEWHERE, settled_members, statement_of, turned
from autoscirub.workflow.judges.ask import JudgeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import Ask, CachedVerdict, Prereg
    from autoscirub.workflow.judges.ask import JudgeSession

NOT_JUDGED = "not judged"
MayJudge = Literal["no", "look", "ask"]
"""Nothing is said of a judge; only what is kept; or it is asked."""
_WORDS = {True: "the judge agrees", False: "the judge disagrees", None: "the judge cannot tell"}


@dataclass(frozen=True)
class Judged:
    """What a judge said of the hypothesis, or why there is nothing."""

    verdict: JudgeVerdict | None = None
    asked: bool = False
    """Whether it was to be asked: without a verdict it then failed."""
    word: str = NOT_JUDGED
    """For the line of the outcome."""
    evidence: list[Evidence] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def judge_hypothesis(
    session: JudgeSession | None, prereg: Prereg, *, may: MayJudge, fresh: bool = False
) -> Judged:
    """Put the hypothesis to the project's judge. What was asked just now is recorded, as a step of its own."""
    if may == "no" or session is None:
        return Judged(open=[NOT_JUDGED])
    try:
        question = session.questions.of_hypothesis(prereg)
    except AutoscirubError as error:
        return _failed(JudgeResult(error=str(error)))
    if may == "look":
        told = session.looked_up(question, fresh=fresh)
    else:
        told = session.ask([question], fresh=fresh)[HYPOTHESIS_SUBJECT]
        session.record()
    if told.verdict is None:
        return _failed(told)
    return judged_of(told.verdict, session.asks_on(HYPOTHESIS_SUBJECT), elsewhere=told.elsewhere)


def _failed(told: JudgeResult) -> Judged:
    word = "the judge failed" if told.asked else NOT_JUDGED
    return Judged(asked=told.asked, word=word, open=[f"{word}: {told.error}"])


def judged_of(kept: CachedVerdict, asks: Sequence[Ask], *, elsewhere: bool) -> Judged:
    """What a kept verdict on the hypothesis comes to. `asks`: every call on it."""
    before = turned(kept, asks)
    said = [member.verdict for member in settled_members(kept)]
    verdicts = [verdict for verdict in said if isinstance(verdict, HypothesisVerdict)]
    reasons = next((verdict.reasoning for verdict in verdicts), "no member gave a verdict that counts")
    concerns = list(dict.fromkeys(concern for verdict in verdicts for concern in verdict.concerns))
    problems = [problem for member in kept.members for problem in member.problems]
    verdict = JudgeVerdict(
        supports_hypothesis=kept.answer,
        confidence=next((entry.confidence for entry in verdicts if entry.confidence is not None), None),
        reasoning=reasons,
        concerns=[*before, *concerns, *problems, *kept.concerns],
    )
    word = _WORDS[kept.answer] + (" (judged elsewhere)" if elsewhere else "")
    word += f" ({before[0]})" if before else ""
    open_ = [f"the judge's concern: {concern}" for concern in verdict.concerns]
    open_ += [word] if kept.answer is not True else []
    open_ += [ELSEWHERE] if elsewhere else []
    note = f"{statement_of(kept)}: {reasons[:600]}"
    return Judged(
        verdict,
        asked=True,
        word=word,
        evidence=[Evidence(key="judge", value=kept.answer, note=note)],
        open=open_,
    )
