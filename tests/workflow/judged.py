"""A project that an oracle judges, and what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ORACLE = '''
import json, pathlib
from autoscirub.models import JudgeReply, Usage

REPLIES = {}
"""Subject -> what the oracle says: a flag, an exception, or the whole reply. One entry for each member, if a list."""
ASKED = []

def evidence_of(request):
    names = [file.path for file in request.files]
    if "results/results.json" in names:
        return {"path": "results/results.json", "at": {"kind": "key", "where": "slope"}, "value": 0.51, "shows": "the slope"}
    seen = next(name for name in names if name != "report.md")
    lines = pathlib.Path(request.workspace, seen).read_text().splitlines()
    where = f"row 1, column {lines[0].split(',')[0]}"
    return {"path": seen, "at": {"kind": "cell", "where": where}, "value": lines[1].split(",")[0], "shows": "the table"}

def verdict(request, flag):
    if request.kind == "hypothesis":
        return {"reasoning": "The slope was looked at.", "evidence": [evidence_of(request)] if flag is not None else [],
                "concerns": ["one seed only"], "confidence": 0.7, "supports_hypothesis": flag}
    yes = flag is True
    cited = evidence_of(request) if yes else None
    return {"criterion_id": request.subject, "reasoning": "It was looked up.",
            "evidence": [cited] if yes else [],
            "evidence_gap": "" if yes else "report.md lacks it", "required_actions": [] if yes else ["write it"],
            "artifact_references": [cited["path"]] if yes else [], "confidence": 0.9, "satisfied": flag}

class Oracle:
    name = "oracle"
    async def ask(self, request):
        ASKED.append(request)
        reply = REPLIES.get(request.subject, True)
        if isinstance(reply, list):
            reply = reply[request.member - 1]
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(verdict(request, reply))
        return JudgeReply(text=text, model_served="oracle-1", usage=Usage(cost_usd=0.01))
    async def repair(self, request, reply, faults): return await self.ask(request)
    def settings(self): return {"backend": self.name}
    def price(self, request): return 0.01

def open_oracle(config, root, trusted): return Oracle()
'''
PREREG = """\
hypothesis = "The slope is near one half."
predictions = ["slope between 0.4 and 0.6"]
analysis_plan = "Least squares on 40 readings."

[results_contract]
slope = "least-squares slope"

[[checks]]
id = "slope"
kind = "expr"
expr = "abs(results.slope - 0.5) < {width}"

[[checks]]
id = "table"
kind = "artifact"
path = "out/table.csv"
"""
RUBRIC = """\
[[criteria]]
id = "READ"
requirement = "The slope is discussed."

[[criteria]]
id = "CODE"
requirement = "The slope is computed."
judge = "never"
checks = [{ id = "c", kind = "expr", expr = "'slope' in results" }]

[[criteria]]
id = "BOTH"
requirement = "The table is there, and is explained."
required_analysis = ["explain the table"]
checks = [{ id = "t", kind = "artifact", path = "out/table.csv" }]
"""


def statuses(checked: Any) -> dict[str, str]:
    return {result.criterion_id: result.status for result in checked.report.criteria}


def ledger(project: Path) -> list[dict[str, Any]]:
    path = project / ".autoscirub" / "asks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
