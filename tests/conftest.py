"""Shared by all tests: a private user data directory, small projects, the field inputs, the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.forking import Forking

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Of a shell's background job: the processes that tests interrupt would inherit that they cannot be.
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parents[1]
FIELD = REPOSITORY.parent / "shared" / "field"

SLOPE_PREREG = """\
hypothesis = "The slope is near one half."
predictions = ["slope between 0.4 and 0.6"]
analysis_plan = "Least squares on 40 readings."

[results_contract]
slope = "least-squares slope"

[[checks]]
id = "slope"
kind = "expr"
expr = "abs(results.slope - 0.5) < 0.1"
"""

MALFORMED_RUBRICS = {
    # file of field case 06 -> what its refusal says
    "all-zero-weights": ["criteria[0].weight (criterion 'C1')", "criteria[1].weight (criterion 'C2')"],
    "bare-list": ["a bare list", 'put the list under "criteria"'],
    "duplicate-by-case-or-space": ["criteria[1].criterion_id (criterion 'c1 ')"],
    "duplicate-ids": ["criteria[2].criterion_id (criterion 'C2')"],
    "priority-words": ["criteria[0].priority (criterion 'C1')", "criteria[1].priority (criterion 'C2')"],
    "strings-for-lists": [
        "criteria[0].metrics (criterion 'C1')",
        "criteria[0].expected_artifacts (criterion 'C1')",
    ],
    "unknown-goal": ["criteria[0].goal_ids[0] (criterion 'C1')", "'G9'"],
    "weights": [f"criteria[{index}].weight (criterion 'C{index + 1}')" for index in range(5)],
}


@pytest.fixture(autouse=True)
def _private_machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees or leaves anything in the user's own data directory, configuration or environment.

    Nor a policy of this machine's: without this, a lab's own would decide what the tests may configure.
    """
    for name in list(os.environ):
        if name.startswith(("AUTOSCIRUB_", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path_factory.mktemp("user-data")))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path_factory.mktemp("system-configuration")))


@pytest.fixture(scope="session")
def field() -> Path:
    """The folder of field inputs; the test skips where it is not laid out beside the repository."""
    if not FIELD.is_dir():
        pytest.skip("the field inputs are not beside this checkout")
    return FIELD


@pytest.fixture
def field_case(field: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A fresh, writable copy of one field input, by the beginning of its name."""

    def copy(name: str) -> Path:
        [source] = [
            folder
            for folder in [field / name, *sorted((field / "cases").glob(f"{name}-*"))]
            if folder.is_dir()
        ]
        target = tmp_path / source.name
        shutil.copytree(source, target, copy_function=shutil.copyfile)
        for folder in [target, *(path for path in target.rglob("*") if path.is_dir())]:
            folder.chmod(0o755)
        return target

    return copy


@pytest.fixture(scope="session")
def field_cases(field: Path) -> Path:
    """The folder of the numbered field cases. Not to be written to."""
    return field / "cases"


@dataclass(frozen=True)
class MalformedRubric:
    """A rubric of field case 06."""

    file: Path
    faults: list[str]  # each is said by the refusal


@pytest.fixture(scope="session")
def malformed_rubrics() -> dict[str, list[str]]:
    """The table of the malformed rubrics: the file's name and what its refusal says."""
    return MALFORMED_RUBRICS


@pytest.fixture(params=MALFORMED_RUBRICS)
def malformed_rubric(request: pytest.FixtureRequest, field_cases: Path) -> MalformedRubric:
    """Each malformed rubric among the field cases. Not to be written to."""
    file = field_cases / "06-malformed-rubrics" / f"{request.param}.json"
    return MalformedRubric(file, MALFORMED_RUBRICS[request.param])


@pytest.fixture
def slope_project(tmp_path: Path) -> Path:
    """A small project: predictions, and no results yet."""
    project = tmp_path / "slope"
    project.mkdir()
    (project / "prereg.toml").write_text(SLOPE_PREREG, encoding="utf-8")
    return project


@pytest.fixture
def write_results() -> Callable[..., Path]:
    """Write a project's results.json from keyword values."""

    def write(project: Path, **values: Any) -> Path:
        path = project / "results" / "results.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
        return path

    return write


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forking]:
    """Where commands are forked off a process that has everything loaded."""
    with Forking(tmp_path_factory.mktemp("forking")) as process:
        yield process


@pytest.fixture
def cli(forking: Forking) -> Callable[..., Ran]:
    """Run the real command line in its own process, with no terminal and no standard input.

    It is forked off a loaded one, but where the environment says something to the interpreter itself.
    """

    def run(*arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> Ran:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "server"), **(env or {})}
        if not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env or ()):
            done = forking.run(*arguments, cwd=cwd or Path.cwd(), environment=environment)
            return Ran(done.status, done.out, done.err)
        ran = subprocess.run(
            [sys.executable, "-m", "autoscirub", *map(str, arguments)],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            encoding="utf-8",
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    return run


@pytest.fixture(scope="session")
def own_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that finds this package by itself, as after an installation: without PYTHONPATH."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    found = [path for path in sys.path if path.endswith("site-packages")]
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "here.pth").write_text("\n".join([str(REPOSITORY / "server"), *found]) + "\n", "utf-8")
    return folder / "bin" / "python"


@pytest.fixture
def tree() -> Callable[[Path], dict[str, Any]]:
    """A folder's whole content, with modes, inodes and times, so that two looks show whether anything was written."""

    def look(root: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in sorted([root, *root.rglob("*")]):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
            kept = (status.st_mode, status.st_size, status.st_mtime_ns, content, status.st_ino)
            found[str(path.relative_to(root))] = kept
        return found

    return look


@dataclass(frozen=True)
class Obeyed:
    """A workflow command that GitHub's runner takes from a line."""

    name: str
    properties: dict[str, str]
    data: str


@pytest.fixture
def obeyed() -> Callable[[str], list[Obeyed]]:
    """What GitHub's runner obeys in a step's output: commands of both of its forms, read as it reads them."""
    known = {
        *("error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "add-path", "set-env"),
        *("set-output", "save-state", "stop-commands", "echo", "add-matcher", "remove-matcher"),
        *("internal-set-repo-path", "token"),
    }

    def unescaped(text: str, marks: str) -> str:
        for mark in f"{marks}%":
            text = text.replace(f"%{ord(mark):02X}", mark)
        return text

    def command(line: str) -> Obeyed | None:
        start = line.lstrip()
        if start.startswith("::") and (end := start.find("::", 2)) >= 0:
            name, _, listed = start[2:end].partition(" ")
            pairs = [pair.split("=", 1) for pair in listed.strip().split(",") if "=" in pair]
            if name.lower() in known:
                properties = {key: unescaped(value, "\r\n:,") for key, value in pairs}
                return Obeyed(name, properties, unescaped(start[end + 2 :], "\r\n"))
        if (at := line.find("##[")) >= 0 and (end := line.find("]", at)) >= 0:
            name = line[at + 3 : end].partition(" ")[0]
            if name.lower() in known:
                return Obeyed(name, {}, line[end + 1 :])
        return None

    def look(output: str) -> list[Obeyed]:
        lines = output.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return [found for line in lines if (found := command(line)) is not None]

    return look
