"""What criteria are decided on: the results, the report and every artifact, each read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks.artifacts import check_artifacts
from autoscirub.checks.artifacts.paths import shown
from autoscirub.checks.report_file import find_report
from autoscirub.checks.results import Results, find_results, load_results
from autoscirub.errors import PathRefused, ResultsError
from autoscirub.models import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from autoscirub.models import Criterion, Decision, ExecutableRubric
    from autoscirub.store import Project

__all__ = ["NOT_THERE", "ArtifactKey", "Inputs", "artifact_keys", "artifact_state", "gather"]

ArtifactKey = tuple[str, str | None]
"""A path relative to the project root, and the format that was asked for; None: by the suffix."""

NOT_THERE = "is not there"
_UNLISTED = " is empty or cannot be listed"


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
    digests: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Digests of values of the results by their reference, kept from one criterion to the next."""


def artifact_keys(criterion: Criterion) -> Iterator[ArtifactKey]:
    """What the criterion's artifact checks and its expected artifacts with a path ask for, in their order."""
    for check in criterion.checks:
        if check.kind == "artifact":
            yield check.path, check.format
    for artifact in criterion.expected_artifacts:
        if artifact.path:
            yield artifact.path, None


def gather(
    project: Project,
    rubric: ExecutableRubric,
    *,
    ignored: Callable[[list[str]], set[str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Inputs:
    """Read the project once for all criteria of `rubric`.

    `ignored` says which of some paths git ignores; `progress` is called with how many files are done, and of
    how many. Results that cannot be read are no error here. Raises ConfigError where two files could be the
    results, or two the report.
    """
    root, config = project.root, project.config
    report = find_report(root, config.report)
    keys = list(dict.fromkeys(key for criterion in rubric.criteria for key in artifact_keys(criterion)))
    asked = list(dict.fromkeys([*keys, *([(report, None)] if report else [])]))
    found = dict(zip(asked, check_artifacts(root, asked, progress, ignored=ignored), strict=True))
    return Inputs(
        results=_results(project),
        report=_report(found[report, None]) if report else None,
        artifacts={key: found[key] for key in keys},
        judge=config.judge.model_dump(mode="json"),
    )


def _results(project: Project) -> Results | ResultsError:
    path = find_results(project.root, project.config.results)
    try:
        return load_results(project.root, path, limit=project.config.limits.results_bytes)
    except ResultsError as error:
        # What is said of a criterion is kept and travels: no place of this machine belongs in it.
        return ResultsError(str(error).replace(f"{project.root}/", ""))


def _report(found: Decision | PathRefused) -> Evidence:
    if isinstance(found, PathRefused):
        return Evidence(note=str(found))
    [seen] = found.evidence
    if seen.sha256 is not None:
        return Evidence(path=seen.path, sha256=seen.sha256, size=seen.size)
    return Evidence(path=seen.path, note=artifact_state(found))


def artifact_state(found: Decision | PathRefused) -> str:
    """What an answer on an artifact says besides its bytes: why it fails, what is worth a look; else empty.

    Of a missing file nothing but that: the names of its neighbours, which the Decision lists as a hint, are
    no part of what a criterion rests on.
    """
    if isinstance(found, PathRefused):
        return str(found)
    path = shown(found.subject)
    notes = [entry.note for entry in found.evidence if entry.note]
    said = "; ".join([*(f"{path}: {note}" for note in notes), *found.open])
    if said.startswith(f"{path}: missing: ") and ("; it holds " in said or said.endswith(_UNLISTED)):
        return f"{path}: {NOT_THERE}"
    return said
