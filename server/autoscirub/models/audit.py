"""The results of auditing a project's record: plain values that workflow makes and report renders."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from autoscirub.models.decision import Answer, Decision

if TYPE_CHECKING:
    from autoscirub.models.manifest import Ended, ScopeChange, Unfreeze


@dataclass(frozen=True)
class Claim:
    """A text of a criterion, and the check that claims to settle it."""

    text: str
    check: str
    """The check's id, and what it asks for."""


@dataclass(frozen=True)
class Unread:
    """A requirement that code alone decided: no judge and no person read it."""

    criterion_id: str
    requirement: str
    answer: Answer
    claims: list[Claim]
    checks: list[str]
    """What decided it and claims no text: the requirement's words rest on nothing but these."""


@dataclass(frozen=True)
class Anchored:
    """The newest anchor that the record names. That it is held there, only whoever holds it can say."""

    head: str
    where: str
    at: str
    rounds_after: list[int]
    """Rounds that were verified after the anchored step."""


@dataclass
class Basis:
    """What the newest conclusions rest on."""

    round: int | None = None
    """The round that the counts below are of; None: no criterion was verified yet."""
    criteria: int = 0
    decided: dict[str, int] = field(default_factory=dict)
    """`code`, `judge`, …, `nobody` (inconclusive), `error` -> how many criteria."""
    reused: dict[int, int] = field(default_factory=dict)
    """Round -> how many of its answers are still used."""
    unread: list[Unread] = field(default_factory=list)
    predictions: Decision | None = None
    headline: str = ""
    """The predictions' outcome with its qualifications, or why there is none."""
    freeze: str = ""
    """Whether the predictions were frozen before or after results were there."""
    unfreezes: list[Unfreeze] = field(default_factory=list)
    rerun: str = ""
    """How the newest rerun came out, when, and how isolated it ran; empty: there was none."""
    not_done: list[str] = field(default_factory=list)
    """`not judged`, `not rerun`."""
    scope_changes: list[ScopeChange] = field(default_factory=list)
    asks: str = ""
    calibration: str = ""
    """How often the judge is right on labelled cases; empty without a judge's verdict and a calibration."""
    families: str = ""
    """Who judged and who revised, by model family; empty where nobody judged."""
    concerns: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """The judge's own, of each verdict that the newest conclusions rest on."""
    """What the newest verdicts of a judge are doubted for, such as text that addresses a judge."""
    notices: list[str] = field(default_factory=list)
    """Every problem ever found with the history, and those it has now."""
    anchor: Anchored | None = None
    unanchored: list[int] = field(default_factory=list)
    """Rounds that no recorded anchor covers."""
    forgeable: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RoundColumn:
    """One round that the record has."""

    number: int
    at: str
    verified: int
    """How many times; the newest one is listed."""
    passed: int
    failed: int
    ended: Ended | None = None


@dataclass(frozen=True)
class Cell:
    """One criterion's answer in one round."""

    answer: Answer
    status: str
    reused_from: int | None = None


@dataclass(frozen=True)
class CriterionRow:
    """One criterion over all rounds; None where the round's rubric did not have it."""

    criterion_id: str
    cells: list[Cell | None]


@dataclass(frozen=True)
class Flip:
    """A criterion whose answer differs between two rounds, and why."""

    criterion_id: str
    before_round: int
    after_round: int
    before: Cell
    after: Cell
    because: list[str]
    """What its answer rests on that changed."""
    gone: list[str]
    """What was reported of it before: the gap, or the evidence."""
    come: list[str]
    """What is reported of it after."""


@dataclass
class Between:
    """What happened between two rounds; before the first, and after the last, one side is None."""

    before: int | None
    after: int | None
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    """What the plan asked for: criterion ids."""
    reviser_notes: list[str] = field(default_factory=list)
    """What the reviser reported that it did, or could not do."""
    steps: list[str] = field(default_factory=list)
    """Freezes, changes of scope and settings, void revisions, endings and going on, oldest first."""


@dataclass
class Audit:
    """The record of a project. Reading it wrote and ran nothing."""

    project: str
    state_dir: str
    head: str
    steps: int
    first_at: str
    last_at: str
    basis: Basis
    rounds: list[RoundColumn] = field(default_factory=list)
    criteria: list[CriterionRow] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """Round folders that are incomplete, oddly named, or not as the history has them."""
    flips: list[Flip] = field(default_factory=list)
    between: list[Between] = field(default_factory=list)
    ended: Ended | None = None
    decisions: list[Decision] = field(default_factory=list)
    """The newest recorded conclusions."""

    def facts(self) -> dict[str, Any]:
        """Everything but the decisions, as plain JSON data."""
        data: dict[str, Any] = as_data(self)
        data.pop("decisions")
        data["basis"]["predictions"] = self.basis.predictions.word if self.basis.predictions else None
        return data


@dataclass(frozen=True)
class AuditFinding:
    """One thing that the verification of a record found."""

    group: str
    """What was asked, such as `answers`; see `RecordVerified`."""
    answer: Answer
    where: str
    """The file, step or criterion."""
    message: str


@dataclass
class RecordVerified:
    """The result of checking a record against itself and against the files."""

    head: str
    steps: int
    findings: list[AuditFinding]
    decisions: list[Decision]
    """One for each group of findings, over everything that was checked in it."""
    cannot_show: list[str]

    @property
    def ok(self) -> bool:
        """Whether nothing was at fault. What could not be checked here is not a fault."""
        return not any(finding.answer is Answer.DOES_NOT_HOLD for finding in self.findings)

    def facts(self) -> dict[str, Any]:
        """Everything but the decisions, as plain JSON data."""
        data: dict[str, Any] = as_data(self)
        data.pop("decisions")
        return data


@dataclass(frozen=True)
class Exported:
    """What `audit export` wrote."""

    path: str
    head: str
    files: list[str]


def as_data(value: Any) -> Any:
    """Dataclasses, models and enums in `value` as plain JSON data."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: as_data(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, dict):
        return {str(as_data(key)): as_data(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_data(entry) for entry in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, PurePath) else value
