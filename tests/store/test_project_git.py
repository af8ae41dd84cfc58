"""Questions about the user's own repository: answered without writing, or not answered and said so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autoscirub.store import project_git
from autoscirub.store.project_git import ask_ignored, ignored_paths, project_head


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def git(where: Path, *arguments: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = {
        f"GIT_{who}_{what}": "x@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=where,
        env={**clean, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, a file that is tracked though a pattern matches it, and ignore patterns."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("*.png\n!keep.png\nbuild/\n")
    (folder / "data.csv").write_text("1\n")
    (folder / "tracked.png").write_text("png\n")
    (folder / "sub" / "x.txt").write_text("1\n")
    git(folder, "add", "-f", ".")
    git(folder, "commit", "-qm", "one")
    return folder


def snapshot(root: Path) -> dict[str, Any]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }


def test_a_clean_project_is_at_its_commit(project: Path) -> None:
    head = git(project, "rev-parse", "HEAD").strip()
    assert project_head(project) == {"head": head, "dirty": False, "note": None}
    assert project_head(project / "sub") == {"head": head, "dirty": False, "note": None}


@pytest.mark.parametrize(
    ("change", "dirty"),
    [
        (lambda project: (project / "data.csv").write_text("2\n"), True),
        (lambda project: (project / "data.csv").unlink(), True),
        (lambda project: (project / "new.txt").write_text(""), True),
        (lambda project: git(project, "rm", "-q", "--cached", "data.csv"), True),
        (lambda project: (project / "ignored.png").write_text(""), False),
        (lambda project: os.utime(project / "data.csv", (1, 1)), False),
        (lambda project: (project / ".autoscirub").mkdir(), False),
        (lambda project: (project / ".autoscirub-not").write_text(""), True),
    ],
)
def test_what_a_clone_of_the_commit_would_not_have_makes_it_dirty(
    project: Path, change: Any, dirty: bool
) -> None:
    change(project)
    if (project / ".autoscirub").is_dir():
        (project / ".autoscirub" / "run_manifest.json").write_text("{}")
    assert project_head(project, exclude=[".autoscirub"])["dirty"] is dirty


def test_only_the_projects_own_folder_counts(project: Path) -> None:
    (project / "new.txt").write_text("")
    assert project_head(project / "sub")["dirty"] is False
    (project / "sub" / "new.txt").write_text("")
    assert project_head(project / "sub")["dirty"] is True
    assert project_head(project / "sub", exclude=["new.txt"])["dirty"] is False


def test_an_odd_file_name_is_compared_as_it_is(project: Path) -> None:
    (project / "state dir\n'x").mkdir()
    (project / "state dir\n'x" / "f").write_text("")
    assert project_head(project)["dirty"] is True
    assert project_head(project, exclude=["state dir\n'x"])["dirty"] is False


def test_asking_writes_nothing_not_even_the_index(project: Path) -> None:
    os.utime(project / "data.csv", (1, 1))  # a plain `git status` would refresh the index now
    before = snapshot(project)
    assert project_head(project)["dirty"] is False
    assert ignored_paths(project, ["a.png"]) == {"a.png"}
    assert snapshot(project) == before


def test_a_repository_without_a_commit_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "new")
    assert project_head(tmp_path / "new") == {"head": None, "dirty": False, "note": "no commit yet"}


def test_outside_of_a_repository_nothing_is_told_and_nothing_ignored(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert project_head(tmp_path / "plain") == {
        "head": None,
        "dirty": None,
        "note": "not in a git repository",
    }
    assert ask_ignored(tmp_path / "plain", ["x"]) == project_git.Ignored(frozenset(), None)


def test_a_worktree_and_a_submodule_are_answered_for_themselves(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "two")
    assert project_head(tmp_path / "tree")["head"] == git(tmp_path / "tree", "rev-parse", "HEAD").strip()
    assert ignored_paths(tmp_path / "tree", ["a.png", "tracked.png"]) == {"a.png"}
    git(project, "submodule", "--quiet", "add", str(tmp_path / "tree"), "module")
    assert (project / "module" / ".git").is_file()
    assert project_head(project / "module") == {
        "head": git(project / "module", "rev-parse", "HEAD").strip(),
        "dirty": False,
        "note": None,
    }
    git(project, "commit", "-qm", "with a module")
    (project / "module" / "data.csv").write_text("changed")
    assert project_head(project)["dirty"] is False
    assert project_head(project / "module")["dirty"] is True


@pytest.mark.parametrize(
    "damage",
    [
        lambda git_dir: (git_dir / "HEAD").write_text("junk"),
        lambda git_dir: (git_dir / "HEAD").unlink(),
        lambda git_dir: (git_dir / "index").write_bytes(b"junk"),
        lambda git_dir: (git_dir / "config").write_text("[junk"),
        lambda git_dir: shutil.rmtree(git_dir / "objects"),
        lambda git_dir: (shutil.rmtree(git_dir), git_dir.write_text("gitdir: /nowhere")),
        lambda git_dir: (shutil.rmtree(git_dir), git_dir.mkdir()),
        lambda git_dir: (shutil.rmtree(git_dir), os.mkfifo(git_dir)),
        lambda git_dir: (shutil.rmtree(git_dir), git_dir.symlink_to("nowhere")),
    ],
)
def test_a_repository_that_git_refuses_is_not_told_about(project: Path, damage: Any) -> None:
    damage(project / ".git")
    answer = project_head(project)
    assert (answer["head"], answer["dirty"]) == (None, None)
    assert (answer["note"] or "").startswith("git could not tell: ")
    # A damaged index may still let git say what matches; it must not answer wrongly without a note.
    ignored = ask_ignored(project, ["a.png", "data.csv"])
    assert ignored.note is not None or ignored.paths == {"a.png"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_of_another_owner_is_refused_unless_the_user_trusts_it(
    project: Path, tmp_path: Path
) -> None:
    for path in (project, project / ".git"):
        os.chown(path, 54321, 54321)
    answer = project_head(project)
    assert (answer["head"], answer["dirty"]) == (None, None)
    assert "dubious ownership" in (answer["note"] or "")
    assert ask_ignored(project, ["a.png"]).note is not None
    (tmp_path / "home" / ".gitconfig").write_text(f"[safe]\n\tdirectory = {project}\n")
    assert project_head(project)["dirty"] is False
    assert ignored_paths(project, ["a.png"]) == {"a.png"}


def test_without_git_nothing_is_told(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not on PATH" in (project_head(project)["note"] or "")
    assert "git is not on PATH" in (ask_ignored(project, ["a.png"]).note or "")


@pytest.mark.parametrize("configured", [True, False], ids=["configured", "only named in .gitattributes"])
def test_a_file_behind_a_content_filter_is_not_called_changed(project: Path, configured: bool) -> None:
    (project / ".gitattributes").write_text("*.up filter=upper\n")
    (project / "x.up").write_text("text\n")
    os.utime(project / "x.up", (1_600_000_000, 1_600_000_000))
    filters = ["-c", "filter.upper.clean=tr a-z A-Z"]
    if configured:
        git(project, "config", "filter.upper.clean", "tr a-z A-Z")
        git(project, "config", "filter.upper.required", "true")
    git(project, *filters, "add", "-A")
    git(project, *filters, "commit", "-qm", "two")
    head = git(project, "rev-parse", "HEAD").strip()
    assert project_head(project) == {"head": head, "dirty": False, "note": None}
    os.utime(project / "x.up", (1, 1))
    note = "content filters (such as Git LFS) are not run here, and 'x.up' passes one"
    assert project_head(project) == {"head": head, "dirty": None, "note": note}
    (project / "data.csv").write_text("2\n")
    assert project_head(project) == {"head": head, "dirty": True, "note": None}


# --- what is ignored -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("a.png", True),
        ("sub/deep/a.png", True),
        ("build/x.csv", True),
        ("sub/../a.png", True),
        ("./a.png", True),
        ("keep.png", False),
        ("tracked.png", False),
        ("data.csv", False),
        ("not/there.csv", False),
        ("*.png", True),
        ("?.png", True),
        ("[a].csv", False),
        (":(top)a.png", True),
        (":!a.png", True),
        ("-a.png", True),
        ("new\nline.png", True),
        ("ünï.png", True),
        ("a\\b.png", True),
        ('"quoted".png', True),
        ("build", False),  # only a folder of that name is ignored
    ],
)
def test_a_path_that_a_clone_will_lack_is_told(project: Path, path: str, ignored: bool) -> None:
    assert ask_ignored(project, [path, "data.csv"]) == project_git.Ignored(
        frozenset([path] if ignored else [])
    )


def test_paths_are_relative_to_the_project_not_to_the_repository(project: Path) -> None:
    (project / "sub" / ".gitignore").write_text("/only-here.csv\n")
    assert ignored_paths(project / "sub", ["only-here.csv", "data.csv"]) == {"only-here.csv"}
    assert ignored_paths(project, ["only-here.csv", "sub/only-here.csv"]) == {"sub/only-here.csv"}


def test_ten_thousand_paths_are_one_question(project: Path) -> None:
    paths = [f"out/figure-{number}.{'png' if number % 2 else 'csv'}" for number in range(10_000)]
    answer = ask_ignored(project, paths)
    assert answer.note is None
    assert answer.paths == {path for path in paths if path.endswith("png")}


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x.png", "sub/../../x.png", "a\0b.png", "a\ud800.png"]
)
def test_a_path_that_leaves_the_project_is_not_asked_about_and_said(project: Path, path: str) -> None:
    answer = ask_ignored(project, [path, "a.png"])
    assert answer.paths == {"a.png"}
    assert "leaves the project" in (answer.note or "")


def test_a_path_behind_a_link_is_said_and_the_others_are_answered(project: Path) -> None:
    (project / "link").symlink_to("sub")
    answer = ask_ignored(project, ["a.png", "link/b.png", "link/c.png", "d.png"])
    assert answer.paths == {"a.png", "d.png"}
    assert answer.note == "git cannot tell about link"


def test_too_many_folders_that_git_cannot_tell_about_are_said(project: Path) -> None:
    (project / "link").symlink_to("sub")
    answer = ask_ignored(project, [f"link/{number}/x.png" for number in range(30)])
    assert "too many folders" in (answer.note or "")


def test_the_users_own_excludes_count(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.fits\n")
    assert ignored_paths(project, ["a.fits", "a.nc"]) == {"a.fits"}
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/my-ignores\n")
    (home / "my-ignores").write_text("*.nc\n")
    assert ignored_paths(project, ["a.fits", "a.nc"]) == {"a.nc"}
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    (home / ".gitconfig").unlink()
    assert ignored_paths(project, ["a.fits", "a.nc"]) == set()


def test_the_repositorys_own_idea_of_an_excludes_file_is_not_opened(project: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    git(project, "config", "core.excludesFile", str(tmp_path / "fifo"))
    git(project, "config", "core.attributesFile", str(tmp_path / "fifo"))
    assert ignored_paths(project, ["a.png"]) == {"a.png"}
    assert project_head(project)["dirty"] is False


def test_a_repository_that_makes_git_wait_is_given_up_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_git, "_SECONDS", 0.3)
    os.mkfifo(project / "sub" / ".gitignore")
    assert "took longer than" in (project_head(project)["note"] or "")
    assert "took longer than" in (ask_ignored(project, ["sub/a.png"]).note or "")
