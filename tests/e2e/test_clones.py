"""What travels: a clone with its committed state, on another machine, read-only, in a stranger's hands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest


def git(folder, *arguments: str) -> str:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    identity = ["-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return done.stdout


@pytest.fixture
def committed(slope_project, write_results, cli):
    """A project in its own repository: frozen, run, verified, all of it committed."""
    git(slope_project, "init", "-q")
    assert cli("init", "--project", slope_project).status == 0
    assert cli("freeze", "--project", slope_project).status == 0
    write_results(slope_project, slope=0.51)
    assert cli("verify", "--project", slope_project).status == 0
    git(slope_project, "add", "-A")
    git(slope_project, "commit", "-qm", "done")
    return slope_project


@pytest.fixture
def elsewhere(tmp_path):
    """Another machine: nothing is remembered there."""
    return {"AUTOSCIRUB_DATA_DIR": str(tmp_path / "another-machine")}


def test_a_clone_reads_the_history_after_gc_on_both_sides(committed, cli, tmp_path, elsewhere) -> None:
    git(committed, "gc", "-q", "--aggressive", "--prune=now")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(committed), str(clone))
    git(clone, "gc", "-q", "--prune=now")
    out = cli("status", "--project", clone, env=elsewhere).out
    assert "✓ prereg.toml: holds (frozen)" in out
    assert "✓ predictions: holds (verified)" in out
    assert "\nfault" not in out
    for command in (["check", "--read-only"], ["verify"]):
        ran = cli(*command, "--project", clone, env=elsewhere)
        assert ran.status == 0, ran.err
        assert ran.out.startswith("✓ verified: 1 of 1 predictions held · no results file was there at freeze")


def test_an_edit_in_the_clone_is_found_there(committed, cli, tmp_path, elsewhere) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(committed), str(clone))
    (clone / "prereg.toml").write_bytes((clone / "prereg.toml").read_bytes() + b"\n")
    assert cli("verify", "--project", clone, env=elsewhere).status == 3


def test_the_files_that_belong_into_git_are_those_and_the_others_are_ignored(committed) -> None:
    tracked = set(git(committed, "ls-files").split())
    assert {
        ".prereg.lock",
        "prereg.toml",
        ".autoscirub/history.bundle",
        ".autoscirub/run_manifest.json",
    } <= tracked
    assert not [name for name in tracked if "/.lock" in name or ".tmp-" in name]
    assert git(committed, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "command", [["status"], ["validate"], ["check", "--read-only"], ["freeze", "--dry-run"]]
)
def test_looking_writes_nothing_anywhere(committed, cli, tmp_path, elsewhere, tree, command) -> None:
    for environment in ({}, elsewhere):
        before, mine = tree(committed), tree(tmp_path)
        ran = cli(*command, "--project", committed, env=environment)
        assert ran.status in {0, 3}
        assert tree(committed) == before
        assert tree(tmp_path) == mine


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become a user who may not write")
def test_status_and_validate_work_for_a_user_who_may_not_write(committed, cli, tmp_path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="autoscirub-readable-"))
    folder.chmod(0o755)
    readable = folder / "project"
    shutil.copytree(committed, readable)
    subprocess.run(["chmod", "-R", "a+rX,a-w", str(readable)], check=True)
    try:
        for command in ("status", "validate", "check --read-only"):
            done = subprocess.run(
                [
                    "setpriv",
                    "--reuid=65534",
                    "--regid=65534",
                    "--clear-groups",
                    sys.executable,
                    "-m",
                    "autoscirub",
                    *command.split(),
                    "--project",
                    str(readable),
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": "/nonexistent",
                    "PYTHONPATH": _package(),
                    "LANG": "C.UTF-8",
                },
                capture_output=True,
                encoding="utf-8",
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("✓ verified")
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(readable)], check=True)
        shutil.rmtree(folder)


def test_a_project_whose_git_is_a_file_works(committed, cli, tmp_path) -> None:
    tree_ = tmp_path / "worktree"
    git(committed, "worktree", "add", "-q", str(tree_))
    assert (tree_ / ".git").is_file()
    assert cli("verify", "--project", tree_).status == 0
    assert git(committed, "status", "--porcelain") == ""


def test_git_variables_from_outside_do_not_lead_astray(committed, cli, tmp_path) -> None:
    stray = tmp_path / "stray"
    stray.mkdir()
    git(stray, "init", "-q")
    hostile = {
        "GIT_DIR": str(stray / ".git"),
        "GIT_WORK_TREE": str(stray),
        "GIT_INDEX_FILE": str(stray / "index"),
        "GIT_OBJECT_DIRECTORY": str(stray / "objects"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(stray),
        "GIT_EXTERNAL_DIFF": "false",
    }
    before = sorted(str(path) for path in stray.rglob("*"))
    assert cli("verify", "--project", committed, env=hostile).status == 0
    assert sorted(str(path) for path in stray.rglob("*")) == before


def test_the_user_s_repository_index_and_branches_are_not_touched(committed, cli) -> None:
    def look() -> tuple[bytes, str, str]:
        index = (committed / ".git" / "index").read_bytes()
        return index, git(committed, "for-each-ref"), git(committed, "rev-parse", "HEAD")

    before = look()
    cli("verify", "--project", committed)
    cli("status", "--project", committed)
    assert look() == before


def test_a_project_without_any_repository_works(slope_project, write_results, cli) -> None:
    assert cli("freeze", "--project", slope_project).status == 0
    write_results(slope_project, slope=0.51)
    assert cli("verify", "--project", slope_project).status == 0
    assert not (slope_project / ".git").exists()


def test_an_artifact_that_git_ignores_passes_and_says_that_a_clone_will_lack_it(committed, cli) -> None:
    text = (committed / "prereg.toml").read_text("utf-8")
    digest = (
        cli("unfreeze", "--reason", "one check more", "--project", committed)
        .err.split("--digest ")[1]
        .strip()
    )
    cli("unfreeze", "--reason", "one check more", "--digest", digest, "--project", committed)
    more = '\n[[checks]]\nid = "log"\nkind = "artifact"\npath = "out/log.txt"\n'
    (committed / "prereg.toml").write_text(text + more, "utf-8")
    (committed / ".gitignore").write_text("out/\n")
    (committed / "out").mkdir()
    (committed / "out" / "log.txt").write_text("ran")
    cli("freeze", "--project", committed)
    ran = cli("verify", "--project", committed)
    assert ran.status == 0
    [line] = [line for line in ran.out.splitlines() if "log" in line and line.startswith("  ✓")]
    assert "git ignores this file" in line


def _package() -> str:
    import autoscirub

    return str(Path(autoscirub.__file__).parents[1])
