"""The policy's file: which one it is, what is refused in it, and what it does to a project that is opened."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import ConfigError
from autoscirub.models import Policy
from autoscirub.store import load_config, load_policy, open_project

REQUIRED = "[rerun]\nrequired = true\n"
VARIABLE = "AUTOSCIRUB_POLICY"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="XDG_CONFIG_DIRS")


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the system's policy would be."""
    folder = tmp_path / "etc" / "autoscirub"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(folder.parent))
    return folder / "policy.toml"


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "lab" / "policy.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv(VARIABLE, str(path))
        return path

    return write


# Which one


def test_without_a_file_there_is_no_policy_and_nothing_is_made(tmp_path: Path) -> None:
    assert load_policy() is None
    loaded = load_config(tmp_path)
    assert (loaded.policy, loaded.values) == (None, loaded.own)
    assert list(tmp_path.iterdir()) == []


@linux
def test_the_named_one_comes_before_the_system_s_and_an_empty_name_is_none(system: Path, named) -> None:
    system.write_text("[judge]\nrepeats = 2\n")
    path = named(REQUIRED)
    loaded = load_policy()
    assert loaded is not None
    assert str(loaded) == f"{path} (AUTOSCIRUB_POLICY)"
    assert loaded.values == Policy.model_validate({"rerun": {"required": True}})
    by_system = load_policy({VARIABLE: ""})
    assert by_system is not None
    assert str(by_system) == f"{system} (the system's)"
    assert by_system.values.judge.repeats == 2


@linux
def test_the_system_s_is_found_behind_folders_that_have_none(
    system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A desktop sets XDG_CONFIG_DIRS=/etc/xdg/xdg-desktop:/etc/xdg, and some set it to no folder at all.
    system.write_text(REQUIRED)
    before = [str(tmp_path / "not-there"), os.devnull, str(tmp_path)]
    monkeypatch.setenv("XDG_CONFIG_DIRS", os.pathsep.join([*before, str(system.parents[1])]))
    loaded = load_policy()
    assert loaded is not None
    assert loaded.path == system


@linux
def test_a_relative_folder_of_the_system_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "autoscirub").mkdir()
    (tmp_path / "autoscirub" / "policy.toml").write_text("not = a policy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_DIRS", f".{os.pathsep}{tmp_path / 'x'}")
    assert load_policy() is None


def test_a_relative_name_is_from_the_working_directory_and_a_tilde_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.toml").write_text(REQUIRED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = [load_policy({VARIABLE: name}) for name in ("p.toml", "~/p.toml", str(tmp_path / "p.toml"))]
    assert {policy.path if policy else None for policy in found} == {tmp_path / "p.toml"}


@pytest.mark.parametrize("name", ["nothing.toml", "~nobody-of-that-name/p.toml", "p.toml/x", "x" * 5000])
def test_a_named_file_that_is_not_there_is_an_error_that_names_the_variable_or_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "p.toml").write_text(REQUIRED)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"AUTOSCIRUB_POLICY: .* is not there; name the|File name too long"):
        load_policy({VARIABLE: name})


def test_a_link_is_followed_because_a_policy_is_no_stranger_s(tmp_path: Path) -> None:
    (tmp_path / "store.toml").write_text(REQUIRED)
    (tmp_path / "policy.toml").symlink_to("store.toml")
    loaded = load_policy({VARIABLE: str(tmp_path / "policy.toml")})
    assert loaded is not None
    assert loaded.path == tmp_path / "policy.toml"


@linux
def test_a_system_s_link_that_leads_nowhere_is_not_taken_for_no_policy(system: Path) -> None:
    system.symlink_to("gone.toml")
    with pytest.raises(ConfigError, match=r"policy\.toml: is a link that leads nowhere"):
        load_policy()


# What is in it


