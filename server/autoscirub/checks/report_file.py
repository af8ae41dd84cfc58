"""Finds a project's report: the text that says what was done and what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_REPORTS = ("report.md", "REPORT.md")


def find_report(root: Path, configured: str | None) -> str | None:
    """The report's path from the project root; None when there is none.

    The configured one, whether or not it is there yet, else the one of `report.md` and `REPORT.md` that is. Raises
    ConfigError when both are, as different files.
    """
    if configured:
        return configured
    present = [name for name in DEFAULT_REPORTS if (root / name).exists()]
    if len(present) < 2:
        return present[0] if present else None
    if not (root / present[0]).samefile(root / present[1]):
        raise ConfigError(
            f'{" and ".join(present)} both exist; say which: report = "{present[0]}" in autoscirub.toml'
        )
    # One file under two names: a link, or a file system that ignores case, and then it is spelled one way.
    names = {entry.name for entry in root.iterdir()}
    return next((name for name in present if name in names), present[0])
