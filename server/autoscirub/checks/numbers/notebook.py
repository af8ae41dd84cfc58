"""Jupyter notebooks as prose: the Markdown cells, and what code cells printed."""

from __future__ import annotations

from typing import Any

from autoscirub.checks.numbers.markdown import from_markdown
from autoscirub.checks.numbers.prose import Prose
from autoscirub.errors import CheckError
from autoscirub.store import JsonFault, parse

__all__ = ["from_notebook"]


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
        if cell.get("cell_type") == "markdown":
            prose.take(from_markdown(_joined(cell.get("source"))))
        elif cell.get("cell_type") == "code":
            outputs = cell.get("outputs")
            for output in outputs if isinstance(outputs, list) else []:
                prose.add(_printed(output))
        prose.add("\n")
    return prose


def _printed(output: Any) -> str:
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    shown = output.get("text") if output.get("output_type") == "stream" else None
    if shown is None and isinstance(data, dict):
        shown = data.get("text/plain")
    return _joined(shown) + "\n" if shown else ""


def _joined(lines: Any) -> str:
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""
