"""One line of `doctor` as a Decision: what was looked for, whether it is there, and how to get it."""

from __future__ import annotations

from autoscirub.models import Answer, Decision, Evidence, now


def finding(
    subject: str, question: str, there: bool | None, word: str, *how: str, note: str = ""
) -> Decision:
    """The Decision on one thing that was looked for, with `how` to get it.

    `there`: False where it is needed and missing; None where nothing needs it yet, or it is inconclusive.
    """
    answers = {True: Answer.HOLDS, False: Answer.DOES_NOT_HOLD, None: Answer.INCONCLUSIVE}
    return Decision(
        subject=subject,
        question=question,
        answer=answers[there],
        word=word,
        evidence=[Evidence(note=note)] if note else [],
        open=[line for line in how if line],
        at=now(),
    )
