"""What several of the hostile inputs need: an end to waiting."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import NoReturn

import pytest


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Fail, rather than hang, where something waits."""

    def give_up(*_: object) -> NoReturn:
        raise AssertionError("it waited")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
