"""`doctor` for this machine: what is installed, what is missing, and how to get it. Writes nothing."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from autoscirub.data import data_dir
from autoscirub.errors import AutoscirubError, HistoryError
from autoscirub.sandbox import available
from autoscirub.setup.doctor.clients import look_at_clients
from autoscirub.setup.doctor.probe import finding
from autoscirub.setup.install import plugin_files
from autoscirub.store import (
    DATA_DIR_VARIABLE,
    can_lock,
    git_program,
    git_version,
    is_trusted,
    open_project,
    trust_view,
    user_data_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoscirub.data import Kind
    from autoscirub.models import Decision
    from autoscirub.store import Project

_SHIPPED: tuple[Kind, ...] = ("schemas", "state", "skills", "hooks", "plugin")


def look_around(project: str | Path | None = None, *, state_dir: str | Path | None = None) -> list[Decision]:
    """A Decision for each thing that autoscirub needs or may use here, coding agents included.

    *Does not hold*: it is needed and missing. *Inconclusive*: nothing needs it yet, or it cannot be determined.
    """
    found = [_python(), _package(), _git(), _sandbox(), *_places(project, state_dir)]
    with contextlib.suppress(
        AutoscirubError
    ):  # it is reported above, and the clients are checked all the same
        return [*found, *look_at_clients(open_project(project, state_dir).root)]
    return [*found, *look_at_clients(None)]


def _python() -> Decision:
    version = ".".join(map(str, sys.version_info[:3]))
    return finding(
        "python",
        "Is this Python new enough?",
        sys.version_info >= (3, 11),
        version,
        "" if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed",
        note=sys.executable,
    )


def _package() -> Decision:
    from autoscirub.version import __version__

    missing = []
    for kind in _SHIPPED:
        try:
            if not any(data_dir(kind).iterdir()):
                missing.append(f"{data_dir(kind)}: is empty; install the package again")
        except AutoscirubError as error:
            missing.append(str(error))
    try:
        plugin_files()  # every part of the plugin by its name
    except AutoscirubError as error:
        missing.append(str(error))
    word = f"autoscirub {__version__}"
    question = "Is everything there that ships with the package?"
    return finding("package", question, not missing, word if not missing else "not complete", *missing)


def _git() -> Decision:
    question = "Is git there, which keeps the history?"
    try:
        version = git_version()
    except HistoryError as error:
        return finding("git", question, False, "missing or does not start", str(error))
    return finding("git", question, True, version, note=git_program())


def _sandbox() -> Decision:
    question = "How is the code isolated that a rerun starts?"
    level, problem = available()
    if problem is None:
        return finding("sandbox", question, True, "bubblewrap", note="own file system, no network, limits")
    what = "limits and a clean environment are enforced, files and network are not"
    return finding("sandbox", question, None, f"a plain {level}", problem, note=what)


def _places(project: str | Path | None, state_dir: str | Path | None) -> Iterator[Decision]:
    data = user_data_path()
    question = "Can what belongs to you be kept outside of projects (trust, the working history, the plugin)?"
    if data is None or not _writable(data):
        how = f"set {DATA_DIR_VARIABLE} to a folder that can be written; without one, every trust is asked again"
        yield finding("user data", question, False, "cannot be written", how, note=str(data or "no home"))
    else:
        yield finding("user data", question, True, "can be written", note=str(data))
    question = "Can the state of this project be written?"
    try:
        opened = open_project(project, state_dir)
    except AutoscirubError as error:
        yield finding("state", question, False, "cannot be used", str(error))
        return
    state = opened.location.state_dir
    if _writable(state):
        made = "can be written" if state.is_dir() else "can be made"
        yield finding("state", question, True, made, note=f"{state} ({opened.location.state_source})")
    else:
        how = f"make {state} writable, or name another with --state-dir or AUTOSCIRUB_STATE_DIR"
        yield finding("state", question, False, "cannot be written", how, note=str(state))
    yield _locking(state)
    yield _judge(opened)


def _writable(path: Path) -> bool:
    """Whether the folder can be written, or made. By permission alone: a check must leave nothing behind."""
    there = path
    while not there.exists():
        if there == there.parent:
            return False
        there = there.parent
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _locking(state: Path) -> Decision:
    question = "Can two commands be kept from writing at once there?"
    there = state
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        locks = can_lock(there)
    except OSError as cause:
        return finding("locking", question, None, "could not be tried", f"{there}: {cause.strerror}")
    if not locks:
        how = "a lease file is used instead; on one machine at a time that is as good"
        return finding("locking", question, None, "this file system has no locks", how, note=str(there))
    return finding("locking", question, True, "file locks work", note=str(there))


def _judge(opened: Project) -> Decision:
    from autoscirub.judging.backends import JudgeProgram, open_backend

    question = "Can what code cannot decide be read by a judge?"
    config = opened.config.judge
    if config.backend == "none":
        how = "what must be read stays open; to set one up: [judge] in autoscirub.toml"
        return finding("judge", question, None, "none is set up", how)
    view = trust_view(opened.config)
    try:
        trusted = is_trusted(view, str(opened.root))
        open_backend(config, opened.root, trusted=trusted)
    except AutoscirubError as error:
        return finding("judge", question, False, f"{config.backend} cannot be used", str(error))
    if config.backend != "command" or config.command is None:
        return finding("judge", question, True, config.backend, note=config.model or "")
    try:
        program = JudgeProgram(config.command, opened.root).words()[0]
    except AutoscirubError as error:
        return finding("judge", question, False, "its program cannot be started", str(error))
    if not trusted:
        how = "look at what would run, and allow it: autoscirub trust"
        return finding("judge", question, False, "set up, not trusted on this machine", how, note=program)
    return finding("judge", question, True, "set up and trusted", note=program)
