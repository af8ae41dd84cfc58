"""Somebody with plain git and an editor, who makes a record say more than was found."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoscirub.models import Answer
from autoscirub.store import sha256_bytes
from autoscirub.workflow.audit.verify import verify_record

RUBRIC = (Path(__file__).parent / "rubric.toml").read_text("utf-8")
REPORT = "state/verification_report.json"


def faults(project: Path, **options) -> dict[str, str]:
    """Group -> all that is at fault there, in one text."""
    found: dict[str, str] = {}
    for entry in verify_record(project, **options).findings:
        if entry.answer is Answer.DOES_NOT_HOLD:
            found[entry.group] = f"{found.get(entry.group, '')}{entry.where}: {entry.message}\n"
    return found


def utf8() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


@dataclass
class Forger:
    """Somebody with plain git and an editor, who knows how the record is made."""

    project: Path
    folder: Path

    def git(self, *arguments: str) -> str:
        options = ["-c", "user.name=f", "-c", "user.email=f@f", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=self.folder,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    @property
    def bundle(self) -> Path:
        return self.project / ".autoscirub" / "history.bundle"

    def open(self) -> Forger:
        self.folder.mkdir()
        self.git("clone", "-q", "-b", "main", str(self.bundle), ".")
        return self

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text("utf-8"))

    def write(self, name: str, value: Any) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, bytes) else (json.dumps(value, indent=1) + "\n").encode()
        (self.folder / name).write_bytes(data)

    def edit(self, name: str, change: Callable[[Any], None]) -> None:
        value = self.read(name)
        change(value)
        self.write(name, value)

    def facts(self, **changes: Any) -> None:
        self.edit("facts.json", lambda facts: facts["facts"].update(changes))

    def commit(self, *options: str) -> None:
        """Put what was changed into the bundle, and lay the state files out as the new head has them."""
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "check", *options)
        self.export()

    def export(self) -> None:
        self.git("bundle", "create", "-q", str(self.folder / ".git" / "new"), "main")
        shutil.move(self.folder / ".git" / "new", self.bundle)
        shutil.copytree(self.folder / "state", self.project / ".autoscirub", dirs_exist_ok=True)


def listed(path: str, data: bytes) -> dict[str, Any]:
    return {"path": path, "sha256": sha256_bytes(data), "size": len(data), "kept": True}


def all_satisfied(report: dict[str, Any]) -> None:
    """Everything that a report, taken alone, would be believed for."""
    for result in report["criteria"]:
        result |= {"satisfied": True, "status": "satisfied", "evidence_gap": "", "reused_from_round": None}
    report["all_satisfied"] = True
    report["summary"] |= {"passed": len(report["criteria"]), "failed": 0}
    for decision in report["decisions"]:
        decision |= {"answer": "holds", "word": "satisfied", "open": []}


def removed_criterion(report: dict[str, Any]) -> None:
    del report["criteria"][2], report["decisions"][2]
    report["summary"] |= {"failed": 0}


def say_satisfied(forger: Forger) -> None:
    """A check step whose every file agrees that the loop ended satisfied."""
    forger.edit(REPORT, all_satisfied)
    shutil.copy(forger.folder / REPORT, forger.folder / "state/revisions/round-002/verification.json")
    ended = {
        "state": "satisfied",
        "round": 2,
        "why": "every criterion is satisfied",
        "at": "2026-01-01T00:00:00Z",
    }
    ids = [result["criterion_id"] for result in forger.read(REPORT)["criteria"]]
    forger.facts(passed=len(ids), failed=0, evaluated=ids, reused=0, ended=ended)
    forger.edit("state/run_manifest.json", lambda manifest: manifest["loop"].update(ended=ended))
