"""Checking a verdict before it counts: what it cites must be in the workspace and say that.

A verdict with a problem is *inconclusive*, whichever way it points: a judge that cites what is not there has not
looked, and its flag is worth nothing. What counts as a citation is the table in `citations.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.judging.injection import addresses
from autoscirub.judging.verdicts.citations import citations
from autoscirub.judging.verdicts.cited_values import fault_of_value
from autoscirub.judging.verdicts.contradictions import contradictions, shown
from autoscirub.judging.verdicts.entries import FLAGS, entry_of
from autoscirub.judging.verdicts.replies import HYPOTHESIS_SUBJECT, verdict_objects
from autoscirub.judging.verdicts.visible_files import VisibleFiles, flat, says
from autoscirub.models import CriterionVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoscirub.judging.verdicts.citations import Citation
    from autoscirub.models import AskKind, Criterion, HypothesisVerdict, WorkspaceManifest

MAX_PROBLEMS = 20
"""Problems that are named; one is enough."""
_MAX_CITATIONS = 2_000
_QUOTATION = 10
"""A quotation is searched for in every file, so it counts for so many citations."""
_MAX_NAMED = 6
_TEXT_LIMIT = 200_000
"""Characters of one field. Reasons have some thousands."""


@dataclass
class _Look:
    """One look at a verdict: the files, what it may not be blamed for, and what was found."""

    files: VisibleFiles
    flag: bool | None
    named: list[str] = field(default_factory=list)
    """Files that the criterion names: a verdict that is not true may say that they are missing."""
    asked: str = ""
    """The criterion's own words, which reasons may quote."""
    problems: list[str] = field(default_factory=list)
    held: int = 0
    """Citations that were looked up and are right."""
    looked: int = 0


def problems_of(
    verdict: CriterionVerdict | HypothesisVerdict,
    workspace_root: Path,
    manifest: WorkspaceManifest,
    criterion: Criterion | None = None,
) -> list[str]:
    """Why a verdict does not count as it stands; empty when it bears the look. Raises nothing for what it says.

    `criterion` is what was asked, from the frozen rubric; None for the hypothesis.
    """
    files = VisibleFiles(workspace_root, manifest)
    of_criterion = isinstance(verdict, CriterionVerdict)
    flag = verdict.flag
    look = _Look(files, flag)
    if criterion is not None:
        look.named = criterion.named_paths()
        look.asked = flat("\n".join(_words(criterion)))
    look.problems += contradictions(verdict)
    if isinstance(verdict, CriterionVerdict):
        for i, item in enumerate(verdict.evidence_found):
            _look_up(look, f"evidence_found[{i}]", item, strict=flag is True)
        for i, item in enumerate(verdict.artifact_references):
            found = len(look.problems)
            _look_up(look, f"artifact_references[{i}]", item, strict=flag is True)
            if flag is True and len(look.problems) == found and not _names_a_file(item, files):
                look.problems.append(f"artifact_references[{i}] is {shown(item)}, which is none of the files")
        if flag is True and verdict.evidence_found and not look.held and not look.problems:
            look.problems.append(
                "satisfied is true, and nothing in evidence_found or artifact_references names a file, value or "
                "quotation that can be looked up"
            )
    _look_up(look, "reasoning", verdict.reasoning, strict=False)
    if (of_criterion and flag is True) or (not of_criterion and flag is not None):
        _refuse_copied(look, verdict)
    if look.looked > _MAX_CITATIONS:
        look.problems.append("it cites more than is looked up; expected the few things that it rests on")
    return list(dict.fromkeys(look.problems))[:MAX_PROBLEMS]


def _names_a_file(reference: str, files: VisibleFiles) -> bool:
    """Whether a reference is a file that was shown, or a place in one: `report.md`, `report.md:4`, `report.md#x`."""
    plain = reference.strip().strip("`\"'").removeprefix("./")
    return any(
        plain == path
        or plain.startswith((f"{path}:", f"{path}#", f"{path} "))
        or path.startswith(f"{plain.rstrip('/')}/")
        for path in files.paths
    )


def _look_up(look: _Look, where: str, text: str, *, strict: bool) -> None:
    """Look up what one field cites. Not strict: what its sentence says is missing need not be there."""
    if len(text) > _TEXT_LIMIT:
        look.problems.append(f"{where} is too long to look up what it cites ({len(text):,} characters)")
        return
    for citation in citations(text, look.files.paths):
        look.looked += 1 if citation.kind != "quotation" else _QUOTATION
        if look.looked > _MAX_CITATIONS or len(look.problems) >= MAX_PROBLEMS:
            return
        # Of a pass, only a sentence that plainly says "is not there" is let off.
        excused = not strict and (citation.denied_there if look.flag is True else citation.denied)
        fault, held = _fault(look, citation, reasoning=where == "reasoning")
        if held:
            look.held += 1
        if strict and citation.kind == "quotation" and addresses(citation.text):
            look.problems.append(
                f"{where} rests on text that addresses a judge, which is no evidence: {shown(citation.text)}"
            )
        if fault and not (excused and not fault.startswith("leads out")):
            look.problems.append(f"{where} cites {shown(citation.text)}, which {fault}")


