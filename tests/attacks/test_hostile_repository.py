"""A repository whose every setting that can name a program names one, and a bundle made by its like.

Each program writes a canary. First the traps are shown to work with plain git; then nothing of ours may
spring one, and nothing may be written.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import HistoryError
from autoscirub.store.history.steps import History
from autoscirub.store.project_git import ask_ignored, ignored_paths, project_head

AT = "2026-01-31T09:00:00Z"
HOOKS = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
]

PROJECT = Path("project")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def trap(tmp_path: Path) -> Callable[[str], str]:
    """Makes a program that leaves a canary named after the setting that ran it."""
    folder = tmp_path / "traps"
    canaries = tmp_path / "canaries"
    folder.mkdir()
    canaries.mkdir()

    def make(setting: str) -> str:
        program = folder / setting.replace("/", "-")
        canary = shlex.quote(str(canaries / program.name))
        program.write_text(f"#!/bin/sh\ntouch {canary}\n")
        program.chmod(0o755)
        return str(program)

    return make


@pytest.fixture
def sprung(tmp_path: Path) -> Callable[[], set[str]]:
    return lambda: {path.name for path in (tmp_path / "canaries").iterdir()}


def git(where: Path, *arguments: str, check: bool = True, stdin: bytes = b"") -> bytes:
    """Plain git, as the attacker (who sets the traps) and the user (who would spring them) run it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = {
        f"GIT_{who}_{what}": "x@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        ["git", *arguments],
        cwd=where,
        env={**clean, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        input=stdin,
        check=check,
        capture_output=True,
        timeout=60,
    ).stdout


def snapshot(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, content)
    return found


@pytest.fixture
def hostile(tmp_path: Path, trap: Callable[[str], str]) -> Path:
    """The repository with all the traps set, its work tree changed so that git has something to compare."""
    project = tmp_path / PROJECT
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / ".gitattributes").write_text(
        "* filter=evil diff=evil merge=evil\n*.long filter=longrun\n*.dotted filter=a.b.c\n"
    )
    (project / ".gitignore").write_text("*.png\n!keep.png\n")
    for name in ("data.csv", "data.long", "data.dotted", "tracked.png"):
        (project / name).write_text("one\n")
    git(project, "add", "-f", ".")
    git(project, "commit", "-qm", "one")
    for hook in HOOKS:
        shutil.copy(trap(f"hook-{hook}"), project / ".git" / "hooks" / hook)
        (project / ".git" / "hooks" / hook).chmod(0o755)
    shutil.copytree(project / ".git" / "hooks", project / "hooks")
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.gitProxy",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.alternateRefsCommand",
        "sequence.editor",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.longrun.process",
        "filter.a.b.c.clean",
        "credential.helper",
        "gpg.program",
        "gpg.ssh.program",
        "uploadpack.packObjectsHook",
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "interactive.diffFilter",
        "pager.status",
        "difftool.evil.cmd",
        "mergetool.evil.cmd",
        "browser.evil.cmd",
        "trailer.evil.command",
        "submodule.sub.update",
    ):
        program = trap(key)
        git(
            project,
            "config",
            "--file",
            ".git/config",
            key,
            f"!{program}" if key == "submodule.sub.update" else program,
        )
    for key, value in {
        "core.hooksPath": str(project / "hooks"),
        "filter.evil.required": "true",
        "filter.longrun.required": "true",
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "status.submoduleSummary": "true",
        "submodule.recurse": "true",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "core.worktree": "/",
        "gc.auto": "1",
        "maintenance.auto": "true",
        "fetch.recurseSubmodules": "true",
    }.items():
        git(project, "config", "--file", ".git/config", key, value)
    for command in ("status", "check-ignore", "config", "rev-parse", "ls-files", "bundle", "index-pack"):
        git(project, "config", "--file", ".git/config", f"alias.{command}", f"!{trap(f'alias-{command}')}")
    included = tmp_path / "included.config"
    included.write_text(
        f'[filter "included"]\n\tclean = {trap("filter.included.clean")}\n\trequired = true\n'
    )
    with (project / ".git" / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {included}\n")
    with (project / ".gitattributes").open("a") as attributes:
        attributes.write("*.included filter=included\n")
    (project / "data.included").write_text("one\n")
    for name in ("data.csv", "data.long", "data.dotted"):
        (project / name).write_text("two\n")
    return project


def test_the_traps_work(hostile: Path, sprung: Callable[[], set[str]]) -> None:
    git(hostile, f"--work-tree={hostile}", "status", check=False)
    git(hostile, f"--work-tree={hostile}", "add", "data.dotted", "data.included", check=False)
    assert {"core.fsmonitor", "filter.evil.clean", "filter.a.b.c.clean", "filter.included.clean"} <= sprung()
    git(hostile, "tag", "any")
    assert "hook-reference-transaction" in sprung()


def test_asking_a_hostile_repository_runs_nothing_and_writes_nothing(
    hostile: Path, sprung: Callable[[], set[str]]
) -> None:
    before = snapshot(hostile)
    head = project_head(hostile)
    assert len(head["head"] or "") == 40
    assert head["dirty"] is True
    paths = ["new.png", "keep.png", "tracked.png", "data.csv", "hooks/x.png"]
    assert ignored_paths(hostile, paths) == {"new.png", "hooks/x.png"}
    assert sprung() == set()
    assert snapshot(hostile) == before


def test_recording_and_reading_in_a_hostile_repository_runs_nothing(
    hostile: Path, sprung: Callable[[], set[str]], data: Path
) -> None:
    state = hostile / ".autoscirub"
    state.mkdir()
    # The state directory is also dressed up as a bare repository, which git would discover.
    shutil.copytree(hostile / ".git", state, dirs_exist_ok=True)
    before = snapshot(hostile / ".git")
    for step in ("one", "two"):
        with History.open_for_writing(state, None, hostile) as history:
            history.commit(step, {"project/data.csv": hostile / "data.csv"}, facts={}, at=AT)
            history.export()
    with History.open_for_reading(state, hostile) as history:  # type: ignore[union-attr]
        assert [commit.event for commit in history.commits()] == ["two", "one"]
        assert history.read(history.commits()[0].oid, "project/data.csv") == b"two\n"
        assert history.changed(history.commits()[0].oid) == []
    assert project_head(hostile)["dirty"] is True
    assert sprung() == set()
    assert snapshot(hostile / ".git") == before


def test_a_bundle_from_a_hostile_repository_is_only_data(
    hostile: Path, sprung: Callable[[], set[str]], tmp_path: Path
) -> None:
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", str(hostile), str(source)], check=True)
    (source / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    shutil.rmtree(source / ".git" / "hooks")
    git(source, "bundle", "create", "-q", str(tmp_path / "stranger.bundle"), "main")
    victim = tmp_path / "victim"
    state = victim / ".autoscirub"
    shutil.copytree(hostile, victim)
    state.mkdir()
    shutil.copy(tmp_path / "stranger.bundle", state / "history.bundle")
    with History.open_for_reading(state, victim) as history:  # type: ignore[union-attr]
        (commit,) = history.commits()
        assert commit.problem is not None
        assert history.read(commit.oid, "data.csv") == b"one\n"
        assert ".gitattributes" in history.changed(commit.oid)
    with History.open_for_writing(state, None, victim) as history:
        history.commit("ours", {"state/x": b"1"}, facts={}, at=AT)
        history.export()
        assert len(history.commits()) == 2
    assert sprung() == set()


def test_submodule_settings_in_a_bundle_are_refused_or_ignored(
    tmp_path: Path, trap: Callable[[str], str], sprung: Callable[[], set[str]]
) -> None:
    source, state = tmp_path / "source", tmp_path / "victim" / ".autoscirub"
    source.mkdir()
    state.mkdir(parents=True)
    git(source, "init", "-q", "-b", "main")
    for url in (f"ext::{trap('submodule-url')}", f"--upload-pack={trap('submodule-upload-pack')}"):
        (source / ".gitmodules").write_text(f'[submodule "sub"]\n\tpath = sub\n\turl = {url}\n')
        git(source, "add", "-A")
        git(source, "commit", "-qm", "x")
        git(source, "bundle", "create", "-q", str(state / "history.bundle"), "main")
        try:
            with History.open_for_reading(state) as history:  # type: ignore[union-attr]
                assert history.commits()[0].problem is not None
        except HistoryError as error:
            assert "gitmodules" in str(error)  # noqa: PT017 - either answer will do, running something will not
    assert sprung() == set()


def test_a_repository_that_lacks_objects_fetches_nothing(
    tmp_path: Path, trap: Callable[[str], str], sprung: Callable[[], set[str]]
) -> None:
    project = tmp_path / PROJECT
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "x").write_text("1")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    tree = git(project, "rev-parse", "HEAD^{tree}").decode().strip()
    (project / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap('ext-transport')}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }.items():
        git(project, "config", "--file", ".git/config", key, value)
    git(project, "status", check=False)
    assert sprung() == {"ext-transport"}, "the trap works with plain git"
    (tmp_path / "canaries" / "ext-transport").unlink()
    answer = project_head(project)
    assert (answer["head"], answer["dirty"]) == (None, None)
    assert "git could not tell" in (answer["note"] or "")
    assert sprung() == set()


