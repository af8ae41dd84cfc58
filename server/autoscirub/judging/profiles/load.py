"""Loads the profile that says which files a judge may see: a built-in one, or one that the project configures."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.checks import find_report, result_places
from autoscirub.checks.artifacts import path_faults
from autoscirub.checks.predictions import LOCK_NAME, PREDICTIONS_NAME
from autoscirub.errors import BlindingError
from autoscirub.judging.profiles.patterns import Patterns
from autoscirub.judging.profiles.rules import NO_RULE, Rule, folded, rule_for
from autoscirub.models import ProfileConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoscirub.models import Criterion, ProjectConfig
    from autoscirub.store import Project

HYPOTHESIS = "hypothesis"
CRITERION = "criterion"

HYPOTHESIS_FILES = (
    "QUESTION.md",
    PREDICTIONS_NAME,
    LOCK_NAME,
    "run.py",
    "src/",
    "pixi.toml",
    "results/",
)
"""What `hypothesis` shows, and the results file where it lies elsewhere: the code's decision rests on that file."""

_THE_REPORT = "report.md"
_RENDERED = frozenset(
    (".md", ".markdown", ".qmd", ".rmd", ".rst", ".tex", ".html", ".htm", ".pdf", ".docx", ".odt", ".ipynb")
)
"""A report in another of these is still the write-up. Not .txt and .json, which many programs call their results."""
_REPORT = Rule("the report", compared=True)
_EXCLUDED = Rule("excluded by the profile", compared=True)
_CONFIGURATION = Rule("configuration", compared=True)


@dataclass(frozen=True)
class Profile:
    """Which files a judge may see: those allowed that the criterion, if any, names, without the withheld ones."""

    name: str
    allowed: Patterns
    named: Patterns
    excluded: Patterns = field(default_factory=Patterns)
    links: frozenset[str] = frozenset()
    """Links that may be followed out of the project, by exact name: a pattern would also match one planted later."""
    blind: bool = True
    """Whether the report is withheld."""
    report: str | None = None
    configuration: str | None = None

    def withholds(self, path: str) -> Rule:
        """Why the file or folder at `path` is withheld, by its own name; its parent folders are not checked."""
        rule = rule_for(path)
        if rule is not NO_RULE:
            return rule
        if self.blind and self._is_report(path):
            return _REPORT
        if self.configuration is not None and path == self.configuration:
            return _CONFIGURATION
        return _EXCLUDED if self.excluded.holds(path) else NO_RULE

    def _is_report(self, path: str) -> bool:
        whole = folded(path)
        if self.report is not None and whole == folded(self.report):
            return True
        stem, suffix = posixpath.splitext(whole)
        if suffix not in _RENDERED:
            return False
        usual = stem.rpartition("/")[2] == posixpath.splitext(_THE_REPORT)[0]
        return usual or (self.report is not None and stem == posixpath.splitext(folded(self.report))[0])

    def follows(self, path: str) -> bool:
        """Whether the link at `path` may lead out of the project: it, or something below it, is named."""
        return any(named == path or named.startswith(f"{path}/") for named in self.links)


def profile_names(config: ProjectConfig) -> list[str]:
    """The names of all profiles: the built-in ones and the project's own."""
    return sorted({HYPOTHESIS, CRITERION, *config.profiles})


def load_profile(project: Project, name: str, criterion: Criterion | None = None) -> Profile:
    """The profile `name` of a project, for one criterion where one is given.

    A project's own profile starts from `hypothesis`: blind to the report unless its `include` names the
    report word for word. Raises BlindingError for a profile that is not there, a path in it that leaves the
    project, and `hypothesis` with a criterion; ConfigError where two reports or results files disagree.
    """
    config = project.config
    own = config.profiles.get(name)
    if own is None and name not in {HYPOTHESIS, CRITERION}:
        raise BlindingError(
            f"no profile {name!r}; there are {', '.join(profile_names(config))}; "
            f"add [profiles.{name}] to the configuration, or name one of these"
        )
    if name == HYPOTHESIS and criterion is not None:
        raise BlindingError(
            f"the profile {HYPOTHESIS} is not about a criterion, and {criterion.criterion_id!r} was named; "
            f"leave the criterion out, or use the profile {CRITERION}"
        )
    own = own or ProfileConfig()
    for key in ("include", "exclude", "links"):
        _refuse_outside(name, key, getattr(own, key))
    if own.include:
        allowed = Patterns(own.include)
    elif name == CRITERION:
        allowed = Patterns(["."])
    else:
        allowed = Patterns([*HYPOTHESIS_FILES, *result_places(config.results)])
    sources = list(_sources(criterion))
    named = [] if criterion is None else list(_named(project.root, config, criterion, sources))
    if criterion is not None and named:
        report = find_report(project.root, config.report)
        named += [report] if report is not None else []
    report_visible = name == CRITERION or any(
        folded(Patterns.plain(entry)) == folded(config.report or _THE_REPORT) for entry in own.include
    )
    source = project.location.config.source
    # What a judge replied before is an earlier verdict. The project's own folder would take everything along.
    recorded = Patterns.plain(config.judge.replay or ".")
    replies = [] if recorded == "." else [Patterns.literal(recorded)]
    return Profile(
        name,
        allowed,
        Patterns(named or ["."]),
        # The rubric is on the trusted side: what the other criteria ask, and their weights, are no evidence.
        Patterns([*own.exclude, *replies, *((config.rubric_file, LOCK_NAME) if name == CRITERION else ())]),
        frozenset(Patterns.plain(entry) for entry in (*own.links, *sources)),
        blind=name == HYPOTHESIS or not report_visible,
        report=Patterns.plain(config.report) if config.report else None,
        configuration=source,
    )


def _refuse_outside(name: str, key: str, entries: list[str]) -> None:
    for number, entry in enumerate(entries, 1):
        if (fault := path_faults(entry)) is not None:
            raise BlindingError(
                f"[profiles.{name}] {key}, entry {number}: {fault}; expected files, folders or patterns of the project"
            )


def _sources(criterion: Criterion | None) -> Iterator[str]:
    """The data sources that could be paths of the project; the others are descriptions, such as a data set's name."""
    for entry in criterion.data_sources if criterion is not None else ():
        if path_faults(entry) is None:
            yield entry


def _named(root: Path, config: ProjectConfig, criterion: Criterion, sources: list[str]) -> Iterator[str]:
    """The files that a criterion names; without any, it is about everything that the profile allows.

    A data source counts where a file or folder of that name exists, or as a pattern with a `*`. An expression names
    keys, not files: it adds the results where other files are named, and does not narrow the selection by itself.
    """
    for entry in sources:
        pattern = "*" in entry and not any(character.isspace() for character in entry)
        if pattern or os.path.lexists(root / entry):
            yield entry
    paths = [artifact.path for artifact in criterion.expected_artifacts]
    results = False
    for check in criterion.checks:
        if check.kind == "artifact":
            paths.append(check.path)
        elif check.kind == "expr":
            results = True
        elif check.kind == "numbers":
            paths.append(check.report)
            for entry in check.sources:
                if entry == "predictions":
                    paths.append(PREDICTIONS_NAME)
                elif entry.endswith((".csv", ".tsv", ".json")):
                    paths.append(entry)
                else:
                    results = True
            results = results or not check.sources
    named = [Patterns.literal(path) for path in paths if path is not None and path_faults(path) is None]
    yield from named
    if results and (named or any(True for _ in _there(root, sources))):
        yield from result_places(config.results)


def _there(root: Path, sources: list[str]) -> Iterator[str]:
    return (entry for entry in sources if os.path.lexists(root / entry) or "*" in entry)
