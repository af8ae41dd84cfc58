"""Packages whose parts load when they are first used: one `__getattr__` for all of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["loads"]


def loads(package: str, parts: Mapping[str, str], names: dict[str, Any]) -> Callable[[str], Any]:
    """A module's `__getattr__`: `parts` says which module has a name; `names` is the module's own, where it is kept."""

    def load(name: str) -> Any:
        if name not in parts:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = names[name] = getattr(import_module(parts[name]), name)
        return value

    return load
