"""Reads Jupyter notebooks as their reader sees them: the Markdown cells, and what code cells printed."""

from __future__ import annotations

from typing import Any

from autoscirub.checks.numbers.latex import from_latex
from autoscirub.checks.numbers.markdown import from_markdown
from autoscirub.checks.numbers.markup import from_html
from autoscirub.checks.numbers.prose import Prose
from autoscirub.errors import CheckError
from autoscirub.store import JsonFault, parse

_RICH = (("text/html", from_html), ("text/markdown", from_markdown), ("text/latex", from_latex))
"""Forms of one output, the one first that a notebook shows where there are several."""


def from_notebook(text: str) -> Prose:
    """A notebook (nbformat 4) as its reader sees it. Raises CheckError for a file that is none."""
    try:
        notebook = parse(text.encode("utf-8", "replace"), allow_nonfinite=True)
    except JsonFault as fault:
        raise CheckError(f"not a notebook: {fault}") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise CheckError("not a notebook: it has no list of cells (nbformat 4)")
    prose = Prose()
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        prose.cells.append((prose.length, number))
        source, kind = _joined(cell.get("source")), cell.get("cell_type")
        if kind == "code":
            _listed(prose, source, "code")
            outputs = cell.get("outputs")
            for output in outputs if isinstance(outputs, list) else []:
                _printed(prose, output)
        else:  # a raw cell is shown too, and goes into what the notebook is exported to
            prose.take(from_markdown(source))
        prose.add("\n\n")  # a new block: what ends one cell is no paragraph of the next
    return prose


def _printed(prose: Prose, output: Any) -> None:
    if not isinstance(output, dict):
        return
    if output.get("output_type") == "error":
        _listed(prose, _joined(output.get("traceback")), "traceback")
        return
    data = output.get("data")
    if output.get("output_type") == "stream" or not isinstance(data, dict):
        if visible := _joined(output.get("text")):
            prose.add(visible + "\n")
        return
    plain = _joined(data.get("text/plain"))
    for kind, read in _RICH:
        if visible := _joined(data.get(kind)):
            prose.take(read(visible))
            prose.add("\n")
            _listed(prose, plain, "another form of an output")
            return
    prose.add(plain + "\n" if plain else "")


def _listed(prose: Prose, text: str, reason: str) -> None:
    """List what is not shown, and take no line for it: lines are counted by what is shown of a cell."""
    prose.hide(" ".join(text.split()), reason)


def _joined(lines: Any) -> str:
    """A text that a notebook may hold as a list of lines."""
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""
