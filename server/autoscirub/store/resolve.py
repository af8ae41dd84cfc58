"""Where the project and its state directory are, and why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError, StateError
from autoscirub.store.config import LoadedConfig, load_config

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_STATE_DIR", "Location", "resolve"]

DEFAULT_STATE_DIR = ".autoscirub"
_ROOT_MARKS = (".autoscirub", "autoscirub.toml", ".git")


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

    Raises ConfigError for a project that is no directory or a configuration that cannot be used, and
    StateError for a state directory that is a file or is a link out of the project.
    """
    environment = os.environ if environment is None else environment
    here = Path.cwd() if working_directory is None else working_directory
    root, root_source = _project_root(project, environment, here)
    config = load_config(root)
    folder, source = _state_dir(state_dir, environment, config, root)
    return Location(root, root_source, folder, source, config)


def _project_root(project: str | Path | None, environment: Mapping[str, str], here: Path) -> tuple[Path, str]:
    named = [("--project", project), ("AUTOSCIRUB_PROJECT", environment.get("AUTOSCIRUB_PROJECT"))]
    for source, value in named:
        if value is None or str(value) == "":
            continue
        root = (here / Path(value).expanduser()).resolve()
        if not root.is_dir():
            kind = "is a file" if root.exists() else "does not exist"
            raise ConfigError(f"{source}: {root} {kind}; name the project's folder")
        return root, source
    for folder in (here.resolve(), *here.resolve().parents):
        for mark in _ROOT_MARKS:
            if os.path.lexists(folder / mark):
                return folder, f"{mark} in {folder}"
    return here.resolve(), "the working directory"


def _state_dir(
    override: str | Path | None, environment: Mapping[str, str], config: LoadedConfig, root: Path
) -> tuple[Path, str]:
    chain: list[tuple[str, str | Path | None]] = [
        ("--state-dir", override),
        ("AUTOSCIRUB_STATE_DIR", environment.get("AUTOSCIRUB_STATE_DIR")),
        (f"state_dir in {config.source}", config.values.state_dir),
        ("the default", DEFAULT_STATE_DIR),
    ]
    source, value = next((source, value) for source, value in chain if value is not None and str(value) != "")
    if "\0" in str(value):
        raise ConfigError(f"{source}: the state directory's name holds a NUL character")
    folder = Path(os.path.normpath(root / Path(value).expanduser()))
    if folder == root:
        raise ConfigError(f"{source}: the state directory is the project itself; name a folder in it")
    if os.path.lexists(folder) and not folder.is_dir():
        raise StateError(
            f"{folder} ({source}): is not a directory; move it away or name another state directory"
        )
    if source == "the default" and folder.is_symlink() and not folder.resolve().is_relative_to(root):
        # A link that came with somebody else's repository must not choose where we write.
        raise StateError(
            f"{folder}: is a link that leads out of the project, to {folder.resolve()}; "
            "if you want that, name it with --state-dir or AUTOSCIRUB_STATE_DIR"
        )
    return folder, source
