"""What several tests of the models need: a rubric and a report that use every field."""

from __future__ import annotations

import json
from typing import Any

import pytest

_RUBRIC = """
{"schema_version": "1.0",
 "goals": [{"goal_id": "G1", "title": "Slope", "requirement": "Estimate the slope."}],
 "criteria": [
  {"criterion_id": "C1", "goal_ids": ["G1"], "requirement": "Report the slope with an interval.",
   "data_sources": ["data/readings.csv"], "required_analysis": ["fit a line"], "metrics": ["slope"],
   "comparisons": ["constant baseline"],
   "expected_artifacts": [{"type": "figure", "name": "slope plot", "expected_path": "figures/slope.png",
                           "must_show": "fit against points"}],
   "satisfaction_condition": "the number and the figure are both present", "priority": "high",
   "provenance": {"instruction": ["fit a slope"], "literature": [], "data_profile": ["40 rows"]},
   "weight": 0.5, "judge": "always",
   "checks": [
    {"id": "slope", "kind": "expr", "expr": "results.slope > 0", "covers": ["fit a line"], "description": "up"},
    {"id": "plot", "kind": "artifact", "path": "figures/slope.png", "format": "png"},
    {"id": "numbers", "kind": "numbers", "report": "report.md", "sources": ["results.json"]},
    {"id": "rerun", "kind": "rerun"}, {"id": "read", "kind": "judge"}, {"id": "board", "kind": "score"}]},
  {"criterion_id": "C2", "requirement": "Say what was left out."}],
 "claims_to_avoid": ["the slope is causal"],
 "scope_changes": [{"at": "2026-01-31T09:00:00Z", "by": "terminal", "reason": "no storage data", "criteria": ["C2"]}]}
"""

_REPORT = """
{"schema_version": "1.0", "round": 2, "all_satisfied": false,
 "criteria": [
  {"criterion_id": "C1", "satisfied": true, "status": "satisfied", "reused_from_round": 1,
   "evidence_found": ["report.md: 0.51"], "evidence_gap": "", "required_actions": [],
   "artifact_references": ["report.md"]},
  {"criterion_id": "C2", "satisfied": false, "status": "cannot_assess", "evidence_found": [],
   "evidence_gap": "no judge is set up", "required_actions": ["set up a judge"], "artifact_references": []}],
 "summary": {"passed": 1, "failed": 1, "highest_priority_gaps": ["C2"]},
 "decisions": [
  {"subject": "C1", "question": "Is C1 satisfied?", "answer": "holds", "word": "satisfied", "decided_by": "code",
   "evidence": [{"path": "report.md", "value": 0.51}], "open": [], "parts": [], "at": "2026-01-31T09:00:00Z",
   "asks": {"ask": 1, "of": 1}, "cost": {"usd": null, "calls": 0}}]}
"""


@pytest.fixture
def rubric() -> dict[str, Any]:
    """A rubric in which every known field stands at least once."""
    loaded: dict[str, Any] = json.loads(_RUBRIC)
    return loaded


@pytest.fixture
def report() -> dict[str, Any]:
    """A report in which every known field stands at least once."""
    loaded: dict[str, Any] = json.loads(_REPORT)
    return loaded
