"""Fixtures: a project to write files into, and one good file of each format."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from autoscirub.checks.artifacts import check_artifact

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.models import Decision


@pytest.fixture(scope="session")
def good() -> dict[str, bytes]:
    """Format -> a small file that is really of it, shows something, and has nothing to flag. Not Parquet."""
    picture = Image.effect_noise((24, 16), 80).convert("RGB")
    made: dict[str, bytes] = {}
    for name in ("png", "jpeg", "pdf"):
        buffer = io.BytesIO()
        picture.save(buffer, name.upper())
        made[name] = buffer.getvalue()
    made["svg"] = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L9 9"/></svg>\n'
    made["csv"] = b'day,"flow, m3/s"\n1,4.5\n2,"5.0"\n'
    made["json"] = json.dumps({"slope": 0.51, "runs": [1, 2, {"n": None}]}).encode()
    return made


@pytest.fixture(scope="session")
def parquet_bytes() -> bytes:
    """A small Parquet file of three rows; skips where the extra is not installed."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(arrow.table({"day": [1, 2, 3], "flow": [4.5, 5.0, 5.5]}), buffer)
    return buffer.getvalue()


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., Decision]:
    """look(data, path, format=None): writes the bytes there and checks them."""

    def write_and_check(data: bytes, path: str, format: str | None = None) -> Decision:  # noqa: A002
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return check_artifact(tmp_path, path, format)

    return write_and_check
