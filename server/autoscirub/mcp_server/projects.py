"""Resolves the project that a call is about: the one that the server was started in, or a folder in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError
from autoscirub.models import RunManifest
from autoscirub.store import CONFIG_NAMES, ROOT_MARKS, Project, StateStore, is_path, open_project, resolve
from autoscirub.store.history import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.store import Location

_FOLDERS = 5_000
_VARIABLES = ("AUTOSCIRUB_PROJECT", "AUTOSCIRUB_STATE_DIR", "HOME")
_Seen = tuple[str, tuple[str | None, ...], tuple[tuple[int, int, int, int] | None, ...]]


@dataclass(frozen=True)
class ServedProject:
    """A project and its state directory, as the handlers receive them."""

    project: Path
    state_dir: Path
    job: str | None = None
    """The job that this is done in, which is not to be waited for in what comes next."""
    project_source: str = "the call"
    state_source: str = "the call"

    def open(self) -> Project:
        """The project, opened."""
        return open_project(self.project, self.state_dir)


@dataclass(frozen=True)
class ServedProjects:
    """What the server was started with. `here` is where the search for a project begins."""

    project: Path | None = None
    state_dir: Path | None = None
    here: Path | None = None
    _cached: dict[str, tuple[_Seen, ServedProject]] = field(default_factory=dict, compare=False, repr=False)
    """The project for calls without arguments, valid while everything that it was found by is unchanged."""

    @classmethod
    def of_environment(cls, project: Path | None = None, state_dir: Path | None = None) -> ServedProjects:
        """As started: with `--project` and `--state-dir`, in the folder that the client says it works in."""
        client_folder = os.environ.get("CLAUDE_PROJECT_DIR") or None
        here = Path(client_folder).resolve() if client_folder and Path(client_folder).is_dir() else None
        return cls(project, state_dir, here)

    def of(self, project: str | None, state_dir: str | None) -> ServedProject:
        """The place that a call names. Raises ConfigError for one outside of the server's project, for none that can
        be worked in, and for another state directory than the one that holds the project's record."""
        if project is not None or state_dir is not None:
            return self._find(project, state_dir)
        cached = self._cached.get("")
        if cached is not None and cached[0] == _seen(self, cached[1].project):
            return cached[1]
        place = self._find(None, None)
        self._cached[""] = _seen(self, place.project), place
        return place

    def _find(self, project: str | None, state_dir: str | None) -> ServedProject:
        for name, value in (("project", project), ("state_dir", state_dir)):
            if value is not None and not is_path(value):
                raise ConfigError(f"{name}: {value!r} is no path")
        try:
            return self._found(project, state_dir)
        except (
            OSError,
            ValueError,
        ) as cause:  # a name that is too long, a folder that may not be looked into
            raise ConfigError(f"project, state_dir: cannot be looked at: {cause}") from cause

    def _found(self, project: str | None, state_dir: str | None) -> ServedProject:
        home = self._home()
        named = home
        if project is not None:
            named = self._named(home, project)
        default = named or self._usable(None)
        if home is not None and default.project != home.project:
            _refuse_shared(home, default)
        if state_dir is None:
            return ServedProject(
                default.project,
                default.state_dir,
                project_source=default.project_source,
                state_source=default.state_source,
            )
        return ServedProject(
            default.project, self._state_dir(default, state_dir), project_source=default.project_source
        )

    def _home(self) -> Location | None:
        try:
            return self._usable(None)
        except _NotAProject:
            return None

    def _usable(self, project: Path | None) -> Location:
        location = resolve(project or self.project, self.state_dir, working_directory=self.here)
        fault = _unfit(location)
        if fault is not None:
            raise _NotAProject(fault)
        return location

    def _named(self, home: Location | None, project: str) -> Location:
        base = home.project if home is not None else (self.here or Path.cwd())
        path = Path(os.path.realpath(base / project))
        if home is not None and not path.is_relative_to(home.project):
            raise ConfigError(
                f"project: {project}: lies outside of {home.project}, which this server works in; leave project out, "
                "or ask the person to start the client in the other project"
            )
        if home is not None and path == home.project:
            return home
        if home is not None and _is_within(path, home.state_dir, home.project / ".git"):
            raise ConfigError(
                f"project: {project}: holds the record of {home.project}, and no work; leave project out"
            )
        return self._usable(path)

    def _state_dir(self, default: Location, state_dir: str) -> Path:
        location = resolve(default.project, state_dir)
        wanted = Path(os.path.realpath(location.state_dir))
        if wanted == Path(os.path.realpath(default.state_dir)):
            return default.state_dir
        if not wanted.is_relative_to(default.project):
            raise ConfigError(
                f"state_dir: {state_dir}: lies outside of the project {default.project}; leave it out. A person names "
                "another: AUTOSCIRUB_STATE_DIR, or state_dir in autoscirub.toml"
            )
        if (recorded := _record_of(default, wanted)) is not None:
            # Otherwise what is frozen and refuted there could be frozen again elsewhere.
            raise ConfigError(
                f"state_dir: {state_dir}: the record of this project is in {recorded}; "
                f"{'name that' if recorded != default.state_dir else 'leave state_dir out'}. A person names another: "
                "AUTOSCIRUB_STATE_DIR, or state_dir in autoscirub.toml"
            )
        return location.state_dir


