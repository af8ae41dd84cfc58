"""Where programs are looked up: nowhere that a folder under judgement could put one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from autoscirub.checks.rerun.program import find_program
from autoscirub.errors import SandboxError
from autoscirub.programs import on_path, path_entries
from autoscirub.sandbox import bubblewrap_missing, run_program

if TYPE_CHECKING:
    from pathlib import Path


def planted(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("path", ["", ".", ":", "tools", ".:tools:", "./tools"])
def test_an_empty_or_relative_entry_of_path_leads_to_no_program(tmp_path, monkeypatch, path) -> None:
    planted(tmp_path, "bwrap", "prlimit", "setpriv", "own-tool")
    planted(tmp_path / "tools", "bwrap", "prlimit", "setpriv", "own-tool")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr("autoscirub.sandbox.bubblewrap._SYSTEM_PATH", ())
    assert path_entries() == []
    assert on_path("own-tool") is None
    assert "bwrap" in bubblewrap_missing()
    with pytest.raises(SandboxError, match="no such program on PATH"):
        run_program(["own-tool"], cwd=tmp_path, seconds=5)
    with pytest.raises(SandboxError, match="no such program on PATH"):
        find_program(["own-tool"], tmp_path)


def test_a_python_of_a_relative_entry_of_path_is_not_asked_what_it_runs_on(tmp_path, monkeypatch) -> None:
    here = tmp_path / "here"
    (planted(here) / "python3").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (here / "python3").chmod(0o755)
    project = tmp_path / "project"
    planted(project, "own-tool")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["here", os.path.dirname(sys.executable)]))  # noqa: PTH120
    find_program(["./own-tool"], project)
    assert not (tmp_path / "started").exists()


def test_an_absolute_entry_comes_before_what_is_looked_at_besides(tmp_path, monkeypatch) -> None:
    first, second = planted(tmp_path / "a", "tool"), planted(tmp_path / "b", "tool", "other")
    monkeypatch.setenv("PATH", f":{first}")
    assert on_path("tool", [str(second)]) == str(first / "tool")
    assert on_path("other", [str(second)]) == str(second / "other")
    assert on_path("other") is None
