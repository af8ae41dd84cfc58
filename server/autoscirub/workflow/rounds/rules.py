"""Reading the rounds in the state directory, and the rules that decide how the loop goes on or ends.

Round N is `verification.json`, then `revision_plan.json`, then `change_summary.json`, in `revisions/round-NNN`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

from autoscirub.errors import AutoscirubError, CorruptError
from autoscirub.models import ChangeSummary, RevisionPlan, StateModel, VerificationReport
from autoscirub.store import decode
from autoscirub.workflow.rounds.waiting import failed, waiting_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import LoopEnding
    from autoscirub.store import Session

FOLDER = "revisions"
VERIFICATION, PLAN, SUMMARY = "verification.json", RevisionPlan.file_name, ChangeSummary.file_name
_PARTS: tuple[tuple[str, type[StateModel]], ...] = (
    (VERIFICATION, VerificationReport),
    (PLAN, RevisionPlan),
    (SUMMARY, ChangeSummary),
)
_NAME = re.compile(r"round-(?!0+$)(\d{3}|[1-9]\d{3,})")

Model = TypeVar("Model", bound=StateModel)

RoundStatus = Literal["open", "planned", "complete", "incomplete", "empty", "odd"]


@dataclass(frozen=True)
class Round:
    """One folder below `revisions/`. Only a known one is built upon; all are counted and shown."""

    name: str
    number: int | None
    """None: not named as a round is."""
    status: RoundStatus
    known: bool
    """Whether every part lies there exactly as the history has it."""
    problems: list[str] = field(default_factory=list)


def round_name(number: int) -> str:
    """`round-001`."""
    return f"round-{number:03}"


def read_rounds(session: Session) -> list[Round]:
    """Every folder below `revisions/`, well-formed ones by number, then the odd ones. Writes nothing."""
    folder = session.project.state.root / FOLDER
    recorded = {
        name.split("/")[1] for name in session.recorded_state() if name.startswith(f"{FOLDER}/round-")
    }
    names = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    rounds = [_read(session, name, lost=name not in names) for name in sorted(names | recorded)]
    return sorted(rounds, key=lambda entry: (entry.number is None, entry.number or 0, entry.name))


def _read(session: Session, name: str, *, lost: bool) -> Round:
    match = _NAME.fullmatch(name)
    if match is None:
        return Round(
            name, None, "odd", False, [f"{name}: is not named as a round is (round-001); left alone"]
        )
    number = int(match.group(1))
    if lost:
        return Round(name, number, "incomplete", False, [f"{name}: is gone, though the history has it"])
    present: dict[str, StateModel] = {}
    problems: list[str] = []
    known = True
    there = False
    for part, model in _PARTS:
        path = f"{FOLDER}/{name}/{part}"
        try:
            known = known and session.knows(path) == (session.recorded_file(f"state/{path}") is not None)
            data = session.project.state.read_bytes(path)
            if data is None:
                continue
            there = True
            value = _decoded(data, model, path)
        except AutoscirubError as error:
            problems.append(str(error).splitlines()[0])
            known, there = False, True
            continue
        if getattr(value, "round", number) != number:
            problems.append(f"{path}: says round {getattr(value, 'round', None)}")
            continue
        present[part] = value
    if not there:
        return Round(name, number, "empty", False, [f"{name}: holds no part of a round; left alone"])
    known = known and any(
        session.recorded_file(f"state/{FOLDER}/{name}/{part}") is not None for part, _ in _PARTS
    )
    if not known:
        problems.append(f"{name}: not in the history; counted, and nothing rests on it")
    return Round(name, number, _status(present, problems if known else []), known, problems)


def _status(present: dict[str, StateModel], problems: list[str]) -> RoundStatus:
    if VERIFICATION not in present or problems:
        return "incomplete"
    if SUMMARY in present and PLAN in present:
        return "complete"
    return "planned" if PLAN in present else "open"


def current_round(rounds: Sequence[Round]) -> Round | None:
    """The newest round that the history knows: the highest number, whatever the clocks say."""
    known = [entry for entry in rounds if entry.known and entry.number is not None]
    return known[-1] if known else None


def next_number(rounds: Sequence[Round]) -> int:
    """One above the highest well-formed folder, known or not, whole or not: nothing is written over."""
    return max((entry.number or 0 for entry in rounds), default=0) + 1


@dataclass(frozen=True)
class LoopState:
    """What decides whether a loop ends, after a verification."""

    report: VerificationReport
    previous: VerificationReport | None
    """The verification that was planned and revised upon; None when this one follows no revision."""
    reduced_by_agent: bool
    infeasible: frozenset[str]
    """Criteria that the reviser said cannot be met."""
    rounds_used: int
    rounds_allowed: int
    seconds_spent: float
    seconds_allowed: float | None


def ending_of(situation: LoopState) -> tuple[LoopEnding, str] | None:
    """How the loop ends now, and why; None when it goes on. The first rule that applies."""
    unmet = [result.criterion_id for result in situation.report.criteria if not result.satisfied]
    named = ", ".join(unmet[:8]) + (f" and {len(unmet) - 8} more" if len(unmet) > 8 else "")
    if failed(situation.report):
        return None  # a judge that cannot be reached ends no loop, and makes no round: it is asked again
    if situation.report.all_satisfied:
        if situation.reduced_by_agent:
            return (
                "satisfied_in_reduced_scope",
                "every criterion is satisfied, of a rubric that an agent changed",
            )
        return "satisfied", "every criterion is satisfied"
    waiting = waiting_for(situation.report)
    open_ = [name for name in unmet if name not in waiting]
    if waiting and not open_:
        return None  # a person goes on, and no revision does
    if open_ and situation.infeasible.issuperset(open_):
        return "infeasible", f"the reviser says that it cannot be done: {', '.join(open_[:8])}"
    if situation.previous is not None and _same_basis(situation.previous, situation.report):
        return "stalled", f"the revision changed nothing that is judged; still unmet: {named}"
    if situation.rounds_used >= situation.rounds_allowed:
        return (
            "budget_spent",
            f"rounds: {situation.rounds_used} of {situation.rounds_allowed} used; unmet: {named}",
        )
    if situation.seconds_allowed is not None and situation.seconds_spent >= situation.seconds_allowed:
        spent = f"{situation.seconds_spent:.0f} s of {situation.seconds_allowed:g} s spent"
        return "budget_spent", f"time: {spent}; unmet: {named}"
    return None


def _same_basis(one: VerificationReport, other: VerificationReport) -> bool:
    before = {result.criterion_id: result.rests_on for result in one.criteria}
    return all(before.get(result.criterion_id) == result.rests_on for result in other.criteria)


def recorded_model(session: Session, name: str, model: type[Model]) -> Model | None:
    """A state file as the history has it; None when it has none."""
    data = session.recorded_file(f"state/{name}")
    return _decoded(data, model, name) if data is not None else None


def _decoded(data: bytes, model: type[Model], name: str) -> Model:
    try:
        value: Model = _decoded_once(data, model)
    except CorruptError:
        return decode(data, model, name)  # the same error, under the file's own name
    return value


@lru_cache(maxsize=16)
def _decoded_once(data: bytes, model: type[Model]) -> Model:
    # A step reads the same few files several times. The model is shared between callers, so nobody may change it.
    return decode(data, model, model.file_name)
