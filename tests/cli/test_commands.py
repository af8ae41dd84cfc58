"""The command line as people and programs meet it: output, exit status, errors."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = [
    "init",
    "check",
    "status",
    "validate",
    "eval",
    "freeze",
    "unfreeze",
    "verify",
    "trust",
    "demo",
    "criterion",
    "round",
    "run",
    "scope",
    "blind",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_the_three_common_options(cli, command) -> None:
    ran = cli(command, "--help", env={"COLUMNS": "200"})
    assert ran.status == 0
    assert "Example" in ran.out
    assert f"$ autoscirub {command}" in ran.out
    for option in ("--project", "--state-dir", "--json"):
        assert option in ran.out


def test_the_version_is_the_package_s(cli) -> None:
    import tomllib

    from autoscirub import __version__

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert cli("--version").out == f"autoscirub {__version__}\n"
    assert project["version"] == __version__


EVALUATIONS = [
    # expression, exit status, in the output
    ("results.slope < 1", 0, "True"),
    ("results.slope > 1", 1, "False"),
    ("results.slope * 2", 0, "1.02"),
    ("results.slop > 1", 2, "slope"),
    ("results.gone.deeper", 2, "gone"),
    ("results.slope > ", 3, ""),
    ("__import__('os')", 3, ""),
    ("results.note", 0, "ok"),
]


@pytest.mark.parametrize(("expression", "status", "output"), EVALUATIONS)
def test_eval_has_the_exit_status_of_its_value(cli, tmp_path, expression, status, output) -> None:
    (tmp_path / "r.json").write_text('{"slope": 0.51, "note": "ok"}')
    ran = cli("eval", expression, "--results", tmp_path / "r.json")
    assert ran.status == status
    assert output in ran.out + ran.err


@pytest.mark.parametrize("content", [None, b"{", b"\xff\xfe{\x00}\x00", b"[]"])
def test_eval_on_results_that_cannot_be_read_could_not_be_evaluated(cli, tmp_path, content) -> None:
    if content is not None:
        (tmp_path / "r.json").write_bytes(content)
    ran = cli("eval", "results.slope > 0", "--results", tmp_path / "r.json", "--json")
    assert ran.status == 2
    assert ran.json["decisions"][0]["answer"] == "inconclusive"


USAGE = [["nothing-like-this"], ["verify", "--nope"], ["eval"], ["unfreeze"], ["check", "--format", "xml"]]


@pytest.mark.parametrize("arguments", USAGE)
def test_wrong_usage_is_status_3_with_one_line_and_with_json_one_document(cli, arguments) -> None:
    ran = cli(*arguments)
    assert ran.status == 3
    assert ran.out == ""
    assert ran.err.startswith("! ")
    with_json = cli(*arguments, "--json")
    assert with_json.status == 3
    assert with_json.json["ok"] is False
    assert with_json.json["error"]["kind"] == "UsageError"


def test_json_is_one_document_on_stdout_for_every_command(cli, slope_project, write_results) -> None:
    def run(*arguments: str) -> dict:
        return cli(*arguments, "--project", slope_project, "--json").json

    assert run("freeze", "--dry-run")["ok"] is True
    assert run("freeze")["decisions"][0]["word"] == "frozen"
    write_results(slope_project, slope=0.51)
    assert run("verify")["outcome"] == "verified"
    for command in (["check"], ["status"], ["validate"], ["eval", "results.slope > 0"], ["trust"], ["init"]):
        answer = run(*command)
        assert isinstance(answer["ok"], bool)
        assert isinstance(answer["decisions"], list)


def test_a_refusal_with_json_lists_faults_and_warnings(cli, slope_project) -> None:
    (slope_project / "prereg.toml").write_text("hypothesis = 3")
    ran = cli("freeze", "--project", slope_project, "--json")
    assert ran.status == 3
    assert ran.json["error"]["kind"] == "PredictionsError"
    assert len(ran.json["error"]["faults"]) == 2


def test_verify_without_a_freeze_says_what_to_do_and_makes_no_state_directory(cli, slope_project) -> None:
    ran = cli("verify", "--project", slope_project)
    assert ran.status == 3
    assert "autoscirub freeze" in ran.err
    assert not (slope_project / ".autoscirub").exists()


def test_check_works_from_the_first_minute(cli, tmp_path) -> None:
    ran = cli("check", "--project", tmp_path)
    assert ran.status == 2
    assert "? predictions: inconclusive (none)" in ran.out
    assert "autoscirub init" in ran.out


def test_check_shows_unfrozen_predictions_as_not_frozen_and_does_not_evaluate_them(
    cli, slope_project, write_results
) -> None:
    write_results(slope_project, slope=9.9)
    ran = cli("check", "--project", slope_project)
    assert ran.status == 2
    assert "not frozen" in ran.out
    assert "9.9" not in ran.out


def test_an_internal_error_is_status_4_with_one_line_and_its_trace_in_a_file(
    cli, slope_project, tmp_path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import autoscirub.workflow.status as w\n"
        "def f(*a, **k): raise ZeroDivisionError('secret-free message')\n"
        "w.status = f\n"
    )
    ran = cli(
        "status",
        "--project",
        slope_project,
        env={"PYTHONPATH": f"{broken}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert ran.status == 4
    [line] = ran.err.strip().splitlines()
    assert "ZeroDivisionError" in line
    trace = Path(line.split("(trace in ")[1].split(")")[0])
    assert "Traceback" in trace.read_text("utf-8")
    trace.unlink()


def test_signs_fall_back_to_words_where_the_terminal_cannot_show_them(cli, slope_project) -> None:
    ran = cli("check", "--project", slope_project, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert ran.status == 2
    assert ran.out.startswith("[??] predictions")


def test_a_check_id_cannot_send_escape_sequences_to_the_terminal(cli, slope_project, write_results) -> None:
    text = (slope_project / "prereg.toml").read_text("utf-8")
    hostile = r'"\u001b]0;pwned\u0007\u001b[2J\u202eid"'
    (slope_project / "prereg.toml").write_text(text.replace('id = "slope"', f"id = {hostile}"), "utf-8")
    assert cli("freeze", "--project", slope_project).status == 0
    write_results(slope_project, slope=9.9, note="\x1b[2J")
    out = cli("verify", "--project", slope_project).out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_unfreeze_needs_a_terminal_or_the_digest_of_exactly_what_is_unlocked(cli, slope_project) -> None:
    cli("freeze", "--project", slope_project)
    refused = cli("unfreeze", "--reason", "wrong unit", "--project", slope_project)
    assert refused.status == 3
    digest = refused.err.split("--digest ")[1].strip()
    assert cli("unfreeze", "--reason", "x", "--digest", "0" * 64, "--project", slope_project).status == 3
    assert (slope_project / ".prereg.lock").exists()
    ran = cli("unfreeze", "--reason", "wrong unit", "--digest", digest, "--project", slope_project, "--json")
    assert ran.status == 0
    assert ran.json["unfreeze"]["by"] == "ci"
    assert not (slope_project / ".prereg.lock").exists()


def test_unfreeze_at_a_real_terminal_is_recorded_as_such(slope_project, cli) -> None:
    cli("freeze", "--project", slope_project)
    parent, child = pty.openpty()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "autoscirub",
            "unfreeze",
            "--reason",
            "wrong unit",
            "--project",
            str(slope_project),
        ],
        stdin=child,
        capture_output=True,
        timeout=60,
        encoding="utf-8",
    )
    os.close(parent)
    os.close(child)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((slope_project / ".autoscirub" / "run_manifest.json").read_text("utf-8"))
    assert manifest["unfreezes"][0]["by"] == "terminal"
    assert manifest["unfreezes"][0]["reason"] == "wrong unit"


def test_trust_shows_what_would_run_and_takes_exactly_its_digest(cli, slope_project) -> None:
    assert cli("trust", "--project", slope_project).status == 0
    (slope_project / "autoscirub.toml").write_text('[run]\ncommand = ["python", "run.py"]\n')
    trust = cli("trust", "--project", slope_project)
    assert trust.status == 3
    assert "python run.py" in trust.out
    digest = trust.out.split("--digest ")[1].strip()
    assert cli("trust", "--digest", "f" * 64, "--project", slope_project).status == 3
    assert cli("trust", "--digest", digest, "--project", slope_project).status == 0
    assert cli("trust", "--project", slope_project).status == 0
    (slope_project / "autoscirub.toml").write_text('[run]\ncommand = ["python", "other.py"]\n')
    assert cli("trust", "--project", slope_project).status == 3


def test_init_lays_down_what_is_missing_and_overwrites_nothing(cli, tmp_path) -> None:
    (tmp_path / "prereg.toml").write_text("# mine\n")
    ran = cli(
        "init", "--project", tmp_path, "--results", "out/results.json", "--run", "python run.py --seed 'a b'"
    )
    assert ran.status == 0
    assert (tmp_path / "prereg.toml").read_text() == "# mine\n"
    assert "kept  prereg.toml" in ran.out
    import tomllib

    config = tomllib.loads((tmp_path / "autoscirub.toml").read_text("utf-8"))
    assert config["results"] == "out/results.json"
    assert config["run"]["command"] == ["python", "run.py", "--seed", "a b"]
    assert (tmp_path / ".autoscirub" / ".gitignore").is_file()
    again = cli("init", "--project", tmp_path)
    assert again.status == 0
    assert "made" not in again.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--results", "../out.json"], "--results"),
        (["--report", "/etc/passwd"], "--report"),
        (["--run", "'unclosed"], "--run"),
        (["--run", " "], "--run is empty"),
    ],
)
def test_init_refuses_what_it_could_not_use(cli, tmp_path, arguments, expected) -> None:
    ran = cli("init", "--project", tmp_path, *arguments)
    assert ran.status == 3
    assert expected in ran.err
    assert list(tmp_path.iterdir()) == []


def test_the_template_that_init_lays_down_is_refused_until_it_is_filled_in(cli, tmp_path) -> None:
    cli("init", "--project", tmp_path)
    ran = cli("freeze", "--project", tmp_path)
    assert ran.status == 3
    assert "hypothesis is empty" in ran.err
    assert "nothing to verify" in ran.err
