"""The results of read-only commands such as `status`: plain values that workflow and setup make, report renders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.models.decision import Decision
    from autoscirub.models.report import CriterionResult


@dataclass(frozen=True)
class FileFaults:
    """One file: the schema it was validated against (None: it has none), and its faults."""

    path: str
    schema: str | None
    faults: list[str] = field(default_factory=list)
    sha256: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Validation:
    """What `validate` found."""

    files: list[FileFaults]
    decisions: list[Decision]

    @property
    def ok(self) -> bool:
        """Whether no file has a fault."""
        return not any(file.faults for file in self.files)

    def facts(self) -> list[dict[str, Any]]:
        """The files as plain JSON data."""
        return [_file_facts(file) for file in self.files]


StepKind = Literal["restore", "freeze", "look"]
"""Something frozen was changed and is to be restored; something is to be frozen, or mended before; all else."""


@dataclass(frozen=True)
class NextStep:
    """The one thing to do next, and why."""

    command: str
    why: str
    kind: StepKind = "look"
    """What kind of step it is, for code that puts one before another."""


@dataclass(frozen=True)
class LoopView:
    """Where the loop of rounds stands, by its newest verification."""

    round: int
    status: str
    """Of the round: open, planned, complete or incomplete."""
    stale: bool
    """Whether what is judged has changed since."""
    ended: str | None
    """The word of the ending; None while the loop goes on."""
    unmet: list[CriterionResult]
    """The criteria that are not satisfied, and that work could satisfy."""
    inconclusive: dict[str, str]
    """The criteria that could not be judged, each with why: no work closes that."""
    targets: list[str] = field(default_factory=list)
    """The criteria that the open plan names."""
    other_failures: list[str] = field(default_factory=list)
    """What else did not hold, besides criteria and predictions, when it was last checked, each with its word."""
    waiting: str = ""
    """Who must do what, where nothing is open but what a person alone can do: the loop waits, and has not ended."""


@dataclass
class Status:
    """What `status` found. Reading it ran nothing and wrote nothing."""

    project: Path
    project_source: str
    state_dir: Path
    state_source: str
    state_exists: bool
    config_source: str | None
    policy: str | None
    """The file of the policy that holds here; None where there is none."""
    policy_source: str | None
    results: str
    results_exist: bool
    decisions: list[Decision]
    next: NextStep
    faults: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    files: list[FileFaults] = field(default_factory=list)
    calibration: str = ""
    """How often the judge is right on labelled cases, where that was measured; empty where it was not."""
    loop: LoopView | None = None
    """Where the loop of rounds stands; None before the first verification of a frozen rubric."""

    @property
    def ok(self) -> bool:
        """Whether nothing is at fault. Work that is still to be done is not a fault."""
        return not self.faults

    def facts(self) -> dict[str, Any]:
        """Everything but the decisions, as plain JSON data."""
        return {
            "project": {"path": str(self.project), "source": self.project_source},
            "state_dir": {
                "path": str(self.state_dir),
                "source": self.state_source,
                "exists": self.state_exists,
            },
            "config": self.config_source,
            "policy": {"path": self.policy, "source": self.policy_source} if self.policy else None,
            "results": {"path": self.results, "exists": self.results_exist},
            "files": [_file_facts(file) for file in self.files],
            "faults": self.faults,
            "notices": self.notices,
            "calibration": self.calibration or None,
            "next": {"command": self.next.command, "why": self.next.why},
        }


@dataclass(frozen=True)
class Evaluation:
    """An expression's value as strict JSON can hold it, or why it has none."""

    decision: Decision
    value: Any
    message: str
    status: int
    """The exit status of `eval`: 0 True or no boolean, 1 False, 2 could not be evaluated."""


@dataclass(frozen=True)
class Trust:
    """The programs that a project's files name (by key), and whether exactly those may run here."""

    programs: dict[str, list[str]]
    digest: str | None
    trusted: bool
    project: str
    decision: Decision
    sends_to: str = ""
    """To whom the judge sends what it is shown; empty where nothing leaves this machine."""


def _file_facts(file: FileFaults) -> dict[str, Any]:
    return {"path": file.path, "schema": file.schema, "faults": file.faults, "note": file.note}
