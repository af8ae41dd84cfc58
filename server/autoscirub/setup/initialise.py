"""`init`: lay down the configuration, predictions to fill in, and the state directory. Overwrites nothing."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.data import config_text, template
from autoscirub.errors import ConfigError
from autoscirub.store import load_config, open_project, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.store import Project

__all__ = ["Initialised", "initialise"]


@dataclass
class Initialised:
    """What was laid down, what was there already, and what belongs into git."""

    project: str
    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    commit: list[str] = field(default_factory=list)
    next: str = "fill in prereg.toml, then: autoscirub freeze --dry-run"

    def text(self) -> str:
        """For people."""
        lines = [f"in    {self.project}", *(f"made  {name}" for name in self.made)]
        lines += [f"kept  {name} (it was there; unchanged)" for name in self.kept]
        lines += [f"git   commit these: {', '.join(self.commit)}", f"next  {self.next}"]
        return "\n".join(lines)


def initialise(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    report: str | None = None,
    results: str | None = None,
    run: str | None = None,
) -> Initialised:
    """Lay down `autoscirub.toml`, `prereg.toml` and the state directory with its .gitignore.

    Raises ConfigError for a path that leaves the project, a run command that is none, or settings that
    an existing configuration says otherwise.
    """
    for option, value in (("--report", report), ("--results", results)):
        if value is not None:
            _inside(option, value)
    command = _command(run) if run is not None else None
    opened = open_project(project, state_dir)
    laid = Initialised(str(opened.root))
    _configure(opened, laid, report, results, command)
    _lay(opened.root / "prereg.toml", template("prereg"), "prereg.toml", laid)
    with opened.state.writing():
        shown = os.path.relpath(opened.state.root, opened.root)
        _lay(opened.state.root / ".gitignore", template("gitignore"), f"{shown}/.gitignore", laid)
    load_config(opened.root)
    laid.commit = ["autoscirub.toml", "prereg.toml", ".prereg.lock (once frozen)", f"{shown}/"]
    return laid


def _configure(
    opened: Project, laid: Initialised, report: str | None, results: str | None, command: list[str] | None
) -> None:
    source = opened.location.config.source
    if source is None:
        _lay(
            opened.root / "autoscirub.toml",
            config_text(report=report, results=results, command=command),
            "autoscirub.toml",
            laid,
        )
        return
    there = opened.config
    asked = {"report": (report, there.report), "results": (results, there.results)}
    asked["run.command"] = (command, list(there.run.command) if there.run else None)  # type: ignore[assignment]
    for key, (wanted, has) in asked.items():
        if wanted is not None and wanted != has:
            raise ConfigError(
                f"{source}: says {key} = {has!r}, not {wanted!r}; change it there, init overwrites nothing"
            )
    laid.kept.append(source)


def _lay(path: Path, text: str, shown: str, laid: Initialised) -> None:
    if os.path.lexists(path):
        laid.kept.append(shown)
        return
    write_atomic(path, text.encode("utf-8"))
    laid.made.append(shown)


def _inside(option: str, value: str) -> None:
    from autoscirub.checks import path_faults

    if fault := path_faults(value):
        raise ConfigError(f"{option} {value!r}: name a file inside the project; {fault}")


def _command(run: str) -> list[str]:
    try:
        command = shlex.split(run)
    except ValueError as error:
        raise ConfigError(f"--run {run!r}: {error}") from None
    if not command:
        raise ConfigError("--run is empty; name a program and its arguments, such as 'python run.py'")
    return command
