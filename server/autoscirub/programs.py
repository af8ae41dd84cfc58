"""Finding a program on PATH: the only look-up, so that no file under judgement is ever mistaken for a tool."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import ClientName

__all__ = ["CLIENT_INSTALL", "client_program", "on_path", "path_entries"]

CLIENT_INSTALL: dict[ClientName, str] = {
    "claude": "npm install -g @anthropic-ai/claude-code, or the installer of Claude Code's own pages",
    "codex": "npm install -g @openai/codex",
}
"""How to get the program of a coding agent, for whoever lacks it."""


def path_entries() -> list[str]:
    """The absolute entries of PATH. An empty or relative one means the current folder, which may be a stranger's."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [entry for entry in entries if os.path.isabs(entry)]  # noqa: PTH117 - words, no paths of ours


def on_path(name: str, more: Sequence[str] = ()) -> str | None:
    """The program `name` in the absolute entries of PATH, then in `more`; None where it is in none.

    A name with a slash is not looked up: it is returned if such a program can be run.
    """
    return shutil.which(name, path=os.pathsep.join([*path_entries(), *more]))


def client_program(name: ClientName) -> str | None:
    """The absolute path of a coding agent's program on PATH; None where it is not there. Starts nothing."""
    return on_path(name)
