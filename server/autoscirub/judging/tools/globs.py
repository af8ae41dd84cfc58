"""Glob patterns for paths: `*`, `?` and `[…]` within a name, `**` for any number of folders; matched while walking.

A pattern is a list of names to go through, so a folder that cannot lead to a match is never entered, and no pattern can
say more than names below the workspace.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from autoscirub.errors import ToolRefused
from autoscirub.judging.tools.output import named

if TYPE_CHECKING:
    from autoscirub.judging.tools.bounds import ToolBounds

_FORM = 'write it relative to the workspace, such as "**/*.csv", "results/*.json" or "figures/fig[0-9].png"'


class Pattern:
    """A glob pattern. A state is the set of positions in it that a path so far may be at."""

    def __init__(self, text: object, bounds: ToolBounds) -> None:
        """Raises ToolRefused for what is no pattern, or names anything outside."""
        if not isinstance(text, str) or not text.strip():
            raise ToolRefused(f"the pattern must be text that is not empty; {_FORM}")
        if len(text) > bounds.pattern_chars:
            raise ToolRefused(
                f"{named(text, 60)}: the pattern has {len(text):,} characters; {bounds.pattern_chars:,} is the most"
            )
        if text.startswith("/"):
            raise ToolRefused(f"{named(text)}: an absolute path; {_FORM}")
        steps = [step for step in text.split("/") if step not in ("", ".")]
        if ".." in steps:
            raise ToolRefused(f'{named(text)}: ".." is not allowed in a pattern; {_FORM}')
        if "\0" in text or not steps:
            raise ToolRefused(f"{named(text)}: the pattern names no file; {_FORM}")
        self.text = text
        # None is `**`. The standard library's translation has no step that could be taken in two ways.
        self._steps = [None if step == "**" else re.compile(fnmatch.translate(step)) for step in steps]

    def begin(self) -> frozenset[int]:
        return self._through({0})

    def step(self, state: frozenset[int], name: str) -> frozenset[int]:
        """The state after `name` is added to a path that was at `state`. Empty: it can no longer match."""
        positions = set()
        for at in state:
            if at < len(self._steps):
                step = self._steps[at]
                if step is None:
                    positions |= {at, at + 1} if at == len(self._steps) - 1 else {at}
                elif step.match(name):
                    positions.add(at + 1)
        return self._through(positions)

    def _through(self, places: set[int]) -> frozenset[int]:
        """Add the positions after a `**` that stands for no folder; a final `**` stands for at least one name."""
        positions = set(places)
        for at in range(len(self._steps) - 1):
            if at in positions and self._steps[at] is None:
                positions.add(at + 1)
        return frozenset(positions)

    def matched(self, state: frozenset[int]) -> bool:
        return len(self._steps) in state
