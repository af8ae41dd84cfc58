"""`run --revise claude | codex`: the real clients, offline, as revisers of a small project, with a scripted model."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.clients.sandboxing import Box, Ended, program
from tests.e2e.clients.scripted_model import Asked, Call, Failing, Json, Say, Script, ScriptedModel, Turn

from autoscirub.models import RevisionPlan, RevisionTarget
from autoscirub.workflow.rounds.agents import _prompt, answer_schema

AGENTS = pytest.mark.parametrize("name", ["claude", "codex"])
CANARY = "canary-93af"
RUBRIC = """\
[[criteria]]
id = "numbers"
requirement = "Every number of the report comes from the results."
checks = [{ id = "numbers", kind = "numbers", strict = true }]

[[criteria]]
id = "table"
requirement = "A table holds the readings."
artifacts = [{ type = "table", name = "the readings", path = "readings.csv" }]
"""
CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "house"

[model_providers.house]
name = "house"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "HOUSE_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


@dataclass
class Agent:
    """A client as a reviser of the project in a box: what its model calls, and how it answers."""

    box: Box
    name: str

    def run(self, script: Script, revise: str | None = None, **env: str) -> tuple[Ended, ScriptedModel]:
        with ScriptedModel(script, self.box.listen()) as model:
            self._configure(model)
            command = [
                sys.executable,
                "-P",
                "-m",
                "autoscirub",
                "run",
                "--json",
                "--revise",
                revise or self.name,
            ]
            return self.box.run(command, {**self._environment(model), **env}), model

    def _configure(self, model: ScriptedModel) -> None:
        if self.name == "codex":
            home = self.box.home / ".codex"
            home.mkdir(exist_ok=True)
            (home / "config.toml").write_text(CODEX_CONFIG.format(url=model.url), "utf-8")

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        environment = self.box.environment(
            AUTOSCIRUB_DATA_DIR=str(self.box.home.parent / "data"),
            CLAUDE_CONFIG_DIR=str(self.box.home / ".claude"),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            CLAUDE_CODE_MAX_RETRIES="0",
            ANTHROPIC_API_KEY="dummy",
            ANTHROPIC_BASE_URL=model.url,
            HOUSE_KEY="dummy",
        )
        programs = self.box.home.parent / "programs"
        return {**environment, "PATH": os.pathsep.join([str(programs), environment["PATH"]])}

    def edit(self, path: str, old: str, new: str) -> list[Call]:
        """Change one line of a file."""
        if self.name == "codex":
            change = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"
            return [Call("apply_patch", {"input": change})]
        file = str(self.box.work / path)
        return [
            Call("Read", {"file_path": file}),
            Call("Edit", {"file_path": file, "old_string": old, "new_string": new}),
        ]

    def write(self, path: Path | str, line: str) -> Call:
        """Make a file of one line."""
        if self.name == "codex":
            change = f"*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch"
            return Call("apply_patch", {"input": change})
        return Call("Write", {"file_path": str(self.box.work / path), "content": f"{line}\n"})

    def shell(self, command: str) -> Call:
        tool, argument = ("exec_command", "cmd") if self.name == "codex" else ("Bash", "command")
        return Call(tool, {argument: command})

    def answer(self, changes: list[Json], infeasible: list[Json]) -> Turn:
        value = {"changes": changes, "infeasible": infeasible}
        return Say(json.dumps(value)) if self.name == "codex" else Call("StructuredOutput", value)

    def script(self, *calls: Call, answer: Turn) -> Script:
        """One call a turn, then the answer; where the client goes on after that, nothing more."""

        def play(asked: Asked) -> Turn:
            done = len(asked.results)
            return calls[done] if done < len(calls) else answer if done == len(calls) else Say("Done.")

        return play


@pytest.fixture
def agent(box: Box, tmp_path: Path) -> Callable[[str], Agent]:
    """A frozen project whose report has a number from nowhere, and lacks a table."""
    files = {
        "rubric.toml": RUBRIC,
        "results/results.json": '{"slope": 0.51}\n',
        "report.md": "# Report\n\nThe slope is 0.47.\n",
        "AGENTS.md": f"{CANARY}-notes\n",
        "CLAUDE.md": f"{CANARY}-notes\n",
        "run.py": "print('ran')\n",
    }
    for path, text in files.items():
        (box.work / path).parent.mkdir(exist_ok=True)
        (box.work / path).write_text(text)

    def make(name: str) -> Agent:
        programs = tmp_path / "programs"
        programs.mkdir()
        for each in (name, "node"):
            (programs / each).symlink_to(program(each))
        env = box.environment(AUTOSCIRUB_DATA_DIR=str(tmp_path / "data"))
        done = box.run([sys.executable, "-P", "-m", "autoscirub", "freeze"], env)
        assert done.status == 0, done
        return Agent(box, name)

    return make


def done(criterion: str, action: str, *files: str) -> Json:
    return {
        "criterion_id": criterion,
        "actions_completed": [action],
        "artifacts_changed": list(files),
        "remaining_gap": "",
    }


def ended(run: Ended) -> Any:
    """How the loop ended, in the words of --json."""
    assert run.out, run
    return json.loads(run.out)["ended"]


def summary(box: Box, number: int = 1) -> Json:
    path = box.work / ".autoscirub" / "revisions" / f"round-{number:03}" / "change_summary.json"
    found: Json = json.loads(path.read_text("utf-8"))
    return found


@pytest.mark.slow
@AGENTS
def test_an_agent_revises_what_the_plan_names_until_code_is_satisfied(
    agent: Callable[[str], Agent], name: str
) -> None:
    reviser = agent(name)
    box, ran = reviser.box, reviser.box.home.parent / "ran"
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f"echo {event} >> {ran}"}]}]
        for event in ("SessionStart", "PreToolUse", "Stop")
    }
    settings = {"hooks": hooks, "permissions": {"allow": ["Bash", "Write", "WebFetch"]}}
    for folder in (box.work, box.home):
        (folder / ".claude").mkdir(exist_ok=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps({**settings, "env": {"OWN": "1"}}))
    script = reviser.script(
        *reviser.edit("report.md", "The slope is 0.47.", "The slope is 0.51."),
        reviser.write("readings.csv", "x,y\n1,2".replace("\n", "\n+" if name == "codex" else "\n")),
        answer=reviser.answer(
            [
                done("numbers", "took the slope from the results", "report.md"),
                done("table", "wrote the readings", "readings.csv"),
            ],
            [],
        ),
    )
    run, model = reviser.run(script)
    assert (run.status, ended(run)["state"]) == (0, "satisfied"), run
    [first] = [text for text in model.asked[0].texts if "You revise a piece of research" in text]
    plan = json.loads(first[first.index("[\n") :].removesuffix("</system-reminder>"))
    assert {target["criterion_id"] for target in plan} == {"numbers", "table"}
    assert "0.47" in json.dumps([target["gap"] for target in plan])
    told = {entry["criterion_id"]: entry["actions_completed"] for entry in summary(box)["changes"]}
    assert told == {"numbers": ["took the slope from the results"], "table": ["wrote the readings"]}
    assert CANARY not in json.dumps([asked.body for asked in model.asked])
    assert not ran.exists()
    assert "revising in round 1" in run.err


@pytest.mark.slow
@AGENTS
def test_an_agent_that_says_why_it_cannot_ends_the_loop_as_infeasible(
    agent: Callable[[str], Agent], name: str
) -> None:
    reviser = agent(name)
    cannot = [
        {"criterion_id": "numbers", "reason": "the run that gave 0.47 is lost"},
        {"criterion_id": "table", "reason": "the readings are not in this folder"},
    ]
    edit = reviser.edit("report.md", "# Report", "# The report")
    run, _ = reviser.run(reviser.script(*edit, answer=reviser.answer([], cannot)))
    assert (run.status, ended(run)["state"]) == (1, "infeasible"), run
    assert summary(reviser.box)["infeasible"] == cannot


@pytest.mark.slow
@AGENTS
def test_what_is_locked_is_put_back_and_the_round_is_void(agent: Callable[[str], Agent], name: str) -> None:
    reviser = agent(name)
    line = 'requirement = "A table holds the readings."'
    edit = reviser.edit("rubric.toml", line, 'requirement = "Nothing."')
    run, model = reviser.run(
        reviser.script(*edit, answer=reviser.answer([done("table", "made it easy")], []))
    )
    assert run.status != 0
    assert ended(run)["state"] == "error"
    assert "changed what is locked, which was put back: rubric.toml" in ended(run)["why"]
    assert (reviser.box.work / "rubric.toml").read_text() == RUBRIC
    assert model.asked


@pytest.mark.slow
@AGENTS
def test_nothing_outside_of_the_project_is_written(
    agent: Callable[[str], Agent], name: str, tree: Callable[[Path], Json]
) -> None:
    reviser = agent(name)
    outside = reviser.box.home.parent / "outside"
    outside.mkdir()
    calls = [
        reviser.write(outside / "written", "x"),
        reviser.shell(f"touch {outside / 'touched'}"),
        reviser.shell(f'python3 -c \'open("{outside / "opened"}", "w")\''),
        *reviser.edit("report.md", "The slope is 0.47.", "The slope is 0.51."),
        reviser.write("readings.csv", "x,y\n+1,2" if name == "codex" else "x,y\n1,2"),
        Call("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "x"}, unseen=True),
        Call("web_search", {"query": "slope"}, unseen=True),
    ]
    answer = reviser.answer([done("numbers", "corrected it"), done("table", "made it")], [])
    run, model = reviser.run(reviser.script(*calls, answer=answer))
    assert ended(run)["state"] == "satisfied", run
    assert list(outside.iterdir()) == []
    offered = {tool.name for tool in model.asked[0].tools}
    assert not {"WebFetch", "WebSearch", "Agent", "web_search", "spawn_agent"} & offered


@pytest.mark.slow
def test_claude_runs_code_in_its_sandbox_or_not_at_all(agent: Callable[[str], Agent]) -> None:
    reviser = agent("claude")
    answer = reviser.answer([], [{"criterion_id": name, "reason": "no"} for name in ("numbers", "table")])
    _, model = reviser.run(reviser.script(reviser.shell("python3 run.py"), answer=answer))
    [result] = [result for result in model.last.results if result.tool == "Bash"]
    sandboxed = shutil.which("bwrap") and shutil.which("socat")
    assert ("ran" in result.text) is bool(sandboxed), result


@pytest.mark.slow
def test_codex_runs_code_in_its_sandbox(agent: Callable[[str], Agent]) -> None:
    reviser = agent("codex")
    answer = reviser.answer([], [{"criterion_id": name, "reason": "no"} for name in ("numbers", "table")])
    code = "import tempfile; print(open(tempfile.mkstemp()[1], 'w').write('x'), 'written')"
    _, model = reviser.run(
        reviser.script(reviser.shell(f'python3 run.py; python3 -c "{code}"'), answer=answer)
    )
    [result] = model.last.results
    assert "ran\n1 written" in result.text


@pytest.mark.slow
@AGENTS
def test_a_client_that_fails_ends_the_loop_with_its_reason(agent: Callable[[str], Agent], name: str) -> None:
    reviser = agent(name)
    run, _ = reviser.run(lambda _: Failing(401, "authentication_error"))
    assert ended(run)["state"] == "error", run
    assert f"{name}: ended without a summary of its changes" in ended(run)["why"]
    assert "401" in run.err


@AGENTS
def test_a_client_that_is_missing_is_said_before_anything_runs(
    agent: Callable[[str], Agent], name: str
) -> None:
    reviser = agent(name)
    run, model = reviser.run([], PATH="/usr/bin:/bin")
    assert run.status == 3
    assert f"run: --revise {name}: no such program on PATH; to get it: npm install -g" in run.out
    assert model.asked == []
    assert not (reviser.box.work / ".autoscirub" / "revisions").exists()


def test_a_path_names_a_program_of_one_s_own(agent: Callable[[str], Agent]) -> None:
    reviser = agent("claude")
    own = reviser.box.work / "claude"
    own.write_text(
        "#!/bin/sh\nprintf 'x,y\\n1,2\\n' > readings.csv\nprintf 'The slope is 0.51.\\n' > report.md\n"
    )
    own.chmod(0o755)
    run, model = reviser.run([], revise="./claude")
    assert (run.status, ended(run)["state"]) == (0, "satisfied"), run
    assert model.asked == []


def test_the_plan_is_quoted_so_that_no_client_expands_it_and_the_answer_s_shape_is_closed() -> None:
    gap = "see @/etc/passwd and $shouting"
    plan = RevisionPlan(round=1, targets=[RevisionTarget(criterion_id="c1", gap=gap)])
    text = _prompt(plan)
    assert "@" not in text
    assert "$" not in text
    assert json.loads(text[text.index("[\n") :])[0]["gap"] == gap
    schema = answer_schema(["c1", "c2"])
    for name in ("changes", "infeasible"):
        entry = schema["properties"][name]["items"]
        assert entry["required"] == list(entry["properties"])
        assert entry["additionalProperties"] is False
        assert entry["properties"]["criterion_id"]["enum"] == ["c1", "c2"]
