"""What a rerun says is open whatever came out."""

from __future__ import annotations

from pathlib import Path

from autoscirub.checks.rerun.copying import CopyLayout, copy_project
from autoscirub.checks.rerun.decision import Tally, decide
from autoscirub.models import RunConfig
from autoscirub.sandbox import Isolated


def test_files_with_the_bytes_of_an_output_and_links_out_of_the_project_are_said_to_be_left_out(
    tmp_path: Path,
) -> None:
    root = tmp_path / "project"
    (root / "state").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "results.json").write_text("{}")
    (root / "copy.txt").write_text("{}")
    (root / "code.py").write_text("1")
    (tmp_path / "outside").write_text("x")
    (root / "away").symlink_to(tmp_path / "outside")
    copied = copy_project(CopyLayout(root, root / "state", ("results.json",), ()), tmp_path / "copy")
    ran = Isolated(0, "", None, timed_out=False, seconds=1, isolation="bubblewrap")
    found = decide(Tally(), RunConfig(command=["a"]), "0" * 64, ran, copied, [], [])
    assert [line for line in found.open if line.startswith("left out")] == [
        "left out, with the same bytes as an output: copy.txt",
        "left out, a link out of the project or unreadable: away",
    ]
