"""A check's conclusions as annotations of files and lines, for CI systems that show them there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.checks.predictions import PREDICTIONS_NAME
from autoscirub.checks.rerun import fell_out
from autoscirub.models import Annotation, Annotations, Answer, Decision
from autoscirub.store import open_project
from autoscirub.workflow.accepting import ACCEPTED, accepted_of, answer_of
from autoscirub.workflow.source_locations import SourceLocations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from autoscirub.checks.numbers import NumbersFound
    from autoscirub.models import ReportNumber, Verification, VerificationReport
    from autoscirub.workflow.rerunning import RerunStatus
    from autoscirub.workflow.rounds import RoundCheck


def annotations_of(
    checked: RoundCheck,
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    accept: Collection[str] = (),
) -> Annotations:
    """Every annotation of `checked`, in the order predictions, numbers, rerun, requirements.

    One for each prediction and criterion, for each number and rerun value that is not as it should be, and for each
    Decision whose own answer none of these gives. Outcomes in `accept` do not count (`accepted_of`). Reads the
    project's files for the lines, and writes nothing.
    """
    listed = _Listed(checked, SourceLocations(open_project(project, state_dir)))
    accepted = accepted_of(checked, accept)
    annotations = listed.annotations(accepted={id(decision) for decision in accepted})
    return Annotations(answer_of(checked, accepted), annotations, listed.statements(bool(accepted)))


class _Listed:
    """The annotations of one check."""

    def __init__(self, checked: RoundCheck, places: SourceLocations) -> None:
        self._checked, self._places = checked, places

    def annotations(self, accepted: Collection[int]) -> list[Annotation]:
        checked = self._checked
        found: list[Annotation] = []
        covered: set[int] = set()
        if checked.verification is not None:
            [decision] = checked.verification.decisions
            covered.add(id(decision))
            parts = list(self._predictions(checked.verification, id(decision) in accepted))
            found += _with_whole(parts, self._whole(decision, "predictions", PREDICTIONS_NAME))
        if checked.numbers is not None:
            covered.add(id(checked.numbers.decision))
            whole = self._whole(checked.numbers.decision, "numbers", checked.numbers.decision.subject)
            found += _with_whole(list(self._numbers(checked.numbers)), whole)
        if checked.rerun is not None:
            covered.add(id(checked.rerun.decision))
            whole = self._whole(checked.rerun.decision, "rerun", self._places.config, self._places.command())
            found += _with_whole(list(self._rerun(checked.rerun)), whole)
        if checked.report is not None:
            covered |= {id(decision) for decision in checked.report.decisions}
            found += self._criteria(checked.report)
        rest = [entry for entry in checked.decisions if id(entry) not in covered]
        return [*found, *(self._undecided(entry) for entry in rest)]

    def statements(self, accepted: bool) -> dict[str, list[str]]:
        """Part -> the lines about the whole of it: its headline, and what qualifies that."""
        checked = self._checked
        statements: dict[str, list[str]] = {}
        if checked.verification is not None:
            statements["predictions"] = [*checked.verification.notes, checked.verification.headline]
            statements["predictions"] += [ACCEPTED] if accepted else []
        elif checked.notices:
            statements["notes"] = list(checked.notices)
        if checked.numbers is not None:
            evidence = checked.numbers.decision.evidence
            counted = next((entry.note for entry in evidence if entry.note), None)
            statements["numbers"] = [counted] if counted else []
        if checked.rerun is not None and (checked.rerun.elsewhere or checked.verification is None):
            statements["rerun"] = [
                checked.rerun.word,
                *checked.rerun.decision.open[: int(checked.rerun.elsewhere)],
            ]
        if checked.report is not None:
            summary = checked.report.summary
            total = summary.passed + summary.failed
            counted = f"{summary.passed} of {total} criteria satisfied, {checked.report.decided_words}"
            statements["requirements"] = [counted, *(change.summary for change in checked.scope_changes)]
        return statements

    def _predictions(self, verification: Verification, accepted: bool) -> Iterator[Annotation]:
        [decision] = verification.decisions
        path = self._places.path(PREDICTIONS_NAME)
        for part, check in zip(decision.parts, verification.checks, strict=True):
            holds = part.answer is Answer.HOLDS
            message = check.message if holds else _lines(check.message, check.description)
            waved = accepted and part.answer is Answer.DOES_NOT_HOLD
            yield Annotation(
                part,
                "predictions",
                f"{ACCEPTED}: {message}" if waved else message,
                path,
                self._places.prediction(check.id),
                waved,
            )

    def _numbers(self, found: NumbersFound) -> Iterator[Annotation]:
        name = found.decision.subject
        path, in_cells = self._places.path(name), name.lower().endswith(".ipynb")
        for numbers, answer in (
            (found.wrong, Answer.DOES_NOT_HOLD),
            (found.unsettled, Answer.INCONCLUSIVE),
        ):
            for number in numbers:
                yield Annotation(
                    _of_number(found.decision, number, answer),
                    "numbers",
                    _joined(
                        number.place if in_cells else "", f'"{_one_line(number.text)}"', number.explanation
                    ),
                    path,
                    None if in_cells else number.line,  # a line of a cell is not one of the file
                )
        for problem in found.problems:
            update = {"answer": Answer.INCONCLUSIVE, "open": [problem], "evidence": []}
            yield Annotation(found.decision.model_copy(update=update), "numbers", problem, path)

    def _rerun(self, rerun: RerunStatus) -> Iterator[Annotation]:
        if rerun.decision.answer is not Answer.DOES_NOT_HOLD:
            return
        moved = [entry for entry in rerun.decision.evidence if fell_out(entry)]
        for name in dict.fromkeys(entry.path or "" for entry in moved):
            of_file = [entry for entry in moved if entry.path == name]
            lines = self._places.values(name, {entry.key for entry in of_file if entry.key})
            for entry in of_file:
                subject = f"{name}: {entry.key}" if entry.key else name
                update = {"subject": subject, "evidence": [entry], "open": []}
                yield Annotation(
                    rerun.decision.model_copy(update=update),
                    "rerun",
                    _joined(entry.key or "", entry.note or ""),
                    self._places.path(name),
                    lines.get(entry.key or ""),
                )

    def _criteria(self, report: VerificationReport) -> Iterator[Annotation]:
        gaps = {result.criterion_id: result.evidence_gap for result in report.criteria}
        path, lines = (
            self._places.rubric(self._checked.rubric),
            self._places.criteria(self._checked.rubric),
        )
        for decision in report.decisions:
            yield Annotation(
                decision,
                "requirements",
                _lines(decision.question, gaps.get(decision.subject, "")),
                path,
                lines.get(decision.subject),
            )

    def _undecided(self, decision: Decision) -> Annotation:
        """What is not frozen, at the file that a freeze would lock."""
        named = next((entry.path for entry in decision.evidence if entry.path), None)
        if decision.subject != "predictions":
            return Annotation(decision, "requirements", _why(decision), self._places.rubric(named))
        return self._whole(decision, "predictions", named or self._places.config)

    def _whole(self, decision: Decision, part: str, name: str | None, line: int | None = None) -> Annotation:
        return Annotation(decision, part, _why(decision), self._places.path(name), line)


def _with_whole(annotations: list[Annotation], whole: Annotation) -> list[Annotation]:
    """`annotations`, and the whole's own where none of them has its answer: a conclusion is never missing."""
    answer = whole.decision.answer
    return (
        annotations
        if any(annotation.decision.answer is answer for annotation in annotations)
        else [*annotations, whole]
    )


def _of_number(decision: Decision, number: ReportNumber, answer: Answer) -> Decision:
    return decision.model_copy(
        update={
            "subject": f'{decision.subject}:{number.place or number.line} "{_one_line(number.text)}"',
            "question": "Is this number found in the results?",
            "answer": answer,
            "word": number.cls.value.replace("_", " "),
            "evidence": [],
            "open": [number.explanation] if answer is Answer.INCONCLUSIVE else [],
        }
    )


def _why(decision: Decision) -> str:
    noted = [entry.note for entry in decision.evidence if entry.note][:1]
    if decision.answer is Answer.HOLDS:
        return _joined(decision.word, *noted)
    return _lines(*(decision.open or [decision.word, *noted]))


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _one_line(text: str) -> str:
    return " ".join(text.split())
