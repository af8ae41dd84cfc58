"""Where the project and its state directory are, and why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError, StateError
from autoscirub.store.config import LoadedConfig, load_config
from autoscirub.store.files import is_path, leads_out

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_STATE_DIR = ".autoscirub"
ROOT_MARKS = (".autoscirub", "autoscirub.toml", ".git")
_NAMED_BY_THE_USER = ("--state-dir", "AUTOSCIRUB_STATE_DIR")


@dataclass(frozen=True)
class Location:
    """The project root and the state directory, each with the source that named it."""

    project: Path
    project_source: str
    state_dir: Path
    state_source: str
    config: LoadedConfig


def resolve(
    project: str | Path | None = None,
    state_dir: str | Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    working_directory: Path | None = None,
) -> Location:
    """The first source that names it wins; an empty value counts as unset.

    Project root: `project`, AUTOSCIRUB_PROJECT, the nearest parent holding `.autoscirub/`,
    `autoscirub.toml` or `.git`, the working directory. State directory: `state_dir`,
    AUTOSCIRUB_STATE_DIR, the configuration's `state_dir`, `.autoscirub/`; relative paths are relative to
    the project root, for every source. Creates nothing.

    Raises ConfigError for a project that is no directory, a name that is no path, a configuration that
    cannot be used, and a state directory that is the project, holds it, or lies in its `.git`. Raises
    StateError for a state directory that is a file, or that a file of the project has lead out of it by
    a link.
    """
    environment = os.environ if environment is None else environment
    here = _working_directory() if working_directory is None else working_directory
    root, root_source = _project_root(project, environment, here)
    config = load_config(root, environment=environment)
    folder, source = _state_dir(state_dir, environment, config, root)
    return Location(root, root_source, folder, source, config)


def _project_root(project: str | Path | None, environment: Mapping[str, str], here: Path) -> tuple[Path, str]:
    named = [("--project", project), ("AUTOSCIRUB_PROJECT", environment.get("AUTOSCIRUB_PROJECT"))]
    for source, value in named:
        if value is None or str(value) == "":
            continue
        root = Path(os.path.realpath(here / _expanded(value, source)))
        if not os.path.isdir(root):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
            kind = "is a file" if os.path.lexists(root) else "does not exist"
            raise ConfigError(f"{source}: {root} {kind}; name the project's folder")
        return root, source
    start = Path(os.path.realpath(here))
    for folder in (start, *start.parents):
        for mark in ROOT_MARKS:
            if os.path.lexists(folder / mark):
                return folder, f"{mark} in {folder}"
    return start, "the working directory"


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise ConfigError(
            "the working directory no longer exists; change to another, or name the project with --project"
        ) from None


def _expanded(value: str | Path, source: str) -> str:
    if not is_path(value):
        raise ConfigError(f"{source}: {str(value)!r} is not a path: it holds a NUL character, or is not text")
    path = os.path.expanduser(value)  # noqa: PTH111 - Path.expanduser raises for a user there is not
    if str(path).startswith("~"):
        raise ConfigError(f"{source}: {value}: that user has no home folder; write ./{value} for a folder")
    return str(path)


def _state_dir(
    override: str | Path | None, environment: Mapping[str, str], config: LoadedConfig, root: Path
) -> tuple[Path, str]:
    by_option, by_variable = _NAMED_BY_THE_USER
    chain: list[tuple[str, str | Path | None]] = [
        (by_option, override),
        (by_variable, environment.get(by_variable)),
        (f"state_dir in {config.source}", config.values.state_dir),
        ("the default", DEFAULT_STATE_DIR),
    ]
    source, value = next((source, value) for source, value in chain if value is not None and str(value) != "")
    folder = Path(os.path.normpath(root / _expanded(value, source)))
    real = Path(os.path.realpath(folder))
    if real == root:
        raise ConfigError(f"{source}: the state directory is the project itself; name a folder in it")
    if root.is_relative_to(real):
        # Everything in a state directory goes into the history.
        raise ConfigError(f"{source}: the state directory {folder} holds the project; name a folder in it")
    if real.is_relative_to(root / ".git"):
        raise ConfigError(f"{source}: the state directory {folder} lies in .git; name a folder outside it")
    if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112 - see above
        raise StateError(
            f"{folder} ({source}): is not a directory; move it away or name another state directory"
        )
    named_by_the_project = source not in _NAMED_BY_THE_USER
    if named_by_the_project and leads_out(folder, root):
        # Neither a link nor a setting that came with somebody else's repository may choose where we write.
        inside = folder.is_relative_to(root)
        what = (
            f"is a link that leads out of the project, to {real}"
            if inside
            else f"lies outside of the project, as {source} has it"
        )
        raise StateError(
            f"{folder}: {what}; if you want that, name it with --state-dir or AUTOSCIRUB_STATE_DIR"
        )
    return folder, source
