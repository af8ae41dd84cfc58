"""The hooks of a coding agent's client, on a project of 2,000 files: against the bound, and against a bare interpreter.

The bound is for the whole process, Python's start with it. Each is started as a client starts it, and alternates with
`python -c pass`, so that what else the machine does falls on both alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from table import Row

FILES = 2_000
REPEATS = 15
BOUND_SECONDS = 0.3

PREREG = """\
hypothesis = "The slope is near one half."
predictions = ["slope between 0.4 and 0.6"]
analysis_plan = "Least squares."

[results_contract]
slope = "least-squares slope"

[[checks]]
id = "slope"
kind = "expr"
expr = "abs(results.slope - 0.5) < 0.1"
"""
CRITERION = """
[[criteria]]
id = "c{0}"
requirement = "The result {0} is there."
judge = "never"
checks = [{{ id = "n{0}", kind = "expr", expr = "results.n > {0}" }}]
"""


def main() -> list[Row]:
    """The measured rows."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AUTOSCIRUB_DATA_DIR"] = str(Path(folder) / "data")
        project = _project(Path(folder) / "project")
        call = {"session_id": "a", "cwd": str(project), "hook_event_name": "PreToolUse"}
        stop = {"session_id": "a", "cwd": str(project), "hook_event_name": "Stop"}
        return [
            _row("stop: nothing has changed", "stop", stop, project),
            _row(
                "stop: sent back, a judged file changed", "stop", stop, project, change="results/results.json"
            ),
            _row("stop: sent back, git asked about a new file", "stop", stop, project, change="new.py"),
            _row(
                "pre-tool-use: a file", "pre-tool-use", _tool(call, "Write", file_path="report.md"), project
            ),
            _row(
                "pre-tool-use: a command refused",
                "pre-tool-use",
                _tool(call, "Bash", command="cd results && find .. -name '*.json' | xargs rm -f"),
                project,
            ),
            _row(
                "pre-tool-use: a check noted",
                "pre-tool-use",
                _tool(call, "Bash", command="autoscirub check"),
                project,
            ),
            _row("stop: no state directory", "stop", {"session_id": "a", "cwd": folder}, project),
        ]


def _tool(call: dict[str, Any], name: str, **values: str) -> dict[str, Any]:
    return {**call, "tool_name": name, "tool_input": values}


def _project(root: Path) -> Path:
    from autoscirub.workflow import check
    from autoscirub.workflow.locks import freeze

    for number in range(FILES):
        path = root / f"part{number % 20}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n", encoding="utf-8")
    (root / "prereg.toml").write_text(PREREG, encoding="utf-8")
    (root / "rubric.toml").write_text("".join(CRITERION.format(n) for n in range(20)), encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(root)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "a"], check=True)
    freeze(root)
    (root / "results").mkdir()
    (root / "results" / "results.json").write_text('{"slope": 0.5, "n": 7}', encoding="utf-8")
    check(root)
    return root


def _row(name: str, event: str, given: dict[str, Any], project: Path, change: str | None = None) -> Row:
    ours, bare, said = [], [], set()
    for number in range(REPEATS):
        kept = (project / change).read_bytes() if change and (project / change).exists() else None
        if change:
            (project / change).write_text(
                json.dumps({"slope": 0.5, "n": 7, "again": number}), encoding="utf-8"
            )
            os.utime(project / change, (time.time() + 10 + number,) * 2)
        # Another conversation each time: nobody is sent back twice for the same.
        text = json.dumps({**given, "session_id": f"{name} {number}"})
        seconds, answer = _timed([*_program(), "hook", event], text)
        ours.append(seconds)
        said.add(bool(answer))
        bare.append(_timed([sys.executable, "-c", "pass"], "")[0])
        if change:
            (project / change).write_bytes(kept) if kept is not None else (project / change).unlink()
    mine, theirs = min(ours), min(bare)
    answered = "answers" if said == {True} else "says nothing" if said == {False} else "answers at times"
    detail = f"{mine * 1e3:.0f} ms of {BOUND_SECONDS * 1e3:.0f}, a bare interpreter {theirs * 1e3:.0f} ms; {answered}"
    return Row(name, mine / BOUND_SECONDS, 1.0, detail)


def _program() -> list[str]:
    """As a client starts it; in a checkout that is not installed, what the installed script does."""
    script = Path(sys.executable).with_name("autoscirub")
    if script.exists():
        return [str(script)]
    return [sys.executable, "-c", "import sys; from autoscirub.cli import main; sys.exit(main())"]


def _timed(command: list[str], text: str) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(command, input=text, capture_output=True, check=True, encoding="utf-8")
    return time.perf_counter() - started, done.stdout
