"""What tells one environment, and one state of the code, from another without starting either."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.rerun import Rerun, environment, program, rerun_basis
from autoscirub.checks.rerun.environment import fingerprint, is_environment
from autoscirub.models import TOO_LARGE, Answer
from autoscirub.store import open_project

VALUES = {"slope": 0.5}
HONEST = f"import json; json.dump({VALUES!r}, open('results.json', 'w'))\n"

Scripted = Callable[..., Path]


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment outside of the project, with one module that no distribution knows of."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [site] = folder.glob("lib/python*/site-packages")
    (site / "helper.py").write_text("VALUE = 0.5\n")
    return folder


def _changed(project: Path, change: Callable[[], Any]) -> list[str]:
    before = rerun_basis(open_project(project), ask=True)
    assert rerun_basis(open_project(project), ask=True) == before
    change()
    return rerun_basis(open_project(project), ask=True).changed_since(before)


def test_a_file_that_becomes_executable_is_other_code(scripted: Scripted) -> None:
    project = scripted(HONEST, VALUES)
    assert _changed(project, lambda: (project / "run.py").chmod(0o755)) == ["code"]


def test_an_empty_folder_is_code_or_input_by_where_it_lies(scripted: Scripted) -> None:
    project = scripted(HONEST, VALUES, 'inputs = ["data"]')
    (project / "data").mkdir()
    assert _changed(project, lambda: (project / "flag").mkdir()) == ["code"]
    assert _changed(project, lambda: (project / "data" / "more").mkdir()) == ["inputs"]


@pytest.mark.parametrize("missing", ["home", "python", "site-packages"])
def test_a_folder_with_the_mark_of_an_environment_and_no_more_is_code(
    scripted: Scripted, run_again: Callable[..., Rerun], missing: str
) -> None:
    project = scripted("import sys; sys.path.insert(0, 'lib'); import helper\n" + HONEST, VALUES)
    fake = project / "lib"
    (fake / "bin").mkdir(parents=True)
    (fake / "helper.py").write_text("x = 1\n")
    (fake / "pyvenv.cfg").write_text("version = 3.11\n" if missing == "home" else "home = /usr/bin\n")
    if missing != "python":
        (fake / "bin" / "python").symlink_to("/usr/bin/python3")
    if missing != "site-packages":
        (fake / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    assert not is_environment(fake)
    assert run_again(project).decision.answer is Answer.HOLDS
    assert _changed(project, lambda: (fake / "helper.py").write_text("x = 2\n")) == ["code"]


@pytest.mark.parametrize("place", ["helper.py", "hidden.pyc", "data.json"])
def test_an_edited_file_of_an_environment_outside_changes_what_it_runs_on(
    scripted: Scripted, venv: Path, place: str
) -> None:
    project = scripted(HONEST, VALUES, f'command = ["{venv}/bin/python", "run.py"]')
    [site] = venv.glob("lib/python*/site-packages")
    assert _changed(project, lambda: (site / place).write_text("VALUE = 0.7\n")) == ["environment"]


def test_an_edited_module_of_an_environment_in_the_project_changes_what_it_runs_on(
    scripted: Scripted, venv: Path
) -> None:
    project = scripted(HONEST, VALUES, 'command = [".venv/bin/python", "run.py"]')
    venv.rename(project / ".venv")
    [site] = (project / ".venv").glob("lib/python*/site-packages")
    assert _changed(project, lambda: (site / "helper.py").write_text("VALUE = 0.7\n")) == ["environment"]


def test_a_script_of_an_environment_is_bound_to_all_of_it(scripted: Scripted, venv: Path) -> None:
    tool = venv / "bin" / "tool"
    tool.write_text(f"#!{venv}/bin/python\n")
    tool.chmod(0o755)
    project = scripted(HONEST, VALUES, f'command = ["{tool}"]')
    [site] = venv.glob("lib/python*/site-packages")
    assert _changed(project, lambda: (site / "helper.py").write_text("VALUE = 0.7\n")) == ["environment"]


def test_compiled_code_that_python_writes_changes_nothing(scripted: Scripted, venv: Path) -> None:
    project = scripted(HONEST, VALUES, f'command = ["{venv}/bin/python", "run.py"]')
    assert _changed(project, lambda: subprocess.run([venv / "bin/python", "-c", "import helper"])) == []


def test_the_time_alone_tells_a_file_and_a_linked_one_is_told_by_what_it_leads_to(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("one")
    (folder / "link").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    before = fingerprint([folder])
    assert fingerprint([folder]) == before
    os.utime(outside, ns=(1, 1))
    assert fingerprint([folder]) != before


def test_what_cannot_be_listed_or_is_nowhere_ends_in_a_digest_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to("nowhere")
    assert fingerprint([tmp_path, tmp_path / "none"])


def test_an_environment_of_too_many_files_is_said_and_no_answer_stands_on_it(
    scripted: Scripted, run_again: Callable[..., Rerun], venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "MAX_FILES", 2)
    project = scripted(HONEST, VALUES, f'command = ["{venv}/bin/python", "run.py"]')
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS
    assert any(
        "too many to identify: no later check takes this answer" in line for line in found.decision.open
    )
    assert found.basis is not None
    assert found.basis.environment == TOO_LARGE
    for ask in (True, False):
        assert rerun_basis(open_project(project), ask=ask).changed_since(found.basis) == ["environment"]


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def _no_answer_stands(project: Path, found: Rerun) -> bool:
    assert found.basis is not None
    changed = [
        rerun_basis(open_project(project), ask=ask).changed_since(found.basis) for ask in (True, False)
    ]
    return found.basis.environment == TOO_LARGE and changed == [["environment"]] * 2


@pytest.mark.parametrize("active", [True, False])
def test_a_shell_script_is_bound_to_the_python_that_it_reaches_and_not_to_one_of_the_project(
    scripted: Scripted,
    run_again: Callable[..., Rerun],
    venv: Path,
    monkeypatch: pytest.MonkeyPatch,
    active: bool,
) -> None:
    script = f"import sys; assert sys.prefix == {str(venv)!r}, sys.prefix\n"
    project = scripted(script + HONEST, VALUES, 'command = ["sh", "run.sh"]')
    (project / "run.sh").write_text("python3 run.py\n")
    folders = [str(venv / "bin"), *os.get_exec_path()]
    if active:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
        folders.insert(0, str(project / ".venv" / "bin"))
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS, found.decision
    [site] = venv.glob("lib/python*/site-packages")
    assert _changed(project, lambda: (site / "helper.py").write_text("VALUE = 0.7\n")) == ["environment"]


@pytest.mark.parametrize("command", [["sh", "run.sh"], ["./run.sh"], [sys.executable, "run.py"]])
def test_where_no_python_says_what_is_installed_no_answer_stands(
    scripted: Scripted, run_again: Callable[..., Rerun], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(program, "_ask", lambda *_: None)
    project = scripted(HONEST, VALUES, f"command = {json.dumps(command)}")
    _program(project / "run.sh", "printf '%s' '{\"slope\": 0.5}' > results.json")
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS, found.decision
    assert any("no Python that it may use said what is installed" in line for line in found.decision.open)
    assert _no_answer_stands(project, found)


def test_a_python_that_says_nothing_and_is_first_inside_is_not_identified_by_another(
    scripted: Scripted, run_again: Callable[..., Rerun], tmp_path: Path
) -> None:
    tool = _program(tmp_path / "opt" / "bin" / "tool", "printf '%s' '{\"slope\": 0.5}' > results.json")
    project = scripted(HONEST, VALUES, f'command = ["{tool}"]')
    assert not _no_answer_stands(project, run_again(project))
    _program(tool.parent / "python3", "exit 1")
    assert _no_answer_stands(project, run_again(project))


def test_a_link_on_the_path_that_leads_into_the_project_is_not_started(
    scripted: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = scripted(HONEST, VALUES, 'command = ["sh", "run.sh"]')
    planted = _program(project / "tools" / "python3", f"touch {tmp_path}/started")
    links = tmp_path / "links"
    links.mkdir()
    (links / "python3").symlink_to(planted)
    monkeypatch.setenv("PATH", os.pathsep.join([str(links), *os.get_exec_path()]))
    assert rerun_basis(open_project(project), ask=True).environment != TOO_LARGE
    assert not (tmp_path / "started").exists()
