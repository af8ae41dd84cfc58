"""Finding and reading the project's configuration."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ConfigError
from autoscirub.models import ProjectConfig
from autoscirub.store.files import read_regular
from autoscirub.store.policy import LoadedPolicy, apply_policy, load_policy
from autoscirub.store.tables import not_utf8, quote_value, read_toml, validated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LIMITS = {"autoscirub.toml": 256 * 1024, "pyproject.toml": 1024 * 1024, ".autoscirub/config.yaml": 64 * 1024}
"""Bytes. Far above what people write; PyYAML needs a second for 60 KB."""

CONFIG_NAMES = tuple(_LIMITS)

_MAX_BRACKETS = 200
"""In YAML. PyYAML's time grows as the square of how deep these are nested: 3,000 took three seconds."""


@dataclass(frozen=True)
class LoadedConfig:
    """The configuration in effect, and the file that it came from (None: all defaults)."""

    values: ProjectConfig
    source: str | None
    own: ProjectConfig
    """As the project's files set it, before the policy is applied."""
    policy: LoadedPolicy | None = None


def load_config(root: Path, *, environment: Mapping[str, str] | None = None) -> LoadedConfig:
    """The configuration of the project at `root`, under the policy of this machine.

    Raises ConfigError: unreadable, unknown key, wrong type, two sources that disagree, or looser than the policy.
    """
    own, source = _own(root)
    policy = load_policy(environment)
    return LoadedConfig(apply_policy(own, source, policy) if policy else own, source, own, policy)


def _own(root: Path) -> tuple[ProjectConfig, str | None]:
    found = [(name, raw) for name in CONFIG_NAMES if (raw := _read(root, name)) is not None]
    loaded = [(name, validated(ProjectConfig, name, raw)) for name, raw in found]
    if not loaded:
        return ProjectConfig(), None
    first_name, first = loaded[0]
    for name, other in loaded[1:]:
        if other != first:
            differing = sorted(
                key for key in ProjectConfig.model_fields if getattr(first, key) != getattr(other, key)
            )
            raise ConfigError(
                f"{first_name} and {name} disagree on {', '.join(differing)}; keep the settings in one of them"
            )
    return first, first_name


def _read(root: Path, name: str) -> dict[str, Any] | None:
    if not os.path.lexists(
        root / name
    ):  # nothing there, also where `.autoscirub` is a link out of the project
        return None
    data = read_regular(root / name, limit=_LIMITS[name], within=root, error=ConfigError)
    if data is None:
        return None
    if name.endswith(".yaml"):
        return _read_yaml(data, name)
    table = read_toml(data, name)
    if name != "pyproject.toml":
        return table
    tools = table.get("tool")
    ours = tools.get("autoscirub") if isinstance(tools, dict) else None
    if ours is not None and not isinstance(ours, dict):
        raise ConfigError(f"{name}: tool.autoscirub is {quote_value(ours)}, expected a table")
    return ours


def _read_yaml(data: bytes, name: str) -> dict[str, Any]:
    """The plain part of YAML: one document; no tags, no anchors (which can stand for billions), no repeated key."""
    import yaml

    if data.count(b"[") + data.count(b"{") > _MAX_BRACKETS:
        raise ConfigError(
            f"{name}: has more than {_MAX_BRACKETS} brackets; write lists as lines that begin with -"
        )
    try:
        text = data.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
                raise ConfigError(f"{name}: anchors, aliases and tags (& * !) are not read here{_at(event)}")
        _refuse_repeated_keys(yaml.compose(text, Loader=yaml.SafeLoader), name)
        value = yaml.safe_load(text)
        # YAML can write half of a surrogate pair, which no file and no terminal takes.
        json.dumps(value, ensure_ascii=False, skipkeys=True, default=str).encode("utf-8")
    except UnicodeDecodeError as cause:
        raise ConfigError(f"{name}: {not_utf8(data, cause)}") from None
    except UnicodeEncodeError:
        raise ConfigError(f"{name}: a text holds half of a surrogate pair, which is not valid text") from None
    except (yaml.YAMLError, RecursionError, ValueError) as cause:  # ValueError: 2001-99-99 is read as a date
        raise ConfigError(f"{name}: is not YAML: {' '.join(str(cause).split())}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: holds {quote_value(value)}, expected keys and values")
    return value


def _at(part: Any) -> str:
    return f" (line {part.start_mark.line + 1})"


def _refuse_repeated_keys(node: Any, name: str) -> None:
    if not isinstance(getattr(node, "value", None), list):
        return
    seen: set[str] = set()
    for part in node.value:
        if isinstance(part, tuple):
            key, part = part
            if isinstance(key.value, str) and key.value in seen:
                raise ConfigError(f"{name}: the key {quote_value(key.value)} appears twice{_at(key)}")
            seen.add(str(key.value))
        _refuse_repeated_keys(part, name)
