"""Rooms whose parts load when they are used first: every public name can be had, and is the one of its part."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize("room", ["autoscirub.models", "autoscirub.store"])
def test_every_public_name_of_a_room_can_be_had(room: str) -> None:
    found = import_module(room)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []
