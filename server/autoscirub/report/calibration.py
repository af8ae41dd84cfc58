"""Renders a calibration: the rates with their intervals, how far repeats agree, and where the judge was wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from autoscirub.report.terminal import plain, shorten, sign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoscirub.models import CalibratedCase, Calibration, Decision, Rate

_RIGHT = {"satisfied": True, "not_satisfied": False}
_WORDS = {True: "satisfied", False: "not satisfied", None: "inconclusive"}
_CASES, _OPEN, _REASON = 20, 12, 160


def render_calibration(
    calibration: Calibration, decisions: Sequence[Decision], stream: TextIO, *, calls: int, spent: str
) -> str:
    """The rates, the agreement, and each case on which an answer was not right."""
    [decision] = decisions
    rates = calibration.rates
    served = "/".join(calibration.models_served) or calibration.model
    who = f"judge {calibration.backend}{f' ({served})' if served else ''}"
    lines = [
        f"{sign(decision.answer, stream)} calibration: {plain(decision.word)} · {plain(who)}, prompt "
        f"{calibration.prompt_version} · {len(calibration.cases)} cases × {calibration.repeats}",
        *(f"  {plain(line)}" for line in decision.open[:_OPEN]),
    ]
    if (more := len(decision.open) - _OPEN) > 0:
        lines.append(f"  and {more} more; all of them with --json")
    lines += [
        _rate("true positive rate", rates.true_positive, "satisfied"),
        _rate("false positive rate", rates.false_positive, "not_satisfied"),
        f"  inconclusive         {rates.true_positive.inconclusive + rates.false_positive.inconclusive} of "
        f"{rates.true_positive.answers + rates.false_positive.answers} answers, never counted as right",
    ]
    if rates.identical is not None:
        lines.append(
            f"  repeats              all agree on {rates.identical:.1%} of {rates.repeated} cases; two of them agree "
            f"in {rates.pairwise:.1%}"
        )
    wrong = [case for case in calibration.cases if _mistakes(case)]
    lines += [line for case in wrong[:_CASES] for line in _case(case)]
    if len(wrong) > _CASES:
        lines.append(f"  and {len(wrong) - _CASES} more cases; all of them are in calibration.json")
    if spent:
        lines.append(f"{calls} call{'s' if calls != 1 else ''}: {spent}")
    return "\n".join(lines)


def _rate(name: str, rate: Rate, label: str) -> str:
    counts = f"; satisfied {rate.satisfied} of {rate.answers} times on {rate.cases} cases labelled {label}"
    return f"  {name:<20} {rate.words}{counts if rate.cases else ''}"


def _mistakes(case: CalibratedCase) -> list[bool | None]:
    """The answers that are not right, each once: wrong ones, and inconclusive ones."""
    return list(
        dict.fromkeys(entry.answer for entry in case.answers if entry.answer is not _RIGHT[case.label])
    )


def _case(case: CalibratedCase) -> Iterator[str]:
    for mistake in _mistakes(case):
        entries = [entry for entry in case.answers if entry.answer is mistake]
        yield (
            f"  {plain(case.case)}, labelled {_WORDS[_RIGHT[case.label]]}: {_WORDS[mistake]} {len(entries)} of "
            f"{len(case.answers)} times"
        )
        reasons = [text for entry in entries for text in (*entry.problems, *entry.reasons)]
        yield from (f"    {plain(shorten(text, _REASON))}" for text in reasons[:1])
