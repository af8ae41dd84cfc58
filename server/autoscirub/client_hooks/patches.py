"""Finds the files that a patch for Codex's `apply_patch` adds, updates, deletes or moves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoscirub.client_hooks.shell import Touched

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMED = re.compile(r"^\s*\*\*\* (Add File|Update File|Delete File|Move to):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_UNIFIED = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?(?!/dev/null)([^\t\n]+)", re.MULTILINE)


def patch_touched(text: str) -> Iterator[Touched]:
    """What the patch would write to or delete. A unified diff is read too."""
    named = _NAMED.findall(text)
    for what, path in named:
        yield Touched(path, "remove" if what == "Delete File" else "write")
    if not named:
        for path in _UNIFIED.findall(text):
            yield Touched(path, "write")
