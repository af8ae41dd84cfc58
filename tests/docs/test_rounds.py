"""The pages of the rounds and the audit: the endings, the reviser, the questions."""

from __future__ import annotations

import json
import sys
from typing import get_args

from tests.docs.pages import blocks, code, table

from autoscirub.models import LoopEnding
from autoscirub.workflow.audit.findings import GROUPS


def test_the_endings_are_the_code_s() -> None:
    assert {code(row[0])[0] for row in table("rounds.md", "How it ends")} == set(get_args(LoopEnding))


def test_the_reviser_of_the_page_makes_the_figure_and_says_what_it_cannot_do(tmp_path) -> None:
    from autoscirub.workflow.locks import freeze
    from autoscirub.workflow.rounds import run_rounds

    project, results = (
        tmp_path / "project",
        {"n": 3, "slope": 0.5, "low": 0.4, "high": 0.6, "resamples": 999},
    )
    project.mkdir()
    (project / "rubric.toml").write_text(blocks("requirements.md", "toml")[0], "utf-8")
    (project / "revise.py").write_text(blocks("rounds.md", "python")[0], "utf-8")
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>'
    (project / "draw.py").write_text(f"open('fit.svg', 'w').write({drawing!r})", "utf-8")
    freeze(project)
    (project / "results.json").write_text(json.dumps(results), "utf-8")
    ran = run_rounds(project, revise=[sys.executable, "revise.py"])
    assert ran.ended is not None
    assert ran.checked is not None
    assert ran.checked.report is not None
    assert (ran.ended.state, ran.ended.round) == ("infeasible", 2)
    assert {result.criterion_id: result.status for result in ran.checked.report.criteria} == {
        "samples": "not_satisfied",  # which it said that it cannot do
        "interval": "satisfied",
        "figure": "satisfied",
        "limits": "cannot_assess",  # nobody reads it, and the reviser is not asked about it
    }


def test_the_groups_of_the_audit_are_the_code_s_with_their_questions() -> None:
    rows = {code(row[0])[0]: row[1] for row in table("audit.md", "Does it hold together?")}
    assert rows == {group: question for group, (question, _) in GROUPS.items()}
