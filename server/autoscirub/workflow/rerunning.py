"""Rerunning a project's code: trusted first, in a fresh copy, compared key by key. Recorded nowhere yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from autoscirub.checks import rerun as run_again
from autoscirub.store import is_trusted, open_project, trust_view

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.checks import Rerun

__all__ = ["rerun"]


def rerun(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    isolation: Literal["best", "bubblewrap", "process"] = "best",
) -> Rerun:
    """Whether the results come out of the code again.

    Raises TrustError when the command is not trusted on this machine and in this place, ConfigError without a
    `[run] command`, and SandboxError when an isolation that was asked for cannot be had.
    """
    opened = open_project(project, state_dir)
    trusted = is_trusted(trust_view(opened.config), str(opened.root))
    return run_again(opened, trusted=trusted, isolation=isolation)
