"""Pausing the garbage collector while thousands of checks are evaluated."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Pause the cyclic garbage collector while ten thousand small objects that live on are made.

    Each of its passes walks all of them again and finds nothing: at 10,000 checks that is nearly half of
    the time, and it grows faster than their number. Reference counting goes on as ever.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
