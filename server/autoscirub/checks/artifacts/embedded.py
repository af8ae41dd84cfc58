"""What a Markdown report shows: embedded files that are not there, and tables and figures that it only mentions."""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from autoscirub.checks.artifacts.finding import ArtifactFinding
from autoscirub.checks.artifacts.paths import printable

if TYPE_CHECKING:
    from typing import BinaryIO

MARKDOWN = (".md", ".markdown", ".qmd", ".rmd")
_MOST_BYTES = 4_000_000
_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$|`[^`\n]+`|<!--.*?-->", re.DOTALL | re.MULTILINE)
_EMBED = re.compile(r"!\[[^\]\n]*\]\(\s*<?([^)\s>]+)|<img\b[^>]*?\bsrc\s*=\s*[\"']([^\"'>]+)", re.IGNORECASE)
_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:|//|#)", re.IGNORECASE)
_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$", re.MULTILINE)
_LISTED = 5


def look_embedded(root: str, path: str, source: BinaryIO, size: int) -> ArtifactFinding:
    """Fails for an embedded file that is not there; flags `Table 3` where there is no third table.

    `root` is the project's folder, `path` the report's path in it. Only names are looked up: what an embedded file
    holds is asked by a check of its own.
    """
    if size > _MOST_BYTES:
        return ArtifactFinding()
    source.seek(0)
    text = _CODE.sub("", source.read(_MOST_BYTES).decode("utf-8-sig", "replace"))
    folder = posixpath.dirname(path)
    names = [
        unquote(found[1] or found[2]).partition("#")[0].partition("?")[0] for found in _EMBED.finditer(text)
    ]
    own = list(dict.fromkeys(name for name in names if name and not _ELSEWHERE.match(name)))
    missing = [name for name in own if not os.path.isfile(os.path.join(root, folder, name))]  # noqa: PTH113, PTH118
    if missing:
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        named = ", ".join(printable(name, 80) for name in missing[:_LISTED])
        return ArtifactFinding(fault=f"it embeds what is not there: {named}{more}")
    flags = [*_unseen(text, "Table", len(_RULE.findall(text)) + text.casefold().count("<table"))]
    return ArtifactFinding(flags=(*flags, *_unseen(text, "Figure", len(names))))


def _unseen(text: str, kind: str, there: int) -> list[str]:
    """Tables or figures that the text names by number, that have no caption and that are more than it holds."""
    numbers = {int(number) for number in re.findall(rf"\b{kind}s?\.?\s+(\d{{1,3}})\b", text)}
    captions = {int(n) for n in re.findall(rf"(?m)^\W*{kind}\.?\s+(\d{{1,3}})\W*[.:–—|]", text)}
    missing = sorted(number for number in numbers - captions if number > there)
    return [
        f"it refers to {kind} {number}, and there is no such {kind.lower()}" for number in missing[:_LISTED]
    ]
