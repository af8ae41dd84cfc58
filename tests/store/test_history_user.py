"""The user's own repository, variables, folder names and missing git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import HistoryError
from autoscirub.store.history.steps import History

Record = Callable[..., tuple[str, list[str]]]
Events = Callable[[Path], list[str | None]]
Tree = Callable[[Path], dict[str, Any]]
Git = Callable[..., bytes]


@pytest.mark.parametrize("layout", ["repository", "git file", "none"])
def test_the_users_repository_is_not_touched_and_their_gc_does_no_harm(
    state: Path, record: Record, events: Events, git: Git, tree: Tree, tmp_path: Path, data: Path, layout: str
) -> None:
    project = state.parent
    if layout == "repository":
        git(project, "init", "-q")
    elif layout == "git file":
        git(project, "init", "-q", f"--separate-git-dir={tmp_path / 'apart'}")
    history_id, _ = record(state, "one")
    if layout != "none":
        git(project, "add", "-A")
        git(project, "commit", "-qm", "with its state")
        git(project, "gc", "-q", "--prune=now")
    watched = [path for path in (project / ".git", tmp_path / "apart") if path.exists()]
    before = [tree(path) for path in watched]
    assert record(state, "two", history_id=history_id)[1] == []
    assert [tree(path) for path in watched] == before
    git(data / "histories" / f"{history_id}.git", "gc", "-q", "--prune=now")
    assert record(state, "three", history_id=history_id)[1] == []
    assert events(state) == ["three", "two", "one"]


def test_a_clone_of_the_project_has_the_history_that_was_committed(
    state: Path, record: Record, events: Events, git: Git, tmp_path: Path
) -> None:
    project = state.parent
    git(project, "init", "-q")
    history_id, _ = record(state, "one", "two")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "with its state")
    git(tmp_path, "clone", "-q", str(project), "clone")
    clone = tmp_path / "clone" / ".autoscirub"
    assert events(clone) == ["two", "one"]
    assert record(clone, "three", history_id=history_id) == (history_id, [])


def test_git_variables_from_outside_change_nothing(
    state: Path, record: Record, events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one")
    (tmp_path / "bad").mkdir()
    for name in (
        "DIR",
        "WORK_TREE",
        "COMMON_DIR",
        "OBJECT_DIRECTORY",
        "INDEX_FILE",
        "TEMPLATE_DIR",
        "EXEC_PATH",
    ):
        monkeypatch.setenv(f"GIT_{name}", str(tmp_path / "bad"))
    for name, value in {
        "AUTHOR_DATE": "2001-01-01T00:00:00Z",
        "COMMITTER_NAME": "somebody",
        "NAMESPACE": "elsewhere",
        "DEFAULT_HASH": "sha256",
        "CONFIG_COUNT": "1",
        "CONFIG_KEY_0": "core.bare",
        "CONFIG_VALUE_0": "nonsense",
        "CONFIG_PARAMETERS": "nonsense",
        "TRACE": str(tmp_path / "trace"),
        "TRACE2_EVENT": str(tmp_path / "trace2"),
    }.items():
        monkeypatch.setenv(f"GIT_{name}", value)
    before = dict(os.environ)
    assert record(state, "two")[1] == []
    assert events(state) == ["two", "one"]
    assert dict(os.environ) == before
    assert list((tmp_path / "bad").iterdir()) == []
    assert not (tmp_path / "trace").exists()
    assert not (tmp_path / "trace2").exists()


@pytest.mark.parametrize("name", ["a $HOME b", "~", "-x", "spaces and ünïcode", 'quo"te', "new\nline", "a:b"])
def test_any_folder_name_will_do(record: Record, events: Events, tmp_path: Path, name: str) -> None:
    state = tmp_path / name / ".autoscirub"
    state.mkdir(parents=True)
    history_id, _ = record(state, "one")
    assert record(state, "two", history_id=history_id)[1] == []
    assert events(state) == ["two", "one"]


def test_without_git_the_error_says_how_to_install_it(
    state: Path, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="apt install git"):
        History.open_for_writing(state, None, state.parent)
    with pytest.raises(HistoryError, match="apt install git"):
        History.open_for_reading(state)
