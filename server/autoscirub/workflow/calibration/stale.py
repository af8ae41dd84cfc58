"""The recorded calibration: whether it is of the judge that is in use, and what it says in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, StateError
from autoscirub.judging.prompts import PROMPT_VERSION
from autoscirub.models import Calibration
from autoscirub.store import decode
from autoscirub.workflow.calibration.rates import rates_of
from autoscirub.workflow.judges import Questions

if TYPE_CHECKING:
    from autoscirub.store import Project, Session


@dataclass(frozen=True)
class JudgeInUse:
    """A judge, as far as it is known: configured, or by the verdicts that it gave."""

    backend: str
    model: str | None
    repeats: int
    agree: int
    prompt_version: str
    digest: str | None = None
    """Of all its settings, the backend's own among them; None: unknown."""
    served: frozenset[str] = frozenset()
    """The models that answered, as far as they were reported."""

    @classmethod
    def configured(cls, questions: Questions) -> JudgeInUse:
        """The project's judge as it would be asked now. Raises ConfigError as `Questions.settings` does."""
        config = questions.config
        return cls(
            config.backend, config.model, config.repeats, config.agree, PROMPT_VERSION, questions.judge_digest
        )


def stale_because(calibration: Calibration, judge: JudgeInUse) -> list[str]:
    """What differs between the judge that was calibrated and this one, in words; empty where nothing is known to."""
    panel = tuple(calibration.settings.get(key) for key in ("repeats", "agree"))
    pairs = (
        ("the backend", calibration.backend, judge.backend),
        ("the model", calibration.model, judge.model),
        ("the panel (members, alike)", panel, (judge.repeats, judge.agree)),
        ("the prompt's version", calibration.prompt_version, judge.prompt_version),
    )
    found = [f"{what} was {old or 'none'} and is {new or 'none'}" for what, old, new in pairs if old != new]
    if not found and judge.digest not in (None, calibration.judge):
        found = ["the backend's own settings changed"]
    served = calibration.models_served
    if served and (others := sorted(judge.served - set(served))):
        found.append(f"the model that answers was {', '.join(served)} and is {', '.join(others)}")
    return found


def calibration_line(calibration: Calibration, stale: list[str]) -> str:
    """The rates with their intervals, of which judge, and why they are stale. Counted anew from the answers."""
    rates = rates_of(calibration.cases)
    served = "/".join(calibration.models_served) or calibration.model
    answers = rates.true_positive.answers + rates.false_positive.answers
    inconclusive = rates.true_positive.inconclusive + rates.false_positive.inconclusive
    parts = [
        f"judge {calibration.backend}{f' ({served})' if served else ''} on {len(calibration.cases)} labelled cases × "
        f"{calibration.repeats}: true positive rate {rates.true_positive.words}, "
        f"false positive rate {rates.false_positive.words}",
        f"{inconclusive} of {answers} answers inconclusive",
    ]
    if rates.identical is not None:
        parts.append(f"all repeats agree on {rates.identical:.1%} of the cases")
    if calibration.missing:
        parts.append(f"{calibration.missing} answers are missing")
    # What takes the rest away comes first: a long line may be cut.
    return "; ".join([*([f"stale, since {' and '.join(stale)}"] if stale else []), *parts])


def recorded_calibration(session: Session) -> Calibration | None:
    """The calibration of the newest step; None where there is none that can be read. What a file says is no record."""
    name = Calibration.file_name
    data = session.recorded_file(f"state/{name}")
    try:
        return decode(data, Calibration, name) if data is not None else None
    except StateError:  # also one that a newer version wrote
        return None


def calibration_status(opened: Project, session: Session) -> str:
    """The recorded calibration held against the configured judge, in one line; empty where there is none."""
    calibration = recorded_calibration(session)
    if calibration is None:
        return ""
    try:
        stale = stale_because(calibration, JudgeInUse.configured(Questions(opened)))
    except AutoscirubError as error:
        stale = [str(error)]
    return calibration_line(calibration, stale)
