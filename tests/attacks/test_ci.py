"""A hostile repository in CI: whatever its files hold, the runner obeys nothing of it and the report stays a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import autoscirub

SERVER = Path(autoscirub.__file__).resolve().parents[1]

EVIL = (
    "\n::set-output name=a::b\r\n  ::stop-commands::t\r::error file=x::forged\u2028::add-path::/tmp"
    "\x1b[31m ##[add-path]/tmp \x1b]0;t\x07 #\x1b[0m#[error]y \u202e\u2066 %0A::warning::w"
)
ALLOWED = {"error", "warning", "notice"}


def toml(text: str) -> str:
    return json.dumps(text)  # its escapes are TOML's, for all that EVIL holds


@pytest.fixture
def hostile(tmp_path: Path, cli) -> Path:
    """Every text that a project's files can bring into a check, and every one of them a command."""
    project = tmp_path / "project"
    (project / "results").mkdir(parents=True)
    (project / "prereg.toml").write_text(
        f"hypothesis = {toml(EVIL)}\n\n[[checks]]\nid = {toml('p' + EVIL)}\nkind = 'expr'\n"
        f"expr = 'results.slope == 1'\ndescription = {toml(EVIL)}\n\n"
        f"[[checks]]\nid = {toml(EVIL)}\nkind = 'expr'\nexpr = 'results.text == 1'\ndescription = {toml(EVIL)}\n",
        "utf-8",
    )
    (project / "rubric.toml").write_text(
        f"[[criteria]]\nid = {toml('c' + EVIL)}\nrequirement = {toml(EVIL)}\n\n[[criteria.checks]]\n"
        f"id = {toml('k' + EVIL)}\nkind = 'expr'\nexpr = 'results.text == 2'\ndescription = {toml(EVIL)}\n",
        "utf-8",
    )
    frozen = cli("freeze", "--project", project)
    assert frozen.status == 0, frozen.err
    values = {"slope": 2, "text": EVIL, EVIL: 3.25}
    (project / "results" / "results.json").write_text(json.dumps(values), "utf-8")
    (project / "report.md").write_text(
        f"It is 812.5 {EVIL} and 3.45 <!-- ={EVIL} -->\n\n::error::4.75\n##[error] 5.25\n", "utf-8"
    )
    return project


def looks_obeyed(obeyed, ran) -> list:
    commands = obeyed(ran.out)
    assert obeyed(ran.err) == []
    *annotations, last = ran.out.split("\n")[:-1]
    assert all(line.split(" ")[0] in {f"::{name}" for name in ALLOWED} for line in annotations)
    assert obeyed(last) == []
    assert len(commands) == len(annotations)
    assert {command.name for command in commands} <= ALLOWED
    return commands


def test_no_text_of_a_repository_becomes_a_command_or_breaks_a_line(hostile, cli, obeyed) -> None:
    ran = cli("check", "--read-only", "--format", "github", "--project", hostile)
    assert ran.status == 2, ran.err  # one prediction could not be evaluated
    commands = looks_obeyed(obeyed, ran)
    assert {command.properties.get("file") for command in commands} == {
        "prereg.toml",
        "rubric.toml",
        "report.md",
    }
    lines = {
        command.properties["line"] for command in commands if command.properties["file"] == "prereg.toml"
    }
    assert lines == {"4", "10"}
    for forbidden in ("\x1b", "\u202e", "\u2066", "\u2028", "\r", "##["):
        assert forbidden not in ran.out


def test_nor_where_it_is_accepted_or_fails(hostile, cli, obeyed) -> None:
    (hostile / "results" / "results.json").write_text(json.dumps({"slope": 2, "text": 3}), "utf-8")
    ran = cli("check", "--read-only", "--format=github", "--accept", "refuted", "--project", hostile)
    commands = looks_obeyed(obeyed, ran)
    assert [command.name for command in commands].count("notice") == 2


def test_the_same_as_junit_is_well_formed(hostile, cli) -> None:
    ran = cli("check", "--read-only", "--format", "junit", "--project", hostile)
    root = ElementTree.fromstring(ran.out)
    assert root.get("tests") == str(len(list(root.iter("testcase"))))
    assert "\x1b" not in ran.out
    assert "\u202e" not in ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("autoscirub.toml", f"{toml(EVIL)} = 1\n"),
        ("autoscirub.toml", "\n::error::x = 1\n##[error]\n"),
        ("prereg.toml", "changed\n::set-output name=a::b\n"),
        ("rubric.toml", f"[[criteria]]\nid = 'c'\n{toml(EVIL)} = 1\n"),
    ],
)
def test_an_error_over_a_hostile_file_is_one_annotation(hostile, cli, obeyed, name, text) -> None:
    (hostile / name).write_text(text, "utf-8")
    ran = cli("check", "--read-only", "--format", "github", "--project", hostile)
    assert ran.status == 3
    [command] = obeyed(ran.out)
    assert (command.name, command.properties) == ("error", {"title": "autoscirub"})
    assert ran.out.count("\n") == 1
    assert obeyed(ran.err) == []
    junit = cli("check", "--read-only", "--format", "junit", "--project", hostile)
    assert junit.status == 3
    assert ElementTree.fromstring(junit.out).get("errors") == "1"


def test_a_link_at_the_place_of_the_junit_file_is_not_written_through(hostile, cli, tmp_path) -> None:
    outside = tmp_path / "profile"
    outside.write_text("mine")
    (hostile / "junit.xml").symlink_to(outside)
    ran = cli("check", "--read-only", "--junit-file", hostile / "junit.xml", "--project", hostile)
    assert ran.status == 3
    assert "is a link" in ran.err
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("kind", ["fifo", "folder", "link"])
def test_a_file_that_is_none_gives_no_line_and_no_waiting(hostile, cli, tmp_path, kind) -> None:
    import os

    results = hostile / "report.md"
    results.unlink()
    if kind == "fifo":
        os.mkfifo(results)
    elif kind == "folder":
        results.mkdir()
    else:
        results.symlink_to("/etc/hostname")
    ran = cli("check", "--read-only", "--format", "github", "--project", hostile)
    assert ran.status in {1, 2}
    assert "::warning file=report.md,title" in ran.out


# Two megabytes of any of these take at most three seconds; the child gets twenty times that.
CHILD = """
import resource, sys
from autoscirub.store import toml_strings
from autoscirub.workflow.source_locations import PLACES_LIMIT
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
unit = sys.argv[1].encode().decode("unicode_escape")
print(sum(1 for _ in toml_strings(unit * (PLACES_LIMIT // len(unit)), {("checks", "id")})))
"""
BOMBS = ['"""', "'''", '"', "[", "{", "a={", "a=[", "a.", '"\\\\u0061"=1\\n', '"\\\\', "'''\"\"\"", "\\n"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", BOMBS)
def test_looking_for_a_line_takes_bounded_time_and_memory(unit) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, unit],
        env={"PYTHONPATH": str(SERVER)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0\n"
