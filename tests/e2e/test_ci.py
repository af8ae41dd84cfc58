"""Continuous integration: a fresh clone on a machine that knows nothing, and what can be said there without a key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRITERIA = [
    "whole-record",
    "step-and-size",
    "chance-tested",
    "sensitivity",
    "table-of-candidates",
    "interval-of-the-drop",
    "figure-of-the-step",
    "write-up",
    "numbers-traced",
    "comes-out-again",
]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"]
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=environment, check=True, capture_output=True
    )


@pytest.fixture
def authored(tmp_path: Path, cli) -> Path:
    """The Nile example: frozen, run once, checked, and committed with its state, as a folder of a larger repository."""
    repository = tmp_path / "authored"
    project = repository / "studies" / "nile"
    ignored = shutil.ignore_patterns("results", ".autoscirub", ".prereg.lock", "__pycache__")
    shutil.copytree(ROOT / "examples" / "nile", project, ignore=ignored)
    assert cli("freeze", "--project", project).status == 0
    subprocess.run([sys.executable, "run.py"], cwd=project, check=True, capture_output=True)
    assert cli("check", "--project", project).status == 1  # two criteria are open until the revision
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "the Nile")
    return repository


@pytest.fixture
def clone(authored: Path, tmp_path: Path) -> Path:
    target = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", authored.as_uri(), str(target))
    return target / "studies" / "nile"


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def machine(tmp_path: Path) -> Run:
    """The command line with nothing in its environment but PATH and an empty home."""
    home = tmp_path / "home"
    home.mkdir()

    def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = (
            f"import sys; sys.path[:0] = [{str(ROOT / 'server')!r}]; sys.dont_write_bytecode = True; "
            "from autoscirub.cli import main; sys.exit(main())"
        )
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    return run


@pytest.mark.slow
def test_a_fresh_clone_is_decided_read_only_in_every_format_and_nothing_is_written(
    clone, machine, tree, obeyed, tmp_path
) -> None:
    before = tree(clone.parents[1])
    ran = {
        form: machine(clone, "check", "--read-only", "--format", form) for form in ("github", "junit", "json")
    }
    assert {form: (done.returncode, done.stderr) for form, done in ran.items()} == dict.fromkeys(ran, (1, ""))

    answer = json.loads(ran["json"].stdout)
    assert answer["reused"] == CRITERIA
    assert answer["evaluated"] == []
    assert answer["rerun"] == {"ran": False, "elsewhere": False}
    [rerun] = [decision for decision in answer["decisions"] if decision["subject"] == "rerun"]
    assert rerun["open"][0].startswith("not rerun here: not trusted")

    found = obeyed(ran["github"].stdout)
    text = (clone / "rubric.toml").read_text("utf-8").splitlines()
    placed = [(entry.name, entry.properties["file"], int(entry.properties["line"])) for entry in found]
    assert placed == [
        ("error", "studies/nile/rubric.toml", text.index('id = "interval-of-the-drop"') + 1),
        ("error", "studies/nile/rubric.toml", text.index('id = "figure-of-the-step"') + 1),
        ("warning", "studies/nile/autoscirub.toml", 12),
        ("warning", "studies/nile/rubric.toml", text.index('id = "comes-out-again"') + 1),
    ]
    assert found[2].data.startswith("not rerun here: not trusted")
    assert ran["github"].stdout.splitlines()[-1].startswith("✗ does not hold: 2 do not hold, 2 inconclusive")

    root = ElementTree.fromstring(ran["junit"].stdout)
    assert (root.get("failures"), root.get("errors")) == ("2", "2")

    assert tree(clone.parents[1]) == before
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.slow
def test_the_rerun_happens_in_the_clone_once_its_digest_was_accepted(clone, machine, tree) -> None:
    trust = machine(clone, "trust")
    assert trust.returncode == 3
    digest = trust.stdout.split("autoscirub trust --digest ")[1].strip()
    assert machine(clone, "trust", "--digest", "0" * 64).returncode == 3
    assert json.loads(machine(clone, "check", "--read-only", "--json").stdout)["rerun"]["ran"] is False

    assert machine(clone, "trust", "--digest", digest).returncode == 0
    before = tree(clone.parents[1])
    answer = json.loads(machine(clone, "check", "--read-only", "--json").stdout)
    assert answer["rerun"] == {"ran": True, "elsewhere": False}
    [rerun] = [decision for decision in answer["decisions"] if decision["subject"] == "rerun"]
    assert (rerun["answer"], rerun["word"]) == ("holds", "reproduced")
    assert answer["reused"] == CRITERIA[:-1]
    assert answer["evaluated"] == ["comes-out-again"]  # it is inconclusive before, and now it can
    assert tree(clone.parents[1]) == before


@pytest.mark.slow
def test_a_result_that_was_typed_in_is_found_by_the_rerun_at_its_line(clone, machine, obeyed) -> None:
    results = clone / "results" / "results.json"
    text = results.read_text("utf-8")
    values = json.loads(text)
    results.write_text(text.replace(f'"drop": {values["drop"]}', '"drop": 247.5'), "utf-8")
    digest = machine(clone, "trust").stdout.split("--digest ")[1].strip()
    machine(clone, "trust", "--digest", digest)
    ran = machine(clone, "check", "--read-only", "--format", "github")
    [moved] = [entry for entry in obeyed(ran.stdout) if entry.data.startswith("drop;")]
    assert moved.properties["file"] == "studies/nile/results/results.json"
    line = results.read_text("utf-8").splitlines()[int(moved.properties["line"]) - 1]
    assert line.strip().startswith('"drop": 247.5')


@pytest.mark.slow
def test_what_was_rerun_before_the_commit_is_said_to_be_from_elsewhere(
    authored, tmp_path, machine, cli
) -> None:
    project = authored / "studies" / "nile"
    digest = cli("trust", "--project", project, "--json").json["digest"]
    assert cli("trust", "--digest", digest, "--project", project).status == 0
    assert cli("check", "--project", project, "--json").json["rerun"]["ran"] is True
    git(authored, "add", "-A")
    git(authored, "commit", "-qm", "rerun")
    git(tmp_path, "clone", "-q", str(authored), str(tmp_path / "later"))
    ran = machine(tmp_path / "later" / "studies" / "nile", "check", "--read-only", "--format", "github")
    last = ran.stdout.splitlines()[-1]
    assert "reproduced elsewhere" in last
    assert "not rerun here: not trusted (" in last
    assert "recorded at" in last
