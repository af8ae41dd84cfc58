"""The pages, and how the tests read them: their tables, their blocks, what stands in code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("examples/**/*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def table(page: str, heading: str, *, every: bool = False) -> list[list[str]]:
    """The cells of the first table under a heading, without its header; or of `every` table there."""
    section = re.split(r"^#+ ", text_of(DOCS / page).split(f"# {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    tables = re.findall(r"^\|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", section, flags=re.MULTILINE)
    rows = [row for found in (tables if every else tables[:1]) for row in found.splitlines()]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))] for row in rows]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def blocks(page: str, language: str) -> list[str]:
    return [block for name, block in FENCE.findall(text_of(DOCS / page)) if name == language]