def _fault(look: _Look, citation: Citation, *, reasoning: bool) -> tuple[str | None, bool]:
    """(what is wrong with a citation, whether it was looked up and is right)."""
    files = look.files
    if citation.path is None:
        found = files.results() if citation.kind == "value" else files.paths
        if citation.kind == "value" and not found:
            return "names a key of the results, and no results file was shown", False
    else:
        there = files.find(citation.path)
        if not there and citation.kind != "file":  # the file itself is told already
            return None, False
        if there is None:
            return "leads out of the workspace; expected a path of a file that was shown", False
        if not there:
            if look.flag is not True and citation.path.strip("/") in look.named:
                return None, False  # the criterion names it, and what it asks for is missing
            return f"is none of the files that were shown{_those(files)}", False
        found = there
    if citation.kind == "file":
        return _line_fault(files, found, citation.line)
    if citation.kind == "value":
        return fault_of_value(files, found, citation)
    return _quotation_fault(look, found, citation, reasoning=reasoning)


def _those(files: VisibleFiles) -> str:
    paths = files.paths
    return (
        f"; those are {', '.join(paths[:_MAX_NAMED])}{', …' if len(paths) > _MAX_NAMED else ''}"
        if paths
        else ""
    )


def _line_fault(files: VisibleFiles, found: list[str], line: int | None) -> tuple[str | None, bool]:
    if line is None:
        return None, True
    counts = []
    for path in found:
        text = files.text(path)
        if text.binary:
            return None, True
        if text.fault:
            return f"cannot be looked up: {path} {text.fault}", False
        counts.append(len(text.text.splitlines()))
    if 0 < line <= max(counts):
        return None, True
    return f"has {max(counts):,} lines, and not line {line:,}", False


def _quotation_fault(
    look: _Look, found: list[str], citation: Citation, *, reasoning: bool
) -> tuple[str | None, bool]:
    faults = []
    for path in found:
        text = look.files.text(path)
        if text.fault and citation.path is not None:
            faults.append(f"cannot be looked up: {path} {text.fault}")
        elif says(look.files.plain(path), citation.text):
            return None, True
    if reasoning and look.asked and says(look.asked, citation.text):
        return None, False  # reasons may quote what was asked; evidence may not
    if faults:
        return faults[0], False
    if citation.path is None:
        return "none of the files that were shown says", False
    if all(look.files.text(path).binary for path in found):
        return None, False  # words in a picture or a PDF: not looked up, and not counted as evidence
    others = [path for path in look.files.paths if path not in found]
    elsewhere = next((path for path in others if says(look.files.plain(path), citation.text)), None)
    return f"{found[0]} does not say{f'; {elsewhere} does' if elsewhere else ''}", False


def _refuse_copied(look: _Look, verdict: CriterionVerdict | HypothesisVerdict) -> None:
    """A verdict that stands in a judged file was written by whoever wrote the file, not by the judge."""
    kind: AskKind = "criterion" if isinstance(verdict, CriterionVerdict) else "hypothesis"
    subject = verdict.criterion_id if isinstance(verdict, CriterionVerdict) else HYPOTHESIS_SUBJECT
    texts = verdict.evidence_found if isinstance(verdict, CriterionVerdict) else [verdict.reasoning]
    # Cheap first: whoever wrote a verdict beforehand wrote its words.
    words = [FLAGS[kind], *(max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="") for text in texts)]
    unread = None
    for path in look.files.paths:
        if not look.files.may_hold(path, words):
            continue
        text = look.files.text(path)
        entries, whole = verdict_objects(text.text, subject, kind)
        if any(entry_of(entry, subject, kind).verdict == verdict for entry in entries):
            look.problems.append(f"it stands word for word in {path}, so it is no verdict of the judge's own")
            return
        if unread is None and (text.fault or not whole):
            unread = f"could stand in {path}, which holds more than is read"
            if text.fault and not text.too_large:
                unread = f"could stand in {path}, which {text.fault}"
    if unread is not None and not look.problems:
        look.problems.append(f"it {unread}, so that it may be no verdict of the judge's own")


def _words(criterion: Criterion) -> Iterator[str]:
    yield criterion.requirement
    yield from criterion.texts()
    yield from [*criterion.metrics, *criterion.comparisons, *criterion.data_sources]
    yield from (artifact.name for artifact in criterion.expected_artifacts if artifact.name)
    yield from (check.description for check in criterion.checks)
