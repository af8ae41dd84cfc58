"""Runs the numbers check: reads the report and its sources, classifies each number, and decides."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import path_faults, printable, project_root
from autoscirub.checks.numbers.bindings import apply_bindings
from autoscirub.checks.numbers.classify import classify
from autoscirub.checks.numbers.extract import Format, extract_numbers, read_prose
from autoscirub.checks.numbers.gather import gather_sources
from autoscirub.checks.numbers.labels import mark_labels
from autoscirub.checks.report_file import find_report
from autoscirub.errors import CheckError
from autoscirub.models import (
    Answer,
    Decision,
    Evidence,
    NumberClass,
    NumbersConfig,
    ReportNumber,
    now,
    strict_json,
)
from autoscirub.store import load_config, read_regular, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoscirub.models import ProjectConfig

REPORT_LIMIT = 2 * 1024 * 1024
"""Bytes of a report; a notebook, which may hold pictures, may have NOTEBOOK_LIMIT."""
NOTEBOOK_LIMIT = 32 * 1024 * 1024
PROBLEMS = "problems"
"""In the value of a Decision's first evidence: how many things besides numbers are open."""
_LISTED = 200
"""Lines of one kind in a Decision; `numbers` holds all."""

FORMATS: dict[str, Format] = {
    ".md": "markdown", ".markdown": "markdown", ".qmd": "quarto", ".rmd": "quarto", ".tex": "latex",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".ipynb": "notebook",
}  # fmt: skip
"""Suffix -> how the report is read; any other as plain text."""


@dataclass(frozen=True)
class NumbersFound:
    """The Decision, and every number that it is about, in the report's order."""

    decision: Decision
    numbers: list[ReportNumber] = field(repr=False)
    wrong: list[ReportNumber] = field(default_factory=list, repr=False)
    """Those for which it does not hold."""
    unsettled: list[ReportNumber] = field(default_factory=list, repr=False)
    """Those for which it is inconclusive."""
    problems: list[str] = field(default_factory=list, repr=False)
    """What else it is inconclusive for, such as a source that cannot be read."""

    @property
    def set_aside_counts(self) -> str:
        """How many numbers were not looked for, and why, in one line: `7 (2 year, 3 citation, 2 code)`."""
        reasons = Counter(number.reason for number in self.numbers if number.cls is NumberClass.SET_ASIDE)
        per_reason = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
        return f"{reasons.total():,} ({per_reason})" if reasons else ""


def check_numbers(
    project: str | Path,
    *,
    report: str | None = None,
    sources: Sequence[str] | None = None,
    strict: bool | None = None,
    bindings: Mapping[str, str] | None = None,
    set_aside: Sequence[str] | None = None,
) -> NumbersFound:
    """Whether every number in the report is found in the results.

    `report`: path from the project root; default: the configured one, else report.md. `sources`: any of `results`
    (or one of its keys, such as `results.model`), `predictions`, and paths of .csv, .tsv and .json files; default:
    results and predictions. `bindings`: snippet of the report -> key. `set_aside`: regular expressions are not taken;
    a number whose text, or whose line's text, holds one of these strings is set aside. What is None is as `[numbers]`
    of the configuration says.

    Holds when every number is bound, matched, ambiguous or set aside, and at least one is bound or matched. Does not
    hold when a bound number is wrong and, under `strict`, when one is without source. What could not be read, no
    number, a number without source, one that is lost in a crowd of sources and, under `strict`, one that could be
    several different values are inconclusive. Raises CheckError for a project or argument that cannot be used.
    """
    root = Path(project_root(project))
    config = load_config(root).values
    asked = NumbersConfig(
        sources=config.numbers.sources if sources is None else list(sources),
        strict=config.numbers.strict if strict is None else strict,
        bindings=dict(config.numbers.bindings if bindings is None else bindings),
        set_aside=list(config.numbers.set_aside if set_aside is None else set_aside),
    )
    return decide_numbers(root, config, asked, report=report)


def decide_numbers(
    root: Path, config: ProjectConfig, asked: NumbersConfig, *, report: str | None = None
) -> NumbersFound:
    """`check_numbers` with its settings at hand: of `config` only where the report and the results are."""
    name = report or find_report(root, config.report)
    if name is None:
        return _inconclusive("report", ["there is no report: write report.md, or say which file it is"])
    if (fault := path_faults(name)) is not None:
        raise CheckError(fault)
    limit = NOTEBOOK_LIMIT if name.lower().endswith(".ipynb") else REPORT_LIMIT
    try:
        data = read_regular(root / name, limit=limit, within=root, error=CheckError)
        if data is None:
            return _inconclusive(name, [f"{name}: is not there"])
        occurrences = extract_numbers(
            read_prose(_decoded(data), FORMATS.get(Path(name).suffix.lower(), "text"))
        )
        gathered = gather_sources(root, config, asked.sources)
    except CheckError as error:
        return _inconclusive(name, [str(error).replace(f"{root}/", "")])
    opened = list(gathered.problems)
    if any(file.sha256 == sha256_bytes(data) for file in gathered.files):
        opened.append(f"{name}: is itself a source of its numbers, so that each of them is found")
    opened += [
        f"{name}:{place} a text from elsewhere was not read: {printable(snippet, 80)}"
        for place, snippet in occurrences.elsewhere[:_LISTED]
    ]
    opened += [
        f"{name}:{line} the marker ={printable(key)} has no number before it"
        for line, key in occurrences.loose[:_LISTED]
    ]
    mark_labels(occurrences, gathered.labels)
    opened += apply_bindings(occurrences, asked.bindings)
    numbers = classify(occurrences, gathered.sources, asked.set_aside)
    how = strict_json([asked.strict, sorted(asked.bindings.items()), asked.set_aside, asked.sources])
    digest = hashlib.sha256()
    for part in (sha256_bytes(data), *(f"{file.path} {file.sha256}" for file in gathered.files), how):
        digest.update(part.encode() + b"\n")
    own = Evidence(path=name, sha256=sha256_bytes(data), size=len(data), note=_counts(numbers))
    return _decide(name, numbers, opened, [own, *gathered.files], asked.strict, digest.hexdigest())


