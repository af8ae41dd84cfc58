"""Corrupt files are kept, and no write is lost: many processes, kills, and any order of both."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pydantic import Field

from autoscirub.errors import BusyError, CorruptError
from autoscirub.models import RunManifest, StateModel
from autoscirub.store.state import CORRUPT_MARK, StateStore

NAME = RunManifest.file_name


class Counter(StateModel):
    """A small state file of the tests."""

    file_name: ClassVar[str] = "counter.json"
    counts: dict[str, int] = Field(default_factory=dict)


def _add(key: str, by: int = 1) -> Callable[[Counter], Counter]:
    return lambda old: old.model_copy(update={"counts": {**old.counts, key: old.counts.get(key, 0) + by}})


# --- corrupt files

CORRUPT = {
    "cut off": b'{"counts": {"a"',
    "empty": b"",
    "NULs, as after a power cut": b"\0" * 512,
    "another shape": b'{"counts": []}',
    "a merge conflict": b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n",
    "no version": b'{"schema_version": 1}',
}


@pytest.mark.parametrize("name", CORRUPT)
def test_a_corrupt_file_is_raised_by_a_reader_and_stays_as_it_is(
    tmp_path: Path, name: str, tree: Callable[[Path], dict[str, Any]]
) -> None:
    (tmp_path / Counter.file_name).write_bytes(CORRUPT[name])
    before = tree(tmp_path)
    with pytest.raises(CorruptError, match=r"^counter\.json: "):
        StateStore(tmp_path).read(Counter)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", CORRUPT)
def test_a_corrupt_file_is_moved_aside_by_a_writer_and_said(tmp_path: Path, name: str) -> None:
    store = StateStore(tmp_path)
    (tmp_path / Counter.file_name).write_bytes(CORRUPT[name])
    with store.writing():
        assert store.read(Counter) is None
        assert store.read(Counter) is None  # it is gone by now
    [notice] = store.notices
    [aside] = tmp_path.glob(f"{Counter.file_name}{CORRUPT_MARK}*")
    assert notice.startswith("counter.json: ")
    assert notice.endswith(f"; moved aside to {aside.name}")
    assert aside.read_bytes() == CORRUPT[name]
    assert store.files() == [aside.name]


def test_corrupt_files_of_the_same_second_do_not_replace_each_other(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    with store.writing():
        for number in range(5):
            (tmp_path / Counter.file_name).write_bytes(b"broken %d" % number)
            store.read(Counter)
    remaining = {path.read_bytes() for path in tmp_path.glob(f"*{CORRUPT_MARK}*")}
    assert remaining == {b"broken %d" % number for number in range(5)}


def test_update_begins_anew_after_a_corrupt_file_and_keeps_it(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    (tmp_path / Counter.file_name).write_bytes(b"{")
    assert store.update(Counter, _add("a")).counts == {"a": 1}
    assert store.read(Counter) == Counter(counts={"a": 1})
    assert len(store.notices) == 1


def test_a_file_in_a_folder_is_moved_aside_within_it(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    (tmp_path / "revisions" / "round-001").mkdir(parents=True)
    name = "revisions/round-001/verification.json"
    (tmp_path / name).write_bytes(b"{")
    with store.writing():
        store.read(Counter, name)
    assert [path.startswith(f"{name}{CORRUPT_MARK}") for path in store.files()] == [True]


# --- many at once

WORKER = """
import sys
from pathlib import Path
from typing import ClassVar
from autoscirub.models import StateModel
from autoscirub.store.state import StateStore

class Counter(StateModel):
    file_name: ClassVar[str] = "counter.json"
    counts: dict[str, int] = {}

folder, me, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = StateStore(folder, lock_seconds=120)

def add(old):
    counts = dict(old.counts)
    for key in (me, "all"):
        counts[key] = counts.get(key, 0) + 1
    return old.model_copy(update={"counts": counts})

for number in range(times):
    store.update(Counter, add)
    store.append_line("lines.jsonl", {"by": me, "n": number})
assert store.notices == [], store.notices
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["with locks", "without locks"])
def test_eight_processes_lose_nothing_and_a_reader_never_sees_half(tmp_path: Path, where: str) -> None:
    script, times = WORKER, 8
    if where == "without locks":
        script = (
            "import errno, fcntl\n"
            "def flock(*_): raise OSError(errno.ENOLCK, 'no locks')\n"
            "fcntl.flock = flock\n" + WORKER.replace("store.notices == []", "len(store.notices) == 1")
        )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), f"w{number}", str(times)])
        for number in range(8)
    ]
    reader, total, looks = StateStore(tmp_path), 0, 0
    while any(process.poll() is None for process in processes):
        counter = reader.read(Counter)
        if counter is not None:
            counts = dict(counter.counts)
            assert counts.pop("all") == sum(counts.values()) >= total
            total = sum(counts.values())
        _, faults = reader.read_lines("lines.jsonl")
        assert faults == []
        reader.files()
        looks += 1
    assert [process.wait(timeout=120) for process in processes] == [0] * 8
    assert looks > 10
    counter = reader.read(Counter)
    assert counter is not None
    assert counter.counts == {"all": 8 * times, **{f"w{number}": times for number in range(8)}}
    values, faults = reader.read_lines("lines.jsonl")
    assert faults == []
    for number in range(8):
        assert [line["n"] for line in values if line["by"] == f"w{number}"] == list(range(times))
    assert reader.files() == ["counter.json", "lines.jsonl"]


