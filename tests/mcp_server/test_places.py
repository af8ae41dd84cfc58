"""Which project a call is about: the server's own or a folder in it, and never another."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscirub.errors import ConfigError
from autoscirub.mcp_server.projects import ServedProjects


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "part").mkdir()
    return folder


def test_without_arguments_it_is_the_project_that_the_client_works_in(project: Path) -> None:
    place = ServedProjects(here=project / "part").of(None, None)
    assert (place.project, place.state_dir) == (project, project / ".autoscirub")


def test_claude_s_variable_says_where_the_client_works(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    assert ServedProjects.of_environment().of(None, None).project == project
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project / "is-not-there"))
    assert ServedProjects.of_environment().here is None


@pytest.mark.parametrize("named", [".", "part", "part/../part"])
def test_a_folder_of_the_project_can_be_named(named: str, project: Path) -> None:
    assert ServedProjects(here=project).of(named, None).project == (project / named).resolve()


@pytest.mark.parametrize("named", ["..", "/", "../other", "part/../../other", "link"])
def test_a_project_outside_is_refused(named: str, project: Path) -> None:
    (project.parent / "other").mkdir()
    (project / "link").symlink_to(project.parent / "other")
    with pytest.raises(ConfigError, match="lies outside of"):
        ServedProjects(here=project).of(named, None)


def test_the_home_directory_the_root_and_our_own_package_are_no_projects(home: Path, tmp_path: Path) -> None:
    own = tmp_path / "copy"
    (own / ".claude-plugin").mkdir(parents=True)
    (own / ".claude-plugin" / "plugin.json").write_text('{ "name": "autoscirub" }', encoding="utf-8")
    (own / ".git").mkdir()
    for place, expected in (
        (home, "is your home"),
        (Path("/"), "is no project"),
        (own, "own package or plugin"),
    ):
        with pytest.raises(ConfigError, match=expected):
            ServedProjects(here=place).of(None, None)
    with pytest.raises(ConfigError, match="own package or plugin"):
        ServedProjects(project=Path(__file__).resolve().parents[2]).of(None, None)


def test_where_the_server_was_started_in_no_project_a_call_may_name_one(home: Path, project: Path) -> None:
    assert ServedProjects(here=home).of(str(project), None).project == project


def test_the_same_state_directory_may_be_named_and_another_inside_before_there_is_a_record(
    project: Path,
) -> None:
    places = ServedProjects(here=project)
    assert places.of(None, ".autoscirub").state_dir == project / ".autoscirub"
    assert places.of(None, "kept/state").state_dir == project / "kept" / "state"
    (project / ".autoscirub").mkdir()
    assert places.of(None, str(project / ".autoscirub")).state_dir == project / ".autoscirub"
    with pytest.raises(ConfigError, match="the record of this project is in"):
        places.of(None, "kept/state")


@pytest.mark.parametrize("named", ["../state", "/tmp/state", "link/state", "."])
def test_a_state_directory_outside_is_refused(named: str, project: Path) -> None:
    (project / "link").symlink_to(project.parent)
    with pytest.raises(ConfigError):
        ServedProjects(here=project).of(None, named)


def test_what_the_environment_names_counts_as_the_person_s_word(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOSCIRUB_STATE_DIR", str(tmp_path / "elsewhere"))
    assert ServedProjects(here=project).of(None, None).state_dir == tmp_path / "elsewhere"


def test_a_place_that_was_found_is_looked_for_again_once_anything_is_other(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = ServedProjects(here=project / "part")
    assert places.of(None, None) is places.of(None, None)
    (project / "autoscirub.toml").write_text('state_dir = "kept"\n', encoding="utf-8")
    assert places.of(None, None).state_dir == project / "kept"
    monkeypatch.setenv("AUTOSCIRUB_STATE_DIR", str(project / "other"))
    assert places.of(None, None).state_dir == project / "other"
    (project / "part" / ".git").mkdir()
    assert places.of(None, None).project == project / "part"
