"""Finding and reading the project's configuration."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.errors import ConfigError
from autoscirub.models import ProjectConfig
from autoscirub.store.files import read_regular

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CONFIG_NAMES", "LoadedConfig", "load_config", "read_toml"]

CONFIG_NAMES = ("autoscirub.toml", "pyproject.toml", ".autoscirub/config.yaml")
_LIMIT = 4 * 1024 * 1024


@dataclass(frozen=True)
class LoadedConfig:
    """The configuration, and the file that it came from (None: all defaults)."""

    values: ProjectConfig
    source: str | None


def load_config(root: Path) -> LoadedConfig:
    """The configuration of the project at `root`.

    Raises ConfigError: unreadable, unknown key, wrong type, or two sources that disagree.
    """
    found = [(name, raw) for name in CONFIG_NAMES if (raw := _read(root, name)) is not None]
    loaded = [(name, _validated(name, raw)) for name, raw in found]
    if not loaded:
        return LoadedConfig(ProjectConfig(), None)
    first_name, first = loaded[0]
    for name, other in loaded[1:]:
        if other != first:
            differing = sorted(
                key for key in ProjectConfig.model_fields if getattr(first, key) != getattr(other, key)
            )
            raise ConfigError(
                f"{first_name} and {name} disagree on {', '.join(differing)}; keep the settings in one of them"
            )
    return LoadedConfig(first, first_name)


def read_toml(data: bytes, name: str, error: type[Exception] = ConfigError) -> dict[str, Any]:
    """TOML text as a table; a byte-order mark is read as if it were not there. Raises `error`."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        raise error(f"{name}: is not UTF-8: byte 0x{data[cause.start]:02x} (line {line})") from None
    except tomllib.TOMLDecodeError as cause:
        raise error(f"{name}: is not TOML: {cause}") from None
    except RecursionError:
        raise error(f"{name}: is nested too deeply") from None


def _read(root: Path, name: str) -> dict[str, Any] | None:
    data = read_regular(root / name, limit=_LIMIT, within=root, error=ConfigError)
    if data is None:
        return None
    if name.endswith(".yaml"):
        return _read_yaml(data, name)
    table = read_toml(data, name)
    if name != "pyproject.toml":
        return table
    ours = table.get("tool", {}).get("autoscirub")
    if ours is not None and not isinstance(ours, dict):
        raise ConfigError(f"{name}: tool.autoscirub is {type(ours).__name__}, expected a table")
    return ours


def _read_yaml(data: bytes, name: str) -> dict[str, Any]:
    import yaml

    try:
        value = yaml.safe_load(data.decode("utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as cause:
        raise ConfigError(f"{name}: is not YAML: {' '.join(str(cause).split())}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: holds {type(value).__name__}, expected keys and values")
    return value


def _validated(name: str, raw: dict[str, Any]) -> ProjectConfig:
    try:
        return ProjectConfig.model_validate(raw)
    except ValidationError as error:
        raise ConfigError("\n".join(_fault(name, fault) for fault in error.errors())) from None


def _fault(name: str, fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = _known_keys(fault["loc"][:-1])
        return f"{name}: unknown key {where}; known here: {', '.join(known)}"
    return f"{name}: {where} = {fault['input']!r}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    model: Any = ProjectConfig
    for part in path:
        annotation = model.model_fields[part].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        model = next(option for option in candidates if hasattr(option, "model_fields"))
    return sorted(model.model_fields)
