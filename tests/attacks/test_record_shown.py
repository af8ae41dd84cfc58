"""Whatever stands in a record, what is shown of it ends in findings and sends nothing to the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from tests.attacks.forging import RUBRIC, utf8

from autoscirub.report.audit.overview import render_audit
from autoscirub.report.audit.record import render_record_verified
from autoscirub.workflow import check
from autoscirub.workflow.audit.anchor_head import anchor
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.rounds import plan_round

ODD_FACTS: list[dict[str, Any]] = [
    {"round": "2"},
    {"round": True},
    {"round": -1},
    {"round": 10**30},
    {"files": 5},
    {"files": [5, {"path": 5}, {"path": "x"}, {"path": "../x", "sha256": "y", "size": "z", "kept": True}]},
    {"ended": [1], "outcome": {"a": 1}, "settings": "all of them"},
    {"ended": {"state": "\x1b[2J", "why": ["a"]}, "evaluated": {}, "reused": None},
    {"settings": {"results": ["a"], "judge.model": {"\x1b[2J": 1}}},
    {"settings": {"results": "../../etc/passwd"}},
    {"targets": "C1", "scope": "none", "locked": 7, "locks": "none"},
]

UNUSED = {"targets", "scope", "locked", "locks"}
"""Facts that a check step does not have."""


@pytest.mark.parametrize("odd", ODD_FACTS, ids=str)
def test_facts_of_any_shape_end_in_findings_and_send_nothing_to_the_terminal(
    work, forger, odd: dict[str, Any]
) -> None:
    forged = forger(work)
    forged.facts(**odd)
    forged.commit()
    for event in ("check", "freeze", "scope", "unfreeze", "continued", "anchor", "void", "surprise"):
        forged.edit("facts.json", lambda facts, event=event: facts.update(event=event))
        forged.commit("--amend")
        found, stream = verify_record(work), utf8()
        assert "\x1b" not in render_audit(audit(work), stream) + render_record_verified(found, stream)
        assert not found.ok or event == "surprise" or set(odd) <= UNUSED


HOSTILE = r"\u001b]0;pwned\u0007\u001b[2J\u202eid\nx"


def test_a_criterion_cannot_send_escapes_to_the_terminal(slope_project, write_results, cli) -> None:
    rubric = RUBRIC.replace("There is a table.", f"There is {HOSTILE} a table.").replace(
        'id = "C3"', f'id = "C3{HOSTILE}"'
    )
    rubric = rubric.replace('id = "table"', f'id = "t{HOSTILE}"')
    (slope_project / "rubric.toml").write_text(rubric, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.5)
    check(slope_project)
    plan_round(project=slope_project)
    write_results(slope_project, slope=0.5, low=0.1, high=0.7)
    (slope_project / "out").mkdir()
    (slope_project / "out" / "table.csv").write_text("a,b\n1,2\n")
    check(slope_project)
    anchor(slope_project, record="a tag")
    (slope_project / ".autoscirub" / "verification_report.json").unlink()
    stream = utf8()
    rendered = render_audit(audit(slope_project), stream)
    rendered += render_record_verified(verify_record(slope_project), stream)
    assert "C3" in rendered
    assert not {"\x1b", "\x07", "\u202e"} & set(rendered)
