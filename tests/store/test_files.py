"""Reading what others wrote without blocking or leaving; writing so that nobody ever reads half."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autoscirub.errors import ResultsError, StateError
from autoscirub.store.files import (
    TEMPORARY_PREFIX,
    describe_kind,
    is_path,
    leads_out,
    read_regular,
    sha256_bytes,
    sha256_file,
    write_atomic,
)
from autoscirub.store.state import StateStore
from autoscirub.store.strictjson import parse


@contextlib.contextmanager
def _at_once() -> Iterator[None]:
    """Fail, rather than hang, where something waits."""

    def give_up(*_: object) -> None:
        raise AssertionError("it waited")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _lowest_free_descriptor() -> int:
    descriptor = os.dup(0)
    os.close(descriptor)
    return descriptor


def _make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have only some 100 characters
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _make_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a directory": (Path.mkdir, "is a directory, expected a regular file; move it away"),
    "a FIFO": (os.mkfifo, "is a FIFO, expected a regular file"),
    "a socket": (_make_socket, "is a socket, expected a regular file"),
    "a link to a file": (_link_to("there"), "is a symbolic link, expected a regular file"),
    "a link to nothing": (_link_to("nowhere"), "is a symbolic link"),
    "a link to itself": (_link_to("x"), "is a symbolic link"),
    "a link to a FIFO": (_link_to("fifo"), "is a symbolic link"),
    "a link to a device": (_link_to("/dev/zero"), "is a symbolic link"),
    "a file that is too large": (
        lambda path: path.write_bytes(b"x" * 101),
        "101 bytes, more than the limit of 100",
    ),
    "a sparse terabyte": (_make_sparse, "1,099,511,627,776 bytes, more than the limit of 100"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_regular_file_within_the_limit_is_refused_at_once_and_by_its_name(
    tmp_path: Path, name: str
) -> None:
    make, problem = REFUSED[name]
    (tmp_path / "there").write_bytes(b"{}")
    os.mkfifo(tmp_path / "fifo")
    make(tmp_path / "x")
    before = _lowest_free_descriptor()
    with _at_once(), pytest.raises(StateError) as caught:
        read_regular(tmp_path / "x", limit=100)
    assert str(caught.value).startswith(f"{tmp_path / 'x'}: {problem}")
    assert _lowest_free_descriptor() == before


def test_a_device_is_refused() -> None:
    with _at_once(), pytest.raises(StateError, match="is a character device, expected a regular file"):
        read_regular(Path("/dev/zero"), limit=100)


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_up_to_the_limit_is_read(tmp_path: Path, size: int) -> None:
    (tmp_path / "x").write_bytes(b"x" * size)
    assert read_regular(tmp_path / "x", limit=100) == b"x" * size


def test_a_huge_limit_takes_no_memory_for_a_small_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"small")
    assert read_regular(tmp_path / "x", limit=1 << 50) == b"small"


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_regular(tmp_path / "x", limit=100) is None
    assert read_regular(tmp_path / "no folder" / "x", limit=100, within=tmp_path) is None


def test_the_callers_error_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="is a directory"):
        read_regular(tmp_path, limit=100, error=ResultsError)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_a_file_that_is_longer_than_its_size_said_is_read_to_the_limit_and_no_further() -> None:
    growing = Path("/proc/self/maps")  # a regular file of size 0 that has more to read
    assert growing.stat().st_size == 0
    data = read_regular(growing, limit=1 << 30)
    assert data is not None
    assert len(data) > 1000
    with pytest.raises(StateError, match="more than the limit of 1,000 bytes; it grew while it was read"):
        read_regular(growing, limit=1000)


NO_PATH = {"a NUL": "a\0b", "half of a surrogate pair": "a\ud800b"}


@pytest.mark.parametrize("name", NO_PATH)
def test_text_that_is_no_path_is_refused_by_reading_and_writing(tmp_path: Path, name: str) -> None:
    path = tmp_path / NO_PATH[name]
    assert not is_path(path)
    with pytest.raises(StateError, match="is not a path"):
        read_regular(path, limit=100, within=tmp_path)
    with pytest.raises(StateError, match="is not a path"):
        write_atomic(path, b"")


def test_odd_names_are_paths(tmp_path: Path) -> None:
    for name in ["a\nb", "é" * 120, "x" * 255, os.fsdecode(b"\xff\xfe"), "-rf", " ", "a\\b", "\x1b[31m"]:
        write_atomic(tmp_path / name, b"kept", within=tmp_path)
        assert read_regular(tmp_path / name, limit=100, within=tmp_path) == b"kept"
    assert len(list(tmp_path.iterdir())) == 8


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be opened: File name too long"):
        read_regular(tmp_path / ("x" * 300), limit=100)
    with pytest.raises(StateError, match="cannot be written: File name too long; choose a shorter name"):
        write_atomic(tmp_path / ("x" * 300), b"")
    assert list(tmp_path.iterdir()) == []


LEADING_OUT = {
    "a linked folder": "out/secret",
    "a folder linked twice": "twice/secret",
    "the parent": "../outside/secret",
    "the parent of a linked folder": "out/../outside/secret",
    "a new folder in a linked one": "out/new/file",
}


@pytest.mark.parametrize("name", LEADING_OUT)
def test_a_path_whose_parents_lead_out_is_neither_read_nor_written(tmp_path: Path, name: str) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (inside / "out").symlink_to(outside)
    (inside / "twice").symlink_to("out")
    path = inside / LEADING_OUT[name]
    assert leads_out(path, inside)
    with pytest.raises(StateError, match=r"leads out of .*inside through a link"):
        read_regular(path, limit=100, within=inside)
    with pytest.raises(StateError, match=r"leads out of .*inside through a link"):
        write_atomic(path, b"overwritten", within=inside)
    assert [entry.name for entry in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_link_within_the_folder_and_a_linked_folder_itself_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "real" / "also").symlink_to("sub")
    (tmp_path / "linked").symlink_to("real")
    write_atomic(tmp_path / "linked" / "also" / "x", b"kept", within=tmp_path / "linked")
    assert read_regular(tmp_path / "real" / "sub" / "x", limit=9, within=tmp_path / "real") == b"kept"


def test_folders_that_link_in_a_ring_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(StateError):
        read_regular(tmp_path / "a" / "x", limit=100, within=tmp_path)
    with pytest.raises(StateError):
        write_atomic(tmp_path / "a" / "x", b"", within=tmp_path)


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StateError, match="cannot be opened: Not a directory"):
        read_regular(tmp_path / "file" / "x", limit=100, within=tmp_path)
    with pytest.raises(StateError, match=r"cannot be written: .*; there is a file where a folder should be"):
        write_atomic(tmp_path / "file" / "x", b"", within=tmp_path)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (stat.S_IFREG, "a regular file"),
        (stat.S_IFDIR, "a directory"),
        (stat.S_IFLNK, "a symbolic link"),
        (stat.S_IFIFO, "a FIFO"),
        (stat.S_IFSOCK, "a socket"),
        (stat.S_IFBLK, "a block device"),
        (stat.S_IFCHR, "a character device"),
    ],
)
def test_every_kind_has_its_name(mode: int, kind: str) -> None:
    assert describe_kind(mode | 0o644) == kind


def test_digests_are_those_of_the_bytes(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "x").write_bytes(data)
    assert sha256_file(tmp_path / "x") == sha256_bytes(data) == hashlib.sha256(data).hexdigest()


def test_writing_makes_the_folders_and_leaves_nothing_but_the_file(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a" / "b" / "x", b"first")
    write_atomic(tmp_path / "a" / "b" / "x", b"second")
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["x"]
    assert (tmp_path / "a" / "b" / "x").read_bytes() == b"second"


def test_writing_over_a_link_replaces_the_link_and_spares_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "bashrc").write_bytes(b"mine")
    (tmp_path / "x").symlink_to("bashrc")
    write_atomic(tmp_path / "x", b"ours")
    assert (tmp_path / "bashrc").read_bytes() == b"mine"
    assert not (tmp_path / "x").is_symlink()
    assert (tmp_path / "x").read_bytes() == b"ours"


def test_writing_over_a_hard_link_spares_the_other_name(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"mine")
    (tmp_path / "x").hardlink_to(tmp_path / "other")
    write_atomic(tmp_path / "x", b"ours")
    assert (tmp_path / "other").read_bytes() == b"mine"


def test_writing_over_a_directory_says_to_move_it_and_leaves_no_half_file(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(StateError, match="Is a directory; move the directory away"):
        write_atomic(tmp_path / "x", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


WRITER = """
import sys
from pathlib import Path
from autoscirub.store.files import write_atomic
for number in range(200):
    filler = "x" * (number * 7919 % 200_000)
    write_atomic(Path(sys.argv[1]), f'{{"filler": "{filler}", "number": {number}, "size": {len(filler)}}}'.encode())
