"""Where the project and its state directory are: which source wins, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import ConfigError, StateError
from autoscirub.store.resolving import DEFAULT_STATE_DIR, resolve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "deep" / "down").mkdir(parents=True)
    return project


# --state-dir, AUTOSCIRUB_STATE_DIR, state_dir in autoscirub.toml -> state directory from the project root, source
STATE_DIRS = [
    (None, None, None, ".autoscirub", "the default"),
    (None, None, "c", "c", "state_dir in autoscirub.toml"),
    (None, "e", None, "e", "AUTOSCIRUB_STATE_DIR"),
    (None, "e", "c", "e", "AUTOSCIRUB_STATE_DIR"),
    ("o", None, None, "o", "--state-dir"),
    ("o", None, "c", "o", "--state-dir"),
    ("o", "e", None, "o", "--state-dir"),
    ("o", "e", "c", "o", "--state-dir"),
    # an empty value counts as unset
    ("", "", "", ".autoscirub", "the default"),
    ("", "", "c", "c", "state_dir in autoscirub.toml"),
    (None, "", None, ".autoscirub", "the default"),
    ("", "e", "c", "e", "AUTOSCIRUB_STATE_DIR"),
    # relative to the project root, whichever the source
    ("a/b", None, None, "a/b", "--state-dir"),
    (None, "a/b", None, "a/b", "AUTOSCIRUB_STATE_DIR"),
    (None, None, "a/b", "a/b", "state_dir in autoscirub.toml"),
    ("./x/../y/", None, None, "y", "--state-dir"),
    (None, "../beside", None, "../beside", "AUTOSCIRUB_STATE_DIR"),
    (Path("o"), None, None, "o", "--state-dir"),
    # odd, and a name all the same
    ("a\nb", None, None, "a\nb", "--state-dir"),
    (" ", None, None, " ", "--state-dir"),
    ("$HOME", None, None, "$HOME", "--state-dir"),
]


@pytest.mark.parametrize(("override", "variable", "configured", "expected", "source"), STATE_DIRS)
def test_the_first_source_that_names_the_state_directory_wins(
    root: Path,
    override: str | Path | None,
    variable: str | None,
    configured: str | None,
    expected: str,
    source: str,
) -> None:
    (root / "autoscirub.toml").write_text("" if configured is None else f'state_dir = "{configured}"')
    environment = {} if variable is None else {"AUTOSCIRUB_STATE_DIR": variable}
    for here in (root, root / "deep" / "down"):  # never relative to where one happens to be
        found = resolve(None, override, environment=environment, working_directory=here)
        assert found.project == root
        assert found.state_dir == Path(os.path.normpath(root / expected))
        assert found.state_source == source
    assert not found.state_dir.exists()  # looking makes nothing


@pytest.mark.parametrize("value", ["../beside", "{tmp}/far", "~/x", "a/../../x"])
def test_a_project_s_own_setting_cannot_choose_a_place_outside_of_it(
    root: Path, tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (root / "autoscirub.toml").write_text(f'state_dir = "{value.format(tmp=tmp_path)}"')
    with pytest.raises(
        StateError, match="outside of the project, as state_dir in autoscirub.toml has it.*--state-dir"
    ):
        resolve(None, None, environment={}, working_directory=root)
    assert (
        resolve(None, "../beside", environment={}, working_directory=root).state_dir == root.parent / "beside"
    )


@pytest.mark.parametrize("name", ["--state-dir", "AUTOSCIRUB_STATE_DIR"])
def test_an_absolute_path_and_a_home_are_taken_as_they_are(
    root: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value, expected in [(str(tmp_path / "far"), tmp_path / "far"), ("~/x", tmp_path / "home" / "x")]:
        found = resolve(
            None,
            value if name == "--state-dir" else None,
            environment={name: value},
            working_directory=root,
        )
        assert found.state_dir == expected


# --project, AUTOSCIRUB_PROJECT, working directory -> project, source; all from the folder that holds them
PROJECTS = [
    (None, None, "plain", "plain", "the working directory"),
    (None, None, "marked/sub/deeper", "marked", "autoscirub.toml in "),
    (None, None, "marked", "marked", "autoscirub.toml in "),
    (None, "../marked", "plain", "marked", "AUTOSCIRUB_PROJECT"),
    (None, "", "marked/sub", "marked", "autoscirub.toml in "),
    ("plain", "marked", ".", "plain", "--project"),
    ("", "marked", ".", "marked", "AUTOSCIRUB_PROJECT"),
    ("", "", "plain", "plain", "the working directory"),
    ("../plain", None, "marked", "plain", "--project"),
    (Path("plain"), None, ".", "plain", "--project"),
    # what is named is the project, whatever lies in its parents
    ("marked/sub", None, ".", "marked/sub", "--project"),
    (None, "marked/sub", ".", "marked/sub", "AUTOSCIRUB_PROJECT"),
    # a link is the folder that it leads to
    ("link", None, ".", "marked/sub", "--project"),
]


@pytest.mark.parametrize(("named", "variable", "here", "expected", "source"), PROJECTS)
def test_the_first_source_that_names_the_project_wins(
    tmp_path: Path, named: str | Path | None, variable: str | None, here: str, expected: str, source: str
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "marked" / "sub" / "deeper").mkdir(parents=True)
    (tmp_path / "marked" / "autoscirub.toml").touch()
    (tmp_path / "link").symlink_to("marked/sub")
    working = tmp_path / here
    variables = {} if variable is None else {"AUTOSCIRUB_PROJECT": variable}
    found = resolve(named, environment=variables, working_directory=working)
    assert found.project == tmp_path / expected
    assert found.project_source.startswith(source)
    assert found.state_dir == tmp_path / expected / DEFAULT_STATE_DIR


def test_the_nearest_marked_parent_wins_whichever_the_mark(tmp_path: Path) -> None:
    make: dict[str, Callable[[Path], object]] = {
        ".git": Path.mkdir,
        "autoscirub.toml": Path.touch,
        ".autoscirub": Path.mkdir,
    }
    for outer in make:
        for inner in make:
            folder = tmp_path / outer / inner
            (folder / "nested" / "work").mkdir(parents=True)
            make[outer](folder / outer)
            make[inner](folder / "nested" / inner)
            found = resolve(environment={}, working_directory=folder / "nested" / "work")
            assert found.project == folder / "nested"
            assert found.project_source == f"{inner} in {folder / 'nested'}"


def test_a_git_worktrees_file_marks_a_project_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /elsewhere")
    (tmp_path / "sub").mkdir()
    assert resolve(environment={}, working_directory=tmp_path / "sub").project == tmp_path


def test_the_environment_and_the_working_directory_are_the_processs_own(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / ".git").mkdir()
    monkeypatch.chdir(root / "deep")
    monkeypatch.setenv("AUTOSCIRUB_STATE_DIR", "from-the-environment")
    found = resolve()
    assert (found.project, found.state_dir) == (root, root / "from-the-environment")


def test_a_working_directory_that_was_removed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="the working directory no longer exists"):
        resolve(environment={})


BAD_PROJECTS = {
    "nothing there": ("nowhere", "does not exist; name the project's folder"),
    "a file": ("file", "is a file; name the project's folder"),
    "a NUL": ("a\0b", "is not a path"),
    "half a surrogate pair": ("\ud800", "is not a path"),
    "somebody who is not there": ("~nobody-of-that-name/x", "that user has no home folder"),
    "a name that is too long": ("x" * 5000, "does not exist"),
    "a link in a ring": ("ring", "name the project's folder"),
}


@pytest.mark.parametrize("name", BAD_PROJECTS)
@pytest.mark.parametrize("source", ["--project", "AUTOSCIRUB_PROJECT"])
def test_a_project_that_is_no_folder_is_refused_and_its_source_is_named(
    tmp_path: Path, source: str, name: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "ring").symlink_to("ring")
    value, problem = BAD_PROJECTS[name]
    with pytest.raises(ConfigError, match=problem) as caught:
        resolve(
            value if source == "--project" else None,
            environment={source: value},
            working_directory=tmp_path,
        )
    assert str(caught.value).startswith(f"{source}: ")


BAD_STATE_DIRS: dict[str, tuple[str, type[StateError], str]] = {
    "the project itself": (".", ConfigError, "the state directory is the project itself"),
    "the project, in a roundabout way": ("deep/..", ConfigError, "the state directory is the project itself"),
    "the project, by a link": ("to-project", ConfigError, "the state directory is the project itself"),
    "the project's parent": ("..", ConfigError, "holds the project; name a folder in it"),
    "the whole disk": ("/", ConfigError, "holds the project; name a folder in it"),
    "the repository": (".git", ConfigError, "lies in .git; name a folder outside it"),
    "a folder of the repository": (".git/hooks", ConfigError, "lies in .git"),
    "a folder of the repository, by a link": ("to-git/x", ConfigError, "lies in .git"),
    "a NUL": ("a\0b", ConfigError, "is not a path"),
    "half a surrogate pair": ("\ud800", ConfigError, "is not a path"),
    "somebody who is not there": ("~nobody-of-that-name/x", ConfigError, "that user has no home folder"),
    "a file": ("file", StateError, "is not a directory; move it away"),
    "a link to a file": ("to-file", StateError, "is not a directory"),
    "a link to nothing": ("dangling", StateError, "is not a directory"),
    "a link in a ring": ("ring", StateError, "is not a directory"),
}


@pytest.fixture
def crowded(root: Path) -> Path:
    (root / "file").touch()
    (root / ".git").mkdir()
    for name, target in {
        "to-file": "file",
        "dangling": "nowhere",
        "ring": "ring",
        "to-project": ".",
        "to-git": ".git",
    }.items():
        (root / name).symlink_to(target)
    return root


SOURCES = ("--state-dir", "AUTOSCIRUB_STATE_DIR", "state_dir in autoscirub.toml")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (source, name)
        for source in SOURCES
        for name in BAD_STATE_DIRS
        if not (source.endswith("toml") and "surrogate" in name)  # which TOML cannot say
    ],
)
def test_a_state_directory_that_cannot_be_one_is_refused_and_its_source_is_named(
    crowded: Path, source: str, name: str, tree: Callable[[Path], dict[str, Any]]
) -> None:
    value, error, problem = BAD_STATE_DIRS[name]
    if source.startswith("state_dir"):
        (crowded / "autoscirub.toml").write_text(f"state_dir = {json.dumps(value)}")
    before = tree(crowded)
    with pytest.raises(error, match=problem) as caught:
        resolve(
            None,
            value if source == "--state-dir" else None,
            environment={source: value},
            working_directory=crowded,
        )
    assert source in str(caught.value)
    assert tree(crowded) == before


def test_a_link_that_came_with_the_project_does_not_choose_where_we_write(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (root / ".autoscirub").symlink_to(outside)
    (root / "through").symlink_to(outside)
    with pytest.raises(
        StateError, match=r"is a link that leads out of the project, to .*outside; if you want"
    ):
        resolve(environment={}, working_directory=root)
    for configured in (".autoscirub", "through", "through/sub", "through/new"):
        (root / "autoscirub.toml").write_text(f'state_dir = "{configured}"')
        with pytest.raises(StateError, match="leads out of the project"):
            resolve(environment={}, working_directory=root)


def test_a_link_out_of_the_project_serves_where_the_user_names_it(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / ".autoscirub").symlink_to(outside)
    by_option = resolve(None, ".autoscirub", environment={}, working_directory=root)
    by_variable = resolve(environment={"AUTOSCIRUB_STATE_DIR": ".autoscirub"}, working_directory=root)
    assert by_option.state_dir == by_variable.state_dir == root / ".autoscirub"
    assert by_option.state_source == "--state-dir"


def test_a_link_within_the_project_serves(root: Path) -> None:
    (root / "real").mkdir()
    (root / ".autoscirub").symlink_to("real")
    assert resolve(environment={}, working_directory=root).state_dir == root / ".autoscirub"


def test_a_file_in_place_of_the_default_is_refused(root: Path) -> None:
    (root / ".autoscirub").write_text("")
    with pytest.raises(StateError, match=r"\.autoscirub \(the default\): is not a directory"):
        resolve(environment={}, working_directory=root)


def test_a_configuration_that_cannot_be_used_is_refused_before_a_state_directory_is_chosen(
    root: Path,
) -> None:
    (root / "autoscirub.toml").write_text("unknown = 1")
    with pytest.raises(ConfigError, match="unknown key unknown"):
        resolve(None, "o", environment={}, working_directory=root)


def test_the_configuration_comes_with_the_location(root: Path) -> None:
    (root / "autoscirub.toml").write_text('report = "paper.md"')
    found = resolve(environment={}, working_directory=root)
    assert found.config.source == "autoscirub.toml"
    assert found.config.values.report == "paper.md"
