"""Turns labelled cases into questions for the configured judge, each about the folder of its case."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, CheckError
from autoscirub.store import StateStore
from autoscirub.workflow.calibration.cases import CASE_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoscirub.store import Project
    from autoscirub.workflow.calibration.cases import LabelledCase
    from autoscirub.workflow.judges import JudgeQuestion, Questions


@dataclass(frozen=True)
class CaseQuestion:
    """A case, and the question on it as the judge would get it."""

    case: LabelledCase
    questions: Questions
    """The project's judge, on the folder of the case."""
    question: JudgeQuestion

    @property
    def subject(self) -> str:
        """What its asks are about, in the ledger."""
        return f"case {self.case.name}"


def case_questions(judge: Questions, cases: Sequence[LabelledCase]) -> list[CaseQuestion]:
    """The question on each case. Raises CheckError, naming the cases: no copy can be made, or two are the same."""
    _ = judge.settings  # raised here: a judge that cannot give its settings fails every case
    found: list[CaseQuestion] = []
    faults: list[str] = []
    by_key: dict[str, LabelledCase] = {}
    for case in cases:
        questions = copy.copy(judge)  # the same backend, opened once
        questions.opened = _project_of(judge.opened, case.folder)
        try:
            question = questions.of(case.criterion)
        except AutoscirubError as error:
            faults.append(f"{case.name}: {error}")
            continue
        other = by_key.setdefault(question.key, case)
        if other is not case:
            labels = "" if other.label == case.label else f", labelled {other.label} and {case.label}"
            faults.append(
                f"{other.name} and {case.name}: the same criterion on the same files{labels}; keep one of them"
            )
        found.append(CaseQuestion(case, questions, question))
    if faults:
        raise CheckError("\n".join(faults[:50]))
    return found


def _project_of(opened: Project, folder: Path) -> Project:
    """The folder of a case as a project: judged as this one is, with its limits and profiles.

    Its `case.toml` counts as configuration, so that it is withheld, and every copy of it: the label is in it. The
    report and the results are where the project's configuration says, or where they are looked for without one.
    """
    config = opened.config
    here = {key: getattr(config, key) for key in ("report", "results")}
    there = {key: name if name and (folder / name).exists() else None for key, name in here.items()}
    values = config.model_copy(update={**there, "rubric": None})
    loaded = replace(opened.location.config, values=values, own=values, source=CASE_NAME)
    state = StateStore(folder / ".autoscirub")
    location = replace(opened.location, project=folder, state_dir=state.root, config=loaded)
    return replace(opened, location=location, state=state)
