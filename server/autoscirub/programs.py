"""Finding a program on PATH: the only look-up, so that no file under judgement is ever mistaken for a tool."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["on_path", "path_entries"]


def path_entries() -> list[str]:
    """The absolute entries of PATH. An empty or relative one means the current folder, which may be a stranger's."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [entry for entry in entries if os.path.isabs(entry)]  # noqa: PTH117 - words, no paths of ours


def on_path(name: str, more: Sequence[str] = ()) -> str | None:
    """The program `name` in the absolute entries of PATH, then in `more`; None where it is in none.

    A name with a slash is not looked up: it is returned if such a program can be run.
    """
    return shutil.which(name, path=os.pathsep.join([*path_entries(), *more]))
