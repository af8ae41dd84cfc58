"""A project that changes while a judge's workspace is built from it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attacks.blinding import Look, write

from autoscirub.errors import BlindingError


@pytest.fixture
def meanwhile(project: Path) -> Callable[[Callable[[Path], object]], None]:
    """Build a workspace of 300 files, with `change` made to the last of them when some have been copied."""
    for number in range(300):
        write(project / "results" / f"{number:03}.txt", f"{number}\n")

    def build(change: Callable[[Path], object]) -> None:
        changes = [change]

        def progress(_done: int, _total: int) -> None:
            if changes:
                changes.pop()(project / "results" / "299.txt")

        Look(project, progress=progress)

    return build


def swap(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


MEANWHILE = {
    "appended": lambda path: os.truncate(path, 99),
    "rewritten": lambda path: path.write_text("999\n"),
    "removed": lambda path: path.unlink(),
    "replaced": swap(lambda path: path.write_text("299\n")),
    "made a link to the report": swap(lambda path: path.symlink_to("../REPORT.md")),
    "made a pipe": swap(os.mkfifo),
    "made a folder": swap(lambda path: path.mkdir()),
}


@pytest.mark.parametrize("how", MEANWHILE)
def test_a_file_that_changes_while_others_are_copied_is_found(meanwhile, how) -> None:
    with pytest.raises(BlindingError, match=r"results/299\.txt: changed while the workspace was built"):
        meanwhile(MEANWHILE[how])


def test_a_folder_that_is_made_a_link_meanwhile_leads_nowhere(meanwhile, tmp_path) -> None:
    write(tmp_path / "elsewhere" / "299.txt", "299\n")

    def change(path: Path) -> None:
        path.parent.rename(path.parents[1] / "moved")
        path.parent.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BlindingError, match=r"changed while the workspace was built"):
        meanwhile(change)


def test_a_large_file_that_grows_while_it_is_copied_is_found_and_nothing_is_left(
    project, tmp_path, monkeypatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    large = project / "results" / "large.bin"
    large.write_bytes(os.urandom(20 << 20))

    def progress(_done: int, _total: int) -> None:
        with large.open("ab") as file:
            file.write(b"x")

    with pytest.raises(BlindingError, match=r"results/large\.bin: changed"):
        Look(project, progress=progress)
    assert list(place.iterdir()) == []
