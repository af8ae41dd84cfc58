"""The loop while only a person can bring it on: it waits, which is no ending, and says who must do what."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.criteria import CAPPED, ERROR, LOOKUP_ONLY, NOT_ASKED, WAITING
from autoscirub.errors import CheckError, TamperedError
from autoscirub.models import Answer, CriterionResult, DecidedBy, Decision, VerificationReport, now
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze, scope
from autoscirub.workflow.next_call import call_after
from autoscirub.workflow.rounds import plan_round, round_step, run_rounds, unjudged, wait_of
from autoscirub.workflow.rounds.rules import LoopState, ending_of
from autoscirub.workflow.status import status

HOLDS, FAILS, OPEN = Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE
WORDS = """\
[[criteria]]
id = "READ"
requirement = "The slope is discussed."

[[criteria]]
id = "CODE"
requirement = "The slope is computed."
judge = "never"
checks = [{ id = "c", kind = "expr", expr = "'slope' in results" }]
"""


def part(word: str, answer: Answer = OPEN) -> Decision:
    by = DecidedBy.JUDGE if answer is OPEN else DecidedBy.CODE
    open_ = ["open"] if answer is OPEN else []
    return Decision(
        subject="p", question="?", answer=answer, word=word, decided_by=by, open=open_, at=now(), evidence=[]
    )


def report(**criteria: tuple[str, list[Decision]]) -> VerificationReport:
    """A report from the status and the parts of each criterion."""
    results, decisions = [], []
    for name, (status_, parts) in criteria.items():
        results.append(
            CriterionResult(
                criterion_id=name,
                satisfied=status_ == "satisfied",
                status=status_,  # type: ignore[arg-type]
                evidence_gap="" if status_ == "satisfied" else "a gap",
            )
        )
        answer = {"satisfied": HOLDS, "not_satisfied": FAILS}.get(status_, OPEN)
        decisions.append(part("w", answer).model_copy(update={"subject": name, "parts": parts}))
    return VerificationReport.counted(
        round=1, criteria=results, decisions=decisions, highest_priority_gaps=[]
    )


def loop(found: VerificationReport, **changes: Any) -> LoopState:
    own = {
        "previous": None,
        "reduced_by_agent": False,
        "infeasible": frozenset(),
        "rounds_used": 1,
        "rounds_allowed": 10,
        "seconds_spent": 0.0,
        "seconds_allowed": None,
    }
    return LoopState(report=found, **{**own, **changes})


MET = ("satisfied", [part("holds", HOLDS)])
UNMET = ("not_satisfied", [part("fails", FAILS)])
PERSON = ("cannot_assess", [part("holds", HOLDS), part(WAITING)])
UNTRUSTED = ("cannot_assess", [part(NOT_ASKED)])
NO_JUDGE: tuple[str, list[Decision]] = ("cannot_assess", [])
HALF_READ = ("cannot_assess", [part("holds", HOLDS)])
FAILED = ("error", [part(ERROR)])

ROWS = [
    ({"A": PERSON}, "autoscirub judge"),
    ({"A": MET, "B": PERSON}, "autoscirub judge"),
    ({"A": UNTRUSTED}, "autoscirub trust"),
    ({"A": NO_JUDGE, "B": MET}, "autoscirub scope"),
    ({"A": HALF_READ}, "autoscirub scope"),
    ({"A": UNTRUSTED, "B": PERSON}, "autoscirub judge"),
    ({"A": PERSON, "B": UNMET}, None),
    ({"A": PERSON, "B": FAILED}, None),
    ({"A": MET}, None),
    ({"A": UNMET}, None),
    ({"A": ("cannot_assess", [part("cannot tell")])}, None),
    ({"A": ("cannot_assess", [part("holds", HOLDS), part("inconclusive")])}, None),
    ({"A": ("cannot_assess", [part(CAPPED)])}, None),
    ({"A": ("cannot_assess", [part(LOOKUP_ONLY)])}, None),
]


@pytest.mark.parametrize(("criteria", "command"), ROWS)
def test_who_must_do_what(criteria: dict[str, Any], command: str | None) -> None:
    found = report(**criteria)
    wait = wait_of(found)
    assert (wait.command if wait else None) == command
    if wait is not None:
        assert ending_of(loop(found, rounds_used=10)) is None  # it is no ending, whatever is spent
        for name, each in criteria.items():
            assert (name in wait.note) is (each is not MET)


def test_many_are_named_in_part() -> None:
    wait = wait_of(report(**{f"C{number}": PERSON for number in range(1, 12)}))
    assert wait is not None
    assert wait.note.startswith("C1, C2, C3, C4, C5, C6, C7, C8 and 3 more wait for a person's verdict")


@pytest.mark.parametrize(
    ("criteria", "changes", "ending"),
    [
        ({"A": PERSON, "B": UNMET}, {}, None),
        ({"A": PERSON, "B": UNMET}, {"rounds_used": 10}, "budget_spent"),
        ({"A": PERSON, "B": UNMET}, {"infeasible": frozenset("B")}, "infeasible"),
        ({"A": PERSON, "B": UNMET}, {"previous": report(A=PERSON, B=UNMET)}, "stalled"),
        ({"A": FAILED, "B": UNMET}, {"rounds_used": 10}, None),
        ({"A": PERSON, "B": FAILED}, {"rounds_used": 10}, None),
    ],
)
def test_where_work_is_open_too_the_rules_of_an_ending_apply_to_that(
    criteria: dict[str, Any], changes: dict[str, Any], ending: str | None
) -> None:
    found = ending_of(loop(report(**criteria), **changes))
    assert (found[0] if found else None) == ending


def test_no_revision_is_planned_for_what_waits() -> None:
    assert set(unjudged(report(A=PERSON, B=UNMET, C=FAILED, D=UNTRUSTED, E=NO_JUDGE))) == {"A", "C", "D", "E"}


@pytest.fixture
def worded(tmp_path: Path, write_results: Any) -> Any:
    """A frozen project, of whose criteria one must be read, with these settings of its judge."""

    def make(settings: str) -> Path:
        root = tmp_path / "project"
        root.mkdir()
        (root / "rubric.toml").write_text(WORDS)
        (root / "autoscirub.toml").write_text(settings)
        (root / "report.md").write_text("The slope is 0.51.\n")
        write_results(root, slope=0.51)
        freeze(root)
        return root

    return make


COMMAND = f'[judge]\nbackend = "command"\ncommand = {json.dumps([sys.executable, "-c", "pass"])}\n'


@pytest.mark.parametrize(
    ("settings", "words", "command"),
    [
        ('[judge]\nbackend = "person"\n', "READ waits for a person's verdict", "autoscirub judge"),
        ("", "READ waits for a judge: set one up in [judge]", "autoscirub scope"),
        (COMMAND, "READ waits for trust in the judge: `autoscirub trust`", "autoscirub trust"),
    ],
    ids=["person", "none", "not trusted"],
)
def test_every_surface_says_who_must_do_what(worded: Any, settings: str, words: str, command: str) -> None:
    project = worded(settings)
    checked = check(project)
    assert checked.ended is None
    assert words in checked.waiting
    assert checked.facts()["waiting"] == checked.waiting
    call = call_after(checked)
    assert (call.tool, words in call.why) == (None, True)
    found = status(project)
    assert (found.next.command, words in found.next.why) == (command, True)
    assert found.loop is not None
    assert words in found.loop.waiting
    assert [each.word for each in found.decisions if each.subject == "requirements"] == ["waiting"]
    with pytest.raises(CheckError, match="nothing to revise: READ waits"):
        plan_round(project=project)
    for ran in (
        round_step(project),
        run_rounds(project, revise=["false"]),
        run_rounds(project, revise=["false"]),
    ):
        assert ran.ended is None
        assert words in ran.waiting
        assert ran.next.startswith(command)


def test_a_change_to_a_person_after_the_freeze_is_a_change_of_scope(worded: Any) -> None:
    project = worded("")
    (project / "autoscirub.toml").write_text('[judge]\nbackend = "person"\n')
    with pytest.raises(TamperedError, match="judge.backend"):
        check(project)
    changed = scope(project, reason="Ada reads it", by="terminal")
    assert changed.change.settings == ["judge.backend"]
    assert "READ waits for a person's verdict" in check(project).waiting


def test_a_judge_that_fails_is_not_waited_for_but_asked_again(study: Any, oracle: Any) -> None:
    project = study()
    oracle.REPLIES["READ"] = RuntimeError("lost")
    ran = run_rounds(project, revise=["false"])
    assert (ran.ended, ran.waiting) == (None, "")
    assert "could not be judged" in ran.notices[0]
