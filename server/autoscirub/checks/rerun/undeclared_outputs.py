"""Finds the files that a rerun wrote besides its declared outputs: nothing compares them, so they are named."""

from __future__ import annotations

import contextlib
import stat
from typing import TYPE_CHECKING

from autoscirub.checks.rerun.copying import EXECUTABLE, digest_of, matches, walk

if TYPE_CHECKING:
    from autoscirub.checks.rerun.copying import Copied, CopyLayout

Marks = dict[str, tuple[int, int]]
"""Size and time of files, by their path."""
_READ_AGAIN = 1024**3
"""Bytes that are read once more to see whether a file was rewritten with the same content."""


def marks(layout: CopyLayout) -> Marks:
    """Size and time of every file of the copy. Not the time of its change of owner: the sandbox changes that itself."""
    return {
        path: (status.st_size, status.st_mtime_ns)
        for path, status in walk(layout)
        if not stat.S_ISDIR(status.st_mode)
    }


def undeclared_outputs(layout: CopyLayout, before: Marks, copied: Copied) -> list[str]:
    """The files that a run made, changed or removed and that are no outputs; the same content written again is none."""
    after = marks(layout)
    known = {**copied.code, **copied.inputs}
    found, left = [], _READ_AGAIN
    for path in sorted({*before, *after}):
        if before.get(path) == after.get(path) or matches(path, layout.outputs):
            continue
        if path in before and path in after and (left := left - after[path][0]) >= 0:
            with contextlib.suppress(OSError):
                if digest_of(layout.root / path) == known.get(path, "").removesuffix(EXECUTABLE):
                    continue
        found.append(path)
    return found