def _decide(
    report: str,
    numbers: list[ReportNumber],
    opened: list[str],
    evidence: list[Evidence],
    strict: bool,
    digest: str,
) -> NumbersFound:
    by_class = {cls: [number for number in numbers if number.cls is cls] for cls in NumberClass}
    wrong = by_class[NumberClass.BOUND_WRONG] + (by_class[NumberClass.WITHOUT_SOURCE] if strict else [])
    unsettled = [] if strict else by_class[NumberClass.WITHOUT_SOURCE]
    ambiguous = [number for number in by_class[NumberClass.AMBIGUOUS] if not _worded(number)]
    crowded = [number for number in ambiguous if number.crowded or (strict and not number.alike)]
    # A list mark or a number word is found by chance, and what was predicted is no result: neither grounds a report.
    grounded = [n for n in by_class[NumberClass.BOUND] + by_class[NumberClass.MATCHED] if not n.weak]
    if not grounded and not wrong and not unsettled:
        opened = [*opened, f"{report}: no number found that has one source"]
    # How many of `open` are no numbers, for code that has the Decision alone; they stand first in it.
    own = evidence[0].model_copy(update={"value": {PROBLEMS: len(opened[:_LISTED])}})
    if wrong:
        answer, word = Answer.DOES_NOT_HOLD, "not found"
    elif opened or unsettled or crowded or not grounded:
        answer, word = Answer.INCONCLUSIVE, "inconclusive"
    else:
        answer, word = Answer.HOLDS, "found"
    decision = Decision(
        subject=report,
        question=f"Is every number in {report} found in the results?",
        answer=answer,
        word=word,
        evidence=[
            own,
            *evidence[1:],
            *(
                Evidence(path=report, key=n.sources[0][0] if n.sources else None,
                         value=n.sources[0][1] if n.sources else None, note=_number_line(report, n))
                for n in wrong[:_LISTED]
            ),
        ],
        open=[*opened[:_LISTED], *_lines(report, unsettled), *_lines(report, ambiguous)],
        inputs_digest=digest,
        at=now(),
    )  # fmt: skip
    return NumbersFound(decision, numbers, wrong, [*unsettled, *crowded], opened)


def _worded(number: ReportNumber) -> bool:
    """Whether a number is a turn of phrase, such as "two of them", which several results would do for."""
    return number.weak and not any(c.isdigit() for c in number.text)


def _number_line(report: str, number: ReportNumber) -> str:
    """One line: `report.md:41 "3.45 TWh"  results.available_wind_twh = 4.1927`."""
    text = printable(" ".join(number.text.split()), 60)
    return f'{report}:{number.place} "{text}"  {number.explanation}'.rstrip()


def open_problems(decision: Decision) -> int:
    """How many entries of `open` are about something else than a number of the report. They are its first ones."""
    counts = next(
        (e.value for e in decision.evidence if isinstance(e.value, dict) and PROBLEMS in e.value), None
    )
    return counts[PROBLEMS] if counts is not None else len(decision.open)


def _lines(report: str, numbers: list[ReportNumber]) -> list[str]:
    more = [f"and {len(numbers) - _LISTED:,} more like these"] if len(numbers) > _LISTED else []
    return [_number_line(report, number) for number in numbers[:_LISTED]] + more


def _counts(numbers: list[ReportNumber]) -> str:
    counted = ((cls, sum(number.cls is cls for number in numbers)) for cls in NumberClass)
    per_class = ", ".join(f"{count:,} {cls.replace('_', ' ')}" for cls, count in counted if count)
    return f"{len(numbers):,} numbers: {per_class}" if numbers else "no numbers"


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # digits read alike


def _inconclusive(subject: str, opened: list[str]) -> NumbersFound:
    decision = Decision(
        subject=subject,
        question=f"Is every number in {subject} found in the results?",
        answer=Answer.INCONCLUSIVE,
        word="inconclusive",
        open=opened,
        at=now(),
    )
    return NumbersFound(decision, [], problems=opened)
