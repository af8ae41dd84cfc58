"""Finding and reading the project's configuration."""

from __future__ import annotations

import json
import os
import re
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

_LIMITS = {"autoscirub.toml": 256 * 1024, "pyproject.toml": 1024 * 1024, ".autoscirub/config.yaml": 64 * 1024}
"""Bytes. Far above what people write; PyYAML needs a second for 60 KB."""

CONFIG_NAMES = tuple(_LIMITS)

_MAX_FAULTS = 20
_MAX_BRACKETS = 200
"""In YAML. PyYAML's time grows as the square of how deep these are nested: 3,000 took three seconds."""

_MAX_KEY_PARTS = 32
_LONG_KEY = re.compile(
    rb"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % _MAX_KEY_PARTS
)
"""A dotted key of very many parts. tomllib needs memory as the square of their number: 64 KB took 4 GB."""


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
    if match := _LONG_KEY.search(data):
        line = data.count(b"\n", 0, match.start()) + 1
        raise error(f"{name}: a key of more than {_MAX_KEY_PARTS} parts with dots between (line {line})")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as cause:
        raise error(f"{name}: {_not_utf8(data, cause)}") from None
    except tomllib.TOMLDecodeError as cause:
        raise error(f"{name}: is not TOML: {cause}") from None
    except ValueError:  # of int(): Python refuses to turn that many digits into a number
        raise error(f"{name}: holds a number of too many digits") from None
    except RecursionError:
        raise error(f"{name}: is nested too deeply") from None


def _not_utf8(data: bytes, cause: UnicodeDecodeError) -> str:
    line = data.count(b"\n", 0, cause.start) + 1
    return f"is not UTF-8: byte 0x{data[cause.start]:02x} (line {line})"


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
        raise ConfigError(f"{name}: tool.autoscirub is {_shown(ours)}, expected a table")
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
        raise ConfigError(f"{name}: {_not_utf8(data, cause)}") from None
    except UnicodeEncodeError:
        raise ConfigError(f"{name}: a text holds half of a surrogate pair, which is no text") from None
    except (yaml.YAMLError, RecursionError, ValueError) as cause:  # ValueError: 2001-99-99 is read as a date
        raise ConfigError(f"{name}: is not YAML: {' '.join(str(cause).split())}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: holds {_shown(value)}, expected keys and values")
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
                raise ConfigError(f"{name}: the key {_shown(key.value)} stands twice{_at(key)}")
            seen.add(str(key.value))
        _refuse_repeated_keys(part, name)


def _validated(name: str, raw: dict[str, Any]) -> ProjectConfig:
    try:
        return ProjectConfig.model_validate(raw)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        lines = [_fault(name, fault) for fault in faults[:_MAX_FAULTS]]
        if len(faults) > _MAX_FAULTS:
            lines.append(f"{name}: and {len(faults) - _MAX_FAULTS:,} faults more")
        raise ConfigError("\n".join(lines)) from None


def _fault(name: str, fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = _known_keys(fault["loc"][:-1])
        return f"{name}: unknown key {where}; known here: {', '.join(known)}"
    if fault["type"] == "invalid_key":
        return f"{name}: the key {where} is not text"
    if fault["type"] == "missing":
        return f"{name}: {where} is not there, and must be"
    return f"{name}: {where} = {_shown(fault['input'])}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):  # the repr of a value nested deeply enough raises RecursionError
        return "a table"
    if isinstance(value, list | set):
        return "a list"
    if (
        isinstance(value, int) and value.bit_length() > 64
    ):  # and that of 0xfff… with too many digits ValueError
        return "a very large number"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys of the table at `path`; an index, or a key that people choose, leads to a table of the same kind."""
    model: Any = ProjectConfig
    for part in path:
        if part in model.model_fields:
            model = _table_in(model.model_fields[part].annotation)
            if model is None:
                return []
    return sorted(model.model_fields)


def _table_in(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    found = (_table_in(part) for part in getattr(annotation, "__args__", ()))
    return next((table for table in found if table is not None), None)
