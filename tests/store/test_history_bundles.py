"""Bundles that are no history: the damaged are moved aside, the others left alone."""

from __future__ import annotations

import hashlib
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
def test_a_corrupt_bundle_cannot_be_read_and_says_why(
    state: Path, record: Record, tree: Tree, damage: str
) -> None:
    record(state, "one", "two")
    bundle = state / "history.bundle"
    bundle.write_bytes(DAMAGE[damage](bundle.read_bytes()))
    before = tree(state)
    with pytest.raises(HistoryError, match=r"history\.bundle: "):
        History.open_for_reading(state)
    assert tree(state) == before


@pytest.mark.parametrize("damage", DAMAGE)
def test_when_writing_a_corrupt_bundle_is_moved_aside_and_exported_again(
    state: Path, record: Record, events: Events, damage: str
) -> None:
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


def test_a_corrupt_bundle_without_a_working_repository_begins_again_and_is_kept(
    state: Path, record: Record, events: Events
) -> None:
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
    ("kind", "message"),
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
    state: Path, record: Record, tree: Tree, tmp_path: Path, kind: str, message: str
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
    before = tree(outside) | {"kind": bundle.lstat().st_mode}
    with pytest.raises(HistoryError, match=message):
        History.open_for_reading(state)
    with pytest.raises(HistoryError, match=message):
        History.open_for_writing(state, None, state.parent)
    assert tree(outside) | {"kind": bundle.lstat().st_mode} == before
    assert [path.name for path in state.iterdir()] == ["history.bundle"]
