"""A policy's file that is none, or that costs: each is an error of ours, at once, and never taken for no policy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.errors import ConfigError
from autoscirub.store import load_policy, open_project
from autoscirub.store.policy import LoadedPolicy

pytestmark = pytest.mark.usefixtures("no_waiting")

VARIABLE = "AUTOSCIRUB_POLICY"


@pytest.fixture(params=["named", "system"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the policy is looked for: named by the variable, or the system's."""
    path = tmp_path / "autoscirub" / "policy.toml"
    path.parent.mkdir()
    if request.param == "named":
        monkeypatch.setenv(VARIABLE, str(path))
    elif not sys.platform.startswith("linux"):
        pytest.skip("the system's folder cannot be moved here")
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    return path


def _loop(path: Path) -> None:
    path.symlink_to("other")
    (path.parent / "other").symlink_to(path.name)


def _loop_of_folders(path: Path) -> None:
    path.parent.rmdir()
    path.parent.symlink_to(path.parent.name)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _fifo_behind_a_link(path: Path) -> None:
    os.mkfifo(path.parent / "pipe")
    path.symlink_to("pipe")


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a FIFO": (os.mkfifo, "is a FIFO, expected a regular file"),
    "a FIFO behind a link": (_fifo_behind_a_link, "pipe: is a FIFO, expected a regular file"),
    "a directory": (Path.mkdir, "is a directory, expected a regular file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is a character device, expected a regular file"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "is a symbolic link"),
    "two links to each other": (_loop, "is a symbolic link"),
    "a folder that is a link to itself": (_loop_of_folders, "cannot be opened: Too many levels"),
    "a link to nothing": (lambda path: path.symlink_to("gone"), "leads nowhere"),
    "a sparse terabyte": (_sparse, "1,099,511,627,776 bytes, more than the limit"),
    "no UTF-8": (lambda path: path.write_bytes(b"[rerun]\nrequired = \xff"), "is not UTF-8: byte 0xff (line 2)"),
    "UTF-16": (lambda path: path.write_bytes("[rerun]".encode("utf-16")), "is not UTF-8: byte 0xff (line 1)"),
    "NULs": (lambda path: path.write_bytes(b"\0" * 1000), "is not TOML"),
    "a list in a list in a list": (
        lambda path: path.write_text("judge.models = " + "[" * 100_000),
        "is nested too deeply",
    ),
    "a whole list in a list in a list": (
        lambda path: path.write_text("judge.models = " + "[" * 150 + "]" * 150),
        "judge.models.0 = a list: input should be a valid string",
    ),
    "a key of very many parts": (
        lambda path: path.write_text("a." * 100_000 + "a = 1"),
        "a dotted key of more than 32 parts",
    ),
    "a number of very many digits": (
        lambda path: path.write_text("judge.repeats = " + "9" * 200_000),
        "holds a number of too many digits",
    ),
    "a number that no repr takes": (
        lambda path: path.write_text("judge.repeats = 0x" + "f" * 200_000),
        "judge.repeats = a very large number",
    ),
    "very many unknown keys": (
        lambda path: path.write_text("".join(f"k{number} = 1\n" for number in range(20_000))),
        "and 19,980 more faults",
    ),
    "very many wrong names": (
        lambda path: path.write_text("judge.models = [" + "1," * 100_000 + "]"),
        "more faults",
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_a_policy_that_is_none_is_an_error_and_never_no_policy(place: Path, tmp_path: Path, odd: str) -> None:
    make, expected = ODD[odd]
    make(place)
    project = tmp_path / "project"
    project.mkdir()
    for look in (load_policy, lambda: open_project(project)):
        with pytest.raises(ConfigError) as caught:
            look()
        message = str(caught.value)
        assert message.startswith("the policy ")
        assert expected in message
        assert len(message) < 4000 + len(str(tmp_path)) * 25


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
@pytest.mark.parametrize("what", ["the file", "its folder"])
def test_a_policy_that_may_not_be_read_is_an_error(place: Path, what: str) -> None:
    place.write_text("[rerun]\nrequired = true\n")
    closed = place if what == "the file" else place.parent
    closed.chmod(0)
    try:
        with pytest.raises(ConfigError, match=r"the policy .*: cannot be opened: Permission denied"):
            load_policy()
    finally:
        closed.chmod(0o700)


def test_a_folder_that_may_not_be_looked_into_is_an_error_also_for_root(place: Path, monkeypatch) -> None:
    # What a user meets where the system's folder is closed to them; os.path.exists would say "not there".
    def refuse(*_: object, **__: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConfigError, match=r"the policy .*policy\.toml: cannot be opened: Permission denied"):
        load_policy()


def test_a_name_with_a_nul_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"AUTOSCIRUB_POLICY: .* is not a path"):
        load_policy({VARIABLE: "a\0b"})


def test_a_project_cannot_bring_a_policy(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / ".autoscirub").mkdir()
    for name in ("policy.toml", ".autoscirub/policy.toml"):
        (tmp_path / name).write_text("[rerun]\nrequired = true\n")
    monkeypatch.chdir(tmp_path)
    assert load_policy() is None
    assert not open_project(tmp_path).config.rerun.required


@pytest.mark.parametrize("what", ["escape", "direction mark"])
def test_names_with_control_characters_reach_no_terminal_raw(tmp_path: Path, cli, what: str) -> None:
    mark = {"escape": "\x1b[2J", "direction mark": "\u202e"}[what]
    path = tmp_path / f"p{mark}.toml"
    path.write_text("[rerun]\nrequired = true\n", encoding="utf-8")
    (tmp_path / "x").mkdir()
    ran = cli("status", cwd=tmp_path / "x", env={VARIABLE: str(path)})
    assert ran.status == 0
    path.write_text(f'"a{mark.encode("unicode_escape").decode()}" = 1'.replace("\\x1b", "\\u001b"))
    refused = cli("status", cwd=tmp_path / "x", env={VARIABLE: str(path)})
    assert refused.status == 3
    assert mark not in ran.out + ran.err + refused.out + refused.err


WORDS = st.sampled_from(
    ["[judge]\n", "[rerun]\n", "required", "money_day", "models", " = ", "true", "1.5", "['a']", "\n", "\x00", "é"]
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary() | st.lists(WORDS).map(lambda words: "".join(words).encode()))
def test_random_bytes_are_a_policy_or_a_config_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(data)
    found: Any = None
    try:
        found = load_policy({VARIABLE: str(path)})
    except ConfigError:
        return
    assert isinstance(found, LoadedPolicy)


@pytest.mark.slow
def test_an_invalid_name_of_bytes_is_an_answer_or_an_error_of_ours(tmp_path: Path, cli) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.toml"
    Path(os.fsdecode(name)).write_text("[rerun]\nrequired = true\n")
    for arguments in (["status"], ["status", "--json"]):
        ran = cli(*arguments, cwd=tmp_path, env={VARIABLE: os.fsdecode(name)})
        assert ran.status in (0, 3)
        assert "Traceback" not in ran.err
