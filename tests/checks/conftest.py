"""What tests of checks share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.checks.criteria import lay_down


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with results, a report, a good figure, a cut-off one, and a link that leads out."""
    return lay_down(tmp_path)
