"""Finding and reading the policy: the file that AUTOSCIRUB_POLICY names, else the system's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError
from autoscirub.store.files import is_path, read_regular
from autoscirub.store.tables import read_toml, validated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autoscirub.models import Policy, ProjectConfig

POLICY_VARIABLE = "AUTOSCIRUB_POLICY"
POLICY_NAME = "policy.toml"
_LIMIT = 256 * 1024
_SYSTEM = "the system's"


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy, the file that it is in, and what named that file."""

    values: Policy
    path: Path
    source: str

    @property
    def place(self) -> str:
        """The file's path as text that every stream takes: a name of other bytes than UTF-8 with escapes."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")

    def __str__(self) -> str:
        return f"{self.place} ({self.source})"


def load_policy(environment: Mapping[str, str] | None = None) -> LoadedPolicy | None:
    """The policy of this machine; None where there is none.

    AUTOSCIRUB_POLICY names the file, and then it must be there; an empty variable counts as unset. Else it is
    `policy.toml` in the system's configuration directories for autoscirub (XDG_CONFIG_DIRS is honoured), the
    first that there is. Links are followed: whoever names a policy may store it elsewhere.

    Raises ConfigError: named and not there, unreadable, unknown key, wrong type. A policy that cannot be read
    never counts as no policy.
    """
    environment = os.environ if environment is None else environment
    named = environment.get(POLICY_VARIABLE, "")
    if named:
        path = _named_path(named)
        data = _read(path)
        if data is None:
            raise ConfigError(
                f"{POLICY_VARIABLE}: {path} is not there; name the policy's file, or unset the variable where no "
                "policy should apply"
            )
        return _loaded(path, POLICY_VARIABLE, data)
    for path in _system_paths():
        if (data := _read(path)) is not None:
            return _loaded(path, _SYSTEM, data)
    return None


def apply_policy(own: ProjectConfig, source: str | None, policy: LoadedPolicy) -> ProjectConfig:
    """The configuration in effect under `policy`. Raises ConfigError, naming both files, when `own` is looser."""
    from autoscirub.models import against_policy, under_policy

    if looser := against_policy(own, policy.values):
        lines = "".join(f"\n  {line}" for line in looser)
        raise ConfigError(
            f"{source or 'the configuration'}: looser than the policy in {policy}, which a project may only "
            f"tighten:{lines}\nor ask whoever maintains the policy to change it"
        )
    return under_policy(own, policy.values)


def _named_path(named: str) -> Path:
    if not is_path(named):
        raise ConfigError(f"{POLICY_VARIABLE}: {named!r} is not a path; name the policy's file")
    try:
        return Path(os.path.abspath(os.path.expanduser(named)))  # noqa: PTH100, PTH111 - no such user is no error here
    except FileNotFoundError:
        raise ConfigError(
            f"{POLICY_VARIABLE}: {named} is relative to a working directory that no longer exists; name the "
            "policy's file by its absolute path"
        ) from None


def _system_paths() -> Iterator[Path]:
    from platformdirs import PlatformDirs

    # All of them: a desktop puts its own folder before /etc/xdg, where the policy is.
    folders = PlatformDirs("autoscirub", appauthor=False, multipath=True).site_config_dir
    for folder in folders.split(os.pathsep):
        if os.path.isabs(folder):  # noqa: PTH117 - one that is not would be the project's to fill
            yield Path(folder) / POLICY_NAME


def _read(path: Path) -> bytes | None:
    """None when nothing is there. A link that leads nowhere is something."""
    try:
        data = read_regular(Path(os.path.realpath(path)), limit=_LIMIT, error=ConfigError)
    except ConfigError as error:
        if isinstance(
            error.__cause__, NotADirectoryError
        ):  # a file where the folder would be: no policy there
            return None
        raise ConfigError(f"the policy {error}") from error.__cause__
    if data is None and os.path.lexists(path):
        raise ConfigError(f"the policy {path}: is a link that leads nowhere; fix or remove it")
    return data


def _loaded(path: Path, source: str, data: bytes) -> LoadedPolicy:
    from autoscirub.models import Policy

    name = f"the policy {path}"
    return LoadedPolicy(validated(Policy, name, read_toml(data, name)), path, source)
