"""The repository's own pages: what contributors are told, and what no page may name."""

from __future__ import annotations

import re

import pytest
from tests.docs.pages import PAGES, ROOT, code, name_of, text_of


def test_the_contributing_page_has_every_target_and_every_room() -> None:
    page = text_of(ROOT / "CONTRIBUTING.md")
    targets = re.findall(r"^(\w+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert [name for name in targets if f"`make {name}`" not in page] == []
    package = ROOT / "server" / "autoscirub"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")} | {
        "data",
        "errors",
        "programs",
        "wire",
        "version",
    }
    floors = page.split("## Floors")[1].split("## Rules")[0]
    assert {
        name for row in re.findall(r"^\| \d \| (.+?) \|", floors, re.MULTILINE) for name in code(row)
    } == rooms


def test_the_client_s_page_is_one_line_that_leads_to_the_agents_page() -> None:
    assert text_of(ROOT / "CLAUDE.md") == "@AGENTS.md\n"


FORBIDDEN = {
    "a registry": rf"{'py'}pi\.org|{'python'}hosted|{'npm'}js|crates\.io",
    "a path of some machine": r"(?<![\w.~])/(?:work|root|tmp|home|Users)/|[A-Z]:\\",
    "how the repository was made": r"\.\./shared|\bsession\b|\bissue #?\d",
}


@pytest.mark.parametrize("what", FORBIDDEN)
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names(page, what) -> None:
    assert re.findall(FORBIDDEN[what], text_of(page)) == []
