"""`init`: finds report, results and run command, and writes configuration and predictions. Overwrites nothing."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from autoscirub.checks import find_report, find_results, result_places
from autoscirub.checks.predictions import LOCK_NAME
from autoscirub.data import config_text, template
from autoscirub.errors import ConfigError
from autoscirub.models import SUBJECTS, Choice, Initialised, RunManifest, SetupQuestion
from autoscirub.setup.discover import choose, command_of, find_setup, path_of
from autoscirub.store import load_config, open_project, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.models import Subject, Value
    from autoscirub.setup.discover import Ask
    from autoscirub.store import Project

_MOST_OFFERED = 9
"""Candidates that a question offers by number."""


def initialise(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    report: str | None = None,
    results: str | None = None,
    run: str | None = None,
    yes: bool = False,
    ask: Ask | None = None,
) -> Initialised:
    """Create `autoscirub.toml`, `prereg.toml` and the state directory with its .gitignore.

    What `report`, `results` and `run` leave open is searched for, and `ask` chooses among the candidates; without it
    only clear finds are taken, with `yes` the best ones. Nothing is run, and nothing is written before every question
    is answered. Where there is a configuration already, nothing is searched for.

    Raises ConfigError for a path that leaves the project, an invalid run command, or settings that contradict an
    existing configuration; and what `ask` raises.
    """
    opened = open_project(project, state_dir)
    stated: dict[Subject, Value] = {}
    if report is not None:
        stated["report"] = path_of("--report", report, opened.root)
    if results is not None:
        stated["results"] = path_of("--results", results, opened.root)
    if run is not None:
        stated["run"] = command_of("--run", run)
    laid = Initialised(str(opened.root))
    label = os.path.relpath(opened.state.root, opened.root)
    if opened.location.config.source is not None:
        _keep(opened, laid, stated)
    else:
        _find(opened, laid, stated, label, yes=yes, ask=ask)
        _lay(opened.root / "autoscirub.toml", _config(laid), "autoscirub.toml", laid)
    _lay(opened.root / "prereg.toml", template("prereg"), "prereg.toml", laid)
    with opened.state.writing():
        _lay(opened.state.root / ".gitignore", template("gitignore"), f"{label}/.gitignore", laid)
    _look_ahead(opened, laid)
    laid.commit = ["autoscirub.toml", "prereg.toml", ".prereg.lock (once frozen)", f"{label}/"]
    return laid


def _keep(opened: Project, laid: Initialised, stated: dict[Subject, Value]) -> None:
    source, there = opened.location.config.source, opened.config
    command = tuple(there.run.command) if there.run else None
    has: dict[Subject, Value | None] = {"report": there.report, "results": there.results, "run": command}
    for subject, value in has.items():
        wanted = stated.get(subject)
        if wanted is not None and wanted != value:
            key = "run.command" if subject == "run" else subject
            label, asked = (list(part) if isinstance(part, tuple) else part for part in (value, wanted))
            raise ConfigError(
                f"{source}: says {key} = {label!r}, not {asked!r}; change it there, init overwrites nothing"
            )
        laid.taken[subject] = Choice(value, "config", f"{source} has it" if value else f"{source} names none")
    laid.existing.append(str(source))


def _find(
    opened: Project,
    laid: Initialised,
    stated: dict[Subject, Value],
    state: str,
    *,
    yes: bool,
    ask: Ask | None,
) -> None:
    recorded = _is_recorded(opened)
    if len(stated) < len(SUBJECTS) and not recorded:
        laid.found = find_setup(opened.root, skip={state})
    lead = f"in {opened.root}: looked at {laid.found.files:,} files; nothing is run"
    for subject in SUBJECTS:
        if subject in stated:
            laid.taken[subject] = Choice(stated[subject], "flag", f"--{subject}")
        elif recorded:
            # By then the settings that decide are locked, unset ones too: setting one here would change the scope.
            laid.taken[subject] = Choice(None, "open", "there is a record already, so nothing was looked for")
        else:
            question = SetupQuestion(subject, tuple(laid.found.of(subject)[:_MOST_OFFERED]), lead)
            lead = ""
            laid.taken[subject] = choose(question, opened.root, ask=ask, yes=yes)
    results, command = laid.taken["results"].value, laid.taken["run"].value
    if command is not None and isinstance(results, str) and not re.search(r"[*?\[]", results):
        laid.outputs = [results]  # a name with these characters would be read as a pattern
    known = next((one for one in laid.found.run if one.value == command), None)
    if known is not None:
        laid.inputs = [path for path in known.inputs if path != results and not re.search(r"[*?\[]", path)]


def _config(laid: Initialised) -> str:
    report, results, command = (laid.taken[subject].value for subject in SUBJECTS)
    return config_text(
        report=str(report) if report else None,
        results=str(results) if results else None,
        command=list(command) if isinstance(command, tuple) else None,
        inputs=laid.inputs,
        outputs=laid.outputs,
    )


def _is_recorded(opened: Project) -> bool:
    return os.path.lexists(opened.root / LOCK_NAME) or os.path.lexists(
        opened.state.root / RunManifest.file_name
    )


def _look_ahead(opened: Project, laid: Initialised) -> None:
    """What comes next, and what is worth knowing before a freeze."""
    config = load_config(opened.root).values
    recorded = _is_recorded(opened)
    there = [path for path in result_places(config.results) if _has_content(opened.root / path)]
    if there and not recorded:
        laid.notes.append(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already: predictions frozen now "
            "would be recorded as frozen after results existed"
        )
    if laid.found.cut:
        laid.notes.append(f"there are more files than are searched; {laid.found.files:,} were")
    try:
        report, results = find_report(opened.root, config.report), find_results(opened.root, config.results)
    except ConfigError:
        return  # two of them, and it was said above that a person must say which
    if report and _has_content(opened.root / report) and results in there:
        laid.next = "autoscirub check"


def _has_content(path: Path) -> bool:
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _lay(path: Path, text: str, label: str, laid: Initialised) -> None:
    if os.path.lexists(path):
        laid.existing.append(label)
        return
    write_atomic(path, text.encode("utf-8"))
    laid.made.append(label)
