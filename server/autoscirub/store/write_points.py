"""Announces every write, rename and commit of the store, so that tests can interrupt it at each of them.

Observers are for tests; there are none in normal use. Tests kill the process at every step in turn and check
that the next start ends as an uninterrupted run would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OBSERVERS: list[Callable[[str], None]] = []
"""Called with the kind of each step just before it is taken: write, rename, commit, export, remove."""


def step(kind: str) -> None:
    """Announce that a step of this kind is about to be taken."""
    for observer in OBSERVERS:
        observer(kind)
