"""Validation faults that a field's type cannot express: raised at the field they concern, and put into words.

Pydantic validators that look at a whole model can only fail at that model. These faults carry the path of
the very field instead, so that the line can be found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Path = tuple[str | int, ...]

_IDS = ("criterion_id", "goal_id", "id")


class Fault(NamedTuple):
    """What is wrong with one field."""

    path: Path
    message: str
    value: Any


def raise_faults(title: str, faults: Iterable[Fault]) -> None:
    """Raise pydantic's ValidationError with every fault at its own path; nothing when there is none.

    Inside a validator, pydantic puts the path of the model being validated before each.
    """
    details: list[InitErrorDetails] = [
        {
            # the type of a plain ValueError: the message is whole, and needs no value printed before it
            "type": PydanticCustomError("value_error", "{message}", {"message": fault.message}),
            "loc": fault.path,
            "input": fault.value,
        }
        for fault in faults
    ]
    if details:
        raise ValidationError.from_exception_data(title, details)


def id_key(identifier: str) -> str:
    """What two ids are compared by: without spaces around them, and without regard to case."""
    return identifier.strip().casefold()


def repeated_ids(ids: Iterable[str], at: tuple[str, str], within: Path = ()) -> Iterator[Fault]:
    """A fault for each id that an earlier one equals by `id_key`; `at` is the list's field and the id's."""
    first: dict[str, tuple[int, str]] = {}
    for index, identifier in enumerate(ids):
        earlier = first.setdefault(id_key(identifier), (index, identifier))
        if earlier[0] != index:
            message = (
                f"{identifier!r} is already the id of {at[0]}[{earlier[0]}] ({earlier[1]!r}): ids must differ "
                "in more than case and surrounding spaces; give one of the two another id"
            )
            yield Fault((*within, at[0], index, at[1]), message, identifier)


def nonfinite_faults(value: Any, path: Path = ()) -> Iterator[Fault]:
    """A fault for each NaN or infinity in a model, unknown fields included: strict JSON has no such number."""
    if not path and isinstance(value, BaseModel):
        # Written out in one go, such a number would appear as a token; only then are the fields searched one by one.
        text = value.model_dump_json(warnings=False)
        if "NaN" not in text and "Infinity" not in text:
            return
    if isinstance(value, float):
        if not math.isfinite(value):
            yield Fault(
                path,
                f"{value} is not a number in strict JSON; leave the field out, or give it as text",
                value,
            )
        return
    if isinstance(value, BaseModel):
        parts: Iterable[tuple[Any, Any]] = {**value.__dict__, **(value.__pydantic_extra__ or {})}.items()
    elif isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    else:
        return
    for key, part in parts:
        yield from nonfinite_faults(part, (*path, key))


def owner(data: Any, path: Path) -> str | None:
    """Whose field `path` is in plain JSON data: "criterion 'C2'", "goal 'G1'", "check 'fig'", or None.

    The criterion comes before the check in it, since people look for the criterion.
    """
    for part in path:
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
            for key in _IDS:
                if isinstance(data, dict) and isinstance(data.get(key), str):
                    kind = "check" if key == "id" else key.removesuffix("_id")
                    return f"{kind} {data[key]!r}"
        else:
            return None
    return None


def describe_faults(error: ValidationError, data: Any) -> list[str]:
    """Each fault of `error` as one line: the field's path, whose it is in `data`, what is wrong."""
    return [_describe(fault, data) for fault in error.errors(include_url=False)]


def _describe(fault: Any, data: Any) -> str:
    path = tuple(fault["loc"])
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    whose = owner(data, path)
    message = fault["msg"].removeprefix("Value error, ")
    found = "" if fault["type"] in {"missing", "value_error"} else f", found {_short(fault['input'])}"
    return f"{place or 'the file'}{f' ({whose})' if whose else ''}: {message[:1].lower()}{message[1:]}{found}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
