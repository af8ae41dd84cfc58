"""The wheel: what it carries, and that the command works from it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="building needs hatchling, which requirements.lock brings")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [built] = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_carries_schemas_state_and_examples_and_no_results(wheel) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for part in (
        *("schemas/run_manifest.schema.json", "state/layout.toml", "examples/nile/prereg.toml"),
        *(
            "skills/autoscirub/SKILL.md",
            "hooks/hooks.json",
            "plugin/.mcp.json",
            "plugin/.claude-plugin/icon.png",
        ),
        *("plugin/.codex-plugin/plugin.json", "plugin/.agents/plugins/marketplace.json"),
    ):
        assert f"autoscirub/_data/{part}" in names
    assert "autoscirub/py.typed" in names
    assert {f"autoscirub/judging/prompts/{name}.txt" for name in ("judge", "criterion", "hypothesis")} <= set(
        names
    )
    assert not [
        name for name in names if "/results/" in name or "__pycache__" in name or "/.autoscirub/" in name
    ]


@pytest.mark.slow
def test_the_demo_runs_from_the_unpacked_wheel_alone(wheel, tmp_path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    done = subprocess.run(
        [sys.executable, "-m", "autoscirub", "demo", "--to", str(tmp_path / "copy")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "✓ verified: 6 of 6 predictions held · 1 of 1 artifacts are there" in done.stdout
    assert "✗ refuted: 4 of 5 predictions held" in done.stdout
    assert (tmp_path / "copy" / "nile" / ".autoscirub" / "history.bundle").is_file()
    assert done.stderr == ""
