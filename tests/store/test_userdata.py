"""The user's own data directory: where it is, and small files in it that survive a kill and a crowd."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autoscirub.errors import BusyError, CorruptError, StateError
from autoscirub.store.userdata import held, read_user_json, update_user_json, user_data_dir, write_user_json

PACKAGE = Path(__file__).resolve().parents[2] / "server"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(folder))
    return folder


def test_the_variable_names_it_and_it_is_made_for_the_user_alone(data: Path) -> None:
    assert user_data_dir() == data
    assert data.stat().st_mode & 0o777 == 0o700


def test_a_name_that_is_relative_or_begins_at_home_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", "here")
    assert user_data_dir() == tmp_path / "here"
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", "~/there")
    assert user_data_dir() == tmp_path / "home" / "there"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG names the platform's directory on Linux")
def test_an_empty_variable_counts_as_unset_and_xdg_is_honoured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert user_data_dir() == tmp_path / "xdg" / "autoscirub"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_data_dir() == tmp_path / "home" / ".local" / "share" / "autoscirub"


def test_asking_without_making_makes_nothing(data: Path) -> None:
    assert user_data_dir(create=False) is None
    assert read_user_json("x.json") == {}
    assert not data.exists()
    data.mkdir()
    assert user_data_dir(create=False) == data


def test_where_it_cannot_be_made_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for named in ("file", "file/below"):
        monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / named))
        assert user_data_dir() is None
        assert read_user_json("x.json") == {}
        with pytest.raises(StateError, match=r"x\.json.*AUTOSCIRUB_DATA_DIR"):
            update_user_json("x.json", lambda value: value)


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_where_it_cannot_be_written_there_is_none(data: Path) -> None:
    data.mkdir(mode=0o500)
    assert user_data_dir() is None


def test_an_object_is_read_back_as_it_was_changed(data: Path) -> None:
    update_user_json("x.json", lambda value: {**value, "a": "Größe"})
    update_user_json("x.json", lambda value: {**value, "b": [1, None]})
    assert read_user_json("x.json") == {"a": "Größe", "b": [1, None]}
    assert json.loads((data / "x.json").read_text("utf-8")) == {"a": "Größe", "b": [1, None]}


def test_a_change_that_fails_leaves_the_old_file(data: Path) -> None:
    update_user_json("x.json", lambda _: {"a": 1})
    with pytest.raises(StateError, match="not written"):
        update_user_json("x.json", lambda _: {"a": float("nan")})
    with pytest.raises(ZeroDivisionError):
        update_user_json("x.json", lambda _: {"a": 1 // 0})
    assert read_user_json("x.json") == {"a": 1}
    assert sorted(path.name for path in data.iterdir()) == [".x.json.lock", "x.json"]


@pytest.mark.parametrize("junk", ["", "{", "[]", '{"a": 1, "a": 2}', '{"a": NaN}', '"text"'])
def test_a_file_that_is_no_object_is_an_error_to_read_and_is_moved_aside_to_change(
    data: Path, junk: str
) -> None:
    data.mkdir()
    (data / "x.json").write_text(junk)
    with pytest.raises(CorruptError, match=r"x\.json"):
        read_user_json("x.json")
    update_user_json("x.json", lambda value: {**value, "new": True})
    assert read_user_json("x.json") == {"new": True}
    (aside,) = data.glob("x.json.corrupt-*")
    assert aside.read_text() == junk


def test_a_link_is_not_followed(data: Path, tmp_path: Path) -> None:
    data.mkdir()
    (tmp_path / "outside.json").write_text('{"a": 1}')
    (data / "x.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(StateError, match="a symbolic link"):
        read_user_json("x.json")


def test_a_folder_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="AUTOSCIRUB_DATA_DIR"):
        write_user_json(tmp_path / "file" / "x.json", {})


def test_many_processes_at_once_lose_nothing(data: Path) -> None:
    code = (
        "from autoscirub.store.userdata import update_user_json\n"
        "for _ in range(10):\n"
        "    update_user_json('x.json', lambda value: {'n': value.get('n', 0) + 1})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    children = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(4)]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    assert read_user_json("x.json") == {"n": 40}


def test_a_lock_that_is_held_too_long_is_said(tmp_path: Path) -> None:
    with (
        held(tmp_path / "lock"),
        pytest.raises(BusyError, match="held by another process"),
        held(tmp_path / "lock", seconds=0.05),
    ):
        pass