"""


@pytest.mark.slow
def test_a_reader_sees_the_old_bytes_or_the_new_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_atomic(path, b'{"filler": "", "number": -1, "size": 0}')
    seen: list[int] = []
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as writer:
        while writer.poll() is None:
            data = read_regular(path, limit=1 << 20)
            assert data is not None
            value = parse(data)
            assert len(value["filler"]) == value["size"]
            seen.append(value["number"])
    assert writer.returncode == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


# Each runs in place of a step of a write, and kills the process there.
KILLED_AT = {
    "before a byte is written": "os.fdopen = die",
    "before the bytes are on disk": "os.fsync = die",
    "before the new name is there": "Path.replace = die",
}
KILLED = """
import os, signal, sys
from pathlib import Path
from autoscirub.store.files import write_atomic
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
{patch}
write_atomic(Path(sys.argv[1]), b"new" * 10_000)
"""


@pytest.mark.parametrize("when", KILLED_AT)
def test_a_write_that_was_killed_leaves_the_old_file_and_a_leftover_that_is_never_read(
    tmp_path: Path, when: str
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"old")
    script = KILLED.format(patch=KILLED_AT[when])
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    [leftover] = [entry.name for entry in tmp_path.iterdir() if entry != path]
    assert leftover.startswith(TEMPORARY_PREFIX)
    assert StateStore(tmp_path).files() == ["x.json"]


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from autoscirub.errors import StateError
from autoscirub.store.files import read_regular, write_atomic
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for act in (lambda: read_regular(Path("secret"), limit=100), lambda: write_atomic(Path("closed/x"), b"")):
    try:
        act()
    except StateError as error:
        sys.stdout.write(f"{error}\\n")
"""


def test_what_may_not_be_read_or_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"")
    (tmp_path / "secret").chmod(0)
    (tmp_path / "closed").mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "secret: cannot be opened: Permission denied; make it readable",
        "closed/x: cannot be written: Permission denied; make closed writable, or name another state "
        "directory with --state-dir or AUTOSCIRUB_STATE_DIR",
    ]
    assert list((tmp_path / "closed").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_says_to_free_space_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    real = os.open

    def open_full(name: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = real(name, flags, mode)
        if flags & os.O_CREAT:  # what is written to this descriptor meets a full disk
            full = real("/dev/full", os.O_WRONLY)
            os.dup2(full, descriptor)
            os.close(full)
        return descriptor

    monkeypatch.setattr(os, "open", open_full)
    with pytest.raises(StateError, match="No space left on device; free some space there"):
        write_atomic(path, b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("x", b"old")]
