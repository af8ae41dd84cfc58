"""The page of the Python interface: its snippets run, and it has every name and every error."""

from __future__ import annotations

import re
import shutil

from tests.docs.pages import DOCS, ROOT, code, table, text_of

import autoscirub
from autoscirub import errors


def test_every_python_snippet_runs(tmp_path, monkeypatch) -> None:
    project = tmp_path / "sunspots"
    shutil.copytree(
        ROOT / "examples" / "sunspots", project, ignore=shutil.ignore_patterns("results", ".autoscirub")
    )
    monkeypatch.chdir(project)
    page = text_of(DOCS / "python.md")
    snippets = list(re.finditer(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    assert len(snippets) >= 5
    names: dict[str, object] = {}
    for snippet in snippets:
        above = "\n" * page.count("\n", 0, snippet.start(1))  # so that a failure names the page's own line
        exec(compile(above + snippet[1], "docs/python.md", "exec"), names)  # noqa: S102 - our own page


def test_the_python_page_has_every_public_name_and_every_error() -> None:
    listed = {code(row[0])[0] for row in table("python.md", "Names")}
    assert listed == set(autoscirub.__all__)
    drawn = text_of(DOCS / "python.md")
    assert [name for name in errors.__all__ if name not in drawn] == []
    tree_in_code = re.search(r"::\n\n(.+?)\n\n", errors.__doc__ or "", re.DOTALL)
    assert tree_in_code
    assert "\n".join(line[4:] for line in tree_in_code[1].splitlines()) in drawn
