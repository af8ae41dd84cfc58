"""Classifies each number of a report: bound, matched, ambiguous, set aside or without source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.checks.numbers.predicted import speaks_of_a_prediction
from autoscirub.checks.numbers.rounding import CROWD, Hints, Match, agrees, match
from autoscirub.checks.numbers.set_aside import MARKS, PLACES
from autoscirub.checks.numbers.sources import Source, SourceIndex
from autoscirub.checks.numbers.words import NUMBER_WORD
from autoscirub.models import NumberClass, ReportNumber

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.checks.numbers.extract import Occurrences
    from autoscirub.checks.numbers.occurrence import Occurrence

_FORMS = MARKS - {NUMBER_WORD}
"""Marks that several values would do for are set aside: no list of four items is in doubt for its numbers."""


class _Known:
    """What the numbers of one report are looked up in."""

    def __init__(self, text: str, sources: Sequence[Source], set_aside: Sequence[str]) -> None:
        self.text = text
        self.results = SourceIndex(source for source in sources if source.origin != "predictions")
        self.stated = SourceIndex(source for source in sources if source.origin == "predictions")
        self.hints = Hints(self.results)
        self.set_aside = [words for words in set_aside if words]


def classify(
    occurrences: Occurrences, sources: Sequence[Source], set_aside: Sequence[str] = ()
) -> list[ReportNumber]:
    """The class of every number, in the report's order. Time grows with the numbers, and sources × log sources."""
    known = _Known(occurrences.text, sources, set_aside)
    answers: list[ReportNumber] = []
    for number in occurrences.numbers:
        answer = _one(number, known)
        if answer.cls is NumberClass.WITHOUT_SOURCE and number.parts and not number.bound_to:
            parts = [_one(part, known) for part in number.parts]
            if not any(part.cls is NumberClass.WITHOUT_SOURCE for part in parts):
                answers += parts
                continue
        answers.append(answer)
    return answers


def _one(number: Occurrence, known: _Known) -> ReportNumber:
    if number.bound_to is not None:
        return _bound(number, number.bound_to, known)
    if number.set_aside is not None:
        return _answer(number, NumberClass.SET_ASIDE, reason=number.set_aside)
    if any(words == number.text or words in number.context for words in known.set_aside):
        return _answer(number, NumberClass.SET_ASIDE, reason="named in set_aside")
    if not number.interpretations:
        return _answer(number, NumberClass.WITHOUT_SOURCE, reason="cannot be read as one number")
    found = match(number, known.results)
    if found.count and not (
        number.soft in _FORMS and (found.distinct > 1 or not _as_it_stands(number, found))
    ):
        return _found(number, found)
    stated = match(number, known.stated)
    if stated.count and speaks_of_a_prediction(known.text, number):
        # Predictions that state the same value are one statement, made again for its check.
        one = stated.distinct == 1
        only = Match(1, 1, stated.sources[:1]) if one else stated
        return replace(_found(number, only), weak=True)
    if number.soft is not None:
        return _answer(number, NumberClass.SET_ASIDE, reason=number.soft)
    nearest = known.hints.nearest(number)
    if stated.count:
        reason = f"only stated beforehand, in {stated.sources[0].key}"
    else:
        reason = "no source; the nearest by its words" if nearest else "no source"
    return _answer(number, NumberClass.WITHOUT_SOURCE, [nearest] if nearest else [], reason)


def _as_it_stands(number: Occurrence, found: Match) -> bool:
    """Whether what counts places, as in Figure 4, is a result to the digit: 4 figures are no rounding of 4.19."""
    values = [value for reading in number.interpretations for value, _ in reading.alternatives()]
    return number.soft not in PLACES or found.sources[0].exact in values


def _answer(
    number: Occurrence,
    cls: NumberClass,
    found: Sequence[Source] = (),
    reason: str = "",
    *,
    crowded: bool = False,
    alike: bool = False,
) -> ReportNumber:
    pairs = tuple((source.key, source.value) for source in found)
    weak = number.mark or (found[:1] and found[0].origin == "predictions") or False
    return ReportNumber(number.line, number.text, cls, pairs, reason, number.place, crowded, alike, weak)


def _found(number: Occurrence, found: Match) -> ReportNumber:
    if found.count == 1:
        return _answer(number, NumberClass.MATCHED, found.sources)
    crowded = found.distinct > CROWD
    reason = f"{found.count:,} sources would do" + (": too many to tell" if crowded else "")
    return _answer(
        number, NumberClass.AMBIGUOUS, found.sources, reason, crowded=crowded, alike=found.distinct == 1
    )


def _bound(number: Occurrence, key: str, known: _Known) -> ReportNumber:
    for index in (known.results, known.stated):
        source = index.by_key.get(key) or index.by_key.get(f"results.{key}")
        if source is None:
            continue
        if not number.interpretations:
            reason = "bound, and cannot be read as one number"
            return _answer(number, NumberClass.WITHOUT_SOURCE, [source], reason)
        if agrees(number, source):
            return _answer(number, NumberClass.BOUND, [source])
        return _answer(number, NumberClass.BOUND_WRONG, [source], "bound to it, and not a rounding of it")
    reason = f"bound to {printable(key)}, which holds no number or is not there"
    return _answer(number, NumberClass.WITHOUT_SOURCE, reason=reason)
