"""Running git isolated, bounded, and with messages that can be shown."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from autoscirub.errors import HistoryError
from autoscirub.store.git import SAFE_ENVIRONMENT, GitRunner, git_program, plain


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def test_a_command_gives_its_status_and_both_outputs(repository: Path) -> None:
    answer = GitRunner(repository).run("rev-parse", "--is-inside-work-tree")
    assert (answer.status, answer.out, answer.err) == (0, b"true\n", "")


def test_a_failing_command_is_an_error_in_gits_own_words(repository: Path) -> None:
    runner = GitRunner(repository)
    with pytest.raises(
        HistoryError, match=r"git rev-parse failed \(status 128\): fatal: Needed a single revision"
    ):
        runner.run("rev-parse", "--verify", "nowhere")
    assert runner.run("rev-parse", "--verify", "nowhere", accept=None).status == 128
    assert runner.run("rev-parse", "--verify", "nowhere", accept=(128,)).status == 128


def test_output_above_the_bound_ends_the_command(repository: Path) -> None:
    (repository / "big").write_bytes(b"x" * 1_000_000)
    runner = GitRunner(repository)
    oid = runner.run("hash-object", "-w", "big").out.decode().strip()
    assert len(runner.run("cat-file", "blob", oid).out) == 1_000_000
    with pytest.raises(HistoryError, match="answered more than 1,000 bytes"):
        runner.run("cat-file", "blob", oid, most=1000)


def test_a_command_that_does_not_end_is_ended(repository: Path) -> None:
    reader, writer = os.pipe()  # held open, so that git waits for more
    with (
        os.fdopen(reader, "rb") as stdin,
        os.fdopen(writer, "wb"),
        pytest.raises(HistoryError, match=r"took longer than 0\.2 s and was ended"),
    ):
        GitRunner(repository).run("hash-object", "--stdin", stdin=stdin, seconds=0.2)


def test_a_started_command_does_not_outlive_its_block(repository: Path) -> None:
    with GitRunner(repository).started("hash-object", "--stdin", stdin=subprocess.PIPE) as process:
        assert process.poll() is None
    assert process.returncode is not None


def test_outer_variables_do_not_reach_git_and_ours_do(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    before = dict(os.environ)
    runner = GitRunner(repository, configuration=[("alias.environment", "!env")])
    seen = dict(
        line.split("=", 1) for line in runner.run("environment").out.decode().splitlines() if "=" in line
    )
    found = {name: value for name, value in seen.items() if name.startswith("GIT_")}
    allowed = {"GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_PREFIX", "GIT_INTERNAL_GETTEXT_SH_SCHEME"}
    assert {name: value for name, value in found.items() if name not in allowed} == SAFE_ENVIRONMENT
    assert dict(os.environ) == before


def test_a_callers_configuration_comes_after_the_safe_one(repository: Path) -> None:
    assert GitRunner(repository).run("config", "core.fsmonitor").out == b"false\n"
    runner = GitRunner(repository, configuration=[("core.fsmonitor", "x y")])
    assert runner.run("config", "core.fsmonitor").out == b"x y\n"


def test_a_variable_can_be_left_out_for_one_runner(repository: Path) -> None:
    runner = GitRunner(
        repository, configuration=[("alias.environment", "!env")], environment={"GIT_CONFIG_GLOBAL": None}
    )
    assert b"GIT_CONFIG_GLOBAL" not in runner.run("environment").out


def test_a_folder_is_taken_as_it_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "~" / "$HOME"
    folder.mkdir(parents=True)
    runner = GitRunner(folder)
    runner.run("init", "-q")
    assert (folder / ".git").is_dir()


def test_objects_are_asked_for_and_a_missing_one_spoils_nothing(repository: Path) -> None:
    runner = GitRunner(repository)
    (repository / "file").write_bytes(b"some\nbytes\x00")
    oid = runner.run("hash-object", "-w", "file").out.decode().strip()
    assert runner.object_info("1" * 40) is None
    assert runner.object_info(oid) == (oid, "blob", 11)
    assert runner.object_info(f"{oid}:a path with spaces") is None
    with pytest.raises(HistoryError, match="could not read the object"):
        runner.object_bytes("1" * 40)
    assert runner.object_bytes(oid) == b"some\nbytes\x00"
    runner.close()
    assert runner.object_bytes(oid) == b"some\nbytes\x00"
    runner.close()


def test_a_damaged_object_is_missing_or_an_error_and_spoils_nothing(repository: Path) -> None:
    runner = GitRunner(repository)
    oids = []
    for name in ("good", "bad"):
        (repository / name).write_text(name)
        oids.append(runner.run("hash-object", "-w", name).out.decode().strip())
    stored = repository / ".git" / "objects" / oids[1][:2] / oids[1][2:]
    stored.chmod(0o644)
    stored.write_bytes(b"junk")
    with pytest.raises(HistoryError):
        runner.object_bytes(oids[1])
    assert runner.object_bytes(oids[0]) == b"good"
    runner.close()


def test_an_argument_that_no_program_can_take_is_an_error(repository: Path) -> None:
    with pytest.raises(HistoryError, match="could not be started"):
        GitRunner(repository).run("rev-parse", "a\0b")


@pytest.mark.parametrize("path", ["", ".", "relative:", "nowhere"])
def test_git_is_only_looked_for_in_absolute_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(HistoryError, match=r"git is not on PATH.*apt install git.*dnf.*xcode-select"):
        git_program()
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{tmp_path}")
    assert git_program() == str(tmp_path / "git")


@pytest.mark.parametrize(
    ("message", "rendered"),
    [
        ("", "it printed nothing"),
        ("warning: x\nfatal: no\n", "fatal: no"),
        ("just words\n", "just words"),
        ("fatal: \x1b[31mred\x07\n", "fatal: ?[31mred?"),
        ("fatal: " + "x" * 1000, "fatal: " + "x" * 293),
    ],
)
def test_gits_words_become_one_short_printable_line(message: str, rendered: str) -> None:
    assert plain(message) == rendered
