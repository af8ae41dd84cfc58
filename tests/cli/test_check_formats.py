"""`check --format`, `--accept` and `--junit-file`: what stands where, and with which exit status."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

RUBRIC = (Path(__file__).parents[1] / "attacks" / "rubric.toml").read_text("utf-8")
FORMATS = ("text", "json", "github", "junit")


@pytest.fixture
def frozen(slope_project, cli):
    assert cli("freeze", "--project", slope_project).status == 0
    return slope_project


STATES = [
    # the value of the slope, the exit status, and the same where refuted is accepted
    (0.51, 0, 0),
    (9.9, 1, 0),
    ("none", 2, 2),
]


@pytest.mark.parametrize(("slope", "status", "accepting"), STATES)
def test_the_exit_status_is_the_same_in_every_format(
    frozen, write_results, cli, slope, status, accepting
) -> None:
    write_results(frozen, slope=slope)
    for form in FORMATS:
        ran = cli("check", "--read-only", "--format", form, "--project", frozen)
        assert (form, ran.status, ran.err) == (form, status, "")
        ran = cli("check", "--read-only", f"--format={form}", "--accept=refuted", "--project", frozen)
        assert (form, ran.status) == (form, accepting)


def test_a_refuted_outcome_that_is_accepted_is_said_in_every_format(frozen, write_results, cli) -> None:
    write_results(frozen, slope=9.9)
    expected = "refuted, accepted: a result like any other"

    def run(form: str) -> str:
        return cli("check", "--read-only", "--format", form, "--accept", "refuted", "--project", frozen).out

    text = run("text")
    assert "✗ refuted: 0 of 1 predictions held" in text
    assert expected in text
    assert run("github").startswith(
        f"::notice file=prereg.toml,line=9,title=slope%3A did not hold::{expected}"
    )
    assert (
        run("github").splitlines()[-1].startswith("✓ holds: 1 refuted and accepted, 0 hold · refuted: 0 of 1")
    )
    root = ElementTree.fromstring(run("junit"))
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    assert expected in (root.findtext(".//testcase/system-out") or "")
    answer = json.loads(run("json"))
    assert (answer["ok"], answer["accepted"]) == (True, ["predictions"])
    assert answer["decisions"][0]["answer"] == "does_not_hold"


def test_accepting_refuted_waives_no_requirement(slope_project, write_results, cli) -> None:
    (slope_project / "rubric.toml").write_text(RUBRIC, "utf-8")
    cli("freeze", "--project", slope_project)
    write_results(slope_project, slope=9.9)
    assert cli("check", "--accept", "refuted", "--project", slope_project).status == 1


@pytest.mark.parametrize("value", ["failed", "verified", "", "REFUTED", "refuted,failed", "does_not_hold"])
def test_nothing_but_refuted_can_be_accepted(frozen, cli, value) -> None:
    ran = cli("check", "--accept", value, "--project", frozen)
    assert ran.status == 3
    assert "expected refuted; nothing else is waived" in " ".join(ran.err.split())


def test_no_other_command_accepts_an_outcome(frozen, cli) -> None:
    for command in ("verify", "round", "run", "criterion"):
        assert cli(command, "--accept", "refuted", "--project", frozen).status == 3


@pytest.mark.parametrize("arguments", [["--format", "xml"], ["--json", "--format", "github"]])
def test_a_format_that_is_not_known_or_that_json_contradicts_is_a_usage_error(frozen, cli, arguments) -> None:
    ran = cli("check", *arguments, "--project", frozen)
    assert ran.status == 3
    assert "--format" in (ran.err or ran.out)


def test_the_counts_of_junit_are_those_of_the_decisions(slope_project, write_results, cli) -> None:
    (slope_project / "rubric.toml").write_text(RUBRIC, "utf-8")
    cli("freeze", "--project", slope_project)
    write_results(slope_project, slope=9.9)
    answer = cli("check", "--read-only", "--json", "--project", slope_project).json
    flat = [part for decision in answer["decisions"] for part in decision["parts"] or [decision]]
    criteria = [entry for entry in answer["decisions"] if entry["subject"].startswith("C")]
    decided = [*answer["decisions"][0]["parts"], *criteria]
    assert flat
    root = ElementTree.fromstring(
        cli("check", "--read-only", "--format", "junit", "--project", slope_project).out
    )
    counts = {name: int(root.get(name, "")) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {
        "tests": len(decided),
        "failures": sum(entry["answer"] == "does_not_hold" for entry in decided),
        "errors": sum(entry["answer"] == "inconclusive" for entry in decided),
        "skipped": 0,
    }
    assert [case.get("name") for case in root.iter("testcase")] == [entry["subject"] for entry in decided]


def test_the_junit_file_is_of_the_same_check_and_beside_any_format(
    frozen, write_results, cli, tmp_path
) -> None:
    write_results(frozen, slope=9.9)
    target = tmp_path / "made" / "junit.xml"
    for form in FORMATS:
        ran = cli("check", "--read-only", "--format", form, "--junit-file", target, "--project", frozen)
        assert ran.status == 1
        written = target.read_text("utf-8")
        assert ElementTree.fromstring(written).get("failures") == "1"
        assert (ran.out == written) is (form == "junit")


@pytest.mark.parametrize("form", FORMATS)
def test_the_answer_is_the_same_where_stdout_cannot_hold_our_signs(frozen, write_results, cli, form) -> None:
    write_results(frozen, slope=9.9)
    env = {"PYTHONIOENCODING": "ascii"}
    ran = cli("check", "--read-only", "--format", form, "--project", frozen, env=env)
    assert (ran.status, ran.err) == (1, "")
    assert ran.out.isascii()
    assert "[??]" not in ran.out


# Errors


def tamper(project: Path) -> None:
    (project / "prereg.toml").write_bytes((project / "prereg.toml").read_bytes() + b"\n")


def test_tampering_is_an_annotation_on_stdout_with_the_message_on_stderr(frozen, cli, tmp_path) -> None:
    tamper(frozen)
    junit = tmp_path / "junit.xml"
    ran = cli("check", "--format", "github", "--junit-file", junit, "--project", frozen)
    assert ran.status == 3
    assert ran.out.startswith("::error title=autoscirub::prereg.toml: changed after it was frozen")
    assert ran.err.startswith("! prereg.toml: changed after it was frozen")
    [error] = ElementTree.parse(junit).iter("error")
    assert error.get("type") == "TamperedError"


def test_tampering_is_one_error_of_a_well_formed_document(frozen, cli) -> None:
    tamper(frozen)
    ran = cli("check", "--format", "junit", "--project", frozen)
    assert ran.status == 3
    root = ElementTree.fromstring(ran.out)
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]
    assert "changed after it was frozen" in (root.findtext(".//error") or "")
    assert ran.err.startswith("! prereg.toml")


def test_a_usage_error_is_told_in_the_format_that_was_asked_for(frozen, cli) -> None:
    ran = cli("check", "--format", "github", "--nosuch", "--project", frozen)
    assert ran.status == 3
    assert ran.out.startswith("::error title=autoscirub::")


def test_an_error_of_ours_is_told_in_the_format_too(frozen, cli, tmp_path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import autoscirub.workflow as w\ndef broken(*a, **k): raise RuntimeError('::error::x')\nw.check = broken\n"
    )
    import os

    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2] / 'server'}"
    ran = cli("check", "--format", "github", "--project", frozen, env={"PYTHONPATH": path})
    assert ran.status == 4
    assert ran.out.startswith("::error title=autoscirub::an error of ours: RuntimeError")
    assert ran.out.count("\n") == 1
