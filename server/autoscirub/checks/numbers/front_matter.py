"""What a Markdown file holds besides its text: front matter, and what a renderer puts in from elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoscirub.checks.numbers.prose import Prose

_MAX_LINES = 400
_KEY = re.compile(r"""(?:"[^"\n]{1,80}"|'[^'\n]{1,80}'|[A-Za-z_][\w .-]{0,80}):(?:\s|$)""")
_INSIDE = re.compile(r"\s|[#\]}-]|$")
"""How a line may begin that is no key: indented, a comment, the end or an item of a list."""

FETCHES = re.compile(r"\{\{<\s*+(?!(?:pagebreak|video|kbd|fa|lipsum|brand|placeholder)\b)[^\n]{0,300}?>\}\}")
"""A shortcode of Quarto that puts a text in."""
_INLINE_CODE = re.compile(r"(?:r|\{(?:r|python|julia|ojs)\})\s")
_CHUNK = re.compile(r"\{\s*(?:r|python|julia|ojs|sql|bash|sh)\b[^\n]*")
_SILENT = re.compile(
    r"(?:#\|\s*(?:include|output|eval):\s*false\b)|\b(?:include|eval)\s*=\s*F(?:ALSE)?\b|results\s*=\s*[\"']hide[\"']"
)


def read_front_matter(prose: Prose, lines: list[str]) -> int:
    """Quote the front matter at the top, if there is one; gives the line after it.

    It is one only when it is a YAML mapping by its lines, started right below the dashes and closed soon. Otherwise the
    dashes are a rule, and what follows is read.
    """
    if lines[0].rstrip() != "---" or len(lines) < 2 or not _KEY.match(lines[1]):
        return 0
    for end in range(2, min(len(lines), _MAX_LINES)):
        line = lines[end].rstrip()
        if line in ("---", "..."):
            prose.add("\n")
            prose.quote("\n".join(lines[1:end]) + "\n", "front matter", soft=True)
            prose.add("\n")
            return end + 1
        if not _INSIDE.match(line) and not _KEY.match(line):
            return 0
    return 0


def computed(inside: str) -> bool:
    """Whether a code span of Quarto or R Markdown is run, and its outcome shown: `r nrow(x)`."""
    return _INLINE_CODE.match(inside) is not None


def makes_output(info: str, code: str) -> bool:
    """Whether a block of code is run and its outcome shown."""
    return _CHUNK.match(info.strip()) is not None and not _SILENT.search(info + "\n" + code[:2000])
