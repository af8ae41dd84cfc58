"""A built workspace: where it is, what it is made of, what changed in it, and that it goes away."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import autoscirub
from autoscirub.errors import BlindingError, CheckError
from autoscirub.judging.workspace import WorkspaceLimits, build_workspace, workspace_digest
from autoscirub.judging.workspace.names import display_name
from autoscirub.judging.workspace.withheld_copies import SMALLEST
from autoscirub.models import WorkspaceFile
from autoscirub.store import open_project


def test_its_place_tells_nothing_of_the_project_and_nothing_lies_beside_it(study) -> None:
    with build_workspace(open_project(study)) as workspace:
        assert study.name not in str(workspace.root)
        assert "hypothesis" not in str(workspace.root)
        assert not workspace.root.is_relative_to(study)
        assert [path.name for path in workspace.root.parent.iterdir()] == [workspace.root.name]
        assert stat.S_IMODE(workspace.root.parent.stat().st_mode) == 0o700


def test_modes_and_times_are_the_same_for_all_and_nothing_may_be_written(study) -> None:
    (study / "run.py").chmod(0o777)
    with build_workspace(open_project(study)) as workspace:
        for path in [workspace.root, *workspace.root.rglob("*")]:
            status = path.lstat()
            assert stat.S_IMODE(status.st_mode) == (0o500 if path.is_dir() else 0o400)
            assert status.st_mtime == 946_684_800
            assert path.is_dir() or status.st_nlink == 1


def test_the_same_files_give_the_same_manifest_in_any_order_of_writing(study, tmp_path) -> None:
    other = tmp_path / "elsewhere"
    for path in sorted(study.rglob("*"), reverse=True):
        if path.is_file():
            copy = other / path.relative_to(study)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    with build_workspace(open_project(study)) as one, build_workspace(open_project(other)) as two:
        assert one.manifest == two.manifest
        assert [file.path for file in one.manifest.files] == sorted(file.path for file in one.manifest.files)


def test_the_digest_is_over_the_profile_and_each_path_with_its_digest(study) -> None:
    with build_workspace(open_project(study)) as workspace:
        manifest = workspace.manifest
    whole = hashlib.sha256(b"hypothesis")
    for file in manifest.files:
        whole.update(f"\0{file.path}\0{file.sha256}".encode())
    assert manifest.digest == whole.hexdigest() == workspace_digest("hypothesis", manifest.files)
    assert workspace_digest("criterion", manifest.files) != manifest.digest
    moved = [WorkspaceFile(path="x", sha256=manifest.files[0].sha256, size=0), *manifest.files[1:]]
    assert workspace_digest("hypothesis", moved) != manifest.digest


def test_what_is_withheld_is_no_part_of_the_digest(study) -> None:
    with build_workspace(open_project(study)) as one:
        pass
    (study / "REPORT.md").write_text("something else\n")
    (study / "notes" / "more.txt").write_text("more\n")
    with build_workspace(open_project(study)) as two:
        assert two.manifest.digest == one.manifest.digest


LARGE = [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (8 << 20) + 3, 17 << 20]


@pytest.mark.parametrize("without", [False, True], ids=["by the system", "by hand"])
def test_files_of_every_size_are_copied_as_they_are(study, monkeypatch, without) -> None:
    if without:
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    for size in LARGE:
        (study / "results" / f"{size}.bin").write_bytes(os.urandom(size))
    with build_workspace(open_project(study)) as workspace:
        found = {file.path: file for file in workspace.manifest.files}
        for size in LARGE:
            data = (study / "results" / f"{size}.bin").read_bytes()
            assert (workspace.root / "results" / f"{size}.bin").read_bytes() == data
            assert found[f"results/{size}.bin"].sha256 == hashlib.sha256(data).hexdigest()
            assert found[f"results/{size}.bin"].size == size
        workspace.verify()


def test_a_large_copy_of_the_report_is_taken_away_again(study, visible_files) -> None:
    text = os.urandom(3 << 20)
    (study / "REPORT.md").write_bytes(text)
    (study / "results" / "x.bin").write_bytes(text)
    assert "results/x.bin" not in visible_files(study)


def test_progress_is_told_in_bytes_and_comes_to_its_end(study) -> None:
    calls: list[tuple[int, int]] = []
    (study / "results" / "large.bin").write_bytes(bytes(20 << 20))
    with build_workspace(
        open_project(study), progress=lambda done, total: calls.append((done, total))
    ) as workspace:
        total = sum(file.size for file in workspace.manifest.files)
    assert calls[-1] == (total, total)
    assert len(calls) > 2
    assert calls == sorted(calls)


def test_a_project_with_nothing_to_show_gives_an_empty_workspace(tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    with build_workspace(open_project(tmp_path / "empty")) as workspace:
        assert workspace.manifest.files == []
        workspace.verify()


def test_the_page_has_the_bounds_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "judging.md").read_text("utf-8")
    limits = WorkspaceLimits()
    assert (
        f"{limits.files:,} files, folders and links, {limits.bytes >> 30} GiB, {limits.file_bytes >> 30} GiB of one file, "
        f"{limits.depth} folders within each other, {limits.path:,} bytes of a path"
    ) in page
    assert f"more than {SMALLEST} bytes" in page


# The look afterwards

CHANGES = [
    # what was done, what is said
    (lambda root: (root / "new.txt").write_text("x"), "new.txt was added"),
    (lambda root: (root / "src" / "new").mkdir(), "src/new was added"),
    (lambda root: (root / "src" / "link").symlink_to("fit.py"), "src/link was added"),
    (lambda root: (root / "two\nlines").write_text("x"), "two\\u000alines was added"),
    (lambda root: (root / "run.py").write_text("print('runs!')\n"), "run.py was changed"),
    (lambda root: (root / "run.py").write_text("print('ruNs')\n"), "run.py was changed"),
    (lambda root: (root / "src" / "fit.py").unlink(), "src/fit.py was removed"),
    (lambda root: (root / "src").rename(root / "source"), "source was added"),
    (
        lambda root: ((root / "run.py").unlink(), (root / "run.py").symlink_to("src/fit.py")),
        "run.py was changed",
    ),
    (lambda root: ((root / "run.py").unlink(), os.mkfifo(root / "run.py")), "run.py was changed"),
    (lambda root: ((root / "run.py").unlink(), (root / "run.py").mkdir()), "run.py was changed"),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES, ids=[expected for _, expected in CHANGES])
def test_what_was_done_to_it_is_named(study, change, expected) -> None:
    with build_workspace(open_project(study)) as workspace:
        for path in [workspace.root, *workspace.root.rglob("*")]:
            path.chmod(0o700)
        workspace.verify()
        change(workspace.root)
        with pytest.raises(BlindingError) as error:
            workspace.verify()
        assert expected in str(error.value)
    assert not workspace.root.parent.exists()


def test_a_workspace_whose_folder_was_replaced_by_a_link_is_found(study) -> None:
    with build_workspace(open_project(study)) as workspace:
        workspace.root.rename(workspace.root.with_name("moved"))
        workspace.root.symlink_to("moved")
        with pytest.raises(BlindingError):
            workspace.verify()
    assert not os.path.lexists(workspace.root.parent)


def test_a_flood_of_changes_is_told_in_a_few_lines(study) -> None:
    with build_workspace(open_project(study)) as workspace:
        workspace.root.chmod(0o700)
        for number in range(50):
            (workspace.root / f"{number:02}.txt").write_text("x")
        with pytest.raises(BlindingError, match="and 40 more"):
            workspace.verify()


# It goes away


def test_it_is_gone_after_an_error_in_the_block(study) -> None:
    with pytest.raises(KeyError), build_workspace(open_project(study)) as workspace:
        raise KeyError
    assert not workspace.root.parent.exists()


def test_it_is_gone_whatever_was_done_in_it(study) -> None:
    with build_workspace(open_project(study)) as workspace:
        workspace.root.chmod(0o700)
        at = os.open(workspace.root, os.O_DIRECTORY)
        for _ in range(1_200):
            os.mkdir("d", dir_fd=at)
            inner = os.open("d", os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = inner
        os.close(at)
        (workspace.root / "src").chmod(0)
    assert not workspace.root.parent.exists()


_UNPRIVILEGED = """
import os, sys
from autoscirub.judging.workspace import build_workspace
from autoscirub.store import open_project
project = open_project(sys.argv[1])
build_workspace(project).close()  # what loads late is loaded now
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with build_workspace(project) as workspace:
    parent = workspace.root.parent
    try:
        (workspace.root / "new").write_text("x")
    except PermissionError:
        print("refused")
    workspace.root.chmod(0o700)
    for name in ("a/b/c", "d"):
        (workspace.root / name).mkdir(parents=True)
        (workspace.root / name / "file").write_text("x")
    for name in ("a/b/c", "a/b", "a", "d", "src", "results"):
        (workspace.root / name).chmod(0)
