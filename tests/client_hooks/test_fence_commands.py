"""What a command line would do: the tables of what is refused and what passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client_hooks.commands import PASSING, REFUSED
from tests.client_hooks.conftest import lay_down

from autoscirub.client_hooks.fence import Fences
from autoscirub.client_hooks.shell.commands import Shell
from autoscirub.client_hooks.shell.expand import Surroundings
from autoscirub.client_hooks.shell.words import parse
from autoscirub.workflow.locks import freeze


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        project = lay_down(tmp_path_factory.mktemp("fence") / "project")
        freeze(project)
    (project / ".autoscirub" / "verification_report.json").write_text("{}")
    (project / "backup").mkdir()
    (project / "template").mkdir()
    return project


def refused(project: Path, command: str) -> str | None:
    hit = Shell(Fences({})).look(command, Surroundings(str(project)))
    return hit.reason if hit else None


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_writes_to_what_is_guarded_is_refused(command: str, project: Path) -> None:
    reason = refused(project, command)
    assert reason is not None
    assert "The allowed move: " in reason


@pytest.mark.parametrize("command", PASSING)
def test_an_ordinary_command_passes(command: str, project: Path) -> None:
    assert refused(project, command) is None


@pytest.mark.parametrize("command", [command for command in REFUSED if command.startswith(("rm ", "echo "))])
@pytest.mark.parametrize(
    "around", ["true; {}", "( {} )", "if true; then {}\nfi", "ls |\n cat && {}", "x=1 && {}"]
)
def test_what_is_refused_is_refused_among_other_commands(command: str, around: str, project: Path) -> None:
    assert refused(project, around.format(command)) is not None


@pytest.mark.parametrize(
    "command", [command for command in REFUSED if "rubric" in command or "prereg" in command]
)
def test_before_the_freeze_the_same_files_are_free(command: str, tmp_path: Path) -> None:
    project = lay_down(tmp_path / "project")
    (project / ".autoscirub").mkdir()
    if ".autoscirub" not in command and ".prereg.lock" not in command:
        assert refused(project, command) is None


@pytest.mark.parametrize("command", REFUSED)
def test_where_there_is_no_state_directory_everything_passes(command: str, tmp_path: Path) -> None:
    assert refused(lay_down(tmp_path / "project"), command) is None


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=" \n\t'\"\\$`(){}<>|&;*?[]#~!=abrm.-/é\ue000", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    parse(text)
    Shell(Fences({})).look(text, Surroundings("/nowhere"))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["ls", "cat a", "echo 'x > y'", "git add .", "(cd b)", "x=$(pwd)"]), max_size=6)
)
def test_a_write_is_found_behind_any_reading(project: Path, before: list[str]) -> None:
    assert refused(project, " && ".join([*before, "rm -rf .autoscirub"])) is not None
    assert refused(project, " && ".join([*before, "true"])) is None
