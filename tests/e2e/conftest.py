"""A box for the real clients: its own network, home and working directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.clients.sandboxing import Box, boxed


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with boxed(tmp_path) as made:
        yield made
