"""The hooks as clients start them: what ships, what loads, what comes out of a real process."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.client_hooks import EVENTS
from autoscirub.client_hooks.location import find_place
from autoscirub.data import data_dir
from autoscirub.errors import AutoscirubError
from autoscirub.store import resolve

ROOT = Path(__file__).resolve().parents[2]
HOOKS = json.loads((data_dir("hooks") / "hooks.json").read_text("utf-8"))
COMMANDS = [
    (event, group.get("matcher"), hook)
    for event, groups in HOOKS["hooks"].items()
    for group in groups
    for hook in group["hooks"]
]


def test_the_file_has_the_shape_that_both_clients_take() -> None:
    # Codex refuses a file with another key at the top.
    assert list(HOOKS) == ["hooks"]
    assert [event for event, _, _ in COMMANDS] == ["PreToolUse", "Stop", "SubagentStop"]
    for _, _, hook in COMMANDS:
        assert set(hook) == {"type", "command", "timeout"}
        assert hook["type"] == "command"
        assert isinstance(hook["timeout"], int)
        assert 1 <= hook["timeout"] <= 30


def test_every_command_is_one_that_is_there_and_comes_from_the_path() -> None:
    for event, _, hook in COMMANDS:
        program, word, name = shlex.split(hook["command"])
        assert (program, word) == ("autoscirub", "hook")
        assert name in EVENTS
        assert (name == "stop") is event.endswith("Stop")


@pytest.mark.parametrize(
    ("tool", "seen"),
    [
        *((tool, True) for tool in ("Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch")),
        *((tool, True) for tool in ("shell", "local_shell", "exec_command")),
        *((f"mcp__{server}__{tool}", True) for server in ("autoscirub", "plugin_autoscirub_autoscirub") for tool in ("check", "plan_round")),
        *((tool, False) for tool in ("Read", "Grep", "Glob", "BashOutput", "TodoWrite", "mcp__autoscirub__next", "mcp__git__check")),
    ],
)  # fmt: skip
def test_the_matcher_takes_the_tools_that_write_and_no_other(tool: str, seen: bool) -> None:
    [matcher] = [matcher for event, matcher, _ in COMMANDS if event == "PreToolUse"]
    assert (re.search(matcher, tool) is not None) is seen


def test_they_ship_in_the_wheel() -> None:
    assert '"hooks" = "autoscirub/_data/hooks"' in (ROOT / "pyproject.toml").read_text("utf-8")


def run(event: str, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autoscirub", "hook", event],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "server"), **environment},
        timeout=60,
        check=False,
    )


def test_a_process_answers_on_stdout_with_status_0(checked) -> None:
    (checked / "results" / "results.json").write_text("{}")
    done = run("stop", json.dumps({"session_id": "a", "cwd": str(checked)}))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["decision"] == "block"
    call = {"cwd": str(checked), "tool_name": "Bash", "tool_input": {"command": "rm -rf .autoscirub"}}
    done = run("pre-tool-use", json.dumps(call))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("event", EVENTS)
def test_a_process_that_has_nothing_to_say_says_nothing(event: str, tmp_path: Path) -> None:
    done = run(
        event, json.dumps({"cwd": str(tmp_path), "tool_name": "Bash", "tool_input": {"command": "ls"}})
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("event", EVENTS)
def test_a_process_with_a_broken_input_ends_with_0_and_one_line(event: str) -> None:
    done = run(event, "{")
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(rf"autoscirub hook {event}: not checked: .+\n", done.stderr)


def test_the_options_of_every_command_are_taken(checked, tmp_path) -> None:
    (checked / "results" / "results.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "autoscirub", "hook", "stop", "--project", str(checked), "--json"],
        input=json.dumps({"cwd": str(tmp_path)}),
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        check=True,
    )
    assert json.loads(done.stdout)["decision"] == "block"


LOADED = "import sys\nfrom autoscirub.cli import main\nmain({arguments!r})\nsys.stderr.write(' '.join(sorted(sys.modules)))"


@pytest.mark.parametrize(
    ("event", "values", "heavy"),
    [
        ("stop", {"cwd": "EMPTY"}, set()),
        ("stop", {"cwd": "CHECKED"}, set()),
        (
            "pre-tool-use",
            {"cwd": "CHECKED", "tool_name": "Write", "tool_input": {"file_path": "report.md"}},
            set(),
        ),
        (
            "pre-tool-use",
            {"cwd": "CHECKED", "tool_name": "Bash", "tool_input": {"command": "rm rubric.toml"}},
            set(),
        ),
    ],
)
def test_nothing_heavy_loads_before_somebody_is_sent_back(event, values, heavy, checked, tmp_path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    text = json.dumps(values).replace("EMPTY", str(empty)).replace("CHECKED", str(checked))
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(arguments=["hook", event])],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        check=True,
    )
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert (
        loaded & {"typer", "pydantic", "filelock", "git", "rich", "yaml", "jsonschema", "mcp", "pathlib"}
        == heavy
    )
    assert "autoscirub.store" not in done.stderr.split()


CONFIGS = [
    None,
    "",
    'report = "a.md"\n',
    'state_dir = "other"\n',
    'state_dir = "../out"\n',
    '"state\\u005fdir" = "other"\n',
    "state_dir = [\n",
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    config=st.sampled_from(CONFIGS),
    pyproject=st.sampled_from([None, "[tool.autoscirub]\nstate_dir = 'other'\n", "[project]\nname = 'a'\n"]),
    made=st.sets(st.sampled_from([".autoscirub", "other", ".git", "sub/.git", "sub/deep"])),
    start=st.sampled_from(["", "sub/deep"]),
    variable=st.sampled_from([None, "", "other"]),
)
def test_the_fast_way_finds_what_the_store_finds(
    tmp_path_factory, config, pyproject, made, start, variable
) -> None:
    root = tmp_path_factory.mktemp("place")
    (root / "sub" / "deep").mkdir(parents=True)
    for name in made:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in (("autoscirub.toml", config), ("pyproject.toml", pyproject)):
        if text is not None:
            (root / name).write_text(text)
    environment = {"AUTOSCIRUB_STATE_DIR": variable} if variable is not None else {}

    def outcome(find):
        try:
            return find()
        except AutoscirubError:
            return "refused"

    def by_the_store():
        found = resolve(environment=environment, working_directory=root / start)
        return (str(found.project), str(found.state_dir)) if found.state_dir.is_dir() else None

    def by_the_hooks():
        found = find_place(str(root / start), environment)
        return (found.root, found.state) if found else None

    assert outcome(by_the_hooks) == outcome(by_the_store)
