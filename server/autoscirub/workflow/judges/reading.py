"""Criteria that must be read: what a judge has said of them, asked for where it may be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autoscirub.checks.criteria import awaiting_reading
from autoscirub.checks.rubric import needs_reading
from autoscirub.errors import AutoscirubError
from autoscirub.workflow.judges.answers import failed_reading, reading_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.checks.criteria import CachedResults, Inputs, JudgeReadings
    from autoscirub.models import Criterion, ExecutableRubric
    from autoscirub.workflow.judges.ask import JudgeResult, JudgeSession
    from autoscirub.workflow.judges.questions import JudgeQuestion


class Reader:
    """A project's judge, for the criteria of one command. With `may_ask` False it only says what is kept."""

    def __init__(self, session: JudgeSession, *, at: str, may_ask: bool) -> None:
        self.session, self.at, self.may_ask = session, at, may_ask

    def read(
        self, rubric: ExecutableRubric, inputs: Inputs, *, kept: Mapping[str, CachedResults], fresh: bool
    ) -> Inputs:
        """`inputs` with what a judge is shown and has said. What was asked just now is recorded, a step of its own."""
        readings: dict[str, JudgeReadings] = {}
        questions: dict[str, JudgeQuestion] = {}
        for criterion in rubric.criteria:
            if needs_reading(criterion):
                try:
                    questions[criterion.criterion_id] = self.session.questions.of(criterion)
                except AutoscirubError as error:
                    readings[criterion.criterion_id] = failed_reading(
                        criterion.requirement, str(error), asked=0
                    )
        shown = {
            name: {**question.shown(), "verdict": self.session.verdict_digest(question)}
            for name, question in questions.items()
        }
        inputs = replace(inputs, shown=shown)
        waiting = [
            criterion
            for criterion in awaiting_reading(rubric, inputs, kept=kept, at=self.at, fresh=fresh)
            if criterion.criterion_id in questions
        ]
        told = self._told([questions[criterion.criterion_id] for criterion in waiting], fresh=fresh)
        for criterion in waiting:
            readings[criterion.criterion_id] = self._reading(criterion, told[criterion.criterion_id])
            # The newest verdict on a question counts, and no answer that rests on an earlier one.
            shown[criterion.criterion_id]["verdict"] = self.session.verdict_digest(
                questions[criterion.criterion_id]
            )
        return replace(inputs, shown=shown, readings=readings)

    def _told(self, questions: list[JudgeQuestion], *, fresh: bool) -> dict[str, JudgeResult]:
        if not self.may_ask:
            return {question.subject: self.session.looked_up(question, fresh=fresh) for question in questions}
        told = self.session.ask(questions, fresh=fresh)
        self.session.record()
        return told

    def _reading(self, criterion: Criterion, told: JudgeResult) -> JudgeReadings:
        asks = self.session.asks_on(criterion.criterion_id)
        asked = max((ask.ask for ask in asks), default=0)
        if told.verdict is None:
            return failed_reading(criterion.requirement, told.error, asked=asked, error=told.asked)
        return reading_of(told.verdict, criterion.requirement, asks=asks, elsewhere=told.elsewhere)
