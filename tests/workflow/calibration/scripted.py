"""A project whose judge is a program that answers by a script, and labelled cases for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoscirub.store import grant_trust, open_project, trust_view

JUDGE = '''\
"""Says what the script has for the case that the report names: its first answer, its second, and so on."""
import json, os, pathlib, signal, sys

request = json.load(sys.stdin)
work = pathlib.Path(request["workspace"])
report = (work / "report.md").read_text()
case = report.split()[-1].rstrip(".")
here = pathlib.Path(__file__).parent
number = 0
while True:
    try:
        os.close(os.open(here / "asked" / f"{case}.{number}", os.O_CREAT | os.O_EXCL))
        break
    except FileExistsError:
        number += 1
(here / "requests" / f"{case}.{number}.json").write_text(json.dumps(request))
script = json.loads((here / "script.json").read_text())
answers = script.get(case, ["yes"])
answer = answers[number % len(answers)]
if answer in ("SIGKILL", "SIGINT"):
    os.kill(int((here / "pid").read_text()), signal.Signals[answer])
    signal.pause()
if answer == "fail":
    sys.exit("the model is gone")
yes = answer == "yes"
line = report.splitlines()[0]
verdict = {"criterion_id": request["subject"], "reasoning": f"The report was read: {line}",
           "evidence": [{"path": "report.md", "at": {"kind": "line", "where": "1"}, "value": line, "shows": "it"}],
           "evidence_gap": "" if yes else "report.md lacks the uncertainty",
           "required_actions": [] if yes else ["report the uncertainty"],
           "artifact_references": ["report.md"], "confidence": 0.9,
           "satisfied": None if answer == "cannot tell" else yes}
print(json.dumps(verdict))
'''
CONFIG = '[judge]\nbackend = "command"\ncommand = ["{python}", "{judge}"]\n{settings}'
CASE = """\
label = "{label}"
note = "LABELLED-BY-HAND"

[criterion]
id = "C1"
requirement = "The report states the slope."
"""


def project(root: Path, settings: str = "", *, trusted: bool = True) -> Path:
    """A project with the scripted judge, which lies next to it."""
    tools = root / "tools"
    for folder in (tools / "asked", tools / "requests", root / "project"):
        folder.mkdir(parents=True)
    (tools / "judge.py").write_text(JUDGE)
    script(root, {})
    config = CONFIG.format(python=sys.executable, judge=tools / "judge.py", settings=settings)
    (root / "project" / "autoscirub.toml").write_text(config)
    if trusted:
        trust(root / "project")
    return root / "project"


def trust(folder: Path) -> None:
    """Trust what the project's files would run."""
    opened = open_project(folder)
    view = trust_view(opened.config)
    grant_trust(view, view.digest or "", by="test", project=str(opened.root))


def cases(root: Path, labels: Mapping[str, str]) -> Path:
    """A folder with a case for each name."""
    for name, label in labels.items():
        folder = root / "cases" / name
        folder.mkdir(parents=True)
        (folder / "case.toml").write_text(CASE.format(label=label))
        (folder / "report.md").write_text(f"The slope is 0.51 in {name}.\n")
    return root / "cases"


def script(root: Path, answers: Mapping[str, Sequence[str]]) -> None:
    """What the judge says of each case: yes, no, cannot tell, fail, or a signal to whoever asks."""
    (root / "tools" / "script.json").write_text(json.dumps(answers))


def asked(root: Path) -> dict[str, int]:
    """How often the judge was asked about each case."""
    found: dict[str, int] = {}
    for path in sorted((root / "tools" / "asked").iterdir()):
        found[path.name.rpartition(".")[0]] = found.get(path.name.rpartition(".")[0], 0) + 1
    return found


def verdict(subject: str, *, yes: bool = True) -> str:
    """The reply of a judge that read the report, for a judge that runs in this process."""
    place = {
        "path": "report.md",
        "at": {"kind": "quote", "where": ""},
        "value": "The slope is 0.51",
        "shows": "it",
    }
    gap = {"evidence_gap": "report.md lacks the interval", "required_actions": ["report it"]}
    return json.dumps(
        {"criterion_id": subject, "reasoning": "The report was read.", "evidence": [place], "satisfied": yes}
        | ({} if yes else gap)
    )


def requests(root: Path) -> list[dict[str, Any]]:
    """All that the judge was sent."""
    return [json.loads(path.read_text()) for path in sorted((root / "tools" / "requests").iterdir())]


def recorded(folder: Path) -> dict[str, Any]:
    """`calibration.json` as it is."""
    return json.loads((folder / ".autoscirub" / "calibration.json").read_text())


def ledger(folder: Path) -> list[dict[str, Any]]:
    """The lines of the ledger."""
    path = folder / ".autoscirub" / "asks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
