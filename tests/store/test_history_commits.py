"""What a commit of the history keeps, and what it refuses to keep."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.errors import HistoryError
from autoscirub.store.history.repository import path_problem
from autoscirub.store.history.steps import History

Record = Callable[..., tuple[str, list[str]]]
Events = Callable[[Path], list[str | None]]
Git = Callable[..., bytes]

AT = "2026-01-31T09:00:00Z"


def test_a_commit_is_read_back_with_its_files_its_facts_and_its_time(state: Path) -> None:
    figure = state.parent / "figure.bin"
    figure.write_bytes(bytes(range(256)) * 5000)  # over a chunk, and streamed
    with History.open_for_writing(state, None, state.parent) as history:
        oid = history.commit(
            "freeze",
            {"state/run_manifest.json": b"{}", "project/results/figure.bin": figure, "project/empty": b""},
            facts={"note": "Größe", "list": [1, 2.5, None]},
            at="2026-01-31T10:00:00+01:00",
        )
        assert history.export() == state / "history.bundle"
        assert history.head == oid == history.first
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        (commit,) = history.commits()
        assert (commit.oid, commit.event, commit.at) == (oid, "freeze", "2026-01-31T10:00:00+01:00")
        assert commit.facts == {"note": "Größe", "list": [1, 2.5, None]}
        assert commit.problem is None
        assert history.files(oid) == [
            "project/empty",
            "project/results/figure.bin",
            "state/run_manifest.json",
        ]
        assert history.read(oid, "project/results/figure.bin") == figure.read_bytes()
        assert history.read(oid, "project/empty") == b""
        assert history.read(oid, "project/other") is None
        assert history.id == commit.history_id


def test_git_itself_shows_who_when_and_what(state: Path, record: Record, git: Git, tmp_path: Path) -> None:
    record(state, "freeze")
    git(tmp_path, "clone", "-q", "-b", "main", str(state / "history.bundle"), "seen")
    rendered = git(tmp_path / "seen", "log", "--format=%an <%ae> %cn %aI %cI %s").decode().strip()
    time = "2026-01-31T09:00:00+00:00"
    assert rendered == f"autoscirub <autoscirub@localhost> autoscirub {time} {time} freeze"
    assert json.loads((tmp_path / "seen" / "facts.json").read_text())["facts"] == {"n": 1}


def test_commits_come_newest_first_and_each_says_what_it_changed(state: Path) -> None:
    with History.open_for_writing(state, None, state.parent) as history:
        first = history.commit("one", {"a": b"1", "b": b"1", "d/e": b"1"}, facts={}, at=AT)
        second = history.commit("two", {"a": b"2", "c": b"1", "d/e": b"1"}, facts={}, at=AT)
        assert [commit.event for commit in history.commits()] == ["two", "one"]
        assert history.changed(second) == ["a", "b", "c"]
        assert history.changed(first) == ["a", "b", "d/e"]
        assert (history.read(first, "b"), history.read(second, "b")) == (b"1", None)


def test_a_file_that_did_not_change_is_kept_once(state: Path, record: Record) -> None:
    same = os.urandom(200_000)
    record(state, "one", same=same)
    before = (state / "history.bundle").stat().st_size
    history_id, _ = record(state, *"abcdefghij", same=same)
    assert (state / "history.bundle").stat().st_size < before + 20_000
    assert history_id


def test_many_commits_are_gathered_so_that_packs_do_not_pile_up(
    state: Path, record: Record, events: Events, data: Path
) -> None:
    history_id = None
    for number in range(40):
        history_id, notices = record(state, f"step {number}", history_id=history_id)
        assert notices == []
    packs = list((data / "histories" / f"{history_id}.git" / "objects" / "pack").glob("*.pack"))
    assert len(packs) <= 33
    assert events(state) == [f"step {number}" for number in reversed(range(40))]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../out",
        "a/../b",
        "a//b",
        "./a",
        "a/",
        ".git/config",
        "a/.GIT/hooks/x",
        ".git.",
        ".git ",
        ".git::$INDEX_ALLOCATION",
        "git~1",
        ".g\u200cit/config",
        ".gitmodules",
        "a/.gitattributes",
        "gitmod~1",
        "a\\b",
        "a\nb",
        "a\x1b[31m",
        "a\x00b",
        "a\ud800",
        "x" * 1025,
    ],
)
def test_a_name_that_could_do_harm_is_refused_and_nothing_is_kept(state: Path, name: str) -> None:
    with History.open_for_writing(state, None, state.parent) as history:
        with pytest.raises(HistoryError, match="cannot be recorded"):
            history.commit("step", {"good": b"1", name: b"1"}, facts={}, at=AT)
        assert history.head is None
        assert history.export() is None
    assert list(state.iterdir()) == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.text(alphabet=".giGIT~1 :\"\\'ab/*?[-\u200d\u00e9\U0001f600", min_size=1, max_size=12),
            st.text(min_size=1, max_size=8),
        ),
        max_size=30,
    )
)
def test_every_name_that_is_accepted_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    state = tmp_path_factory.mktemp("state")
    accepted = {name: name.encode() for name in names if path_problem(name) is None and name != "facts.json"}
    files = {
        name: content
        for name, content in accepted.items()
        if not any(other.startswith(f"{name}/") for other in accepted) and not name.startswith("facts.json/")
    }
    with History.open_for_writing(state, None, state) as history:
        oid = history.commit("step", files, facts={}, at=AT)
        history.export()
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        assert {name: history.read(oid, name) for name in history.files(oid)} == files


def test_a_file_and_a_folder_of_one_name_are_refused(state: Path) -> None:
    with (
        History.open_for_writing(state, None, state.parent) as history,
        pytest.raises(HistoryError, match="'a' is passed as a file"),
    ):
        history.commit("step", {"a": b"1", "a/b": b"1"}, facts={}, at=AT)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "missing"])
def test_what_is_no_regular_file_is_refused_without_blocking(state: Path, kind: str) -> None:
    path = state.parent / "file"
    {
        "link": lambda: path.symlink_to("/etc/hostname"),
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "missing": lambda: None,
    }[kind]()
    with History.open_for_writing(state, None, state.parent) as history:
        with pytest.raises(HistoryError, match="cannot be recorded"):
            history.commit("step", {"project/file": path}, facts={}, at=AT)
        history.commit("after", {}, facts={}, at=AT)
        assert [commit.event for commit in history.commits()] == ["after"]


def test_a_file_that_shrinks_while_it_is_kept_is_refused(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = state.parent / "file"
    path.write_bytes(b"12345678")
    real = os.fstat

    def larger(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        if status.st_ino == path.stat().st_ino:
            return os.stat_result([*status[:6], status.st_size + 4, *status[7:]])
        return status

    with History.open_for_writing(state, None, state.parent) as history:
        monkeypatch.setattr(os, "fstat", larger)
        with pytest.raises(HistoryError, match="changed while it was being recorded"):
            history.commit("step", {"project/file": path}, facts={}, at=AT)
        monkeypatch.undo()
        assert history.head is None


@pytest.mark.parametrize(
    ("event", "facts", "at", "message"),
    [
        ("", {}, AT, "event"),
        ("two\nlines", {}, AT, "event"),
        ("step", {"x": float("nan")}, AT, "not strict JSON"),
        ("step", {"x": float("inf")}, AT, "not strict JSON"),
        ("step", {"x": object()}, AT, "not strict JSON"),
        ("step", {"x": "\ud800"}, AT, "not strict JSON"),
        ("step", {}, "yesterday", "not ISO 8601"),
        ("step", {}, "2026-01-31T09:00:00", "no zone"),
        ("step", {}, "1960-01-31T09:00:00Z", "before 1970"),
    ],
)
def test_facts_and_times_that_could_not_be_read_back_are_refused(
    state: Path, event: str, facts: dict[str, Any], at: str, message: str
) -> None:
    with (
        History.open_for_writing(state, None, state.parent) as history,
        pytest.raises(HistoryError, match=message),
    ):
        history.commit(event, {}, facts=facts, at=at)


def test_the_name_of_the_facts_is_not_the_callers(state: Path) -> None:
    with (
        History.open_for_writing(state, None, state.parent) as history,
        pytest.raises(HistoryError, match=r"facts\.json"),
    ):
        history.commit("step", {"facts.json": b"{}"}, facts={}, at=AT)
