"""Every write, rename and commit of the store passes here, so that it can be counted and cut off at each.

Whoever wants to know registers an observer; there is none in use. Tests kill the process at every step in
turn and look whether the next start ends as an uninterrupted run would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OBSERVERS: list[Callable[[str], None]] = []
"""Called with the kind of each step just before it is taken: write, rename, commit, export, remove."""


def step(kind: str) -> None:
    """Say that a step of this kind is about to be taken."""
    for observer in OBSERVERS:
        observer(kind)