FAULTS = {
    "unknown key": ("[run]\nrequired = true", "unknown key run; known here: judge, rerun"),
    "unknown key in a table": (
        "[judge]\nmoney = 1",
        "unknown key judge.money; known here: agree, backends, models, money_day, money_round, repeats",
    ),
    "text for yes or no": (
        '[rerun]\nrequired = "yes"',
        "rerun.required = 'yes': input should be a valid bool",
    ),
    "no money": ("[judge]\nmoney_day = 0", "judge.money_day = 0: input should be greater than 0"),
    "money without end": (
        "[judge]\nmoney_day = inf",
        "judge.money_day = inf: input should be a finite number",
    ),
    "one name for a list": ('[judge]\nmodels = "a"', "judge.models = 'a': input should be a valid list"),
    "a table for a name": ("[judge]\nbackends = [{}]", "judge.backends.0 = a table: input should be"),
    "a panel that cannot agree": (
        "[judge]\nagree = 2",
        "judge: agree = 2 of a panel of at least 1 could never be met; set repeats to 2 or more",
    ),
    "no TOML": ("required: true", "is not TOML"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_the_file_the_key_and_what_was_found(named, text: str, message: str) -> None:
    path = named(text)
    with pytest.raises(ConfigError, match=f"^{re.escape(f'the policy {path}: {message}')}"):
        load_policy()


# What it does


def test_what_a_project_leaves_open_is_the_policy_s_once_it_is_opened(slope_project: Path, named) -> None:
    named(f"[judge]\nmoney_round = 5\nrepeats = 3\n{REQUIRED}")
    (slope_project / "autoscirub.toml").write_text("[judge]\nmoney_day = 1\n")
    opened = open_project(slope_project)
    assert opened.config.rerun.required
    assert (opened.config.judge.money_round, opened.config.judge.money_day) == (5.0, 1.0)
    assert opened.config.judge.repeats == 1  # nothing is judged
    own = opened.location.config.own
    assert (own.rerun.required, own.judge.money_round) == (False, None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("autoscirub.toml", "[rerun]\nrequired = false\n[judge]\nmoney_round = 9.0\n"),
        ("pyproject.toml", "[tool.autoscirub]\nrerun.required = false\njudge.money_round = 9.0\n"),
        (".autoscirub/config.yaml", "rerun: {required: false}\njudge: {money_round: 9}\n"),
    ],
)
def test_a_looser_project_is_refused_naming_both_files_keys_and_values_and_what_to_do(
    slope_project: Path, named, name: str, text: str
) -> None:
    path = named(f"[judge]\nmoney_round = 5.0\n{REQUIRED}")
    (slope_project / name).parent.mkdir(exist_ok=True)
    (slope_project / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        open_project(slope_project)
    assert str(caught.value) == (
        f"{name}: looser than the policy in {path} (AUTOSCIRUB_POLICY), which a project may only tighten:\n"
        "  judge.money_round = 9.0, and the policy has judge.money_round = 5.0: set it to that or less, or leave it out\n"
        "  rerun.required = false, and the policy has rerun.required = true: set it to true, or leave it out\n"
        "or ask whoever maintains the policy to change it"
    )


COMMANDS = [
    ["init"],
    ["status"],
    ["validate"],
    ["trust"],
    ["eval", "1 > 0"],
    ["freeze", "--dry-run"],
    ["freeze"],
    ["verify"],
    ["check", "--read-only"],
    ["check"],
    ["rerun"],
    ["round"],
    ["audit"],
    ["criterion", "C1"],
    ["scope", "--reason", "x", "--agent"],
]


@pytest.mark.slow
def test_every_command_refuses_a_looser_project_and_writes_nothing(
    slope_project: Path, named, cli: Callable[..., Any], tree: Callable[[Path], dict[str, Any]]
) -> None:
    named(REQUIRED)
    (slope_project / "autoscirub.toml").write_text("[rerun]\nrequired = false\n")
    before = tree(slope_project)
    for command in COMMANDS:
        ran = cli(*command, cwd=slope_project)
        assert (command, ran.status, ran.out) == (command, 3, "")
        assert "looser than the policy in" in ran.err
    assert tree(slope_project) == before


def test_status_says_which_policy_holds_and_what_named_it(slope_project: Path, named, cli) -> None:
    assert "\npolicy  " not in cli("status", cwd=slope_project).out
    assert cli("status", "--json", cwd=slope_project).json["policy"] is None
    path = named(REQUIRED)
    rendered = cli("status", cwd=slope_project)
    assert f"\npolicy    {path} (AUTOSCIRUB_POLICY)\n" in rendered.out
    assert cli("status", "--json", cwd=slope_project).json["policy"] == {
        "path": str(path),
        "source": VARIABLE,
    }


@linux
def test_status_names_the_system_s_policy(slope_project: Path, system: Path, cli) -> None:
    system.write_text(REQUIRED)
    assert f"\npolicy    {system} (the system's)\n" in cli("status", cwd=slope_project).out