def test_variables_that_point_at_a_hostile_repository_are_dropped(
    hostile: Path,
    tmp_path: Path,
    trap: Callable[[str], str],
    sprung: Callable[[], set[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = tmp_path / "clean"
    state = project / ".autoscirub"
    state.mkdir(parents=True)
    git(project, "init", "-q")
    (project / "x").write_text("1")
    programs = ["EXTERNAL_DIFF", "SSH", "SSH_COMMAND", "PROXY_COMMAND", "ASKPASS", "EDITOR", "PAGER"]
    for name in programs:
        monkeypatch.setenv(f"GIT_{name}", trap(name))
    for name, value in {
        "DIR": str(hostile / ".git"),
        "WORK_TREE": str(hostile),
        "INDEX_FILE": str(hostile / ".git" / "index"),
        "TEMPLATE_DIR": str(hostile / ".git"),
        "CONFIG": str(hostile / ".git" / "config"),
        "CONFIG_GLOBAL": str(hostile / ".git" / "config"),
        "CONFIG_SYSTEM": str(hostile / ".git" / "config"),
        "CONFIG_COUNT": "1",
        "CONFIG_KEY_0": "core.fsmonitor",
        "CONFIG_VALUE_0": trap("GIT_CONFIG_COUNT"),
        "CONFIG_PARAMETERS": f"'core.fsmonitor'='{trap('GIT_CONFIG_PARAMETERS')}'",
        "EXEC_PATH": str(tmp_path / "traps"),
        "ALLOW_PROTOCOL": "ext",
    }.items():
        monkeypatch.setenv(f"GIT_{name}", value)
    answer = project_head(project)
    assert answer == {"head": None, "dirty": True, "note": "no commit yet"}
    assert ask_ignored(project, ["x"]).note is None
    with History.open_for_writing(state, None, project) as history:
        history.commit("one", {"project/x": project / "x"}, facts={}, at=AT)
        history.export()
    with History.open_for_reading(state, project) as history:  # type: ignore[union-attr]
        assert history.files(history.commits()[0].oid) == ["project/x"]
    assert sprung() == set()


def test_filters_with_names_that_cannot_be_switched_off_are_not_risked(
    tmp_path: Path, trap: Callable[[str], str], sprung: Callable[[], set[str]]
) -> None:
    project = tmp_path / PROJECT
    project.mkdir()
    git(project, "init", "-q")
    (project / ".gitattributes").write_text("* filter=a=b\n")
    git(project, "config", "filter.a=b.clean", trap("filter-with-equals"))
    (project / "x").write_text("1")
    answer = project_head(project)
    assert (answer["head"], answer["dirty"]) == (None, None)
    assert "strange names" in (answer["note"] or "")
    assert sprung() == set()


@pytest.mark.parametrize("depth", ["project", "below"])
def test_a_bare_repository_lying_in_the_work_tree_is_not_taken_for_the_repository(
    tmp_path: Path, trap: Callable[[str], str], sprung: Callable[[], set[str]], depth: str
) -> None:
    project = tmp_path / PROJECT
    project.mkdir()
    bare = project if depth == "project" else project / "below"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(bare, "config", "core.bare", "false")
    git(bare, "config", "core.worktree", str(project))
    git(bare, "config", "core.fsmonitor", trap("bare-fsmonitor"))
    assert project_head(bare) == {"head": None, "dirty": None, "note": "not in a git repository"}
    assert ignored_paths(bare, ["x.png"]) == set()
    (bare / ".git").mkdir()  # one that git passes over, and would then take the bare one
    assert project_head(bare)["head"] is None
    assert sprung() == set()


def test_a_relative_entry_of_path_does_not_find_git_in_the_project(
    hostile: Path, trap: Callable[[str], str], sprung: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("git", "env"):
        shutil.copy(trap(name), hostile / name)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", os.environ["PATH"]]))
    monkeypatch.chdir(hostile)
    assert project_head(hostile)["dirty"] is True
    assert sprung() == set()


def test_a_history_that_unfolds_without_end_is_refused_within_bounds(tmp_path: Path) -> None:
    """Ten levels of a folder that holds the next one thirty times: thirty to the tenth paths in a small file."""
    source, state = tmp_path / "source", tmp_path / "victim" / ".autoscirub"
    source.mkdir()
    state.mkdir(parents=True)
    git(source, "init", "-q", "-b", "main")
    kind, oid = "100644 blob", git(source, "hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    for _ in range(10):
        listing = "".join(f"{kind} {oid}\tf{number:02}\n" for number in range(30))
        kind, oid = "040000 tree", git(source, "mktree", stdin=listing.encode()).decode().strip()
    commit = git(source, "commit-tree", "-m", "x", oid).decode().strip()
    git(source, "update-ref", "refs/heads/main", commit)
    git(source, "bundle", "create", "-q", str(state / "history.bundle"), "main")
    child = """
import resource, sys
from pathlib import Path
from autoscirub.errors import HistoryError
from autoscirub.store.history.steps import History
limit = 5 * 128 * 1024 * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
with History.open_for_reading(Path(sys.argv[1])) as history:
    try:
        history.files(history.head)
    except HistoryError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", child, str(state)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "server")},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert "answered more than" in done.stdout
