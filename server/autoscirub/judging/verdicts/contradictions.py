"""Does a verdict's flag contradict what it says? Only clear cases: a guess about tone would void honest verdicts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoscirub.judging.prompts import plain
from autoscirub.models import CriterionVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.models import AskKind, HypothesisVerdict

_NONE = re.compile(
    r"(?:none|null|nil|nothing|n/?a|not applicable|no|empty|no (?:evidence )?gaps?|no (?:further |required )?actions?"
    r"|no (?:further )?action (?:is )?(?:needed|required)|no missing evidence)"
    r"(?: (?:is |are |was |were )?(?:identified|found|noted|needed|required|missing|remaining|remains?|necessary))?"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_SUBJECT = r"(?:criterion|criteria|requirements?|conditions?|satisfaction condition|it|this|c\d+)"
_MET = r"(?:met|satisfied|fulfilled)"
_SAYS_NOT_MET = re.compile(
    rf"\b{_SUBJECT}\b[^.;\n]{{0,60}}?\b(?:(?:is|are|was|were|has been|have been|be) "
    rf"(?:therefore |thus |clearly |still )?not(?: fully| yet| entirely| completely)? {_MET}"
    rf"|(?:isn't|aren't) {_MET}|(?:is|are|remains?) (?:unmet|unsatisfied|unfulfilled|(?:only )?partially {_MET})"
    rf"|fails to (?:meet|satisfy)|cannot be (?:considered |marked )?{_MET})"
    rf"|^\W*not {_MET}\b|\binsufficient evidence (?:that|for|to)\b",
    re.IGNORECASE,
)
_SAYS_MET = re.compile(
    rf"\b{_SUBJECT}\b[^.;\n]{{0,40}}?\b(?:is|are) "
    rf"(?:therefore |thus |clearly )?(?:fully |completely |entirely )?{_MET}\b"
    rf"(?! (?:only|in part))|^\W*(?:fully )?{_MET}\W*$",
    re.IGNORECASE,
)
_HYPOTHESIS_NOT = re.compile(
    r"\b(?:does|do|did)(?: not|n't) support the hypothesis\b|\bfails? to support the hypothesis\b"
    r"|\bhypothesis (?:is|was) (?:therefore |thus |clearly )?"
    r"(?:not supported|refuted|rejected|contradicted|unsupported)\b"
    r"|\b(?:contradicts?|refutes?) the hypothesis\b",
    re.IGNORECASE,
)
_HYPOTHESIS_YES = re.compile(
    r"\b(?:evidence|results?|data|analysis) (?:clearly |strongly |fully )?supports? the hypothesis\b"
    r"|\bhypothesis (?:is|was) (?:therefore |thus |clearly |fully )?(?:supported|confirmed)\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"\b(?:if|would|were|had|unless|until|otherwise|alone|initially|earlier|previous(?:ly)?|whether|because nothing|"
    r"no reason|cannot say|claims?|claimed|says|asserts?)\b",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:not|no|only|partially|partly|except|but|however|although|nor|never|seems?|appears?)\b|n't\b",
    re.IGNORECASE,
)


def is_none(text: str) -> bool:
    """Whether a text says that there is nothing: empty, `none`, `n/a`, `no gap identified`."""
    plain = re.sub(r"\s+", " ", text).strip().strip("-–—.,;:!()[]\"'`* ").casefold()
    return not plain or _NONE.fullmatch(plain) is not None


def contradictions(verdict: CriterionVerdict | HypothesisVerdict) -> list[str]:
    """Each way in which the flag contradicts the rest of the verdict."""
    if isinstance(verdict, CriterionVerdict):
        return list(_of_criterion(verdict))
    return list(_of_hypothesis(verdict))


def speaks_against(text: str, kind: AskKind) -> str | None:
    """The first sentence that clearly says no: that it is not satisfied, or that the hypothesis is not supported."""
    return _sentence(text, _SAYS_NOT_MET if kind == "criterion" else _HYPOTHESIS_NOT, _OTHERWISE)


def _of_criterion(verdict: CriterionVerdict) -> Iterator[str]:
    actions = [action for action in verdict.required_actions if not is_none(action)]
    gap = not is_none(verdict.evidence_gap)
    if verdict.satisfied is True:
        if not [item for item in verdict.evidence_found if not is_none(item)]:
            yield "satisfied is true, and evidence_found is empty; expected the evidence that it rests on"
        if gap:
            yield f"satisfied is true, and evidence_gap says {shown(verdict.evidence_gap)}"
        if actions:
            yield f"satisfied is true, and required_actions asks for {shown(actions[0])}"
        if said := _sentence(verdict.reasoning, _SAYS_NOT_MET, _OTHERWISE):
            yield f"satisfied is true, and reasoning says {shown(said)}"
    elif (
        verdict.satisfied is False
        and not (gap or actions)
        and (said := _sentence(verdict.reasoning, _SAYS_MET, _OTHERWISE, _LIMITS))
    ):
        yield f"satisfied is false with neither gap nor action, and reasoning says {shown(said)}"


def _of_hypothesis(verdict: HypothesisVerdict) -> Iterator[str]:
    flag = verdict.supports_hypothesis
    if flag is None:
        return
    word = "true" if flag else "false"
    if not verdict.reasoning.strip():
        yield f"supports_hypothesis is {word}, and reasoning is empty; expected the reasons that it rests on"
    against = _HYPOTHESIS_NOT if flag else _HYPOTHESIS_YES
    if said := _sentence(verdict.reasoning, against, _OTHERWISE, *(() if flag else (_LIMITS,))):
        yield f"supports_hypothesis is {word}, and reasoning says {shown(said)}"


def _sentence(text: str, says: re.Pattern[str], *unless: re.Pattern[str]) -> str | None:
    """The first sentence that says so, and has none of the words that would make it say something else."""
    for sentence in _SENTENCE.split(text):
        if says.search(sentence) and not any(pattern.search(sentence) for pattern in unless):
            return sentence
    return None


def shown(text: str) -> str:
    """A judge's words in a message: on one line, cut, and with nothing in them that is not seen."""
    short = plain(re.sub(r"\s+", " ", text).strip())
    return f'"{short if len(short) <= 160 else short[:159] + "…"}"'
