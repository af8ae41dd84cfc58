"""The state directory: versions first, corrupt files kept, unknown fields kept, no write lost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pydantic import Field

from autoscirub.errors import BusyError, CorruptError, NewerVersionError, StateError
from autoscirub.models import RunManifest, StateModel
from autoscirub.store.locks import LEASE_NAME
from autoscirub.store.state import CORRUPT_MARK, StateStore, decode, json_path, model_faults

NAME = RunManifest.file_name


class Counter(StateModel):
    """A small state file of the tests."""

    file_name: ClassVar[str] = "counter.json"
    counts: dict[str, int] = Field(default_factory=dict)


def _add(key: str, by: int = 1) -> Callable[[Counter], Counter]:
    return lambda old: old.model_copy(update={"counts": {**old.counts, key: old.counts.get(key, 0) + by}})


# --- versions

VERSIONS_READ = ["1.0", "0.9", "0.0", "01.00"]
VERSIONS_NEWER = ["1.1", "2.0", "10.0", "1.10", "999999.0"]
VERSIONS_NONE = [
    1,
    1.0,
    None,
    True,
    [],
    {},
    "",
    "1",
    "1.0.0",
    "v1.0",
    "1.x",
    " 1.0",
    "1.0\n",
    "١.٠",
    "9999999.0",
]


@pytest.mark.parametrize("version", VERSIONS_READ)
def test_a_version_up_to_ours_is_read(version: str) -> None:
    assert decode(json.dumps({"schema_version": version}).encode(), Counter, "x").schema_version == version


def test_a_file_without_a_version_is_read_as_ours() -> None:
    assert decode(b"{}", Counter, "x").schema_version == "1.0"


@pytest.mark.parametrize("version", VERSIONS_NEWER)
@pytest.mark.parametrize(
    "rest", [{}, {"counts": "not what it should be"}, {"counts": {"a": None}, "new": []}]
)
def test_a_newer_version_is_refused_before_anything_else_is_looked_at(
    version: str, rest: dict[str, Any]
) -> None:
    with pytest.raises(NewerVersionError) as caught:
        decode(json.dumps({**rest, "schema_version": version}).encode(), Counter, "x")
    assert str(caught.value) == (
        f"x: schema_version {version} is newer than 1.0, which this autoscirub reads; "
        "install a newer autoscirub. Nothing was changed"
    )


@pytest.mark.parametrize("version", VERSIONS_NONE)
def test_what_is_no_version_is_a_corrupt_file(version: Any) -> None:
    with pytest.raises(CorruptError, match=r"^x: \$\.schema_version: .*expected text such as '1\.0'$"):
        decode(json.dumps({"schema_version": version}).encode(), Counter, "x")


def test_nothing_is_changed_where_a_file_is_newer(
    tmp_path: Path, tree: Callable[[Path], dict[str, Any]]
) -> None:
    state = tmp_path / "state"
    store = StateStore(state)
    with store.writing():
        store.write_bytes(NAME, b'{"schema_version": "2.0", "locks": 7}')
    (state / ".lock").unlink()
    before = {name: seen for name, seen in tree(state).items() if name != "."}
    for act in (
        lambda: store.read(RunManifest),
        lambda: store.update(RunManifest, lambda old: old),
        lambda: _read_inside(store),
    ):
        with pytest.raises(NewerVersionError):
            act()
    (state / ".lock").unlink()
    assert {name: seen for name, seen in tree(state).items() if name != "."} == before
    assert store.notices == []


def _read_inside(store: StateStore) -> None:
    with store.writing():
        store.read(RunManifest)


# --- faults with their places

FAULTY = [
    (b"", "x: is empty"),
    (b'{"a": 1', "x: is cut off: the document does not end (line 1)"),
    (b'{\n"a": 1,\n"a": 2}', "x: the key 'a' stands twice in one object (line 3)"),
    (b'{"schema_version": "1.0", "schema_version": "9.0"}', "'schema_version' stands twice"),
    (b'{"history_id": NaN}', "the token NaN is not JSON (line 1)"),
    (b"[]", "x: $ (line 1): []: input should be an object"),
    (b"null", "x: $ (line 1): None: input should be an object"),
    (b'"text"', "x: $ (line 1): 'text': input should be an object"),
    (b'{\n"history_id":\n"short"}', "x: $.history_id (line 3): 'short': string should match pattern"),
    (b'{\n"locks": {\n"predictions": []}}', "x: $.locks.predictions (line 3): []: input should be an object"),
    (b'{\n"unfreezes": [\n{}]}', "x: $.unfreezes[0].what (line 3): field required"),
    (b'{"created_at": "2026-01-31T09:00:00"}', "has no time zone; write UTC"),
    (b'{"created_at": "soon"}', "x: $.created_at (line 1): invalid isoformat string: 'soon'"),
    (b'{"locks": ' + b"[" * 199 + b"]" * 199 + b"}", "x: "),
    (b'{"history_id": "' + b"x" * 9999 + b'"}', "...: string should match pattern"),
]


@pytest.mark.parametrize(("data", "problem"), FAULTY)
def test_a_corrupt_file_says_what_is_wrong_at_which_path_and_line(data: bytes, problem: str) -> None:
    with pytest.raises(CorruptError) as caught:
        decode(data, RunManifest, "x")
    assert problem in str(caught.value)
    assert all(len(line) < 250 for line in str(caught.value).splitlines())


def test_every_fault_is_listed_with_its_own_line_up_to_twenty() -> None:
    data = json.dumps({"unfreezes": [{"bad": number} for number in range(100)]}, indent=1).encode()
    faults, value = model_faults(data, RunManifest, "x")
    assert value is None
    assert len(faults) == 21
    assert faults[0] == "x: $.unfreezes[0].what (line 3): field required"
    assert faults[-1].endswith(" faults more")


def test_a_mark_before_the_text_is_read_as_if_it_were_not_there() -> None:
    assert decode(b'\xef\xbb\xbf{"counts": {"a": 1}}', Counter, "x").counts == {"a": 1}
    faults, _ = model_faults(b'\xef\xbb\xbf{\r\n"counts": 1}', Counter, "x")
    assert faults == ["x: $.counts (line 2): 1: input should be an object"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("a", 0, "b_2"), "$.a[0].b_2"),
        (("a b", "", "ü", "x.y"), "$['a b'][''].ü['x.y']"),
    ],
)
def test_a_path_is_written_as_people_write_it(path: tuple[str | int, ...], text: str) -> None:
    assert json_path(path) == text


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
    kept = {path.read_bytes() for path in tmp_path.glob(f"*{CORRUPT_MARK}*")}
    assert kept == {b"broken %d" % number for number in range(5)}


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


# --- unknown fields

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ODD_KEYS = [
    "",
    "_private",
    "__class__",
    "model_dump",
    "model_config",
    "copy",
    "file_name",
    "x.y",
    "1",
    "self",
]
EXTRAS = st.dictionaries(st.sampled_from(ODD_KEYS) | st.text().map("x_{}".format), JSON, max_size=3)
DIGEST = "0" * 64


@settings(max_examples=40, deadline=None)
@given(EXTRAS, EXTRAS, EXTRAS, EXTRAS)
def test_unknown_fields_survive_an_update_at_every_level(
    top: dict[str, Any], locks: dict[str, Any], lock: dict[str, Any], item: dict[str, Any]
) -> None:
    written = {
        "schema_version": "1.0",
        "locks": {
            "predictions": {
                "path": "prereg.toml",
                "sha256": DIGEST,
                "frozen_at": "2026-01-31T09:00:00Z",
                "checks": ["a"],
                "results_at_freeze": [{"path": "results.json", "sha256": DIGEST, "size": 3, **item}],
                **lock,
            },
            **locks,
        },
        **top,
    }
    with tempfile.TemporaryDirectory() as folder:
        store = StateStore(Path(folder))
        with store.writing():
            store.write_bytes(NAME, json.dumps(written).encode())
        for number in range(2):  # a second time on our own text
            store.update(RunManifest, lambda old, n=number: old.model_copy(update={"history_id": f"{n:032}"}))
        found = json.loads(store.read_bytes(NAME) or b"")
    assert found.pop("history_id") == f"{1:032}"
    assert _within(written, found)


def _within(written: Any, found: Any) -> bool:
    """Whether all that was written is found, where defaults may have been added; 1 is not 1.0 here."""
    if isinstance(written, dict) and isinstance(found, dict):
        return all(key in found and _within(part, found[key]) for key, part in written.items())
    if isinstance(written, list) and isinstance(found, list):
        return len(written) == len(found) and all(map(_within, written, found))
    return json.dumps(written) == json.dumps(found)


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
        store.update(Counter, _add("a"))
        store.append_line("x.jsonl", {"n": 1})
        with store.writing(), pytest.raises(BusyError):
            other.update(Counter, _add("a"))
        with pytest.raises(BusyError):
            other.update(Counter, _add("a"))
        store.update(Counter, _add("a"))
    assert other.update(Counter, _add("a")).counts == {"a": 3}


def test_a_change_that_fails_changes_nothing_and_releases_the_lock(tmp_path: Path) -> None:
    store = StateStore(tmp_path, lock_seconds=0)
    store.update(Counter, _add("a"))
    before = store.read_bytes("counter.json")
    with pytest.raises(ZeroDivisionError):
        store.update(Counter, lambda _old: 1 / 0)  # type: ignore[arg-type,return-value]
    with pytest.raises(ValueError, match="Out of range float"):
        store.update(Counter, lambda old: old.model_copy(update={"extra": float("nan")}))
    assert store.read_bytes("counter.json") == before
    assert StateStore(tmp_path, lock_seconds=0).update(Counter, _add("a")).counts == {"a": 2}


def test_a_state_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"mine")
    with pytest.raises(StateError, match="cannot be made"), StateStore(tmp_path / "state").writing():
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
        store.update(Counter, _add("a"))
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
        "x.jsonl: line 2 is cut off: the document does not end; it is left out, the others are kept"
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
        "x.jsonl: line 4 the key 'a' stands twice in one object",
        "x.jsonl: line 5 is not UTF-8: byte 0xff at offset 0",
        "x.jsonl: line 6 nested deeper than 200 levels",
        "x.jsonl: line 7 is int, expected an object",
    ]


# --- what belongs to the record


def test_the_record_leaves_out_what_is_not_kept(tmp_path: Path) -> None:
    kept = [
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
    for name in kept + left_out:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link").symlink_to("run_manifest.json")
    (tmp_path / "linked folder").symlink_to("revisions")
    (tmp_path / "ring").symlink_to(".")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty" / "folder").mkdir(parents=True)
    assert StateStore(tmp_path).files() == sorted(kept)


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
                kept = data.draw(st.integers(1, len(last)))
                path.write_bytes(whole[: len(whole) - 1 - len(last) + kept])
                if kept < len(last):
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
    def what_was_corrupt_is_kept(self) -> None:
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
