"""The history: commits and their export, and what is said when bundle and working repository disagree."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.errors import HistoryError
from autoscirub.store.history import History
from autoscirub.store.history_bundle import MAIN
from autoscirub.store.history_objects import MOST_BYTES
from autoscirub.store.history_repository import Repository, path_problem

AT = "2026-01-31T09:00:00Z"
PACKAGE = Path(__file__).resolve().parents[2] / "server"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine's memory, for one test."""
    folder = tmp_path / "data"
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".autoscirub"
    folder.mkdir(parents=True)
    return folder


def record(state: Path, *events: str, history_id: str | None = None, **files: bytes) -> tuple[str, list[str]]:
    """One command: opens, commits each event, exports. Gives the history's id and what was noticed."""
    with History.open_for_writing(state, history_id, state.parent) as history:
        for event in events:
            kept = {f"state/{name}.json": data for name, data in files.items()}
            history.commit(event, {**kept, "state/event.txt": event.encode()}, facts={"n": 1}, at=AT)
        history.export()
        assert history.id is not None
        return history.id, list(history.notices)


def events(state: Path) -> list[str | None]:
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        return [commit.event for commit in history.commits()]


def noticed_when_reading(state: Path) -> list[str]:
    with History.open_for_reading(state, state.parent) as history:  # type: ignore[union-attr]
        return list(history.notices)


def snapshot(*roots: Path) -> dict[str, Any]:
    """Everything under the roots: kind, mode, times and content."""
    found: dict[str, Any] = {}
    for root in roots:
        for path in sorted([root, *root.rglob("*")]):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, content)
    return found


