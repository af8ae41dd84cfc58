"""A state directory, and a configuration, that came with somebody else's repository.

Whoever controls the repository's files chooses every name and every byte under `.autoscirub/`. Nothing there
may have us write or read outside, wait, run out of memory, or end in anything but one of our own errors.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from autoscirub.errors import AutoscirubError, ConfigError, StateError
from autoscirub.models import RunManifest
from autoscirub.store.locks import HOLDER_NAME, LEASE_NAME, LOCK_NAME
from autoscirub.store.resolving import resolve
from autoscirub.store.state import StateStore

pytestmark = pytest.mark.usefixtures("no_waiting")

Tree = Callable[[Path], dict[str, Any]]
BASHRC = b"export PATH=$HOME/bin:$PATH\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files of the user's that a link in the repository may lead to."""
    folder = tmp_path / "home"
    (folder / "folder").mkdir(parents=True)
    (folder / ".bashrc").write_bytes(BASHRC)
    (folder / "folder" / "kept.json").write_bytes(b'{"mine": true}')
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".autoscirub"
    folder.mkdir(parents=True)
    return folder


def _make_socket(path: Path, _: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have only some 100 characters
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _make_sparse(path: Path, _: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ODD: dict[str, Callable[[Path, Path], object]] = {
    "a link to .bashrc": lambda path, outside: path.symlink_to(outside / ".bashrc"),
    "a relative link to .bashrc": lambda path, _: path.symlink_to("../../home/.bashrc"),
    "a link to a file that is not there yet": lambda path, outside: path.symlink_to(outside / "new"),
    "a link to a folder": lambda path, outside: path.symlink_to(outside / "folder"),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a link to a device": lambda path, _: path.symlink_to("/dev/zero"),
    "a directory": lambda path, _: path.mkdir(),
    "a directory with something in it": lambda path, _: (path / "x" / "y").mkdir(parents=True),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a socket": _make_socket,
}


@pytest.mark.parametrize("odd", [*ODD, "a sparse terabyte"])
def test_a_manifest_that_is_no_file_is_refused_and_nothing_outside_is_touched(
    state: Path, outside: Path, odd: str, tree: Tree
) -> None:
    {**ODD, "a sparse terabyte": _make_sparse}[odd](state / RunManifest.file_name, outside)
    store, before = StateStore(state, lock_seconds=0), tree(outside)
    expected = r"run_manifest\.json: (is (a|an) |1,099,511,627,776 bytes, more than the limit)"
    with pytest.raises(StateError, match=expected):
        store.read(RunManifest)
    with pytest.raises(StateError, match=expected):
        store.update(RunManifest, lambda old: old)
    with pytest.raises(StateError, match=expected):
        store.append_line(RunManifest.file_name, {})
    assert store.files() in ([], [RunManifest.file_name])
    with contextlib.suppress(StateError), store.writing():
        store.write(RunManifest())  # replaces what can be replaced, and never what a link leads to
    assert tree(outside) == before


@pytest.mark.parametrize("name", [LOCK_NAME, LEASE_NAME])
@pytest.mark.parametrize("odd", ODD)
def test_a_lock_that_is_no_file_is_refused_and_nothing_outside_is_touched(
    state: Path, outside: Path, name: str, odd: str, tree: Tree
) -> None:
    ODD[odd](state / name, outside)
    before = tree(outside)
    with pytest.raises(StateError, match=rf"{name}: is (a|an) .*, expected a regular file; move it away"):
        StateStore(state, lock_seconds=0).update(RunManifest, lambda old: old)
    assert tree(outside) == before
    assert not (state / RunManifest.file_name).exists()


@pytest.mark.parametrize("name", [LOCK_NAME, LEASE_NAME, HOLDER_NAME])
def test_a_lock_that_is_a_second_name_of_another_file_does_not_change_it(
    state: Path, outside: Path, name: str
) -> None:
    (state / name).hardlink_to(outside / ".bashrc")
    StateStore(state, lock_seconds=0).update(RunManifest, lambda old: old)
    assert (outside / ".bashrc").read_bytes() == BASHRC


@pytest.mark.parametrize("odd", [*ODD, "a sparse terabyte"])
def test_a_holder_file_that_is_no_file_does_not_matter(
    state: Path, outside: Path, odd: str, tree: Tree
) -> None:
    {**ODD, "a sparse terabyte": _make_sparse}[odd](state / HOLDER_NAME, outside)
    before = tree(outside)
    store = StateStore(state, lock_seconds=0)
    with store.writing():
        store.write(RunManifest())
        with contextlib.suppress(OSError):
            (state / HOLDER_NAME).unlink()
        if not (state / HOLDER_NAME).exists():
            ODD["a FIFO"](state / HOLDER_NAME, outside)  # put back while it is held
        with (
            pytest.raises(StateError, match="held by another process"),
            StateStore(state, lock_seconds=0).writing(),
        ):
            pytest.fail("two at a time")
    assert tree(outside) == before
    store.update(RunManifest, lambda old: old)


@pytest.mark.slow
def test_a_lease_that_came_with_the_repository_does_not_last_where_it_names_nobody(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> NoReturn:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    (state / LEASE_NAME).write_bytes(b"\xff no lease at all")
    StateStore(state, lock_seconds=30).update(RunManifest, lambda old: old)


STEPS: dict[str, Callable[[StateStore, str], object]] = {
    "reading": lambda store, name: store.read(RunManifest, name),
    "reading bytes": lambda store, name: store.read_bytes(name),
    "reading lines": lambda store, name: store.read_lines(name),
    "writing": lambda store, name: store.write(RunManifest(), name),
    "writing bytes": lambda store, name: store.write_bytes(name, b"x"),
    "updating": lambda store, name: store.update(RunManifest, lambda old: old, name),
    "adding a line": lambda store, name: store.append_line(name, {}),
    "removing": lambda store, name: store.remove(name),
}


@pytest.mark.parametrize(
    "name",
    [
        "revisions/kept.json",
        "revisions/new.json",
        "revisions/round-001/verification.json",
        "twice/kept.json",
        "../../home/folder/kept.json",
        "revisions/../folder/kept.json",
    ],
)
def test_a_folder_that_is_a_link_leads_no_step_out(state: Path, outside: Path, name: str, tree: Tree) -> None:
    (state / "revisions").symlink_to(outside / "folder")
    (state / "twice").symlink_to("revisions")
    store, before = StateStore(state, lock_seconds=0), tree(outside)
    for step in STEPS.values():
        with store.writing(), pytest.raises(StateError, match="leads out of"):
            step(store, name)
    assert tree(outside) == before


@pytest.mark.parametrize("name", ["a\0b", "a\ud800", "x" * 300, "", ".", "..", "dir", "file/x"])
def test_a_name_that_is_no_files_is_a_state_error(state: Path, name: str) -> None:
    (state / "dir").mkdir()
    (state / "file").touch()
    store = StateStore(state, lock_seconds=0)
    for title, step in STEPS.items():
        with store.writing(), contextlib.suppress(StateError):
            found = step(store, name or ".")
            assert (title, name, found) == ("removing", "file/x", None)


def test_the_records_files_are_listed_without_following_or_waiting(state: Path, outside: Path) -> None:
    for number, make in enumerate(ODD.values()):
        make(state / f"odd{number}", outside)
        (state / f"folder{number}").mkdir()
        make(state / f"folder{number}" / ".tmp-x", outside)
    for name in (
        "a\nb.json",
        "\x1b[2J",
        os.fsdecode(b"\xff\xfe"),
        ".tmpfile",
        "history.json",
        " ",
        "-rf",
    ):
        (state / name).touch()
    assert StateStore(state).files() == sorted(
        ["a\nb.json", "\x1b[2J", os.fsdecode(b"\xff\xfe"), ".tmpfile", "history.json", " ", "-rf"]
    )


@pytest.mark.parametrize("depth", [300, 1100])
def test_folders_nested_very_deeply_are_listed_or_refused(state: Path, depth: int) -> None:
    folders = [state / "/".join(["d"] * level) for level in range(1, depth + 1)]  # as a path may be long
    for folder in folders:
        folder.mkdir()
    (folders[-1] / "x").touch()
    expected = [str((folders[-1] / "x").relative_to(state))]
    try:
        found = StateStore(state).files()
    except StateError as error:
        found = expected if depth > 300 and "nested too deeply" in str(error) else []
    (folders[-1] / "x").unlink()
    for folder in reversed(folders):  # shutil, like os.walk, cannot go so deep
        folder.rmdir()
    assert found == expected


MANIFESTS = {
    "deep": b"[" * 1_000_000,
    "deep and closed, where anything may stand": b'{"x": ' + b"[" * 190 + b"]" * 190 + b"}",
    "a number of a million digits": b'{"x": ' + b"7" * 1_000_000 + b"}",
    "a huge exponent": b'{"x": 1e999999}',
    "half a surrogate pair": rb'{"x": "\ud800"}',
    "a key twice": b'{"history_id": null, "history_id": "' + b"0" * 32 + b'"}',
    "escapes for the terminal": rb'{"history_id": "\u001b[2J\u001b]0;owned\u0007"}',
    "100,000 faults": b'{"unfreezes": [' + b",".join([b"1"] * 100_000) + b"]}",
    "100,000 unknown fields": b"{" + b",".join(b'"x%d": 1' % n for n in range(100_000)) + b"}",
    "names of what models have inside": b'{"__class__": 1, "model_fields": 2, "__dict__": {"a": 1}, "copy": 3}',
    "UTF-16": '{"locks": {}}'.encode("utf-16"),
    "only NULs": b"\0" * 100_000,
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_hostile_manifest_is_read_or_moved_aside_with_a_short_message(state: Path, name: str) -> None:
    (state / RunManifest.file_name).write_bytes(MANIFESTS[name])
    store = StateStore(state, lock_seconds=0)
    with contextlib.suppress(StateError):
        store.read(RunManifest)
    updated = store.update(RunManifest, lambda old: old.model_copy(update={"history_id": "0" * 32}))
    assert store.read(RunManifest) == updated
    assert {path.name for path in state.parent.rglob("*") if path.is_file()} >= {RunManifest.file_name}
    assert sum(map(len, store.notices)) < 5000
    assert "\x1b" not in "".join(store.notices)
    corrupt = [path for path in store.files() if ".corrupt-" in path]
    assert len(corrupt) == len(store.notices)


STATE_DIRS = [
    "../home/folder/../..",
    "/",
    ".",
    "x/..",
    ".git",
    ".git/refs/heads",
    "link",
    "link/deeper",
    "to-git",
    "a\\u0000b",
    "~root-of-nobody/x",
]


@pytest.mark.parametrize("named", STATE_DIRS)
def test_a_configuration_cannot_choose_a_place_that_is_not_a_folder_of_its_own(
    tmp_path: Path, outside: Path, named: str, tree: Tree
) -> None:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "link").symlink_to(outside)
    (root / "to-git").symlink_to(".git")
    (root / "autoscirub.toml").write_text(f'state_dir = "{named}"')
    before = tree(tmp_path)
    with pytest.raises(StateError):
        resolve(environment={}, working_directory=root)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["autoscirub.toml", "pyproject.toml", ".autoscirub/config.yaml", ".autoscirub"]
)
@pytest.mark.parametrize("odd", ODD)
def test_a_configuration_that_is_no_file_is_refused_or_not_there(
    tmp_path: Path, outside: Path, name: str, odd: str, tree: Tree
) -> None:
    root = tmp_path / "project"
    (root / name).parent.mkdir(parents=True)
    ODD[odd](root / name, outside)
    before = tree(tmp_path)
    if name == ".autoscirub" and odd.startswith("a directory"):
        assert resolve(environment={}, working_directory=root).config.source is None
    else:
        with pytest.raises(ConfigError if name != ".autoscirub" else StateError):
            resolve(environment={}, working_directory=root)
    assert tree(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["a link to .bashrc", "a FIFO"])
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("status", RunManifest.file_name),
        ("check", RunManifest.file_name),
        ("freeze", RunManifest.file_name),
        ("freeze", LOCK_NAME),
        ("init", LOCK_NAME),
    ],
)
def test_every_command_ends_with_an_answer_or_an_error_of_ours(
    slope_project: Path, outside: Path, cli: Callable[..., Any], tree: Tree, command: str, odd: str, name: str
) -> None:
    (slope_project / ".autoscirub").mkdir()
    ODD[odd](slope_project / ".autoscirub" / name, outside)
    before = tree(outside)
    ran = cli(command, cwd=slope_project)
    assert ran.status in range(4)
    assert "Traceback" not in ran.out + ran.err
    assert (
        f"{name}: is {odd.removesuffix(' to .bashrc').replace('a link', 'a symbolic link')}"
        in ran.out + ran.err
    )
    assert tree(outside) == before


def test_every_error_here_is_one_of_ours() -> None:
    assert issubclass(StateError, AutoscirubError)
