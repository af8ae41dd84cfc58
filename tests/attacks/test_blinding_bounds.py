"""Things that are no files, and more than a judge's workspace may hold: listed, or refused."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from tests.attacks.blinding import Look, write

from autoscirub.errors import BlindingError
from autoscirub.judging.workspace import WorkspaceDigests, WorkspaceLimits, build_workspace, measure_workspace
from autoscirub.judging.workspace.remove import remove_workspace
from autoscirub.store import open_project


def test_special_files_are_listed_and_never_opened(project) -> None:
    os.mkfifo(project / "results" / "pipe")
    (project / "results" / "null").symlink_to("/dev/null")
    (project / "results" / "to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening, tempfile.TemporaryDirectory() as short:
        Path(short, "p").symlink_to(project / "results")
        listening.bind(f"{short}/p/socket")
        look = Look(project)
    assert look.withheld["results/pipe"] == "a FIFO"
    assert look.withheld["results/socket"] == "a socket"
    assert look.withheld["results/to-pipe"] == "a link to a FIFO"
    assert look.withheld["results/null"].startswith("a link out of the project")
    assert set(look.files) == {"results/results.json", "run.py", "src/fit.py"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a device")
def test_a_device_is_listed_and_never_opened(project) -> None:
    try:
        os.mknod(project / "results" / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    except OSError as error:
        pytest.skip(str(error))
    assert Look(project).withheld["results/zero"] == "a character device"


def deep(folder: Path, levels: int) -> None:
    at = os.open(folder, os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


@pytest.mark.slow
def test_a_thousand_levels_are_refused_where_they_would_be_shown_and_no_matter_elsewhere(project) -> None:
    try:
        deep(project, 1_000)
        assert "d" in Look(project).withheld
        deep(project / "results", 1_000)
        with pytest.raises(BlindingError, match="more than the 100 folders within each other"):
            Look(project)
    finally:
        remove_workspace(project)  # pytest's own removing recurses as deep as the tree is
    assert not project.exists()


LIMITS = [
    (WorkspaceLimits(files=10), "files and folders were found, more than the 10 files and folders"),
    (WorkspaceLimits(bytes=1_000), "more than the 1,000 bytes in all"),
    (
        WorkspaceLimits(file_bytes=900),
        "results/20.txt: a file of 901 bytes, more than the 900 bytes of one file",
    ),
    (WorkspaceLimits(path=40), "more than the 40 bytes that a judge's workspace"),
]


@pytest.mark.parametrize(("limits", "message"), LIMITS)
def test_a_limit_is_named(project, limits, message) -> None:
    for number in range(20):
        write(project / "results" / f"{number}.txt", "x" * 100)
    write(project / "results" / "20.txt", "x" * 901)
    write(project / "results" / ("y" * 50), "")
    with pytest.raises(BlindingError) as error:
        Look(project, limits=limits)
    assert message in str(error.value)
    with pytest.raises(BlindingError) as measured:
        measure_workspace(open_project(project), limits=limits)
    assert message in str(measured.value)


def test_a_sparse_file_over_the_limit_is_refused_before_anything_is_copied(project) -> None:
    os.truncate(write(project / "results" / "sparse.bin", ""), 12 * 1024**3)
    with pytest.raises(BlindingError, match=r"results/sparse.bin: a file of 12,884,901,888 bytes"):
        Look(project)


def test_nothing_over_the_limit_is_read_to_measure_a_workspace(project, monkeypatch) -> None:
    os.truncate(write(project / "results" / "sparse.bin", ""), 12 * 1024**3)
    read: list[str] = []
    monkeypatch.setattr(WorkspaceDigests, "of", lambda _, seen: read.append(seen.path) or "0" * 64)
    with pytest.raises(BlindingError, match=r"results/sparse.bin: a file of 12,884,901,888 bytes"):
        measure_workspace(open_project(project))
    assert read == []


@pytest.mark.slow
def test_a_hundred_thousand_empty_files_are_within_bounds_and_more_than_is_allowed_are_not(project) -> None:
    for number in range(100_000):
        if number % 1_000 == 0:
            folder = project / "results" / str(number)
            folder.mkdir()
        os.mknod(f"{folder}/{number}")
    with pytest.raises(BlindingError, match="more than the 50,000 files and folders"):
        Look(project, limits=WorkspaceLimits(files=50_000))
    with build_workspace(open_project(project)) as workspace:
        assert len(workspace.manifest.files) == 100_003
