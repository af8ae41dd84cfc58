"""Criteria that a judge must read: collecting its verdicts, cached or new, for one command."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autoscirub.checks.criteria import awaiting_reading, established
from autoscirub.checks.rubric import needs_reading
from autoscirub.errors import AutoscirubError
from autoscirub.workflow.judges.answers import failed_reading, reading_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.checks.criteria import CachedResult, Inputs, JudgeAnswer
    from autoscirub.models import Criterion, ExecutableRubric
    from autoscirub.workflow.judges.ask import JudgeResult, JudgeSession
    from autoscirub.workflow.judges.questions import JudgeQuestion


class Reader:
    """A project's judge, for the criteria of one command. With `may_ask` False only cached verdicts are used."""

    def __init__(self, session: JudgeSession, *, at: str, may_ask: bool) -> None:
        self.session, self.at, self.may_ask = session, at, may_ask

    def read(
        self, rubric: ExecutableRubric, inputs: Inputs, *, cached: Mapping[str, CachedResult], fresh: bool
    ) -> Inputs:
        """`inputs` with what the judge is shown and has answered. New calls are recorded, as a step of their own."""
        self.session.questions.avoid = rubric.claims_to_avoid
        answers: dict[str, JudgeAnswer] = {}
        questions: dict[str, JudgeQuestion] = {}
        for criterion in rubric.criteria:
            if needs_reading(criterion):
                try:
                    questions[criterion.criterion_id] = self.session.questions.of(criterion)
                except AutoscirubError as error:
                    answers[criterion.criterion_id] = failed_reading(
                        criterion.requirement, str(error), asked=0
                    )
        material = {
            name: {
                **question.material(),
                "verdict": self.session.verdict_digest(question, may_ask=self.may_ask),
            }
            for name, question in questions.items()
        }
        inputs = replace(inputs, judge_material=material)
        waiting = [
            criterion
            for criterion in awaiting_reading(rubric, inputs, cached=cached, at=self.at, fresh=fresh)
            if criterion.criterion_id in questions
        ]
        for criterion in waiting:
            found = established(criterion, inputs, at=self.at) or ()
            question = questions[criterion.criterion_id]
            questions[criterion.criterion_id] = replace(question, established=tuple(found))
        results = self._results([questions[criterion.criterion_id] for criterion in waiting], fresh=fresh)
        for criterion in waiting:
            answers[criterion.criterion_id] = self._reading(criterion, results[criterion.criterion_id])
            # The newest verdict on a question counts, and no answer that rests on an earlier one.
            material[criterion.criterion_id]["verdict"] = self.session.verdict_digest(
                questions[criterion.criterion_id]
            )
        return replace(inputs, judge_material=material, judge_answers=answers)

    def _results(self, questions: list[JudgeQuestion], *, fresh: bool) -> dict[str, JudgeResult]:
        if not self.may_ask:
            return {question.subject: self.session.look_up(question, fresh=fresh) for question in questions}
        results = self.session.ask(questions, fresh=fresh)
        self.session.record()
        return results

    def _reading(self, criterion: Criterion, result: JudgeResult) -> JudgeAnswer:
        asks = self.session.asks_on(criterion.criterion_id)
        asked = max((ask.ask for ask in asks), default=0)
        if result.verdict is None:
            return failed_reading(criterion.requirement, result.error, asked=asked, word=result.word)
        return reading_of(result.verdict, criterion.requirement, asks=asks, elsewhere=result.elsewhere)
