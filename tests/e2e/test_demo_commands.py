"""What the demo says to type next can be typed as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import autoscirub

pytestmark = pytest.mark.slow

PROGRAM = """\
#!{python}
import sys
from autoscirub.cli import main
sys.exit(main())
"""


def test_the_commands_that_the_demo_names_run_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "some bin").mkdir()
    program = tmp_path / "some bin" / "autoscirub"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    source = str(Path(autoscirub.__file__).parents[1])
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": source}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
        )

    result = run("some bin/autoscirub", "demo", "--to", "demo of mine")
    assert result.returncode == 0, result.stderr
    after = result.stdout[result.stdout.index("Try to change it afterwards") :]
    go, status, tamper, _ = re.findall(r"^  \$ (.*)$", after, re.MULTILINE)
    assert run("sh", "-c", f"{go} && {status}").returncode == 0
    tampered = run("sh", "-c", f"{go} && {tamper}")
    assert tampered.returncode == 3
    assert "changed after it was frozen" in tampered.stderr
