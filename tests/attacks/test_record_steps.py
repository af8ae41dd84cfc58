"""Steps that were added with plain git: what they report is decided again from the files that are kept."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from tests.attacks.forging import REPORT, all_satisfied, faults, listed, removed_criterion, say_satisfied

from autoscirub.store import sha256_bytes
from autoscirub.workflow.audit.anchor_head import anchor
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record


def test_a_forged_step_that_says_satisfied_is_found_by_deciding_again(work, forger) -> None:
    forged = forger(work)
    say_satisfied(forged)
    forged.commit()
    found = faults(work)
    assert set(found) == {"answers"}
    assert (
        "C3: is recorded as satisfied; the kept files give not_satisfied: out/table.csv: is not there"
        in found["answers"]
    )


def test_a_forged_answer_is_found_though_its_files_are_taken_off_the_list(work, forger) -> None:
    forged = forger(work)
    say_satisfied(forged)
    shutil.rmtree(forged.folder / "project")
    forged.facts(files=[])
    forged.commit()
    assert "C2: is recorded as satisfied; the kept files give cannot_assess" in faults(work)["answers"]


def test_kept_bytes_that_are_not_those_that_are_listed_are_found(work, forger) -> None:
    forged = forger(work)
    say_satisfied(forged)
    forged.write("project/out/table.csv", b"x,y\n1,2\n")
    forged.commit()
    assert "project" not in faults(work)
    assert "out/table.csv: is kept and not listed" in faults(work)["answers"]
    forged.facts(
        files=[*forged.read("facts.json")["facts"]["files"], listed("out/table.csv", b"other bytes")]
    )
    forged.commit()
    assert "out/table.csv: is not what is listed of it" in faults(work)["answers"]


def test_whoever_forges_the_files_too_is_found_by_nothing_but_a_head_held_before(work, forger) -> None:
    head = anchor(work).head
    forged = forger(work)
    say_satisfied(forged)
    forged.write("project/out/table.csv", b"x,y\n1,2\n")
    forged.facts(files=[*forged.read("facts.json")["facts"]["files"], listed("out/table.csv", b"x,y\n1,2\n")])
    forged.commit()
    assert faults(work) == {}  # it is what an honest step would be, had the table been there
    found = verify_record(work, expect=head)
    assert found.ok
    assert "The 1 steps after it its owner could have rewritten" in found.cannot_show[0]
    forged.git("commit", "-q", "--amend", "--allow-empty", "-m", "check", "--date", "2020-01-01T00:00:00Z")
    forged.git("reset", "-q", "--soft", "HEAD~2")
    forged.commit()
    assert "anchors" in faults(work, expect=head)


def flipped_counts(report: dict[str, Any]) -> None:
    report["summary"] |= {"passed": 3, "failed": 0}


def flipped_flag(report: dict[str, Any]) -> None:
    report["criteria"][2]["satisfied"] = True


def flipped_status(report: dict[str, Any]) -> None:
    report["criteria"][2] |= {"satisfied": True, "status": "satisfied", "reused_from_round": None}
    report["summary"] |= {"passed": 3, "failed": 0}


def reused_lie(report: dict[str, Any]) -> None:
    report["criteria"][2] |= {"satisfied": True, "status": "satisfied", "reused_from_round": 1}
    report["decisions"][2] |= {"answer": "holds", "word": "satisfied"}
    report["summary"] |= {"passed": 3, "failed": 0}


def added_criterion(report: dict[str, Any]) -> None:
    report["criteria"].append({**report["criteria"][0], "criterion_id": "x"})
    report["summary"]["passed"] += 1


REPORTS = [
    (flipped_counts, "summary.passed"),
    (flipped_flag, "the two must agree"),
    (flipped_status, "C3: is satisfied, and its Decision says does_not_hold"),
    (flipped_status, "all_satisfied is False, and the criteria say True"),
    (removed_criterion, "lacks criteria of the locked rubric: C3"),
    (reused_lie, "C3: says that it is reused, and the report before has another answer"),
    (lambda report: report.update(all_satisfied=True), "not satisfied: C3"),
    (lambda report: report["criteria"].reverse(), "in another order than the locked rubric"),
    (lambda report: report.update(round=7), "the step says round 2, and its report 7"),
    (lambda report: report["decisions"].clear(), "C1: has no status, or no Decision"),
    (added_criterion, "has criteria that the locked rubric does not have: x"),
]


@pytest.mark.parametrize(("change", "message"), [pytest.param(*row, id=row[1][:30]) for row in REPORTS])
def test_a_forged_report_that_does_not_add_up_is_found(work, forger, change, message: str) -> None:
    forged = forger(work)
    forged.edit(REPORT, change)
    shutil.copy(forged.folder / REPORT, forged.folder / "state/revisions/round-002/verification.json")
    forged.commit()
    found = faults(work)["reports"]
    assert message in found
    audit(work)


def test_a_forged_outcome_is_found_by_evaluating_again(work, forger) -> None:
    forged = forger(work)
    results = b'{"slope": 9.5}'
    forged.write("project/results/results.json", results)
    files = [entry for entry in forged.read("facts.json")["facts"]["files"] if "results" not in entry["path"]]
    forged.facts(files=[*files, listed("results/results.json", results)])
    forged.edit(
        "state/verification.json", lambda outcome: outcome["digests"].update(results=sha256_bytes(results))
    )
    forged.commit()
    assert "slope: is recorded as True; the kept files give False" in faults(work)["predictions"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: it.update(outcome="refuted"), "its outcome is refuted"),
        (lambda it: it["checks"].clear(), "lacks the check slope"),
        (
            lambda it: it["checks"].append({**it["checks"][0], "id": "more"}),
            "a check that was not frozen: more",
        ),
        (lambda it: it["digests"].update(prereg="0" * 64), "is of other predictions than are frozen"),
        (lambda it: it.update(headline="refuted: x"), "its headline says otherwise"),
        (lambda it: it["decisions"][0].update(word="refuted"), "its Decision says otherwise"),
    ],
)
def test_a_forged_outcome_that_does_not_add_up_is_found(work, forger, change, message: str) -> None:
    forged = forger(work)
    forged.edit("state/verification.json", change)
    forged.commit()
    assert message in faults(work)["predictions"]


def test_an_earlier_round_that_a_later_step_changed_is_found(work, forger) -> None:
    forged = forger(work)
    forged.edit("state/revisions/round-001/verification.json", all_satisfied)
    forged.commit()
    assert (
        "changes state/revisions/round-001/verification.json, though it is of round 2"
        in faults(work)["rounds"]
    )
