from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autoscirub import models

SERVER = Path(__file__).resolve().parents[2] / "server"


@pytest.mark.parametrize("name", models.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(models, name) is not None


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"autoscirub\.models attribute Rubrik"):
        _ = models.Rubrik  # type: ignore[attr-defined]


def test_models_of_criteria_and_rounds_load_when_they_are_used() -> None:
    code = (
        "import sys, autoscirub.models as models; before = set(sys.modules); models.Criterion; "
        "print('autoscirub.models.rubric' in before, 'autoscirub.models.rubric' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SERVER)},
    )
    assert ran.stdout == "False True\n"
