"""Finds candidates for a project's report, results and run command, from names and small texts; runs nothing.

A candidate's rank says how good it is by the tables below; its reason says the same in words. Two of the same rank are
equally good, and then only a person can choose.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from autoscirub.models import Candidate, Discovered
from autoscirub.setup.discover.results import find_results_files
from autoscirub.setup.discover.run_command import find_commands, script_code
from autoscirub.setup.discover.scan import scan_project

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_MOST = 20
"""Candidates for one subject."""

_SUFFIXES = (".md", ".qmd", ".rmd", ".ipynb", ".tex", ".html", ".htm", ".markdown", ".txt")
_SOURCES = (".qmd", ".rmd", ".ipynb", ".tex", ".md", ".markdown")
_RENDERED = (".html", ".htm", ".txt")
_STEMS = {
    "report": (90, "a report by its name"),
    "paper": (90, "a paper by its name"),
    "manuscript": (90, "a manuscript by its name"),
    "article": (80, "an article by its name"),
    "writeup": (80, "a write-up by its name"),
    "write-up": (80, "a write-up by its name"),
    "findings": (80, "findings by its name"),
}
_FOLDERS = frozenset({
    "docs", "doc", "report", "reports", "paper", "papers", "manuscript", "writeup", "article",
})  # fmt: skip
_NOTEBOOKS = {".ipynb": "notebook", ".qmd": "Quarto document", ".rmd": "R Markdown document"}
_NOT_REPORTS = re.compile(r"(?i)(readme|changelog|contributing|license|todo|index|template|code_of_conduct)")
_NAMED = 5
"""Added to the rank of a file that the README names."""


def find_setup(root: Path, *, skip: Collection[str] = ()) -> Discovered:
    """The candidates for report, results and run command of the project at `root`, best first, each with why.

    `skip`: folders that are not searched, such as the state directory, as paths from the root. Reads a bounded
    part of it, follows no link, and never raises for what is there.
    """
    seen = scan_project(root, skip)
    readmes = [name for name in seen.files if re.fullmatch(r"(?i)readme(\.(md|rst|txt|markdown))?", name)]
    readme = (readmes[0], seen.text(readmes[0])) if readmes else ("README.md", "")
    code = script_code(seen)
    results = find_results_files(seen, code, readme)
    return Discovered(
        report=_reports(seen.files, readme)[:_MOST],
        results=results[:_MOST],
        run=find_commands(seen, code, readme, [str(one.value) for one in results])[:_MOST],
        files=len(seen.files),
        cut=seen.cut or seen.left <= 0,
    )


def _reports(files: list[str], readme: tuple[str, str]) -> list[Candidate]:
    found: list[Candidate] = []
    alone = {suffix: sum(1 for path in files if path.lower().endswith(suffix)) for suffix in _NOTEBOOKS}
    stems = {posixpath.splitext(path)[0] for path in files if path.lower().endswith(_SOURCES)}
    for path in files:
        stem, suffix = posixpath.splitext(posixpath.basename(path))
        folder = posixpath.dirname(path)
        if suffix.lower() not in _SUFFIXES or _NOT_REPORTS.match(stem):
            continue
        if path in ("report.md", "REPORT.md"):
            rank, reason = 100, "the name that is looked for"
        elif (known := _by_name(stem.lower(), suffix.lower())) is not None:
            rank, reason = known
        elif (kind := _NOTEBOOKS.get(suffix.lower())) is not None:
            rank, reason = 50, f"the only {kind}" if alone[suffix.lower()] == 1 else f"a {kind}"
        else:
            continue
        if folder:
            known_folder = folder.lower() in _FOLDERS or folder.lower() in ("notebooks", "notebook")
            if not known_folder and rank > 50:
                continue
            rank, reason = rank - 10, f"{reason}, in {folder}/"
        if suffix.lower() in _RENDERED and posixpath.splitext(path)[0] in stems:
            rank, reason = rank - 30, f"{reason}; made from a file of the same name"
        if _mentions(readme[1], path):
            rank, reason = rank + _NAMED, f"{reason}; {readme[0]} names it"
        found.append(Candidate(path, reason, rank))
    if not found and readme[1]:
        found.append(Candidate(readme[0], "no other report was found; a last resort", 10, last_resort=True))
    return sorted(found, key=lambda one: -one.rank)


def _by_name(stem: str, suffix: str) -> tuple[int, str] | None:
    if stem == "main":
        return (90, "a paper by its name") if suffix == ".tex" else None
    return _STEMS.get(stem)


def _mentions(text: str, path: str) -> bool:
    place = text.find(path)
    while place >= 0:
        around = text[max(0, place - 1) : place] + text[place + len(path) : place + len(path) + 1]
        if not re.search(r"[\w/-]", around):
            return True
        place = text.find(path, place + 1)
    return False