def git(where: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = {
        f"GIT_{who}_{what}": "stranger@localhost"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        ["git", *arguments],
        cwd=where,
        env={**clean, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        input=stdin,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout


def strangers_bundle(folder: Path, files: dict[str, bytes], branch: str = "main") -> Path:
    """A bundle that somebody else's git made."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", branch)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "theirs")
    git(folder, "bundle", "create", "-q", "out.bundle", branch)
    return folder / "out.bundle"


# --- what a commit keeps -------------------------------------------------------------------------------


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


def test_git_itself_shows_who_when_and_what(state: Path, tmp_path: Path) -> None:
    record(state, "freeze")
    git(tmp_path, "clone", "-q", "-b", "main", str(state / "history.bundle"), "seen")
    shown = git(tmp_path / "seen", "log", "--format=%an <%ae> %cn %aI %cI %s").decode().strip()
    time = "2026-01-31T09:00:00+00:00"
    assert shown == f"autoscirub <autoscirub@localhost> autoscirub {time} {time} freeze"
    assert json.loads((tmp_path / "seen" / "facts.json").read_text())["facts"] == {"n": 1}


def test_commits_come_newest_first_and_each_says_what_it_changed(state: Path) -> None:
    with History.open_for_writing(state, None, state.parent) as history:
        first = history.commit("one", {"a": b"1", "b": b"1", "d/e": b"1"}, facts={}, at=AT)
        second = history.commit("two", {"a": b"2", "c": b"1", "d/e": b"1"}, facts={}, at=AT)
        assert [commit.event for commit in history.commits()] == ["two", "one"]
        assert history.changed(second) == ["a", "b", "c"]
        assert history.changed(first) == ["a", "b", "d/e"]
        assert (history.read(first, "b"), history.read(second, "b")) == (b"1", None)


def test_a_file_that_did_not_change_is_kept_once(state: Path) -> None:
    same = os.urandom(200_000)
    record(state, "one", same=same)
    before = (state / "history.bundle").stat().st_size
    history_id, _ = record(state, *"abcdefghij", same=same)
    assert (state / "history.bundle").stat().st_size < before + 20_000
    assert history_id


def test_many_commits_are_gathered_so_that_packs_do_not_pile_up(state: Path, data: Path) -> None:
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
        with pytest.raises(HistoryError, match="cannot be kept"):
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
        pytest.raises(HistoryError, match="'a' is given as a file"),
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
        with pytest.raises(HistoryError, match="cannot be kept"):
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
        with pytest.raises(HistoryError, match="changed while it was being kept"):
            history.commit("step", {"project/file": path}, facts={}, at=AT)
        monkeypatch.undo()
        assert history.head is None


@pytest.mark.parametrize(
    ("event", "facts", "at", "said"),
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
    state: Path, event: str, facts: dict[str, Any], at: str, said: str
) -> None:
    with (
        History.open_for_writing(state, None, state.parent) as history,
        pytest.raises(HistoryError, match=said),
    ):
        history.commit(event, {}, facts=facts, at=at)


def test_the_name_of_the_facts_is_not_the_callers(state: Path) -> None:
    with (
        History.open_for_writing(state, None, state.parent) as history,
        pytest.raises(HistoryError, match=r"facts\.json"),
    ):
        history.commit("step", {"facts.json": b"{}"}, facts={}, at=AT)


# --- reading -------------------------------------------------------------------------------------------


def test_without_a_bundle_there_is_nothing_to_read(state: Path) -> None:
    assert History.open_for_reading(state) is None
    assert History.missing_notice(state) is None


def test_reading_writes_nothing_anywhere(
    state: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one", "two")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    for path in (state / "history.bundle", state, state.parent):
        path.chmod(0o555)
    before = snapshot(state.parent, data)
    with History.open_for_reading(state, state.parent) as history:  # type: ignore[union-attr]
        assert [commit.event for commit in history.commits()] == ["two", "one"]
        with pytest.raises(HistoryError, match="opened for reading"):
            history.commit("three", {}, facts={}, at=AT)
        with pytest.raises(HistoryError, match="opened for reading"):
            history.export()
    assert snapshot(state.parent, data) == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_reading_makes_no_data_directory(state: Path, data: Path) -> None:
    record(state, "one")
    shutil.rmtree(data)
    assert events(state) == ["one"]
    assert not data.exists()


def test_a_read_above_the_bound_is_refused(state: Path) -> None:
    record(state, "one", big=b"0" * 5000)
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        assert history.head is not None
        assert history.read(history.head, "state/big.json", most=5000) == b"0" * 5000
        with pytest.raises(HistoryError, match="5,000 bytes, more than 4,999"):
            history.read(history.head, "state/big.json", most=4999)
    assert MOST_BYTES == 64 * 1024 * 1024


@pytest.mark.parametrize("oid", ["0" * 40, "main", "HEAD", "--all", "0" * 39, ""])
def test_what_is_no_commit_of_the_history_is_refused(state: Path, oid: str) -> None:
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
        (b"[]", "no JSON object"),
        (b"{}", "lacks"),
        (b'{"event": 1, "at": "x", "facts": {}}', "lacks"),
        (b'{"event": "x", "event": "y", "at": "z", "facts": {}}', "stands twice"),
        (b'{"event": "x", "at": "z", "facts": {"x": NaN}}', "not JSON"),
        (b"[" * 100_000, "nested deeper"),
        (b"\xff\xfe{}", "UTF-8"),
    ],
)
def test_a_commit_that_is_not_ours_is_listed_as_such(
    state: Path, tmp_path: Path, facts: bytes | None, problem: str
) -> None:
    files = {"x": b"1"} if facts is None else {"x": b"1", "facts.json": facts}
    shutil.copy(strangers_bundle(tmp_path / "stranger", files), state / "history.bundle")
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        (commit,) = history.commits()
        assert commit.event is None
        assert problem in (commit.problem or "")
        assert history.files(commit.oid) == ["x"]


def test_links_and_submodules_of_a_strangers_are_passed_over(state: Path, tmp_path: Path) -> None:
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


# --- bundles that are no history -----------------------------------------------------------------------


def truncated(whole: bytes) -> bytes:
    return whole[: len(whole) * 2 // 3]


def flipped(whole: bytes) -> bytes:
    middle = len(whole) - 60
    return whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]


DAMAGE = {
    "truncated": truncated,
    "truncated in the header": lambda whole: whole[:30],
    "one byte flipped": flipped,
    "empty": lambda _: b"",
    "random bytes": lambda whole: hashlib.sha512(whole).digest() * 10,
    "bytes after the end": lambda whole: whole + b"more",
    "another head": lambda whole: whole.replace(whole[16:56], b"1" * 40, 1),
    "no main": lambda whole: whole.replace(b"refs/heads/main", b"refs/heads/else", 1),
    "two mains": lambda whole: whole.replace(b"\n\n", b"\n" + b"1" * 40 + b" refs/heads/main\n\n", 1),
    "builds on what is not there": lambda whole: whole.replace(
        b"bundle\n", b"bundle\n-" + b"1" * 40 + b" x\n", 1
    ),
    "a filter": lambda whole: whole.replace(b"# v2 git bundle\n", b"# v3 git bundle\n@filter=blob:none\n", 1),
    "text": lambda _: b"<html>404</html>\n\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_corrupt_bundle_cannot_be_read_and_says_why(state: Path, damage: str) -> None:
    record(state, "one", "two")
    bundle = state / "history.bundle"
    bundle.write_bytes(DAMAGE[damage](bundle.read_bytes()))
    before = snapshot(state)
    with pytest.raises(HistoryError, match=r"history\.bundle: "):
        History.open_for_reading(state)
    assert snapshot(state) == before


@pytest.mark.parametrize("damage", DAMAGE)
def test_when_writing_a_corrupt_bundle_is_moved_aside_and_exported_again(state: Path, damage: str) -> None:
    history_id, _ = record(state, "one", "two")
    bundle = state / "history.bundle"
    damaged = DAMAGE[damage](bundle.read_bytes())
    bundle.write_bytes(damaged)
    _, notices = record(state, "three", history_id=history_id)
    assert "moved aside to history.bundle.corrupt-" in notices[0]
    assert "exported again from the working repository, 2 steps" in notices[1]
    (aside,) = state.glob("history.bundle.corrupt-*")
    assert aside.read_bytes() == damaged
    assert events(state) == ["three", "two", "one"]


def test_a_corrupt_bundle_without_a_working_repository_begins_again_and_is_kept(state: Path) -> None:
    (state / "history.bundle").write_bytes(b"junk")
    _, notices = record(state, "one")
    assert len(notices) == 1
    assert "moved aside" in notices[0]
    assert events(state) == ["one"]


def test_two_corrupt_bundles_within_a_second_are_both_kept(state: Path) -> None:
    for junk in (b"junk 1", b"junk 2"):
        (state / "history.bundle").write_bytes(junk)
        with History.open_for_writing(state, None, state.parent):
            pass
    assert {path.read_bytes() for path in state.glob("history.bundle.corrupt-*")} == {b"junk 1", b"junk 2"}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("link", "a symbolic link"),
        ("dangling link", "a symbolic link"),
        ("folder", "a directory"),
        ("fifo", "a FIFO"),
        ("lfs pointer", "git lfs pull"),
        ("newer", "v4 git bundle"),
    ],
)
def test_what_must_be_left_alone_is_refused_by_readers_and_writers(
    state: Path, tmp_path: Path, kind: str, said: str
) -> None:
    record(state, "one")
    bundle, outside = state / "history.bundle", tmp_path / "outside.bundle"
    bundle.rename(outside)
    {
        "link": lambda: bundle.symlink_to(outside),
        "dangling link": lambda: bundle.symlink_to(tmp_path / "nowhere"),
        "folder": bundle.mkdir,
        "fifo": lambda: os.mkfifo(bundle),
        "lfs pointer": lambda: bundle.write_bytes(
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
        ),
        "newer": lambda: bundle.write_bytes(b"# v4 git bundle\n\n"),
    }[kind]()
    before = snapshot(outside) | {"kind": bundle.lstat().st_mode}
    with pytest.raises(HistoryError, match=said):
        History.open_for_reading(state)
    with pytest.raises(HistoryError, match=said):
        History.open_for_writing(state, None, state.parent)
    assert snapshot(outside) | {"kind": bundle.lstat().st_mode} == before
    assert [path.name for path in state.iterdir()] == ["history.bundle"]


# --- bundle and working repository ---------------------------------------------------------------------


def test_a_history_goes_on_from_the_bundle_on_another_machine(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history_id, _ = record(state, "one")
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other machine"))
    assert record(state, "two", history_id=history_id) == (history_id, [])
    assert events(state) == ["two", "one"]


def test_without_an_id_the_one_that_the_bundle_names_is_taken(state: Path) -> None:
    history_id, _ = record(state, "one")
    assert record(state, "two") == (history_id, [])


def test_without_a_data_directory_the_bundle_alone_remembers(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "file" / "below"))
    history_id, _ = record(state, "one")
    with History.open_for_writing(state, history_id, state.parent) as history:
        assert history.temporary
        history.commit("two", {}, facts={}, at=AT)
        history.export()
        assert history.notices == []
    assert events(state) == ["two", "one"]


def test_a_newer_bundle_from_elsewhere_is_followed_without_a_word(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history_id, _ = record(state, "one")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other machine"))
        record(state, "two", history_id=history_id)
    assert noticed_when_reading(state) == []
    assert record(state, "three", history_id=history_id)[1] == []
    assert events(state) == ["three", "two", "one"]


def test_an_older_bundle_is_reported_until_it_is_recorded_and_the_longer_line_is_kept(state: Path) -> None:
    bundle = state / "history.bundle"
    history_id, _ = record(state, "one")
    older = bundle.read_bytes()
    record(state, "two", "three", history_id=history_id)
    bundle.write_bytes(older)
    assert "tampering or a restored backup" in noticed_when_reading(state)[0]
    assert "3 steps then, and there are 1 now" in noticed_when_reading(state)[0]
    for _ in range(2):  # saying it once does not make it unsaid
        with History.open_for_writing(state, history_id, state.parent) as history:
            assert "lacks 2 of the steps recorded here" in history.notices[0]
            assert "tampering or a restored backup" in history.notices[0]
            assert len(history.notices) == 1
            assert list(history.other_lines) == ["refs/other/1"]
            (other,) = history.other_lines.values()
            assert history.read(other, "state/event.txt") == b"three"
    with History.open_for_writing(state, history_id, state.parent) as history:
        history.commit("four", {}, facts={}, at=AT)
        history.export()
        assert "tampering" in history.commits()[0].notices[0]
    assert events(state) == ["four", "one"]
    assert noticed_when_reading(state) == []
    assert record(state, "five", history_id=history_id)[1] == []


def test_another_line_is_reported_and_the_bundle_counts(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = state / "history.bundle"
    history_id, _ = record(state, "one")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "forger"))
        before = bundle.read_bytes()
        record(state, "forged", history_id=history_id)
        forged = bundle.read_bytes()
        bundle.write_bytes(before)
    record(state, "two", history_id=history_id)
    bundle.write_bytes(forged)
    assert "tampering or a restored backup" in noticed_when_reading(state)[0]
    _, notices = record(state, history_id=history_id)
    assert "is on another line than the one recorded here" in notices[0]
    assert events(state) == ["forged", "one"]


def test_a_replaced_history_is_reported_as_begun_again(state: Path, tmp_path: Path) -> None:
    history_id, _ = record(state, "one")
    shutil.copy(strangers_bundle(tmp_path / "stranger", {"x": b"1"}), state / "history.bundle")
    assert "begun again" in noticed_when_reading(state)[0]
    _, notices = record(state, history_id=history_id)
    assert "begun again" in notices[0]
    assert "refs/other/1" in notices[0]


def test_a_state_directory_made_anew_is_reported_as_begun_again_and_the_notice_is_kept(state: Path) -> None:
    first_id, _ = record(state, "one")
    shutil.rmtree(state)
    state.mkdir()
    assert "was removed" in (History.missing_notice(state) or "")
    second_id, notices = record(state, "fresh")
    assert first_id != second_id
    assert "begun again" in notices[0]
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        assert "begun again" in history.commits()[0].notices[0]


def test_a_removed_bundle_is_reported_and_the_history_goes_on(state: Path) -> None:
    history_id, _ = record(state, "one", "two")
    (state / "history.bundle").unlink()
    _, notices = record(state, "three", history_id=history_id)
    assert "was removed, though 2 steps are recorded" in notices[0]
    assert events(state) == ["three", "two", "one"]


def test_another_state_directory_of_the_same_project_is_reported_once(state: Path, tmp_path: Path) -> None:
    record(state, "one")
    other = tmp_path / "elsewhere"
    other.mkdir()
    with History.open_for_writing(other, None, state.parent) as history:
        assert "also has a history in" in history.notices[0]
        assert str(state) in history.notices[0]
        history.commit("one", {}, facts={}, at=AT)
        history.export()
    with History.open_for_writing(other, None, state.parent) as history:
        assert history.notices == []


def test_two_clones_of_a_project_share_a_working_repository_without_false_alarms(
    state: Path, tmp_path: Path
) -> None:
    history_id, _ = record(state, "one")
    clone = tmp_path / "clone" / ".autoscirub"
    shutil.copytree(state, clone)
    assert record(clone, "in the clone", history_id=history_id)[1] == []
    assert record(state, "in the first", history_id=history_id)[1] == []
    assert record(clone, "clone again", history_id=history_id)[1] == []
    assert record(state, "first again", history_id=history_id)[1] == []
    assert events(state) == ["first again", "in the first", "one"]
    assert events(clone) == ["clone again", "in the clone", "one"]


def test_a_commit_in_the_working_repository_that_no_command_made_is_reported(state: Path, data: Path) -> None:
    history_id, _ = record(state, "one")
    repository = Repository(data / "histories" / f"{history_id}.git")
    head = repository.refs()[MAIN]
    forged = repository.write_commit({"x": b"1"}, parent=head, message="x", seconds=0, pending="refs/x")
    repository.update_refs((MAIN, forged, head))
    repository.git.close()
    with History.open_for_writing(state, history_id, state.parent) as history:
        assert "lacks 1 of the steps in the working repository" in history.notices[0]
        assert "tampering or a restored backup" in history.notices[0]
        assert history.head == head
        assert history.other_lines == {"refs/other/1": forged}


def test_a_damaged_working_repository_is_rebuilt_from_the_bundle(state: Path, data: Path) -> None:
    history_id, _ = record(state, "one", "two")
    shutil.rmtree(data / "histories" / f"{history_id}.git" / "objects" / "pack")
    _, notices = record(state, "three", history_id=history_id)
    assert "the working repository is damaged" in notices[0]
    assert events(state) == ["three", "two", "one"]


def test_a_lost_working_repository_does_not_hide_that_the_bundle_is_older(state: Path, data: Path) -> None:
    bundle = state / "history.bundle"
    history_id, _ = record(state, "one")
    older = bundle.read_bytes()
    record(state, "two", history_id=history_id)
    shutil.rmtree(data / "histories")
    bundle.write_bytes(older)
    _, notices = record(state, "three", history_id=history_id)
    assert "lacks the step" in notices[0]
    assert "tampering or a restored backup" in notices[0]
    assert events(state) == ["three", "one"]


def test_a_lost_working_repository_does_not_hide_a_replaced_history(
    state: Path, tmp_path: Path, data: Path
) -> None:
    history_id, _ = record(state, "one")
    shutil.rmtree(data / "histories")
    shutil.copy(strangers_bundle(tmp_path / "stranger", {"x": b"1"}), state / "history.bundle")
    assert "begun again" in record(state, history_id=history_id)[1][0]


def test_a_disk_that_takes_no_more_is_not_taken_for_a_corrupt_bundle(state: Path, tmp_path: Path) -> None:
    record(state, "one", big=os.urandom(300_000))
    child = """
import resource, sys
from pathlib import Path
from autoscirub.errors import HistoryError
from autoscirub.store.history import History
state = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for open_it in (lambda: History.open_for_reading(state), lambda: History.open_for_writing(state, None, state.parent)):
    try:
        open_it()
    except HistoryError as error:
        print(error)
"""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "AUTOSCIRUB_DATA_DIR": str(tmp_path / "new")}
    done = subprocess.run(
        [sys.executable, "-c", child, str(state)], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.count("could not be unpacked here") == 2
    assert [path.name for path in state.iterdir()] == ["history.bundle"]
    assert list((tmp_path / "new" / "histories").glob(".new-*")) == []
    assert events(state) == ["one"]


def test_without_a_temporary_folder_reading_says_so(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(HistoryError, match="TMPDIR"):
        History.open_for_reading(state)


def test_a_repository_that_a_kill_left_half_made_is_removed_in_time(state: Path, data: Path) -> None:
    old, new = data / "histories" / ".new-old", data / "histories" / ".new-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    record(state, "one")
    assert not old.exists()
    assert new.exists()  # perhaps another process is making it right now


def test_a_record_that_cannot_be_read_is_said_and_work_goes_on(state: Path, data: Path) -> None:
    history_id, _ = record(state, "one")
    (checkout,) = (data / "checkouts").iterdir()
    for junk in ("{", "[]", '{"head": 5}'):
        checkout.write_text(junk)
        assert "cannot be read" in noticed_when_reading(state)[0]
        _, notices = record(state, "next", history_id=history_id)
        assert "cannot be read" in notices[0]
        assert record(state, history_id=history_id)[1] == []


@pytest.mark.parametrize("history_id", ["../../etc", "A" * 32, "0" * 31, ""])
def test_an_id_that_is_no_id_is_refused(state: Path, history_id: str) -> None:
    with pytest.raises(HistoryError, match="no history id"):
        History.open_for_writing(state, history_id, state.parent)


def test_without_a_state_directory_there_is_no_history_to_write(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="is no directory"):
        History.open_for_writing(tmp_path / "none", None, tmp_path)


# --- killed --------------------------------------------------------------------------------------------

KILLED_AT = {
    # where the process is killed: (module, what is never reached), and whether the step counts afterwards
    "after the objects, before the mark": ("autoscirub.store.history_memory.Memory.save", False),
    "after the mark, before main moves": ("autoscirub.store.history_repository.Repository.update_refs", True),
    "between commit and export": ("autoscirub.store.history_working.write_bundle", True),
    "while the bundle waits to be renamed": ("pathlib.Path.replace", True),
    "after the bundle, before it is remembered": (
        "autoscirub.store.history_working.WorkingHistory.remember",
        True,
    ),
}

CHILD = """
import os, signal, sys
from importlib import import_module
from pathlib import Path
from autoscirub.store.history import History

state, history_id, target = Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3]

def killed(*_arguments, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

def only_the_bundle(path, to, real=Path.replace):
    return killed() if to.name == "history.bundle" else real(path, to)

with History.open_for_writing(state, history_id, state.parent) as history:
    module, _, name = target.rpartition(".")
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        package, _, kind = module.rpartition(".")
        owner = getattr(import_module(package), kind)
    setattr(owner, name, only_the_bundle if name == "replace" else killed)
    history.commit("cut off", {"state/x": b"1"}, facts={}, at="2026-01-31T09:00:00Z")
    history.export()
"""


@pytest.mark.parametrize("begun", [False, True], ids=["first step", "later step"])
@pytest.mark.parametrize("moment", KILLED_AT)
def test_a_process_killed_at_any_moment_leaves_nothing_to_explain(
    state: Path, moment: str, begun: bool
) -> None:
    target, counts = KILLED_AT[moment]
    history_id = record(state, "one")[0] if begun else "0" * 32
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(state), history_id, target],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    _, notices = record(state, history_id=history_id)
    assert notices == []
    expected = (["cut off"] if counts else []) + (["one"] if begun else [])
    assert (events(state) if expected else []) == expected
    assert record(state, "next", history_id=history_id)[1] == []
    assert events(state) == ["next", *expected]
    assert [path.name for path in state.iterdir()] == ["history.bundle"]


def test_a_cut_off_step_that_the_bundle_has_passed_by_is_kept_and_said(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history_id, _ = record(state, "one")
    with History.open_for_writing(state, history_id, state.parent) as history:
        history.commit("never exported", {}, facts={}, at=AT)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other machine"))
        record(state, "two", history_id=history_id)
    with History.open_for_writing(state, history_id, state.parent) as history:
        assert "written here and not yet exported" in history.notices[0]
        assert len(history.notices) == 1
        assert len(history.other_lines) == 1
    assert events(state) == ["two", "one"]


def test_a_mark_whose_commit_never_reached_the_disk_is_passed_over(state: Path, data: Path) -> None:
    history_id, _ = record(state, "one")
    (checkout,) = (data / "checkouts").iterdir()
    value = json.loads(checkout.read_text())
    checkout.write_text(json.dumps({**value, "pending": {"head": "1" * 40, "before": value["head"]}}))
    assert record(state, "two", history_id=history_id)[1] == []
    assert events(state) == ["two", "one"]


def test_what_a_killed_export_left_beside_the_bundle_is_removed(state: Path) -> None:
    history_id, _ = record(state, "one")
    for name in (".tmp-0011-history.bundle", ".tmp-0011-history.bundle.lock"):
        (state / name).write_bytes(b"half")
    (state / ".tmp-0011-other.json").write_bytes(b"half")
    record(state, history_id=history_id)
    assert sorted(path.name for path in state.iterdir()) == [".tmp-0011-other.json", "history.bundle"]


# --- the user's side -----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["repository", "git file", "none"])
def test_the_users_repository_is_not_touched_and_their_gc_does_no_harm(
    state: Path, tmp_path: Path, data: Path, layout: str
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
    before = snapshot(*watched)
    assert record(state, "two", history_id=history_id)[1] == []
    assert snapshot(*watched) == before
    git(data / "histories" / f"{history_id}.git", "gc", "-q", "--prune=now")
    assert record(state, "three", history_id=history_id)[1] == []
    assert events(state) == ["three", "two", "one"]


def test_a_clone_of_the_project_has_the_history_that_was_committed(state: Path, tmp_path: Path) -> None:
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
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    state = tmp_path / name / ".autoscirub"
    state.mkdir(parents=True)
    history_id, _ = record(state, "one")
    assert record(state, "two", history_id=history_id)[1] == []
    assert events(state) == ["two", "one"]


def test_without_git_the_error_says_how_to_install_it(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="apt install git"):
        History.open_for_writing(state, None, state.parent)
    with pytest.raises(HistoryError, match="apt install git"):
        History.open_for_reading(state)
