"""What `init` found in a project and what it chose: plain values that setup makes and report renders."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import Any, Literal

Subject = Literal["report", "results", "run"]
SUBJECTS: tuple[Subject, ...] = ("report", "results", "run")

Value = str | tuple[str, ...]
"""A path from the project's folder, or for `run` a program and its arguments."""

_KEYS = {"report": "report = {}", "results": "results = {}", "run": "[run] command = {}"}


def display_value(value: Value) -> str:
    """A value as people write it: a path as it is, a command as a shell would read it."""
    return value if isinstance(value, str) else shlex.join(value)


@dataclass(frozen=True)
class Candidate:
    """One thing that may be the report, the results or the run command, and why."""

    value: Value
    reason: str
    rank: int
    """Higher is better. Two of the same rank are equally good."""
    last_resort: bool = False
    """Only where somebody agrees to it."""
    inputs: tuple[str, ...] = ()
    """Of a run command: the data files that its program plainly names."""

    @property
    def display(self) -> str:
        """The value as people write it."""
        return display_value(self.value)


@dataclass
class Discovered:
    """The candidates for each subject, best first; and how far the search went."""

    report: list[Candidate] = field(default_factory=list)
    results: list[Candidate] = field(default_factory=list)
    run: list[Candidate] = field(default_factory=list)
    files: int = 0
    cut: bool = False
    """Whether there were more files than are searched."""

    def of(self, subject: Subject) -> list[Candidate]:
        """The candidates for `subject`."""
        return {"report": self.report, "results": self.results, "run": self.run}[subject]


@dataclass(frozen=True)
class SetupQuestion:
    """What is to be chosen, and from what."""

    subject: Subject
    candidates: tuple[Candidate, ...]
    lead: str = ""
    """The text printed before the first question: which project this is, and how it was searched."""

    @property
    def equal(self) -> list[Candidate]:
        """The best ones: more than one where they are equally good."""
        return [one for one in self.candidates if one.rank == self.candidates[0].rank]

    @property
    def best(self) -> Candidate | None:
        """The one that is better than all others."""
        return self.equal[0] if len(self.equal) == 1 else None

    def setting(self, value: Value) -> str:
        """`value` as a line of the configuration."""
        plain = value if isinstance(value, str) else list(value)
        return _KEYS[self.subject].format(json.dumps(plain, ensure_ascii=False))


@dataclass(frozen=True)
class Choice:
    """The choice made for one subject: the value (None: none), who made it, and why."""

    value: Value | None
    how: Literal["flag", "answer", "found", "open", "config"]
    why: str


@dataclass
class Initialised:
    """What was found, chosen and written, what existed already, and what belongs in git."""

    project: str
    found: Discovered = field(default_factory=Discovered)
    taken: dict[Subject, Choice] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    commit: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    next: str = "fill in prereg.toml, then: autoscirub freeze --dry-run"

    def facts(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        found: dict[str, Any] = {
            subject: {
                "taken": taken.value,
                "how": taken.how,
                "why": taken.why,
                "candidates": [{"value": one.value, "reason": one.reason} for one in self.found.of(subject)],
            }
            for subject, taken in self.taken.items()
        }
        found |= {"inputs": self.inputs, "outputs": self.outputs, "files_seen": self.found.files}
        return {
            "project": self.project,
            "made": self.made,
            "kept": self.existing,
            "commit": self.commit,
            "notes": self.notes,
            "next": self.next,
            "found": found,
        }
