"""A history is read without a trace, within bounds, and whoever made it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import HistoryError
from autoscirub.store.history.objects import MOST_BYTES
from autoscirub.store.history.steps import History

Record = Callable[..., tuple[str, list[str]]]
Events = Callable[[Path], list[str | None]]
Tree = Callable[[Path], dict[str, Any]]
Git = Callable[..., bytes]

AT = "2026-01-31T09:00:00Z"


def test_without_a_bundle_there_is_nothing_to_read(state: Path) -> None:
    assert History.open_for_reading(state) is None
    assert History.missing_notice(state) is None


def test_reading_writes_nothing_anywhere(
    state: Path, record: Record, tree: Tree, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one", "two")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    for path in (state / "history.bundle", state, state.parent):
        path.chmod(0o555)
    before = tree(state.parent), tree(data)
    with History.open_for_reading(state, state.parent) as history:  # type: ignore[union-attr]
        assert [commit.event for commit in history.commits()] == ["two", "one"]
        with pytest.raises(HistoryError, match="opened for reading"):
            history.commit("three", {}, facts={}, at=AT)
        with pytest.raises(HistoryError, match="opened for reading"):
            history.export()
    assert (tree(state.parent), tree(data)) == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_reading_makes_no_data_directory(state: Path, record: Record, events: Events, data: Path) -> None:
    record(state, "one")
    shutil.rmtree(data)
    assert events(state) == ["one"]
    assert not data.exists()


def test_a_read_above_the_bound_is_refused(state: Path, record: Record) -> None:
    record(state, "one", big=b"0" * 5000)
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        assert history.head is not None
        assert history.read(history.head, "state/big.json", most=5000) == b"0" * 5000
        with pytest.raises(HistoryError, match="5,000 bytes, more than 4,999"):
            history.read(history.head, "state/big.json", most=4999)
    assert MOST_BYTES == 64 * 1024 * 1024


@pytest.mark.parametrize("oid", ["0" * 40, "main", "HEAD", "--all", "0" * 39, ""])
def test_what_is_no_commit_of_the_history_is_refused(state: Path, record: Record, oid: str) -> None:
    record(state, "one")
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        for ask in (history.files, history.changed, lambda name: history.read(name, "state/event.txt")):
            with pytest.raises(HistoryError):
                ask(oid)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        (None, "no facts.json"),
        (b"", "is empty"),
        (b"{", "cut off"),
        (b"[]", "not a JSON object"),
        (b"{}", "lacks"),
        (b'{"event": 1, "at": "x", "facts": {}}', "lacks"),
        (b'{"event": "x", "event": "y", "at": "z", "facts": {}}', "appears twice"),
        (b'{"event": "x", "at": "z", "facts": {"x": NaN}}', "not JSON"),
        (b"[" * 100_000, "nested deeper"),
        (b"\xff\xfe{}", "UTF-8"),
    ],
)
def test_a_commit_that_is_not_ours_is_listed_as_such(
    state: Path, strangers_bundle: Callable[..., Path], tmp_path: Path, facts: bytes | None, problem: str
) -> None:
    files = {"x": b"1"} if facts is None else {"x": b"1", "facts.json": facts}
    shutil.copy(strangers_bundle(tmp_path / "stranger", files), state / "history.bundle")
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        (commit,) = history.commits()
        assert commit.event is None
        assert problem in (commit.problem or "")
        assert history.files(commit.oid) == ["x"]


def test_links_and_submodules_of_a_strangers_are_passed_over(
    state: Path, git: Git, strangers_bundle: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tmp_path / "stranger"
    strangers_bundle(folder, {"x": b"1"})
    (folder / "link").symlink_to("/etc/passwd")
    head = git(folder, "rev-parse", "HEAD").decode().strip()
    git(folder, "add", "link")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    git(folder, "commit", "-qm", "more")
    git(folder, "bundle", "create", "-q", str(state / "history.bundle"), "main")
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        assert history.head is not None
        assert history.files(history.head) == ["x"]
        assert history.read(history.head, "link") is None
