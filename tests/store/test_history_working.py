"""What is said when the bundle and this machine's working repository disagree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscirub.errors import HistoryError
from autoscirub.store.history.bundle import MAIN
from autoscirub.store.history.repository import Repository
from autoscirub.store.history.steps import History

Record = Callable[..., tuple[str, list[str]]]
Events = Callable[[Path], list[str | None]]

AT = "2026-01-31T09:00:00Z"
PACKAGE = Path(__file__).resolve().parents[2] / "server"


def noticed_when_reading(state: Path) -> list[str]:
    with History.open_for_reading(state, state.parent) as history:  # type: ignore[union-attr]
        return list(history.notices)


def test_a_history_goes_on_from_the_bundle_on_another_machine(
    state: Path, record: Record, events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history_id, _ = record(state, "one")
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other machine"))
    assert record(state, "two", history_id=history_id) == (history_id, [])
    assert events(state) == ["two", "one"]


def test_without_an_id_the_one_that_the_bundle_names_is_taken(state: Path, record: Record) -> None:
    history_id, _ = record(state, "one")
    assert record(state, "two") == (history_id, [])


def test_without_a_data_directory_the_bundle_alone_remembers(
    state: Path, record: Record, events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    state: Path, record: Record, events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history_id, _ = record(state, "one")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other machine"))
        record(state, "two", history_id=history_id)
    assert noticed_when_reading(state) == []
    assert record(state, "three", history_id=history_id)[1] == []
    assert events(state) == ["three", "two", "one"]


def test_an_older_bundle_is_reported_until_it_is_recorded_and_the_longer_line_is_kept(
    state: Path, record: Record, events: Events
) -> None:
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
    state: Path, record: Record, events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_a_replaced_history_is_reported_as_begun_again(
    state: Path, record: Record, strangers_bundle: Callable[..., Path], tmp_path: Path
) -> None:
    history_id, _ = record(state, "one")
    shutil.copy(strangers_bundle(tmp_path / "stranger", {"x": b"1"}), state / "history.bundle")
    assert "started afresh" in noticed_when_reading(state)[0]
    _, notices = record(state, history_id=history_id)
    assert "started afresh" in notices[0]
    assert "refs/other/1" in notices[0]


def test_a_state_directory_made_anew_is_reported_as_begun_again_and_the_notice_is_kept(
    state: Path, record: Record
) -> None:
    first_id, _ = record(state, "one")
    shutil.rmtree(state)
    state.mkdir()
    assert "was removed" in (History.missing_notice(state) or "")
    second_id, notices = record(state, "fresh")
    assert first_id != second_id
    assert "started afresh" in notices[0]
    with History.open_for_reading(state) as history:  # type: ignore[union-attr]
        assert "started afresh" in history.commits()[0].notices[0]


def test_a_removed_bundle_is_reported_and_the_history_goes_on(
    state: Path, record: Record, events: Events
) -> None:
    history_id, _ = record(state, "one", "two")
    (state / "history.bundle").unlink()
    _, notices = record(state, "three", history_id=history_id)
    assert "was removed, though 2 steps are recorded" in notices[0]
    assert events(state) == ["three", "two", "one"]


def test_another_state_directory_of_the_same_project_is_reported_once(
    state: Path, record: Record, tmp_path: Path
) -> None:
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
    state: Path, record: Record, events: Events, tmp_path: Path
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


def test_a_commit_in_the_working_repository_that_no_command_made_is_reported(
    state: Path, record: Record, data: Path
) -> None:
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


def test_a_damaged_working_repository_is_rebuilt_from_the_bundle(
    state: Path, record: Record, events: Events, data: Path
) -> None:
    history_id, _ = record(state, "one", "two")
    shutil.rmtree(data / "histories" / f"{history_id}.git" / "objects" / "pack")
    _, notices = record(state, "three", history_id=history_id)
    assert "the working repository is damaged" in notices[0]
    assert events(state) == ["three", "two", "one"]


def test_a_lost_working_repository_does_not_hide_that_the_bundle_is_older(
    state: Path, record: Record, events: Events, data: Path
) -> None:
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
    state: Path, record: Record, strangers_bundle: Callable[..., Path], tmp_path: Path, data: Path
) -> None:
    history_id, _ = record(state, "one")
    shutil.rmtree(data / "histories")
    shutil.copy(strangers_bundle(tmp_path / "stranger", {"x": b"1"}), state / "history.bundle")
    assert "started afresh" in record(state, history_id=history_id)[1][0]


def test_a_disk_that_takes_no_more_is_not_taken_for_a_corrupt_bundle(
    state: Path, record: Record, events: Events, tmp_path: Path
) -> None:
    record(state, "one", big=os.urandom(300_000))
    child = """
import resource, sys
from pathlib import Path
from autoscirub.errors import HistoryError
from autoscirub.store.history.steps import History
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
    state: Path, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(state, "one")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(HistoryError, match="TMPDIR"):
        History.open_for_reading(state)


def test_a_repository_that_a_kill_left_half_made_is_removed_in_time(
    state: Path, record: Record, data: Path
) -> None:
    old, new = data / "histories" / ".new-old", data / "histories" / ".new-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    record(state, "one")
    assert not old.exists()
    assert new.exists()  # perhaps another process is making it right now


def test_a_record_that_cannot_be_read_is_said_and_work_goes_on(
    state: Path, record: Record, data: Path
) -> None:
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
    with pytest.raises(HistoryError, match="not a history id"):
        History.open_for_writing(state, history_id, state.parent)


def test_without_a_state_directory_there_is_no_history_to_write(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="is not a directory"):
        History.open_for_writing(tmp_path / "none", None, tmp_path)
