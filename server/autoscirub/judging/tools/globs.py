"""Patterns for paths: `*`, `?` and `[…]` within a name, `**` for any number of folders. Matched while walking.

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
    """A pattern; a state is the set of places in it that a path has come to."""

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
        """Where a path is, that was at `state` and goes on to `name`. Empty: it can match no more."""
        reached = set()
        for at in state:
            if at < len(self._steps):
                step = self._steps[at]
                if step is None:
                    reached |= {at, at + 1} if at == len(self._steps) - 1 else {at}
                elif step.match(name):
                    reached.add(at + 1)
        return self._through(reached)

    def _through(self, places: set[int]) -> frozenset[int]:
        """With the places that `**`, for no folder at all, leads on to; at the end it stands for one name at least."""
        reached = set(places)
        for at in range(len(self._steps) - 1):
            if at in reached and self._steps[at] is None:
                reached.add(at + 1)
        return frozenset(reached)

    def matched(self, state: frozenset[int]) -> bool:
        return len(self._steps) in state
