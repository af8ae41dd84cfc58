"""`action.yml` and `.pre-commit-hooks.yaml`: what they start really starts, and takes no text for a program."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


class Runner:
    """Runs the bash steps of a composite action, as GitHub's runner does: expressions in `env`, nowhere else."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.temp, self.workspace = folder / "temp", workspace
        self.temp.mkdir()
        (folder / "home").mkdir()
        self.home = folder / "home"

    def run(self, step: dict[str, Any], **inputs: str) -> tuple[int, str, dict[str, str]]:
        values = {f"inputs.{name}": entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        values |= {"github.action_path": str(ROOT), "runner.temp": str(self.temp)}
        environment = {
            name: EXPRESSION.sub(lambda match: values[match.group(1)], value)
            for name, value in step.get("env", {}).items()
        }
        output = self.temp / "output"
        output.write_text("")
        script = self.temp / "step.sh"
        script.write_text(step["run"], "utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "GITHUB_WORKSPACE": str(self.workspace),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_ACTIONS": "true",
                "RUNNER_TEMP": str(self.temp),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # the runner reads both
            encoding="utf-8",
            timeout=300,
        )
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode, done.stdout, outputs

    def stand_in(self) -> None:
        """A virtual environment where the install step makes one, with this checkout in it."""
        venv.create(self.temp / "autoscirub", symlinks=True)
        [packages] = (self.temp / "autoscirub" / "lib").glob("python*/site-packages")
        paths = [str(ROOT / "server"), *(path for path in sys.path if path.endswith("site-packages"))]
        (packages / "here.pth").write_text("\n".join(paths) + "\n")


@pytest.fixture
def workspace(slope_project, write_results, cli):
    """A checked-out repository with the project in a folder of it."""
    command = f'["{sys.executable}", "run.py"]'
    (slope_project / "autoscirub.toml").write_text(
        f'results = "results/results.json"\n\n[run]\ncommand = {command}\noutputs = ["results/"]\n'
    )
    (slope_project / "run.py").write_text(
        "import json, pathlib\npathlib.Path('results').mkdir(exist_ok=True)\n"
        "pathlib.Path('results/results.json').write_text(json.dumps({'slope': 0.5}))\n"
        "pathlib.Path('ran').write_text('')\n"
    )
    cli("freeze", "--project", slope_project)
    write_results(slope_project, slope=0.5)
    return slope_project.parent


@pytest.fixture
def runner(tmp_path_factory, workspace):
    made = Runner(tmp_path_factory.mktemp("runner"), workspace)
    made.stand_in()
    return made


@pytest.mark.slow
def test_the_check_step_annotates_writes_junit_and_hands_out_the_status(
    runner, obeyed, write_results
) -> None:
    junit = runner.temp / "junit.xml"
    status, out, outputs = runner.run(STEPS["check"], project="slope", junit_file=str(junit))
    assert (status, outputs) == (2, {"status": "2"})
    [warning] = obeyed(out)
    assert (warning.name, warning.properties["file"]) == ("warning", "slope/autoscirub.toml")
    assert ElementTree.parse(junit).getroot().get("errors") == "1"
    write_results(runner.workspace / "slope", slope=9.9)
    assert runner.run(STEPS["check"], project="slope")[2] == {"status": "1"}
    assert runner.run(STEPS["check"], project="slope", accept="refuted")[2] == {"status": "2"}
    assert runner.run(STEPS["check"], project="nowhere")[2] == {"status": "3"}


@pytest.mark.slow
def test_the_command_runs_with_its_digest_and_with_no_other(runner, cli, obeyed) -> None:
    project = runner.workspace / "slope"
    status, out, _ = runner.run(STEPS["trust"], project="slope", trust_digest="0" * 64)
    assert status == 0
    assert [command.name for command in obeyed(out)] == ["warning"]
    assert runner.run(STEPS["check"], project="slope")[2] == {"status": "2"}
    digest = cli("trust", "--json", "--project", project).json["digest"]
    assert runner.run(STEPS["trust"], project="slope", trust_digest=digest)[:2] == (0, "")
    status, out, outputs = runner.run(STEPS["check"], project="slope")
    assert (status, outputs) == (0, {"status": "0"}), out
    assert "rerun: reproduced" in out
    assert list(runner.home.iterdir()) == []  # what was allowed is forgotten with the job


HOSTILE = [
    '"; touch owned; "',
    "$(touch owned)",
    "`touch owned`",
    "x\ntouch owned",
    "--help",
    "-x",
    "'",
    "$HOME",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_an_input_is_never_taken_for_a_program_or_an_option(runner, text, obeyed) -> None:
    for step in ("trust", "check"):
        for name in ("project", "accept", "trust_digest"):
            status, out, _ = runner.run(STEPS[step], **{"project": "slope", name: text})
            assert status in {0, 2, 3}
            assert {command.name for command in obeyed(out)} <= {"error", "warning"}
    assert not list(runner.workspace.rglob("owned"))
    assert not list(runner.temp.rglob("owned"))


SHADOWS = ("venv.py", "pip.py", "json.py", "typing.py", "autoscirub.py", "sitecustomize.py")


@pytest.mark.slow
def test_no_file_of_the_workspace_is_imported_by_any_step(runner, tmp_path) -> None:
    mark = tmp_path / "imported"
    for folder in (runner.workspace, runner.workspace / "slope"):
        for name in SHADOWS:
            (folder / name).write_text(f"open({str(mark)!r}, 'w').close()\n")
    runner.run(STEPS["trust"], project="slope", trust_digest="0" * 64)
    assert runner.run(STEPS["check"], project="slope")[2] == {"status": "2"}
    # of the installing: all but what needs an index
    first = STEPS["install"]["run"].split("\npip=(")[0]
    subprocess.run(["rm", "-r", str(runner.temp / "autoscirub")], check=True)
    step = {**STEPS["install"], "run": f"{first}\nautoscirub/bin/python -I -m pip --version"}
    status, out, _ = runner.run(step, python=sys.executable)
    assert status == 0, out
    assert not mark.exists()


def test_inputs_and_contexts_stand_in_no_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        for value in step["env"].values():
            assert EXPRESSION.search(value)
    assert ACTION["runs"]["using"] == "composite"
    assert ACTION["outputs"]["status"]["value"] == "${{ steps.check.outputs.status }}"


def test_what_is_installed_is_pinned_and_comes_from_the_action_itself() -> None:
    script = STEPS["install"]["run"]
    assert '--require-hashes -r "$ACTION/requirements.lock"' in script
    assert '--no-deps --no-build-isolation "$ACTION"' in script
    assert "http" not in (ROOT / "action.yml").read_text("utf-8")


@pytest.mark.slow
def test_an_old_or_missing_python_is_said_to_be_one(runner, obeyed) -> None:
    status, out, _ = runner.run(STEPS["install"], python="no-such-python")
    assert status == 3
    assert obeyed(out)[-1].data == "the python input must name Python 3.11 or newer"


# The example workflow


def test_the_example_workflow_uses_inputs_that_the_action_has() -> None:
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "autoscirub.yml").read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in workflow[True]  # YAML reads `on` as true
    steps = workflow["jobs"]["check"]["steps"]
    [step] = [step for step in steps if "autoscirub@" in step.get("uses", "")]
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert "head.repo.full_name == github.repository" in step["with"]["trust-digest"]


def test_the_workflow_of_the_page_is_the_file() -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert f"```yaml\n{(ROOT / 'examples' / 'ci' / 'autoscirub.yml').read_text('utf-8')}```\n" in page


def test_the_inputs_of_the_page_are_the_action_s() -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    table = page.split("| input | what it is |\n|---|---|\n")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE) == list(ACTION["inputs"])


# Pre-commit

HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def test_the_hooks_have_what_pre_commit_needs() -> None:
    assert [hook["id"] for hook in HOOKS] == ["autoscirub-validate", "autoscirub-check"]
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    for hook in HOOKS:
        assert {"id", "name", "entry", "language"} <= set(hook)
        assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("python", False, True)
        assert shlex.split(hook["entry"])[0] in scripts


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_a_hook_s_entry_runs_writes_nothing_and_fails_where_something_is_wrong(
    hook, slope_project, write_results, cli, tree
) -> None:
    cli("freeze", "--project", slope_project)
    write_results(slope_project, slope=0.5)
    entry = shlex.split(hook["entry"])[1:]
    before = tree(slope_project)
    assert cli(*entry, cwd=slope_project).status == 0
    assert tree(slope_project) == before
    (slope_project / ".prereg.lock").write_text("{}")
    assert cli(*entry, cwd=slope_project).status != 0
