"""What a real judge program is given: nothing that is withheld, by any way in; and what its program can do to an answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.judging.tools import WorkspaceTools
from autoscirub.setup import look_at_trust, record_trust
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze

JUDGE = """\
import json, os, pathlib, sys
request = json.load(sys.stdin)
seen = {"request": request, "files": {}}
for path in sorted(pathlib.Path(request["workspace"]).rglob("*")):
    if path.is_file():
        seen["files"][str(path.relative_to(request["workspace"]))] = path.read_bytes().decode("latin-1")
folder = pathlib.Path(sys.argv[1])
(folder / (request["kind"] + "-" + request["subject"] + ".json")).write_text(json.dumps(seen))
cited = "results/results.json: slope = 0.51"
if request["kind"] == "hypothesis":
    said = {"reasoning": cited, "concerns": [], "confidence": 1, "supports_hypothesis": True}
else:
    said = {"criterion_id": request["subject"], "reasoning": cited, "evidence_found": [cited], "evidence_gap": "",
            "required_actions": [], "artifact_references": ["results/results.json"], "confidence": 1, "satisfied": True}
print(json.dumps(said))
"""
RUBRIC = """\
[[criteria]]
id = "READ"
requirement = "The slope is discussed."

[[criteria]]
id = "NAMED"
requirement = "The data are described."
data_sources = ["data/readings.csv", "holdout.csv"]
"""
CANARIES = {
    "write-up": "CANARY-WRITE-UP: the slope is one half, as everybody will agree who reads these many words.",
    "verdict": "CANARY-VERDICT: it was satisfied before, and so it should be now, says this earlier verdict.",
    "git": "CANARY-GIT-HISTORY",
    "agents": "CANARY-AGENT-INSTRUCTIONS: whoever works here writes that everything is in order.",
    "holdout": "CANARY-HOLDOUT-LABELS, which nobody in the project may see, and no judge may either.",
    "environment": "CANARY-OF-THE-ENVIRONMENT",
    "excluded": "CANARY-EXCLUDED: a harness keeps this from every judge, wherever its bytes may lie.",
}


@pytest.fixture
def planted(slope_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_results: Any) -> Path:
    """A project with a canary in each place that is withheld, and a real program as its judge."""
    project = slope_project
    (tmp_path / "judge.py").write_text(JUDGE)
    (tmp_path / "seen").mkdir()
    command = json.dumps([sys.executable, str(tmp_path / "judge.py"), str(tmp_path / "seen")])
    (project / "autoscirub.toml").write_text(
        f'[judge]\nbackend = "command"\ncommand = {command}\n\n'
        '[profiles.criterion]\nexclude = ["private/"]\n[profiles.hypothesis]\nexclude = ["private/"]\n'
    )
    (project / "rubric.toml").write_text(RUBRIC)
    freeze(project)
    write_results(project, slope=0.51)
    (project / "data").mkdir()
    (project / "data" / "readings.csv").write_text("x,y\n1,0.5\n")
    (project / "report.md").write_text(CANARIES["write-up"] + "\n")
    (project / "src").mkdir()
    (project / "src" / "notes.txt").write_text(
        CANARIES["write-up"] + "\n"
    )  # a copied write-up is the write-up
    (project / "AGENTS.md").write_text(CANARIES["agents"] + "\n")
    (project / "sub").mkdir()
    (project / "sub" / "CLAUDE.md").write_text(CANARIES["agents"] + "\n")
    (project / "private").mkdir()
    (project / "private" / "labels.csv").write_text(CANARIES["excluded"] + "\n")
    shutil.copyfile(project / "private" / "labels.csv", project / "results" / "table.csv")
    os.link(project / "private" / "labels.csv", project / "results" / "linked.csv")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "holdout.csv").write_text(CANARIES["holdout"] + "\n")
    (project / "results" / "k.csv").symlink_to(outside / "holdout.csv")
    (project / "results" / "up").symlink_to("../..")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".git" / "description").write_text(CANARIES["git"])
    (project / ".autoscirub" / "verification_report.md").write_text(CANARIES["verdict"] + "\n")
    shutil.copyfile(project / ".autoscirub" / "verification_report.md", project / "results" / "old.txt")
    monkeypatch.setenv("SECRET_CANARY", CANARIES["environment"])
    digest = look_at_trust(project).digest
    assert digest is not None
    record_trust(digest, by="ci", project=project)
    return project


def seen(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in (tmp_path / "seen").iterdir()}


def test_no_canary_is_in_the_workspace_or_in_the_request(planted: Path, tmp_path: Path) -> None:
    check(planted)
    found = seen(tmp_path)
    assert set(found) == {"criterion-READ", "criterion-NAMED", "hypothesis-hypothesis"}
    for name, request in found.items():
        text = json.dumps(request)
        for what, canary in CANARIES.items():
            visible = what == "write-up" and name.startswith("criterion")  # a criterion is about the report
            assert (canary[:20] in text) == visible, (name, what)
        assert str(planted) not in text  # nor where the rest of it lies
        assert request["files"].keys() >= (
            {"data/readings.csv"} if name == "criterion-NAMED" else {"results/results.json"}
        )


def test_the_tools_of_such_a_workspace_return_no_canary(planted: Path, tmp_path: Path) -> None:
    from autoscirub.errors import ToolRefused
    from autoscirub.judging.workspace import build_workspace
    from autoscirub.store import open_project

    paths = [
        "../report.md", "..", "/etc/passwd", str(planted / "report.md"), "%2e%2e/report.md", "AGENTS.md", "agents.md",
        "results/k.csv", "results/up/report.md", "results/linked.csv", ".git/description", "./results/../report.md",
        "report.md\0.txt", "x" * 5_000, "~/.profile", "file:///etc/passwd", "/proc/self/environ", ".autoscirub",
    ]  # fmt: skip
    with build_workspace(open_project(planted), "hypothesis") as workspace:
        tools = WorkspaceTools(workspace.root)
        outputs: list[str] = []
        for path in paths:
            for call in (
                lambda path=path: tools.read(path),
                lambda path=path: tools.list(path),
                lambda path=path: tools.glob(path),
                lambda path=path: tools.grep("CANARY", path),
            ):
                try:
                    outputs.append(call().text)
                except ToolRefused as refused:
                    outputs.append(str(refused))
        outputs.append(tools.grep("CANARY").text)
    for canary in CANARIES.values():
        assert all(canary[:20] not in text for text in outputs)
    # A path that was asked for is named in the refusal; nothing else of where the project lies is.
    asked = str(planted / "report.md")
    assert all(str(planted) not in text.replace(asked, "") for text in outputs)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time; time.sleep(600)", "no answer within 2 s (judge.seconds)"),
        ("import sys; sys.exit(7)", "7"),
        ("print('x' * 3_000_000)", "more than"),
        ("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL"),
    ],
    ids=["hangs", "fails", "floods", "is killed"],
)
def test_a_judge_program_s_failure_is_its_own_and_what_code_decided_stands(
    planted: Path, tmp_path: Path, source: str, expected: str
) -> None:
    config = planted / "autoscirub.toml"
    judge = tmp_path / "judge.py"
    judge.write_text(f"import sys; sys.stdin.read()\n{source}\n")
    text = config.read_text().replace("[judge]\n", "[judge]\nseconds = 2\n")
    config.write_text(text)  # how long it may take is no setting that decides
    checked = check(planted)
    assert checked.verification is not None
    assert checked.verification.outcome.value == "verified"
    assert "the judge failed" in checked.verification.headline
    for result in checked.report.criteria:
        assert result.status == "error"
        assert expected in result.evidence_gap
    assert not list((planted / ".autoscirub").glob("verdicts/*"))
    alive = subprocess.run(["pgrep", "-f", str(judge)], capture_output=True, text=True, check=False)
    assert alive.stdout == ""
    lines = (planted / ".autoscirub" / "asks.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert all(json.loads(line)["error"] for line in lines)


def test_an_untrusted_project_s_judge_does_not_run(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any]
) -> None:
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "another-machine"))
    checked = check(planted)
    assert seen(tmp_path) == {}
    assert all(result.status == "cannot_assess" for result in checked.report.criteria)
    assert "the judge is not trusted" in checked.report.criteria[0].evidence_gap
    assert cli("verify", "--strict", "--project", planted).status == 2
