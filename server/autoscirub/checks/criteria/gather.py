"""Reads everything that a rubric's criteria are decided on, each file once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import check_artifacts
from autoscirub.checks.criteria.inputs import ArtifactKey, Inputs, artifact_keys, artifact_state
from autoscirub.checks.criteria.known_artifacts import known_artifacts
from autoscirub.checks.numbers import decide_numbers
from autoscirub.checks.report_file import find_report
from autoscirub.checks.results import Results, find_results, load_results
from autoscirub.errors import CheckError, PathRefused, ResultsError
from autoscirub.models import Answer, Decision, Evidence, NumbersConfig, now

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autoscirub.checks.criteria.decide import CachedResult
    from autoscirub.models import ExecutableRubric, ProjectConfig, RubricNumbers
    from autoscirub.store import Project

_Ignored = Callable[[list[str]], set[str]]
_Progress = Callable[[int, int], None]


def gather(
    project: Project,
    rubric: ExecutableRubric,
    *,
    cached: Mapping[str, CachedResult] | None = None,
    ignored: _Ignored | None = None,
    progress: _Progress | None = None,
    rerun: Decision | None = None,
) -> Inputs:
    """Read the project once for all criteria of `rubric`. `rerun` is what is known of a rerun.

    With `cached` results, an artifact whose bytes are as they were is not opened again: its digest is taken, and
    no more. `ignored` says which of some paths git ignores, and is asked once; `progress` is called with how many
    files were opened, and of how many. Results that cannot be read are no error here. Raises ConfigError where two
    files could be the results, or two the report.
    """
    root, config = project.root, project.config
    report = find_report(root, config.report)
    keys = dict.fromkeys(key for criterion in rubric.criteria for key in artifact_keys(criterion))
    known = known_artifacts(root, rubric, cached) if cached else {}
    asked = [*keys, *([(report, None)] if report and (report, None) not in keys else [])]
    found = _look(root, asked, known, ignored, progress)
    return Inputs(
        results=_results(project),
        report=_report(found[report, None]) if report else None,
        artifacts={key: found[key] for key in keys},
        judge={name: getattr(config.judge, name) for name in ("backend", "model", "repeats", "agree")},
        numbers=numbers_of(root, config, rubric),
        rerun=rerun,
    )


def numbers_of(
    root: Path, config: ProjectConfig, rubric: ExecutableRubric
) -> dict[tuple[str, str], Decision]:
    """The answer of each numbers check of `rubric`; checks that ask the same are answered once."""
    answers: dict[str, Decision] = {}
    found: dict[tuple[str, str], Decision] = {}
    for criterion in rubric.criteria:
        for check in criterion.checks:
            if check.kind == "numbers":
                asked = _asked(check, config.numbers)
                name = f"{check.report} {asked.model_dump_json()}"
                if name not in answers:
                    answers[name] = _numbers(root, config, asked, check.report)
                found[criterion.criterion_id, check.id] = answers[name]
    return found


def _asked(check: RubricNumbers, config: NumbersConfig) -> NumbersConfig:
    """A check's own settings, and the configuration's where it has none. What is set aside or bound adds up."""
    return NumbersConfig(
        sources=check.sources or config.sources,
        strict=config.strict if check.strict is None else check.strict,
        bindings={**config.bindings, **check.bindings},
        set_aside=[*config.set_aside, *check.set_aside],
    )


def _numbers(root: Path, config: ProjectConfig, asked: NumbersConfig, report: str | None) -> Decision:
    try:
        return decide_numbers(root, config, asked, report=report).decision
    except CheckError as error:
        # A rubric need not have been linted, and what it asks for may not be there to be asked.
        return Decision(
            subject=report or "report",
            question="Is every number in the report found in the results?",
            answer=Answer.INCONCLUSIVE,
            word="inconclusive",
            open=[str(error).replace(f"{root}/", "")],
            at=now(),
        )


def _look(
    root: Path,
    asked: list[ArtifactKey],
    known: dict[ArtifactKey, Decision],
    ignored: _Ignored | None,
    progress: _Progress | None,
) -> Mapping[ArtifactKey, Decision | PathRefused]:
    names: set[str] | None = None

    def ask(paths: list[str]) -> set[str]:
        nonlocal names
        if names is None:
            names = ignored(sorted({*paths, *(path for path, _ in known)})) if ignored else set()
        return names

    def look(
        keys: list[ArtifactKey], progress: _Progress | None
    ) -> dict[ArtifactKey, Decision | PathRefused]:
        return dict(zip(keys, check_artifacts(root, keys, progress, ignored=ask), strict=True))

    found = {**known, **look([key for key in asked if key not in known], progress)}
    # A file that git ignores by now needs that note, so it is inspected as if nothing were known.
    if known and (again := [key for key in known if key[0] in ask([])]):
        found |= look(again, None)
    return found


def _results(project: Project) -> Results | ResultsError:
    path = find_results(project.root, project.config.results)
    try:
        return load_results(project.root, path, limit=project.config.limits.results_bytes)
    except ResultsError as error:
        # What is said of a criterion is recorded and shared: no path of this machine belongs in it.
        return ResultsError(str(error).replace(f"{project.root}/", ""))


def _report(found: Decision | PathRefused) -> Evidence:
    if isinstance(found, PathRefused):
        return Evidence(note=str(found))
    [seen] = found.evidence
    if seen.sha256 is not None:
        return Evidence(path=seen.path, sha256=seen.sha256, size=seen.size)
    return Evidence(path=seen.path, note=artifact_state(found))
