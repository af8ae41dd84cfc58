"""Warns of lax settings before a freeze locks them, because nobody can tighten them afterwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable

if TYPE_CHECKING:
    from autoscirub.models import ProjectConfig

_WIDE = 0.1
_SHORT = 3


def lint_settings(config: ProjectConfig) -> list[str]:
    """What to warn of in the settings that decide, each beginning with its key."""
    found: list[str] = []
    if config.run is not None and config.run.rtol > _WIDE:
        found.append(
            f"run.rtol = {config.run.rtol:g}: a rerun takes two numbers that differ by {config.run.rtol:.0%} for the "
            "same"
        )
    if config.run is not None and config.run.atol > _WIDE:
        found.append(
            f"run.atol = {config.run.atol:g}: a rerun takes two numbers that differ by {config.run.atol:g} for the "
            "same, however small they are"
        )
    for pattern in config.run.ignore if config.run is not None else ():
        if _nearly_everything(pattern):
            found.append(
                f"run.ignore {printable(pattern)!r}: leaves everything, or nearly so, out of what a rerun compares"
            )
    found += [
        f"numbers.set_aside {printable(text)!r}: is so short that most lines hold it, and no number there is checked"
        for text in config.numbers.set_aside
        if len(text.strip()) < _SHORT
    ]
    return found


def _nearly_everything(pattern: str) -> bool:
    """Whether a pattern has a star, and at most one letter besides its stars, dots and brackets."""
    letters = re.sub(r"\[[^\]]*\]|[*?./:\s]", "", pattern)
    return "*" in pattern and len(letters) <= 1
