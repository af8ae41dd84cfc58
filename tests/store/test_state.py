"""What is written to the state directory, under its lock; lines; and what belongs to the record."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field

from autoscirub.errors import BusyError, StateError
from autoscirub.models import StateModel
from autoscirub.store.locks import LEASE_NAME
from autoscirub.store.state import StateStore


class Counter(StateModel):
    """A small state file of the tests."""

    file_name: ClassVar[str] = "counter.json"
    counts: dict[str, int] = Field(default_factory=dict)


def one_more(old: Counter) -> Counter:
    return Counter(counts={"a": old.counts.get("a", 0) + 1})


# --- writing


def test_reading_makes_nothing(tmp_path: Path) -> None:
    store = StateStore(tmp_path / "state")
    assert not store.exists()
    assert store.read(Counter) is None
    assert store.read_bytes("x") is None
    assert store.read_lines("x.jsonl") == ([], [])
    assert store.files() == []
    assert list(tmp_path.iterdir()) == []


def test_writing_makes_the_directory_and_its_parents(tmp_path: Path) -> None:
    store = StateStore(tmp_path / "a" / "state")
    with store.writing():
        store.write(Counter(counts={"ä": 1}))
    assert (tmp_path / "a" / "state" / "counter.json").read_text("utf-8") == (
        '{\n "schema_version": "1.0",\n "counts": {\n  "ä": 1\n }\n}\n'
    )


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.write(Counter()),
        lambda store: store.write_bytes("x", b""),
        lambda store: store.move_aside("counter.json"),
        lambda store: store.remove("counter.json"),
    ],
)
def test_without_the_lock_nothing_is_written(tmp_path: Path, act: Callable[[StateStore], None]) -> None:
    (tmp_path / "counter.json").write_bytes(b"{}")
    with pytest.raises(StateError, match="written without holding the state directory's lock"):
        act(StateStore(tmp_path))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("counter.json", b"{}")]


def test_a_step_within_a_step_holds_the_same_lock_to_the_end(tmp_path: Path) -> None:
    store, other = StateStore(tmp_path), StateStore(tmp_path, lock_seconds=0)
    with store.writing():
        store.update(Counter, one_more)
        store.append_line("x.jsonl", {"n": 1})
        with store.writing(), pytest.raises(BusyError):
            other.update(Counter, one_more)
        with pytest.raises(BusyError):
            other.update(Counter, one_more)
        store.update(Counter, one_more)
    assert other.update(Counter, one_more).counts == {"a": 3}


def test_a_change_that_fails_changes_nothing_and_releases_the_lock(tmp_path: Path) -> None:
    store = StateStore(tmp_path, lock_seconds=0)
    store.update(Counter, one_more)
    before = store.read_bytes("counter.json")
    with pytest.raises(ZeroDivisionError):
        store.update(Counter, lambda _old: 1 / 0)  # type: ignore[arg-type,return-value]
    with pytest.raises(ValueError, match="Out of range float"):
        store.update(Counter, lambda old: old.model_copy(update={"extra": float("nan")}))
    assert store.read_bytes("counter.json") == before
    assert StateStore(tmp_path, lock_seconds=0).update(Counter, one_more).counts == {"a": 2}


def test_a_state_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"mine")
    with pytest.raises(StateError, match="cannot be created"), StateStore(tmp_path / "state").writing():
        pytest.fail("written")
    assert (tmp_path / "state").read_bytes() == b"mine"


def test_a_file_is_removed_or_was_not_there(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    with store.writing():
        store.write(Counter())
        store.remove("counter.json")
        store.remove("counter.json")
        store.write_bytes("folder/x", b"")
        with pytest.raises(StateError, match="folder: cannot be removed"):
            store.remove("folder")
    assert store.files() == ["folder/x"]


def test_that_the_file_system_cannot_lock_is_noticed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    store = StateStore(tmp_path)
    for _ in range(3):
        store.update(Counter, one_more)
    assert store.read(Counter) == Counter(counts={"a": 3})
    assert store.notices == [
        f"{tmp_path}: this file system cannot lock, so a lease file is used: {LEASE_NAME}"
    ]


# --- lines


def test_lines_are_added_one_by_one_and_read_back_in_order(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    lines = [{"n": number, "text": "zwei\nZeilen \u2028 ü"} for number in range(5)]
    for line in lines:
        store.append_line("x.jsonl", line)
    store.append_line("x.jsonl", Counter(counts={"a": 1}))
    assert store.read_lines("x.jsonl") == ([*lines, {"schema_version": "1.0", "counts": {"a": 1}}], [])
    assert (store.read_bytes("x.jsonl") or b"").count(b"\n") == 6


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_line_that_was_cut_off_is_said_and_costs_no_other_line(tmp_path: Path, cut: int) -> None:
    store = StateStore(tmp_path)
    store.append_line("x.jsonl", {"n": 1})
    store.append_line("x.jsonl", {"n": 222})
    whole = (tmp_path / "x.jsonl").read_bytes()
    (tmp_path / "x.jsonl").write_bytes(whole[:-cut])
    second = [{"n": 222}] if cut == 1 else []
    lost = 0 if cut in {1, len(b'{"n": 222}\n')} else 1
    values, faults = store.read_lines("x.jsonl")
    assert values == [{"n": 1}, *second]
    store.append_line("x.jsonl", {"n": 3})
    values, faults = store.read_lines("x.jsonl")
    assert values == [{"n": 1}, *second, {"n": 3}]
    assert faults == lost * [
        "x.jsonl: line 2 is cut off: the document does not end; it is skipped, the others are read"
    ]
    assert (tmp_path / "x.jsonl").read_bytes().startswith(whole[:-cut])  # what was there stays


def test_lines_that_are_no_objects_are_said_by_number(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(
        b'\xef\xbb\xbf{"n": 1}\r\n\r\n[1]\n{"a": 1, "a": 2}\n\xff\n' + b"[" * 999 + b'\n7\n{"n": 2}'
    )
    values, faults = StateStore(tmp_path).read_lines("x.jsonl")
    assert values == [{"n": 1}, {"n": 2}]
    assert [fault.split(";")[0] for fault in faults] == [
        "x.jsonl: line 3 is list, expected an object",
        "x.jsonl: line 4 the key 'a' appears twice in one object",
        "x.jsonl: line 5 is not UTF-8: byte 0xff at offset 0",
        "x.jsonl: line 6 nested deeper than 200 levels",
        "x.jsonl: line 7 is int, expected an object",
    ]


# --- what belongs to the record


def test_the_record_leaves_out_what_is_not_kept(tmp_path: Path) -> None:
    recorded = [
        ".gitignore",
        "asks.jsonl",
        "config.yaml",
        "frames/jobs/x",
        "run_manifest.json",
        "run_manifest.json.corrupt-20260131T090000Z",
        "revisions/round-001/verification.json",
        "verdicts/logs/x",
        "a\nb",
        "ü",
        os.fsdecode(b"\xff"),
    ]
    left_out = [
        ".lock",
        ".lock.holder",
        ".lock.lease",
        ".tmp-0123456789abcdef",
        "revisions/round-001/.tmp-0123456789abcdef",
        "jobs/1/out",
        "logs/today",
        "history.bundle",
        "history.bundle.corrupt-20260131T090000Z",
    ]
    for name in recorded + left_out:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link").symlink_to("run_manifest.json")
    (tmp_path / "linked folder").symlink_to("revisions")
    (tmp_path / "ring").symlink_to(".")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty" / "folder").mkdir(parents=True)
    assert StateStore(tmp_path).files() == sorted(recorded)