def _refuse_shared(home: Location, other: Location) -> None:
    """One record belongs to one project: a result for a part of it must not be written into the record of the whole."""
    ours, theirs = Path(os.path.realpath(home.state_dir)), Path(os.path.realpath(other.state_dir))
    if theirs.is_relative_to(ours) or ours.is_relative_to(theirs):
        raise ConfigError(
            f"project: {other.project}: its state directory {other.state_dir} would be that of {home.project}, which "
            "has a record of its own; leave project out, or give that folder a state_dir of its own, in its "
            "autoscirub.toml"
        )


def _record_of(default: Location, wanted: Path) -> Path | None:
    """Where the project's record is, if it has one and that is not `wanted`."""
    if StateStore(default.state_dir).exists():
        return default.state_dir
    known = [Path(each) for each in records_of(default.project)]
    known += [path.parent for path in _manifests(default.project)]
    if any(os.path.realpath(each) == str(wanted) for each in known):
        return None
    return next((each for each in known if each.is_dir()), None)


def _manifests(root: Path) -> Iterator[Path]:
    """Manifests in the project's folders, at most three deep; only a limited number of folders is searched."""
    inspected = 0
    for depth in ("*", "*/*", "*/*/*"):
        for folder in root.glob(f"{depth}/"):
            inspected += 1
            if inspected > _FOLDERS:
                return
            if (folder / RunManifest.file_name).is_file():
                yield folder / RunManifest.file_name


def _is_within(path: Path, *folders: Path) -> bool:
    return any(path.is_relative_to(os.path.realpath(folder)) for folder in folders)


def _seen(places: ServedProjects, root: Path) -> _Seen:
    """Everything that a project is found by: variables, marks of a project from here upwards, the configuration.

    A policy is left out: it does not move a project, and each operation reads it again.
    """
    variables = tuple(os.environ.get(name) for name in _VARIABLES)
    here = str(places.here) if places.here is not None else _cwd()
    folders = [here]
    if places.project is not None or variables[0] or not here:
        folders = []  # nothing is looked for upwards
    else:
        while (above := os.path.dirname(folders[-1])) != folders[-1]:  # noqa: PTH120
            folders.append(above)
    paths = [f"{folder}/{mark}" for folder in folders for mark in ROOT_MARKS]
    paths += [f"{root}/{name}" for name in CONFIG_NAMES]
    return here, variables, tuple(map(_look, paths))


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - text, at every call
    except FileNotFoundError:
        return ""  # whoever looks for the project says so


def _look(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


class _NotAProject(ConfigError):  # noqa: N818 - its message is for the agent as it is
    """Raised where the server was started in no project."""


def _unfit(location: Location) -> str | None:
    root = location.project
    move = "start the client in your project's folder, or name it: project"
    if root == Path(root.anchor):
        return f"{root}: is no project; {move}"
    if location.project_source == "the working directory" and root == Path(os.path.realpath(Path.home())):
        return f"{root}: is your home, and no project; {move}"
    if (root / "server" / "autoscirub" / "mcp_server").is_dir() or _is_plugin_copy(root):
        return f"{root}: is autoscirub's own package or plugin, and no project of yours; {move}"
    return None


def _is_plugin_copy(root: Path) -> bool:
    manifest = root / ".claude-plugin" / "plugin.json"
    try:
        text = manifest.read_text(encoding="utf-8", errors="replace")[:4096]
    except OSError:
        return False
    return re.search(r'"name"\s*:\s*"autoscirub"', text) is not None