KILLED_INSIDE = """
import os, signal, sys
from pathlib import Path
from autoscirub.models import RunManifest
from autoscirub.store.state import StateStore
store = StateStore(Path(sys.argv[1]))
store.update(RunManifest, lambda old: old.model_copy(update={"created_at": "2026-01-31T09:00:00Z"}))
store.update(RunManifest, lambda old: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_process_killed_inside_an_update_leaves_the_old_file_and_no_lock(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_INSIDE, str(tmp_path)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    store = StateStore(tmp_path, lock_seconds=0)
    after = store.update(RunManifest, lambda old: old.model_copy(update={"history_id": "0" * 32}))
    assert after.created_at == "2026-01-31T09:00:00Z"
    assert store.notices == []
    assert store.files() == [NAME]


KEYS = st.sampled_from("abc")
HANDLE = st.integers(0, 1)


class Interleavings(RuleBasedStateMachine):
    """Two stores on one directory, and what a kill or a disk may leave there, against a plain model."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.stores = [StateStore(self.root, lock_seconds=0), StateStore(self.root, lock_seconds=0)]
        self.counts: dict[str, int] | None = None
        self.corrupt: bytes | None = None
        self.aside: list[bytes] = []
        self.lines: list[dict[str, Any]] = []
        self.lost_lines = 0
        self.leftovers = 0

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def _read_by_a_writer(self) -> dict[str, int]:
        if self.corrupt is not None:
            self.aside.append(self.corrupt)
            self.corrupt = None
            self.counts = None
        return dict(self.counts or {})

    @rule(which=HANDLE, key=KEYS, by=st.integers(1, 5))
    def update(self, which: int, key: str, by: int) -> None:
        expected = self._read_by_a_writer()
        expected[key] = expected.get(key, 0) + by
        assert self.stores[which].update(Counter, _add(key, by)).counts == expected
        self.counts = expected

    @rule(which=HANDLE, key=KEYS)
    def update_in_steps(self, which: int, key: str) -> None:
        store, other = self.stores[which], self.stores[1 - which]
        expected = self._read_by_a_writer()
        with store.writing():
            found = store.read(Counter) or Counter()
            with contextlib.suppress(BusyError):
                other.update(Counter, _add("never"))
            store.update(Counter, _add(key))
            store.update(Counter, _add(key))
        assert found.counts == expected
        expected[key] = expected.get(key, 0) + 2
        self.counts = expected

    @rule(which=HANDLE, counts=st.dictionaries(KEYS, st.integers(0, 9)))
    def write(self, which: int, counts: dict[str, int]) -> None:
        self._read_by_a_writer()
        store = self.stores[which]
        with store.writing():
            store.read(Counter)
            store.write(Counter(counts=counts))
        self.counts = counts

    @rule(which=HANDLE, value=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2))
    def append(self, which: int, value: dict[str, int]) -> None:
        self.stores[which].append_line("lines.jsonl", value)
        self.lines.append(value)

    @precondition(lambda self: self.corrupt is None)
    @rule(data=st.sampled_from(list(CORRUPT.values())))
    def a_disk_corrupts(self, data: bytes) -> None:
        (self.root / Counter.file_name).write_bytes(data)
        self.corrupt = data

    @precondition(lambda self: self.lines)
    @rule(data=st.data())
    def a_line_is_cut_off(self, data: st.DataObject) -> None:
        path = self.root / "lines.jsonl"
        whole = path.read_bytes()
        last = whole.rstrip(b"\n").rsplit(b"\n", 1)[-1]
        with contextlib.suppress(ValueError):
            if whole.endswith(b"\n") and json.loads(last) == self.lines[-1]:
                remaining = data.draw(st.integers(1, len(last)))
                path.write_bytes(whole[: len(whole) - 1 - len(last) + remaining])
                if remaining < len(last):
                    self.lines.pop()
                    self.lost_lines += 1

    @rule(name=st.sampled_from([".tmp-", "revisions/.tmp-", ".lock.", ".lock.holder.", "jobs/"]))
    def a_kill_leaves_something(self, name: str) -> None:
        path = self.root / f"{name}{self.leftovers}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b'{"schema_version": "9.9"')
        (self.root / ".lock.holder").write_bytes(b'{"pid": 1')
        self.leftovers += 1

    @invariant()
    def readers_see_what_was_written(self) -> None:
        for store in self.stores:
            if self.corrupt is not None:
                with pytest.raises(CorruptError):
                    store.read(Counter)
            else:
                found = store.read(Counter)
                assert (found.counts if found else None) == self.counts
            values, faults = store.read_lines("lines.jsonl")
            assert values == self.lines
            assert len(faults) == self.lost_lines

    @invariant()
    def what_was_corrupt_is_preserved(self) -> None:
        asides = [path.read_bytes() for path in self.root.glob(f"*{CORRUPT_MARK}*")]
        assert sorted(asides) == sorted(self.aside)
        assert sum(len(store.notices) for store in self.stores) == len(self.aside)

    @invariant()
    def the_record_is_these_files(self) -> None:
        names = {path.name for path in self.root.glob(f"*{CORRUPT_MARK}*")}
        names |= {Counter.file_name} if self.counts is not None or self.corrupt is not None else set()
        names |= {"lines.jsonl"} if (self.root / "lines.jsonl").exists() else set()
        assert set(self.stores[0].files()) == names


TestInterleavings = pytest.mark.slow(Interleavings.TestCase)
TestInterleavings.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
