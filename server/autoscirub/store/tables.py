"""Parsing TOML text into a table and validating it as a model, naming every fault for the author."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from autoscirub.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_Model = TypeVar("_Model", bound=BaseModel)
_MAX_FAULTS = 20

_MAX_KEY_PARTS = 32
_LONG_KEY = re.compile(
    rb"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % _MAX_KEY_PARTS
)
"""A dotted key of very many parts. tomllib needs memory as the square of their number: 64 KB took 4 GB."""


def read_toml(data: bytes, name: str, error: type[Exception] = ConfigError) -> dict[str, Any]:
    """TOML text as a table; a byte-order mark is read as if it were not there. Raises `error`."""
    if match := _LONG_KEY.search(data):
        line = data.count(b"\n", 0, match.start()) + 1
        raise error(f"{name}: a dotted key of more than {_MAX_KEY_PARTS} parts (line {line})")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as cause:
        raise error(f"{name}: {not_utf8(data, cause)}") from None
    except tomllib.TOMLDecodeError as cause:
        raise error(f"{name}: is not TOML: {cause}") from None
    except ValueError:  # of int(): Python refuses to turn that many digits into a number
        raise error(f"{name}: holds a number of too many digits") from None
    except RecursionError:
        raise error(f"{name}: is nested too deeply") from None


def not_utf8(data: bytes, cause: UnicodeDecodeError) -> str:
    """The message for bytes that are not UTF-8."""
    line = data.count(b"\n", 0, cause.start) + 1
    return f"is not UTF-8: byte 0x{data[cause.start]:02x} (line {line})"


def validated(model: type[_Model], name: str, raw: Mapping[str, Any]) -> _Model:
    """The table `raw` as `model`. Raises ConfigError, naming every key at fault, up to a number of them."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        lines = [_fault(model, name, fault) for fault in faults[:_MAX_FAULTS]]
        if len(faults) > _MAX_FAULTS:
            lines.append(f"{name}: and {len(faults) - _MAX_FAULTS:,} more faults")
        raise ConfigError("\n".join(lines)) from None


def _fault(model: type[BaseModel], name: str, fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = _known_keys(model, fault["loc"][:-1])
        return f"{name}: unknown key {where}; known here: {', '.join(known)}"
    if fault["type"] == "invalid_key":
        return f"{name}: the key {where} is not text"
    if fault["type"] == "missing":
        return f"{name}: {where} is missing"
    if fault["type"] == "value_error":  # a rule of the model's own, over more than one key
        return f"{name}: {where}: {fault['msg'].removeprefix('Value error, ')}"
    return f"{name}: {where} = {quote_value(fault['input'])}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def quote_value(value: Any) -> str:
    """A value as a message may hold it: short, whatever was written."""
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


def _known_keys(model: Any, path: tuple[int | str, ...]) -> list[str]:
    """The keys of the table at `path`; an index, or a key that people choose, leads to a table of the same kind."""
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
