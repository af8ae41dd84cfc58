"""The inputs that criteria are decided on: results, report, artifacts, numbers, the rerun and the judge's answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks.artifacts import ABSENT, printable
from autoscirub.errors import PathRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autoscirub.checks.results import Results
    from autoscirub.errors import ResultsError
    from autoscirub.models import CitedEvidence, Criterion, Decision, Evidence

ArtifactKey = tuple[str, str | None]
"""A path relative to the project root, and the format that was asked for; None: by the suffix."""

NOT_THERE = "is not there"
NOT_ASKED = "not asked"
"""The word of a reading for which no judge could be asked: it is not trusted here."""
WAITING = "waiting for a person"
"""The word of a reading for which a person is to be asked, and nobody was there."""
CAPPED = "asked often enough"
"""The word of a reading for which `judge.asks_per_round` was used up: a revision opens a round, and the next ask."""
LOOKUP_ONLY = "not asked here"
"""The word of a reading where a command only looked, and asks nobody."""
ERROR = "error"
"""The word of a reading for which the judge failed."""
NO_ANSWER = (NOT_ASKED, WAITING, CAPPED, LOOKUP_ONLY)
"""Words of a reading that is no answer, so that it is never reused as one."""


@dataclass(frozen=True)
class JudgeAnswer:
    """A judge's answer on one criterion, as far as it counts, or why there is none."""

    decision: Decision
    """Its `inputs_digest` is the verdict's key: everything that it rests on."""
    found: list[str] = field(default_factory=list)
    gap: str = ""
    actions: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    evidence: list[CitedEvidence] = field(default_factory=list)
    error: bool = False
    """Whether the judge gave no verdict: its failure, not the work's, and never cached."""


@dataclass(frozen=True)
class Inputs:
    """Everything that criteria are decided on. `gather` reads it; the rest is pure."""

    results: Results | ResultsError
    report: Evidence | None
    """Path and digest; without a digest, `note` says why it cannot be read. None when there is no report."""
    artifacts: Mapping[ArtifactKey, Decision | PathRefused]
    """The answer on every path that the rubric's checks and expected artifacts name."""
    judge: Mapping[str, Any]
    """The settings that a reading would rest on."""
    numbers: Mapping[tuple[str, str], Decision] = field(default_factory=dict)
    """The answer of each numbers check, by criterion and check id."""
    rerun: Decision | None = None
    """What is known of a rerun; None where nothing says how to run."""
    judge_material: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By criterion: what a judge would see and be asked, each thing with its digest. Empty without a judge."""
    judge_answers: Mapping[str, JudgeAnswer] = field(default_factory=dict)
    """By criterion: what the judge answered on it."""
    digests: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Digests of values of the results by their reference, shared by all criteria."""


def artifact_keys(criterion: Criterion) -> Iterator[ArtifactKey]:
    """What the criterion's artifact checks and its expected artifacts with a path ask for, in their order."""
    for check in criterion.checks:
        if check.kind == "artifact":
            yield check.path, check.format
    for artifact in criterion.expected_artifacts:
        if artifact.path:
            yield artifact.path, None


def artifact_state(found: Decision | PathRefused) -> str:
    """What an answer on an artifact says besides its bytes: why it fails, what is worth a look; else empty.

    Of a missing file nothing but that: the names of its neighbours, which the Decision lists as a hint, are
    no part of what a criterion rests on.
    """
    if isinstance(found, PathRefused):
        return str(found)
    path = printable(found.subject)
    if any(entry.status == ABSENT for entry in found.evidence):
        return f"{path}: {NOT_THERE}"
    return "; ".join([*(f"{path}: {entry.note}" for entry in found.evidence if entry.note), *found.open])