print("left" if os.path.lexists(parent) else "gone")
os.chmod(project.root / "REPORT.md", 0)
try:
    build_workspace(project)
except Exception as error:
    print(type(error).__name__, "cannot be read" in str(error), os.listdir(parent.parent))
"""


def test_without_the_rights_of_root_it_cannot_be_written_and_is_gone_and_an_unreadable_report_is_no_way_round(
    study, tmp_path
) -> None:
    (study / "results" / "x.txt").write_bytes((study / "REPORT.md").read_bytes())
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(study, Path(name, "study"))
        Path(name, "tmp").mkdir()
        for path in [Path(name), *Path(name).rglob("*")]:
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
        ran = subprocess.run(
            [sys.executable, "-c", _UNPRIVILEGED, f"{name}/study"],
            env={
                **os.environ,
                "TMPDIR": f"{name}/tmp",
                "AUTOSCIRUB_DATA_DIR": f"{name}/data",
                "PYTHONPATH": str(Path(autoscirub.__file__).parents[1]),
            },
            capture_output=True,
            text=True,
        )
    assert ran.stdout.splitlines() == ["refused", "gone", "BlindingError True []"], ran.stderr


# Where it may be built


def test_a_folder_for_temporary_files_inside_of_the_project_is_refused(study, monkeypatch, tmp_path) -> None:
    inside = study / "tmp"
    inside.mkdir()
    for place in (inside, tmp_path / "link"):
        if place != inside:
            place.symlink_to(inside)
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        with pytest.raises(BlindingError, match="lies in the project.*set TMPDIR"):
            build_workspace(open_project(study))
    assert list(inside.iterdir()) == []


def test_a_folder_for_temporary_files_in_a_state_directory_elsewhere_is_refused(
    study, monkeypatch, tmp_path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(state))
    with pytest.raises(BlindingError, match="lies in its state directory"):
        build_workspace(open_project(study, state))


def test_a_destination_is_filled_and_kept_and_may_be_removed_by_hand(study, tmp_path) -> None:
    made = autoscirub.blind_workspace(study, "hypothesis", tmp_path / "new" / "shown")
    made.close()
    assert made.root == tmp_path / "new" / "shown"
    assert {path.name for path in made.root.iterdir()} >= {"run.py", "src"}
    assert stat.S_IMODE((made.root / "src").stat().st_mode) == 0o700
    assert [path.name for path in made.root.parent.iterdir()] == ["shown"]
    made.verify()


def test_an_empty_folder_is_a_destination(study, tmp_path) -> None:
    (tmp_path / "shown").mkdir()
    assert autoscirub.blind_workspace(study, "hypothesis", tmp_path / "shown").manifest.files


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("study/shown", "lies in the project"),
        ("study", "lies in the project"),
        ("link/shown", "lies in the project"),
        ("full", "is not empty"),
        ("file", "is not a folder"),
        ("dangling", "is not a folder"),
        ("file/below", "cannot be made"),
    ],
)
def test_another_destination_is_refused_and_nothing_is_written(study, tmp_path, tree, place, message) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("study")
    (tmp_path / "dangling").symlink_to("nowhere")
    before = tree(tmp_path)
    with pytest.raises(BlindingError, match=message):
        autoscirub.blind_workspace(study, "hypothesis", tmp_path / place)
    assert tree(tmp_path) == before


def test_a_criterion_is_looked_for_in_the_rubric(study, tmp_path) -> None:
    (study / "rubric.toml").write_text(
        '[[criteria]]\nid = "C1"\nrequirement = "it runs"\nartifacts = [{ path = "run.py" }]\n'
    )
    made = autoscirub.blind_workspace(study, "criterion", tmp_path / "shown", "C1")
    assert [file.path for file in made.manifest.files] == ["REPORT.md", "run.py"]
    with pytest.raises(CheckError, match="no criterion 'C2'; it has C1"):
        autoscirub.blind_workspace(study, "criterion", tmp_path / "other", "C2")


@pytest.mark.parametrize(
    "one", ["a\nb", "a\\nb", "a\\u000ab", "a\\\\nb", "a\udcffb", "a\\xffb", "a\u200bb", "a\\b"]
)
def test_no_two_names_are_escaped_alike(one) -> None:
    others = {"a\nb", "a\\nb", "a\\u000ab", "a\\\\nb", "a\udcffb", "a\\xffb", "a\u200bb", "a\\b"} - {one}
    assert display_name(one) not in {display_name(other) for other in others}
    assert display_name(one).isprintable()
