"""Criteria to decide on, and a project that they are about."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

from autoscirub.checks.criteria import decide_criterion, gather
from autoscirub.models import (
    Criterion,
    CriterionResult,
    Decision,
    ExecutableRubric,
)
from autoscirub.store import open_project

AT = "2026-01-31T09:00:00Z"
REPOSITORY = Path(__file__).resolve().parents[2]
S, N, C = "satisfied", "not_satisfied", "cannot_assess"
RESULTS = {
    "n": 5,
    "zero": 0,
    "gap": float("nan"),
    "name": "x",
    "deep": {"list": [1.25, 2]},
    "many": list(range(99)),
}


def png(side: int = 8) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((5 * row + column) % 256 for column in range(side)) for row in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def lay_down(tmp_path: Path) -> Path:
    """A project with results, a report, a good figure, a cut-off one, and a link that leads out."""
    project = tmp_path / "project"
    (project / ".autoscirub").mkdir(parents=True)
    (project / "figures").mkdir()
    (project / "results.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    (project / "report.md").write_text("# Report\n", encoding="utf-8")
    (project / "figures/good.png").write_bytes(png())
    (project / "figures/cut.png").write_bytes(png()[:40])
    (tmp_path / "outside.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (project / "out.csv").symlink_to(tmp_path / "outside.csv")
    return project


def criterion_of(checks: list[dict[str, Any]] | None = None, **more: Any) -> Criterion:
    """A criterion with these checks, whose ids are their places."""
    numbered = [{"id": f"k{place}", **check} for place, check in enumerate(checks or ())]
    return Criterion.model_validate({"criterion_id": "C1", "requirement": "r", "checks": numbered, **more})


def decided(project: Path, criterion: Criterion) -> tuple[CriterionResult, Decision]:
    rubric = ExecutableRubric(criteria=[criterion])
    return decide_criterion(criterion, gather(open_project(project), rubric), at=AT)


def expr(text: str) -> dict[str, Any]:
    return {"kind": "expr", "expr": text}


def artifact(path: str) -> dict[str, Any]:
    return {"kind": "artifact", "path": path}


def expected(path: str) -> dict[str, Any]:
    return {"expected_artifacts": [{"expected_path": path}]}
