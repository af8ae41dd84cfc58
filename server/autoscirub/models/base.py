"""What every model shares: strictness, the schema version, and strict JSON text.

Pure: nothing here opens a file.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1.0"
"""The state format's version; AutoSciRub's published format, which this one extends, says the same."""


def _utc(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write UTC, such as 2026-01-31T09:00:00Z")
    return text


UtcTime = Annotated[
    str, AfterValidator(_utc), Field(description="ISO 8601 with a zone, UTC when we write it")
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, lower-case hex")]


def now() -> str:
    """The current time as the state files write it: UTC, to the second, ending in Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Non-finite numbers are refused where a field is a number; elsewhere they are written as tokens, so that
# `strict_json` sees and refuses them (pydantic's default would turn them into null, silently).
_STRICT = ConfigDict(strict=True, allow_inf_nan=False, ser_json_inf_nan="constants")


class FrozenModel(BaseModel):
    """A value inside a state file: immutable, strict about what is known, unknown fields preserved."""

    model_config = ConfigDict(**_STRICT, frozen=True, extra="allow")


class Closed(BaseModel):
    """A value that a person writes (configuration, predictions): an unknown key is a typing error."""

    model_config = ConfigDict(**_STRICT, frozen=True, extra="forbid")


class StateModel(BaseModel):
    """A file of the state directory: strict about what is known, and unknown fields survive a rewrite."""

    model_config = ConfigDict(**_STRICT, extra="allow", validate_assignment=True)

    schema_version: str = Field(default=SCHEMA_VERSION, description="version of the state format")
    file_name: ClassVar[str] = ""


def strict_json(value: Any, *, indent: int | None = 1) -> str:
    """`value` (plain JSON data or a model) as strict JSON text, non-ASCII unescaped, ending in a newline.

    Raises ValueError for NaN and infinities: nothing this package writes holds such a token.
    """
    if isinstance(value, BaseModel):
        text = value.model_dump_json(indent=indent)
        if "NaN" not in text and "Infinity" not in text:
            return text + "\n"
        value = value.model_dump(mode="json")  # perhaps in a text only; the strict writer below tells
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent) + "\n"
